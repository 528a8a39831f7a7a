from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from context_builder.errors import SummarizerError
from context_builder.summarizers import (
    SummaryPolicy,
    SummaryText,
    prompt_text,
    summary_flow,
)
from tests.summarizers.conversations import (
    COUNT,
    POLICY,
    request,
    talk,
    tool_round,
    user,
)

if TYPE_CHECKING:
    from context_builder.summarizers import SummaryRequest, SummaryResult


def run(
    asked: SummaryRequest, *answers: str | Exception, policy: SummaryPolicy = POLICY
) -> tuple[SummaryResult, list[SummaryRequest]]:
    """Send the answers one after the other, the last one for ever."""
    flow = summary_flow(asked, policy)
    seen: list[SummaryRequest] = []
    try:
        wish = next(flow)
        while True:
            seen.append(wish)
            wish = flow.send(answers[min(len(seen), len(answers)) - 1])
    except StopIteration as stop:
        result: SummaryResult = stop.value
        return result, seen


def test_a_good_answer_is_accepted() -> None:
    """The text, what it covers, and what that took."""
    asked = request(former="Goal: walls")
    result, seen = run(asked, "Goal: roof")
    assert result.is_accepted
    assert result.text == "Goal: roof"
    assert result.covered == asked.items
    assert result.covered_ids[:2] == ("i1", "i2")
    assert result.reason is None
    assert result.tokens == 3
    assert result.replaced_tokens > 300
    assert seen == [asked]


@pytest.mark.parametrize(
    ("answer", "reason", "calls"),
    [
        (RuntimeError("backend 503 busy"), "failed", 1),
        (TimeoutError(), "timeout", 1),
        ("", "empty", 2),
        ("word upon word " * 400, "too_long", 2),
        ('{"goal": "half', "cut_off", 2),
        ("backend 503 busy", "error_text", 1),
        ("I'm sorry, I can't help with that.", "refusal", 1),
    ],
)
def test_a_bad_answer_is_refused(
    answer: str | Exception, reason: str, calls: int
) -> None:
    """Never more than two calls; who failed or declined is not asked again."""
    asked = request()
    result, seen = run(asked, answer)
    assert (result.text, result.reason, result.calls) == (None, reason, calls)
    assert len(seen) == calls
    assert result.covered == asked.items
    if calls == 2:
        assert seen[1] == dataclasses.replace(asked, problem=seen[1].problem)
        assert seen[1].problem == reason


def test_the_second_answer_may_be_good() -> None:
    """It is told what was wrong, and asked once more."""
    result, seen = run(request(), "", "Goal: roof")
    assert result.text == "Goal: roof"
    assert seen[1].problem == "empty"


def test_what_is_not_smaller_is_refused() -> None:
    """A summary that takes as much as the messages is none."""
    asked = request([user(1, "paint it blue now")], budget_tokens=1_000)
    result, _ = run(asked, "the user wants it painted blue now")
    assert result.reason == "not_smaller"


def test_the_error_is_kept_and_its_text_is_not_repeated() -> None:
    """The cause is there for who looks; the message holds no content."""
    error = RuntimeError("secret backend 503")
    result, _ = run(request(), error)
    assert isinstance(result.error, SummarizerError)
    assert result.error.__cause__ is error
    assert "secret" not in str(result.error)
    own = SummarizerError("mine")
    assert run(request(), own)[0].error is own


def test_nothing_to_ask_for_asks_nobody() -> None:
    """No items, or none that may be shown."""
    result, seen = run(request([]), "x")
    assert (result.reason, result.calls, seen) == ("nothing_new", 0, [])


def test_what_the_maker_says_is_added_up() -> None:
    """Usage is reported over all calls; None where nobody said."""
    bad = SummaryText("", input_tokens=10, output_tokens=2)
    good = SummaryText("Goal: x", input_tokens=11)
    result, _ = run(request(), bad, good)
    assert (result.input_tokens, result.output_tokens) == (21, 2)
    assert run(request(), "Goal: x")[0].input_tokens is None


# --- input that the summariser's window does not hold ---------------------------------

SMALL = SummaryPolicy(summarizer_window_tokens=2_000)


def test_long_input_is_worked_off_in_chunks() -> None:
    """Each chunk extends the summary of the last; together they are all items."""
    asked = request(talk(60), policy=SMALL)
    result, seen = run(asked, "Goal: one", "Goal: two", "Goal: three", policy=SMALL)
    assert len(seen) > 2
    assert [wish.former for wish in seen[:3]] == [None, "Goal: one", "Goal: two"]
    assert sum((wish.items for wish in seen), ()) == asked.items == result.covered
    for wish in seen:
        assert COUNT(prompt_text(wish)) + wish.max_tokens <= 2_000


def test_a_failing_chunk_leaves_what_was_done_before_it() -> None:
    """A later failure does not throw away an earlier, accepted summary."""
    asked = request(talk(60), policy=SMALL)
    result, seen = run(asked, "Goal: one", RuntimeError(), policy=SMALL)
    assert result.text == "Goal: one"
    assert result.covered == seen[0].items
    assert result.rest_reason == "failed"
    assert isinstance(result.error, SummarizerError)


def test_there_is_an_end_to_chunks() -> None:
    """What the last chunk allowed does not hold is left for the next compaction."""
    policy = SummaryPolicy(summarizer_window_tokens=2_000, max_chunks=2)
    asked = request(talk(300), policy=policy)
    result, seen = run(asked, "Goal: one", policy=policy)
    assert len(seen) == 2
    assert result.covered == seen[0].items + seen[1].items != asked.items


def test_one_more_try_is_for_all_chunks_together() -> None:
    """An endpoint that is at its end is not asked twice for each chunk."""
    result, seen = run(request(talk(60), policy=SMALL), "", "Goal: x", "", policy=SMALL)
    assert [wish.problem for wish in seen] == [None, "empty", None]
    assert result.rest_reason == "empty"


def test_calls_are_not_torn_from_their_results() -> None:
    """A chunk ends between units, never inside one."""
    rounds = [tool_round(3 * n + 1, "row " * 200) for n in range(30)]
    asked = request([item for each in rounds for item in each], policy=SMALL)
    _, seen = run(asked, "Goal: x", policy=SMALL)
    assert len(seen) > 1
    for wish in seen:
        assert wish.items[0].tool_calls
        assert wish.items[-1].role == "tool"


def test_the_summary_takes_its_share_of_the_budget_at_most() -> None:
    """15 % of the budget, and never more than a quarter of the summariser's window."""
    assert request(budget_tokens=1_050).max_tokens == 157
    assert request(budget_tokens=700_000).max_tokens == 8_000
