"""Counts texts and messages the way a model's vendor bills them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.collect import read_messages, read_tools
from context_builder.render import Prompt, adapter_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from context_builder.items import ContextItem

__all__ = ["count", "count_messages", "with_calls"]


def count(text: str, *, model: str | None = None) -> int:
    """Return the tokens of a text, in the encoding of a model (o200k_base without one).

    Models without a public tokenizer are counted by estimate.
    """
    return adapter_for("openai").counter(model).count(text)


def count_messages(
    messages: Iterable[object],
    *,
    model: str | None = None,
    tools: Iterable[Mapping[str, Any]] | None = None,
) -> int:
    """Return the input tokens of a request with these messages.

    Framing and tools are included. Reasoning counts as what it would take where it
    is sent back.

    Raises:
        InvalidItemError: If a message is not what Chat Completions takes.
    """
    adapter = adapter_for("openai")
    text_tokens = adapter.counter(model).count
    items = read_messages(messages)
    system = items.pop(0) if items and items[0].role == "system" else None
    prompt = Prompt(items=(), system=system, tools=read_tools(tools or ()), model=model)
    thoughts = sum(text_tokens(part.text) for item in items for part in item.reasoning)
    return (
        thoughts
        + sum(
            adapter.item_tokens(item, text_tokens, model=model, calls=calls)
            for item, calls in with_calls(items)
        )
        + sum(adapter.fixed_tokens(prompt, text_tokens).values())
    )


def with_calls(items: Iterable[ContextItem]) -> Iterator[tuple[ContextItem, int]]:
    """Say of each item how many calls were made at once, where it is of a round."""
    made: dict[str | None, int] = {}
    for item in items:
        calls = len(item.tool_calls)
        made.update(dict.fromkeys((call.id for call in item.tool_calls), calls))
        yield (
            item,
            made.get(item.tool_call_id, 1) if item.role == "tool" else calls or 1,
        )
