from __future__ import annotations

from typing import Any

import pytest

from context_builder.errors import BudgetExceededError
from context_builder.replay import (
    Budget,
    BuilderStrategy,
    Recency,
    Transcript,
    Window,
    cost_ratio,
    play,
    totals,
)
from context_builder.replay.ruler import MODEL, Ruler
from tests.replay.conversations import Fixed, said, transcript


def _all(heard: list[Any]) -> dict[str, Any]:
    return {"model": MODEL, "messages": heard.copy()}


def test_what_is_new_is_never_cached_and_the_rest_is() -> None:
    """A history that only grows is billed as new once."""
    ruler = Ruler()
    played = play(transcript(3), Fixed(_all), Budget(max_tokens=10**6), ruler)
    first, second = played.calls[:2]
    assert first.cached_tokens == 0
    assert second.cached_tokens == first.tokens - ruler.overhead
    assert second.billed_tokens == pytest.approx(
        second.tokens - 0.9 * second.cached_tokens
    )
    assert not any(call.is_break or call.is_over for call in played.calls)


def test_the_cache_ends_at_the_first_message_that_differs() -> None:
    """Only whole messages are shared, and only from the beginning."""

    def dated(heard: list[Any]) -> dict[str, Any]:
        return _all([said("system", f"It is {len(heard)} o'clock."), *heard[1:]])

    played = play(transcript(2), Fixed(dated), Budget(max_tokens=10**6))
    assert [call.cached_tokens for call in played.calls] == [0, 0, 0, 0]
    assert [call.is_break for call in played.calls] == [False, True, True, True]


def test_broken_requests_are_counted() -> None:
    """A result without its call is a problem, and so is too much."""

    def orphan(heard: list[Any]) -> dict[str, Any]:
        return _all([*heard, {"role": "tool", "tool_call_id": "x", "content": "y"}])

    total = totals([play(transcript(1), Fixed(orphan), Budget(max_tokens=1))])["fixed"]
    assert (total.invalid, total.over_budget, total.calls) == (2, 2, 2)


def test_a_call_that_cannot_be_made_is_counted_and_leaves_the_comparison() -> None:
    """The costs of two strategies are compared over the same calls."""

    def late(heard: list[Any]) -> dict[str, Any]:
        if len(heard) > 2:
            return _all(heard)
        raise BudgetExceededError(needed_tokens=2, limit_tokens=1, parts={})

    budget = Budget(max_tokens=10**6)
    failing = play(transcript(2), Fixed(late), budget)
    assert totals([failing])["fixed"].failed == 1
    both = [failing, play(transcript(2), BuilderStrategy(), budget)]
    ratio = cost_ratio(both, "builder", "fixed")
    first = both[1].calls[0].billed_tokens
    billed = totals(both)["builder"].billed_tokens
    assert ratio == pytest.approx(
        (billed - first) / totals(both)["fixed"].billed_tokens
    )


def test_a_share_is_of_everything_behind_the_head() -> None:
    """System prompt and tools always fit; a call's share is of what came before it."""
    ruler, one = Ruler(), transcript(4)
    assert ruler.budget(one, 0) == ruler.head(one)
    whole = ruler.request({"messages": one.messages})
    assert ruler.budget(one, 1) == whole
    assert ruler.budget(one, 1, upto=4) < whole
    with pytest.raises(ValueError, match="either"):
        Budget()


@pytest.mark.parametrize("strategy", [BuilderStrategy(), Recency(), Window()])
def test_every_strategy_stays_within_the_budget_and_valid(strategy: Any) -> None:
    """What is compared are requests that a vendor would take."""
    played = play(transcript(8), strategy, Budget(share=0.5))
    total = totals([played])[strategy.name]
    assert (total.invalid, total.over_budget, total.failed) == (0, 0, 0)
    assert total.compactions > 0


def test_recency_keeps_the_newest_whole_units() -> None:
    """The newest that fits, the system prompt first, and no result without its call."""
    ruler, one = Ruler(), transcript(4)
    counted = ruler.messages(one.messages)
    room = sum(counted[-2:])  # the newest result and answer, but not the call
    budget = ruler.head(one) + room
    kept = {}
    for grain in ("unit", "message"):
        player = Recency(grain).start(one, budget, ruler)
        for message in one.messages:
            player.hear(message)
        kept[grain] = player.request()["messages"]
    assert kept["unit"] == [one.messages[0], one.messages[-1]]
    assert kept["message"] == [one.messages[0], *one.messages[-2:]]


def test_a_window_with_marks_cuts_less_often_than_recency() -> None:
    """That is what the marks are for."""
    one, budget = transcript(12), Budget(share=0.5)
    calls = {
        strategy.name: sum(call.is_break for call in play(one, strategy, budget).calls)
        for strategy in (Recency(), Window())
    }
    assert calls["window"] < calls["recency"]


def test_questions_do_not_change_the_session() -> None:
    """Each question is asked of a copy: its order among others makes no difference."""
    questions = [
        {"kind": "qa", "question": f"Where is A{n}77?", "message_ids": [1 + 4 * n]}
        for n in range(3)
    ]
    budget = Budget(share=0.6)
    forth = play(transcript(6, evidence=questions), BuilderStrategy(), budget)
    back = play(transcript(6, evidence=questions[::-1]), BuilderStrategy(), budget)
    assert [k.kept for k in forth.evidence] == [k.kept for k in back.evidence[::-1]]


def test_a_call_is_judged_at_its_own_budget_and_at_the_sessions() -> None:
    """A share is of what was said before the call; the session has one budget."""
    evidence = [{"kind": "tool_args", "at": 10, "needs": [{"value": "A277"}]}]
    one = transcript(6, evidence=evidence)
    played = play(one, Recency(), Budget(share=0.5))
    assert [kept.where for kept in played.evidence] == [10]
    assert [kept.where for kept in played.session_evidence] == [10]
    fixed = play(one, Recency(), Budget(max_tokens=played.max_tokens))
    assert fixed.evidence == fixed.session_evidence == played.session_evidence


def test_plain_windows_send_no_empty_result() -> None:
    """They are compared by what they keep, not by what the recording lacks."""
    heard = [*transcript(1).messages[:3], {"role": "tool", "tool_call_id": "call_0"}]
    one = Transcript("blank", (*heard, said("assistant", "Nothing.")))
    played = play(one, Recency(), Budget(max_tokens=10**6))
    assert [call.problems for call in played.calls] == [(), ()]


def test_a_window_without_room_for_anything_sends_nothing() -> None:
    """Where there is no system prompt either, the call cannot be made."""
    one = Transcript("none", (said("user", "Hello, you"), said("assistant", "Hi.")))
    played = play(one, Recency(), Budget(max_tokens=4))
    assert [call.is_failed for call in played.calls] == [True]
