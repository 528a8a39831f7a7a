"""Counts a transcript as it stands: by message, and all in all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from context_builder.cli.read import Transcript
from context_builder.cli.session import in_words_of, request_in
from context_builder.collect import read_messages, read_request
from context_builder.counting import with_calls
from context_builder.items import ContextItem
from context_builder.render import Prompt, adapter_for, adapter_names
from context_builder.tokens import (
    counter_for,
    framing_for,
    message_tokens,
    request_tokens,
    resolve_model,
    tools_tokens,
)

__all__ = [
    "Counts",
    "count_for",
    "count_transcript",
    "counts_of",
    "counts_table",
    "totals_table",
]

DEFAULT_ENCODING = "o200k_base"


_WAY_OUT = "name one that counts as it does with --model"


@dataclass(frozen=True, slots=True)
class Counts:
    """The tokens of one transcript, said as a request."""

    id: str
    counter: str
    """What counted, such as `o200k_base`."""
    is_exact: bool
    """Whether it is the model's own tokenizer."""
    messages: tuple[tuple[str, int], ...]
    """Role and tokens of each message, framing included."""
    tools: int
    total: int
    """All of it, with what the vendor adds."""

    @property
    def overhead(self) -> int:
        """What belongs to no message and no tool."""
        return self.total - self.tools - sum(tokens for _, tokens in self.messages)

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "id": self.id,
            "counter": self.counter,
            "is_exact": self.is_exact,
            "messages": [
                {"index": index, "role": role, "tokens": tokens}
                for index, (role, tokens) in enumerate(self.messages)
            ],
            "tools_tokens": self.tools,
            "overhead_tokens": self.overhead,
            "total_tokens": self.total,
        }


def counts_of(
    transcript: Transcript, *, origin: str, target: str, model: str | None
) -> Counts:
    """Count a transcript: as it stands for OpenAI's models, else as its vendor's.

    Where no other vendor was named, a model that is not OpenAI's is counted as the
    vendor counts that serves it.

    Raises:
        InputError: If a message is not one, or the model is not known.
    """
    model = model or transcript.model
    if (origin, target, transcript.format) == ("openai", "openai", None):
        with in_words_of(transcript, way_out=_WAY_OUT):
            target = _vendor_of(model)
        if target == "openai":
            return count_transcript(transcript, model)
    origin = transcript.format or origin
    return count_for(transcript, origin=origin, target=target, model=model)


def _vendor_of(model: str | None) -> str:
    """Return the target that counts a model; it is OpenAI's where the encoding is.

    Raises:
        UnknownModelError: If the model is not known.
    """
    info = resolve_model(model) if model else None
    if info is None or info.encoding is not None:
        return "openai"
    for name in adapter_names():
        served = adapter_for(name).capabilities.providers
        if info.provider == name or info.provider in served[:1]:
            return name
    return "openai-compatible"


def count_transcript(transcript: Transcript, model: str | None) -> Counts:
    """Count a transcript's messages and tools; nothing is repaired or left out.

    Without a model, as the current OpenAI models count.

    Raises:
        InputError: If a message is not one, or the model is not known.
    """
    model = model or transcript.model
    with in_words_of(transcript, way_out=_WAY_OUT):
        read_messages(transcript.messages)  # refuses what cannot be counted
        encoding = resolve_model(model).encoding if model else DEFAULT_ENCODING
    counter = counter_for(encoding)
    framing = framing_for(model or "")
    request = {"messages": transcript.messages, "tools": transcript.tools or []}
    tools = tools_tokens(
        request["tools"],
        counter.count,
        framing,
        has_system=any(
            message["role"] in {"system", "developer"}
            for message in transcript.messages
        ),
    )
    return Counts(
        id=transcript.id,
        counter=counter.name,
        is_exact=counter.is_exact,
        messages=tuple(
            (message["role"], message_tokens(message, counter.count, framing))
            for message in transcript.messages
        ),
        tools=tools,
        total=request_tokens(request, counter.count, framing),
    )


def count_for(
    transcript: Transcript, *, origin: str, target: str, model: str | None
) -> Counts:
    """Count a transcript as a request to any vendor: what a budget would count.

    Raises:
        InputError: If a message is not what its format says.
    """
    model = model or transcript.model
    with in_words_of(transcript, way_out=_WAY_OUT):
        read = read_request(request_in(transcript, origin), format=origin)
    adapter = adapter_for(target)
    counter = adapter.counter(model)
    system = read.system and ContextItem(role="system", content=read.system)
    prompt = Prompt(items=(), system=system or None, tools=read.tools, model=model)
    fixed = adapter.fixed_tokens(prompt, counter.count)
    messages = [("system", fixed["system"])] if system else []
    messages += [
        (item.role, adapter.item_tokens(item, counter.count, model=model, calls=calls))
        for item, calls in with_calls(read.items)
    ]
    return Counts(
        id=transcript.id,
        counter=counter.name,
        is_exact=counter.is_exact,
        messages=tuple(messages),
        tools=fixed["tools"],
        total=sum(tokens for _, tokens in messages)
        + fixed["tools"]
        + fixed["overhead"],
    )


def counts_table(counts: Counts) -> str:
    """Say the counts of one transcript, a line a message."""
    rows = [
        (str(index), role, f"{tokens:,}")
        for index, (role, tokens) in enumerate(counts.messages)
    ]
    rows += [
        ("", "tools", f"{counts.tools:,}"),
        ("", "overhead", f"{counts.overhead:,}"),
        ("", "total", f"{counts.total:,}"),
    ]
    return _table(("#", "role", "tokens"), rows) + f"\n{_by(counts)}"


def totals_table(every: Sequence[Counts]) -> str:
    """Say the counts of many transcripts, a line each."""
    rows = [
        (counts.id, f"{len(counts.messages):,}", f"{counts.total:,}")
        for counts in every
    ]
    messages = sum(len(counts.messages) for counts in every)
    total = sum(counts.total for counts in every)
    rows.append(("total", f"{messages:,}", f"{total:,}"))
    counters = dict.fromkeys(map(_by, every))
    return _table(("id", "messages", "tokens"), rows) + "\n" + "\n".join(counters)


def _by(counts: Counts) -> str:
    return f"counted by {counts.counter}" + ("" if counts.is_exact else ", an estimate")


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    """Align columns: the last one to the right, as it holds numbers."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    lines = []
    for row in (head, *rows):
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join([*cells[:-1], row[-1].rjust(widths[-1])]))
    return "\n".join(lines)
