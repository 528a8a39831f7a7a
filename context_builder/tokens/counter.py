"""What a token counter is, and which one an encoding gets.

Decides nothing about messages: a counter sees one text at a time. What a request costs
beyond its texts is the business of the framing of each vendor.
"""

from __future__ import annotations

import functools
from typing import Protocol, runtime_checkable

__all__ = ["TokenCounter", "counter_for"]


@runtime_checkable
class TokenCounter(Protocol):
    """Counts the tokens of a text; the same text always has the same count.

    A counter is immutable: sessions and threads may share one.
    """

    @property
    def name(self) -> str:
        """What counts, for reports, such as `"o200k_base"`; it admits an estimate."""

    @property
    def is_exact(self) -> bool:
        """Whether the model's own tokenizer counts, rather than an estimate."""

    def count(self, text: str) -> int:
        """Count the tokens of a text: 0 if it is empty, never an exception."""


def counter_for(encoding: str | None, *, fast: bool = False) -> TokenCounter:
    """Choose the counter of an encoding; the same arguments give the same object.

    Nothing is loaded yet: a vocabulary is read when the first text is counted.

    Args:
        encoding: Such as `"o200k_base"`. None, for models without a public tokenizer,
            or `"estimate"` counts with an estimate; `"estimate:claude"` with the
            estimate fitted to that family (see `PROFILES`).
        fast: Count with quicktok where the extra `fast` is installed. The counts are
            the same; without it, this argument changes nothing.

    Raises:
        ContextBuilderError: If the encoding is not known.
    """
    return _counter_for(encoding, fast)


@functools.cache
def _counter_for(encoding: str | None, fast: bool) -> TokenCounter:
    # Imported here, as the counters import this module for its protocol's sake.
    from context_builder.tokens.estimator import (  # noqa: PLC0415
        EstimatingCounter,
        profile_for,
    )
    from context_builder.tokens.fast_counter import (  # noqa: PLC0415
        QuicktokCounter,
        quicktok_is_installed,
    )
    from context_builder.tokens.tiktoken_counter import (  # noqa: PLC0415
        TiktokenCounter,
    )

    if encoding is None or encoding.startswith("estimate"):
        return EstimatingCounter(profile_for((encoding or "").partition(":")[2]))
    if fast and quicktok_is_installed():
        return QuicktokCounter(encoding)
    return TiktokenCounter(encoding)
