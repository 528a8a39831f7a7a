"""The columns that say whether what a peer sends is right."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.generate import conversation
from benchmarks.peers.judge import COLUMNS, Verdict, judge
from tests.benchmarks.odd_peers import Odd
from tests.recount import recount

BUDGET_TOKENS = 2_600
HISTORY = conversation(40)


def judged(mistake: str) -> Verdict:
    """Judge what one peer sends before each answer, from the 20th message on."""
    peer = Odd(mistake, BUDGET_TOKENS)
    peer.extend(HISTORY[:20])
    requests = []
    for place in range(20, len(HISTORY)):
        peer.extend(HISTORY[place : place + 1])
        if HISTORY[place]["role"] in {"user", "tool"}:
            requests.append({"length": place + 1, "messages": peer.build()})
    return judge(requests, HISTORY, BUDGET_TOKENS)


def test_nothing_is_held_against_a_correct_peer() -> None:
    """A window that keeps every rule passes every column."""
    verdict = judged("")
    assert verdict.requests == 10
    assert verdict.held == dict.fromkeys(COLUMNS, 1.0)
    assert verdict.is_correct
    assert 0.5 < verdict.fill_share <= 1


@pytest.mark.parametrize("mistake", COLUMNS)
def test_a_mistake_shows_in_its_column(mistake: str) -> None:
    """A peer that breaks one rule fails that column, and is not correct."""
    verdict = judged(mistake)
    assert verdict.held[mistake] < 1
    assert not verdict.is_correct
    others = set(COLUMNS) - {mistake, "pairs", "order"}
    assert all(verdict.held[name] == 1 for name in others - {"fits"})


def test_the_fill_is_a_recount_over_the_budget() -> None:
    """What counts is the body of the request, not what a peer says of it."""
    messages = HISTORY[:6]
    requests = [{"length": 6, "messages": messages}]
    verdict = judge(requests, HISTORY, 1_000)
    assert verdict.fill_share == recount({"messages": messages}) / 1_000


def test_what_begins_alike_can_come_from_the_cache() -> None:
    """The share is of tokens in the same place as before; a moved cut ends it."""
    ask: dict[str, Any] = {"role": "user", "content": "one two three"}
    same = [
        {"length": 4, "messages": HISTORY[:4]},
        {"length": 4, "messages": HISTORY[:4]},
    ]
    assert judge(same, HISTORY, 9_999).cached_share == pytest.approx(1, abs=0.01)
    moved = [
        {"length": 4, "messages": HISTORY[:4]},
        {"length": 4, "messages": [ask, *HISTORY[:4]]},
    ]
    assert judge(moved, HISTORY, 9_999).cached_share == 0


def test_a_call_without_its_result_and_a_result_without_its_call() -> None:
    """Both halves of a pair must be there, next to one another."""
    call, result = HISTORY[2:4]
    for messages in ([call], [result], [call, HISTORY[1], result]):
        verdict = judge([{"length": 4, "messages": messages}], HISTORY, 9_999)
        assert verdict.held["pairs"] == 0


def test_a_message_twice_is_out_of_order() -> None:
    """What stands twice was not said twice."""
    messages = [HISTORY[0], HISTORY[1], HISTORY[1]]
    verdict = judge([{"length": 2, "messages": messages}], HISTORY, 9_999)
    assert verdict.held["order"] == 0
