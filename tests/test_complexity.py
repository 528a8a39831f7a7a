"""What an append costs, counted in operations: never in seconds, never in the past."""

from __future__ import annotations

import json
import re
import sys
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder
from context_builder.testing import WordCounter, turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

BUDGET_TOKENS = 1_000
APPENDED = 160
"""Messages that are appended one by one: several compactions' worth."""


class CountingCounter(WordCounter):
    """Counts words, and how many bytes it was given."""

    def __init__(self) -> None:
        self.seen_bytes = 0

    def count(self, text: str) -> int:
        """Count the words of a text."""
        self.seen_bytes += len(text.encode())
        return super().count(text)


class PieceCounter(CountingCounter):
    """Counts words and marks, so that the counts of parts add up."""

    def __init__(self, *, adds_up: bool) -> None:
        super().__init__()
        self.adds_up = adds_up

    def count(self, text: str) -> int:
        """Count the words and the marks of a text."""
        self.seen_bytes += len(text.encode())
        return len(re.findall(r"\w+|[^\w\s]", text))


def session(
    messages: Iterable[dict[str, Any]], counter: CountingCounter | None = None
) -> tuple[ContextBuilder, Any]:
    """Return a session that has taken in a history and answered, and its counter."""
    counter = counter or CountingCounter()
    ctx = ContextBuilder(max_tokens=BUDGET_TOKENS, counter=counter)
    ctx.extend(messages)
    ctx.add_user_message("why")
    ctx.build()
    return ctx, counter


def calls_of(work: Callable[[], object]) -> int:
    """Return how many functions some work calls."""
    seen = 0

    def watch(frame: object, event: str, arg: object) -> None:
        nonlocal seen
        del frame, arg
        seen += event in {"call", "c_call"}

    sys.setprofile(watch)
    try:
        work()
    finally:
        sys.setprofile(None)
    return seen


def appended(count: int) -> tuple[int, int, int]:
    """Append to so many turns; return bytes counted, calls made, and compactions."""
    said = list(turns(count + APPENDED // 2))
    ctx, counter = session(said[: 2 * count])
    before = ctx.explain().compactions
    counter.seen_bytes = 0

    def work() -> None:
        for message in said[2 * count :]:
            ctx.extend([message])
            if message["role"] == "assistant":
                ctx.build()

    calls = calls_of(work)
    counted = counter.seen_bytes
    return counted, calls, ctx.explain().compactions - before


@pytest.fixture(scope="module")
def short() -> tuple[int, int, int]:
    """Return what appending costs in a session that has just been compacted."""
    return appended(100)


@pytest.fixture(scope="module")
def long() -> tuple[int, int, int]:
    """Return what it costs in a session of ten times the length."""
    return appended(1_000)


def test_several_compactions_are_among_what_is_counted(
    short: tuple[int, int, int], long: tuple[int, int, int]
) -> None:
    """Otherwise the other tests would say nothing about them."""
    assert min(short[2], long[2]) >= 3


def test_no_more_is_tokenised_in_a_long_session(
    short: tuple[int, int, int], long: tuple[int, int, int]
) -> None:
    """Bytes counted, compactions included, are those of what is new."""
    assert long[0] < 1.5 * short[0]


def test_no_more_is_done_in_a_long_session(
    short: tuple[int, int, int], long: tuple[int, int, int]
) -> None:
    """Functions called: items looked at, grouped, decided about and said."""
    assert long[1] < 2 * short[1]


def told(number: int) -> list[dict[str, Any]]:
    """Return a turn that is full of facts, and that asks for others."""
    asked = " ".join(f"item_{number * 7 % 90 + near}" for near in range(5))
    rows = [
        {"id": f"item_{number}_{row}", "total": 100 * number + row} for row in range(5)
    ]
    return [
        {"role": "user", "content": f"Please look for {asked} and tell me of them."},
        {"role": "assistant", "content": f"These are they: {json.dumps(rows)}"},
    ]


def test_what_is_told_again_is_not_tokenised_again() -> None:
    """Of a notice and of what is recalled, only what is new; the same is decided."""
    said = [message for number in range(70) for message in told(number)]

    def appending(*, adds_up: bool) -> tuple[list[Any], int]:
        ctx, counter = session(said[:60], PieceCounter(adds_up=adds_up))
        counter.seen_bytes = 0
        built = []
        for message in said[60:]:
            ctx.extend([message])
            built.append(ctx.build())
        assert ctx.explain().tokens <= BUDGET_TOKENS
        return built, counter.seen_bytes

    in_parts, part_bytes = appending(adds_up=True)
    whole, whole_bytes = appending(adds_up=False)
    assert in_parts == whole
    come_bytes = sum(len(message["content"]) for message in said[60:])
    assert part_bytes < whole_bytes / 2
    assert part_bytes < 8 * come_bytes


def test_twice_as_much_costs_twice_as_much() -> None:
    """Appending k messages costs what k messages cost, compactions included."""
    ctx, _ = session(turns(60))
    said = list(turns(210))

    def steps(messages: list[dict[str, Any]]) -> Callable[[], object]:
        def work() -> None:
            for message in messages:
                ctx.extend([message])
                ctx.view()

        return work

    once = calls_of(steps(said[120:220]))
    twice = calls_of(steps(said[220:420]))
    assert twice < 3 * once


def test_an_unchanged_build_touches_no_item() -> None:
    """It copies what was said, and looks at nothing behind it."""
    ctx, counter = session(turns(300))
    counter.seen_bytes = 0
    messages = len(ctx.build())
    assert calls_of(ctx.build) < 80 + 4 * messages
    assert calls_of(ctx.view) < 80
    assert counter.seen_bytes == 0


def test_loading_counts_what_may_fit_and_not_the_history() -> None:
    """Ten times the history: the same bytes are counted, and each message read."""

    def load(count: int) -> tuple[int, int]:
        said = list(turns(count))
        counter = CountingCounter()
        ctx = ContextBuilder(max_tokens=BUDGET_TOKENS, counter=counter)
        ctx.extend(said)
        return calls_of(ctx.build), counter.seen_bytes

    (short_calls, short_bytes), (long_calls, long_bytes) = load(400), load(4_000)
    assert long_bytes < 1.2 * short_bytes
    assert long_calls < 10 * short_calls


def test_taking_in_a_history_is_linear() -> None:
    """Importing, checking and naming: the same for each message."""

    def read(count: int) -> int:
        ctx = ContextBuilder(max_tokens=BUDGET_TOKENS, counter=WordCounter())
        said = list(turns(count, tools=True))
        return calls_of(lambda: ctx.extend(said))

    assert read(2_000) < 11 * read(200)
