"""What vendors say of a session: bills correct estimates, errors teach limits."""

from __future__ import annotations

from typing import Any

import pytest

from context_builder import ContextBuilder, InvalidItemError
from context_builder.items import UsageRecorded
from context_builder.testing import turns

MODEL = "claude-sonnet-4-5"


def session(**settings: Any) -> ContextBuilder:
    """Return a session with a vendor whose tokens are estimated."""
    ctx = ContextBuilder(model=MODEL, **settings)
    ctx.extend(turns(10))
    ctx.add_user_message("and now?")
    return ctx


def test_a_bill_above_the_estimate_makes_the_budget_smaller() -> None:
    """What was billed for a request corrects what the next one may take."""
    ctx = session(max_tokens=4_000)
    before = ctx.explain("anthropic")
    ctx.request("anthropic")
    ctx.record_usage(int(before.tokens * 1.5), target="anthropic")
    after = ctx.explain("anthropic")
    assert after.budget_tokens < before.budget_tokens
    assert after.tokens == before.tokens


def test_a_bill_is_read_from_the_answer() -> None:
    """The vendor's answer is enough; cached tokens count as input."""
    ctx = session(max_tokens=4_000)
    tokens = ctx.explain("anthropic").tokens
    ctx.request("anthropic")
    ctx.record_usage(
        {
            "type": "message",
            "role": "assistant",
            "model": MODEL,
            "content": [{"type": "text", "text": "so"}],
            "stop_reason": "end_turn",
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": tokens,
                "cache_creation_input_tokens": 0,
                "output_tokens": 3,
            },
        }
    )
    assert ctx.explain("anthropic").budget_tokens <= 4_000


def test_an_exact_count_is_not_corrected() -> None:
    """Where the model's own tokenizer counts, a bill changes nothing."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=4_000)
    ctx.extend(turns(10))
    ctx.request()
    ctx.record_usage(9_000)
    assert ctx.explain().budget_tokens == 4_000


def test_a_limit_that_an_error_named_is_kept_for_its_model() -> None:
    """The learned limit is the budget from then on, also after a reload."""
    ctx = session()
    ctx.learn_limit(MODEL, 1_000)
    budget = ctx.explain("anthropic").budget_tokens
    assert budget == 700
    assert ctx.explain("anthropic").tokens <= budget
    again = ContextBuilder.load(ctx.dump(), model=MODEL)
    assert again.request("anthropic") == ctx.request("anthropic")
    assert again.explain("anthropic").budget_tokens == budget


@pytest.mark.parametrize("usage", [0, -3, True, "many", None, 2.5])
def test_what_is_no_bill_is_refused(usage: object) -> None:
    """Nothing is logged of it."""
    ctx = session(max_tokens=4_000)
    ctx.request("anthropic")
    revision = ctx.revision
    with pytest.raises(InvalidItemError):
        ctx.record_usage(usage)
    assert ctx.revision == revision


def test_a_bill_needs_a_request() -> None:
    """Before anything was built there is nothing that could have been billed."""
    with pytest.raises(InvalidItemError):
        session(max_tokens=4_000).record_usage(500)


def test_a_stream_that_raises_is_kept_as_far_as_it_came() -> None:
    """The caller hears of the error, and what was said until then is in the log."""

    def stream() -> Any:
        yield {
            "object": "chat.completion.chunk",
            "choices": [{"index": 0, "delta": {"content": "The three"}}],
        }
        message = "connection lost"
        raise ConnectionError(message)

    ctx = ContextBuilder(max_tokens=4_000)
    ctx.add_user_message("name three")
    with pytest.raises(ConnectionError):
        ctx.add_response(stream())
    assert ctx.items[-1].text == "The three"
    assert ctx.items[-1].partial


# --- the bill that comes with an answer -----------------------------------------------


def claude_says(input_tokens: int, model: str = MODEL) -> dict[str, Any]:
    """Return an answer of Claude's, and what it cost."""
    return {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": [{"type": "text", "text": "so"}],
        "stop_reason": "end_turn",
        "usage": {"input_tokens": input_tokens, "output_tokens": 3},
    }


def bills(ctx: ContextBuilder) -> list[UsageRecorded]:
    """Return the bills that the log holds."""
    return [entry for entry in ctx.log.since(0) if isinstance(entry, UsageRecorded)]


def test_an_answer_brings_its_bill() -> None:
    """As `record_usage` does; told once more, the same bill is no news."""
    ctx, other = session(max_tokens=4_000), session(max_tokens=4_000)
    counted = ctx.explain("anthropic").tokens
    answer = claude_says(counted * 2)
    for one in (ctx, other):
        one.request("anthropic")
    ctx.add_response(answer)
    ctx.record_usage(answer)
    other.add_assistant_message("so")
    other.record_usage(answer)
    (bill,) = bills(ctx)
    assert bill.billed_tokens == counted * 2
    assert bills(other) == [bill]
    assert ctx.request("anthropic") == other.request("anthropic")
    assert ctx.explain("anthropic").budget_tokens < 4_000


def test_a_bill_over_the_budget_compacts_with_the_answer() -> None:
    """Nobody has to hand the bill in apart: `add_response` is enough."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=400)
    ctx.extend(turns(7))
    before = ctx.explain().compactions
    ctx.request()
    ctx.add_response(
        {
            "object": "chat.completion",
            "model": "gpt-4o-2024-08-06",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": "so"},
                }
            ],
            "usage": {"prompt_tokens": 401, "completion_tokens": 1},
        }
    )
    after = ctx.explain()
    assert after.compactions == before + 1
    assert "bill" in after.prefix_moves[-1]
    again = ContextBuilder.load(ctx.dump(), model="gpt-4o", max_tokens=400)
    assert again.request() == ctx.request()


def test_an_answer_to_something_else_brings_no_bill() -> None:
    """One without a request, a second, another vendor's, one after more was said."""
    ctx = session(max_tokens=4_000)
    ctx.add_response(claude_says(900))
    ctx.request("anthropic")
    ctx.add_response(claude_says(900, model="gpt-4o"))
    ctx.request("anthropic")
    ctx.add_user_message("wait")
    ctx.explain("anthropic")
    ctx.add_response(claude_says(900))
    assert bills(ctx) == []
    ctx.request("anthropic")
    ctx.add_response(claude_says(900))
    ctx.add_response(claude_says(800))
    assert [bill.billed_tokens for bill in bills(ctx)] == [900]


@pytest.mark.parametrize("tokens", [0, -1, 10**15])
def test_no_answer_is_lost_for_its_bill(tokens: int) -> None:
    """A bill that cannot be is left out; the answer is in the log."""
    ctx = session(max_tokens=4_000)
    ctx.request("anthropic")
    ctx.add_response(claude_says(tokens))
    assert ctx.items[-1].text == "so"
    assert bills(ctx) == []
