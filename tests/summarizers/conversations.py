"""Conversations, requests and a counter that the tests here share."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from context_builder.items import ContextItem
from context_builder.messages import ToolCall
from context_builder.summarizers import SummaryPolicy, SummaryRequest, request_for
from context_builder.testing import WordCounter

if TYPE_CHECKING:
    from collections.abc import Iterable

COUNT = WordCounter().count
POLICY = SummaryPolicy()


def user(number: int, text: str) -> ContextItem:
    """Return what the user said."""
    return ContextItem("user", text, id=f"i{number}", source="user")


def assistant(number: int, text: str) -> ContextItem:
    """Return what the model said."""
    return ContextItem("assistant", text, id=f"i{number}", source="assistant")


def tool_round(number: int, result: str, *, calls: int = 1) -> tuple[ContextItem, ...]:
    """Return calls and their results."""
    made = tuple(
        ToolCall(f"call_{number}_{n}", "search", f'{{"query": "q{number}"}}')
        for n in range(calls)
    )
    asked = ContextItem("assistant", id=f"i{number}", tool_calls=made)
    answers = [
        ContextItem(
            "tool",
            result,
            id=f"i{number + n}",
            source="tool_result",
            tool_call_id=call.id,
            tool_name="search",
        )
        for n, call in enumerate(made, start=1)
    ]
    return (asked, *answers)


def talk(turns: int, words: int = 30) -> tuple[ContextItem, ...]:
    """Return so many questions with their answers."""
    items: list[ContextItem] = []
    for turn in range(turns):
        items.append(user(2 * turn + 1, f"question {turn} " + "why " * words))
        items.append(assistant(2 * turn + 2, f"answer {turn} " + "because " * words))
    return tuple(items)


def request(
    items: Iterable[ContextItem] | None = None,
    *,
    former: str | None = None,
    budget_tokens: int = 1_000,
    policy: SummaryPolicy = POLICY,
    **changes: Any,
) -> SummaryRequest:
    """Return a request about these items, or about some talk."""
    made = request_for(
        talk(5) if items is None else items,
        former=former,
        budget_tokens=budget_tokens,
        count=COUNT,
        policy=policy,
    )
    return dataclasses.replace(made, **changes)
