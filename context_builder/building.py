"""The request that was built last, for whoever asks for the same one again."""

from __future__ import annotations

import dataclasses

from context_builder.render import KeptRendering
from context_builder.targets import TargetKey

__all__ = ["Built"]


@dataclasses.dataclass(frozen=True, slots=True)
class Built:
    """A build that somebody asked for."""

    asked: tuple[str, str | None, int | None]
    """For which target, model and budget, as the caller named them."""
    unanswered: tuple[TargetKey, int]
    """The same, as the session notes it until the answer comes in: another build, an
    answer and other settings put something else in its place."""
    rendering: KeptRendering
