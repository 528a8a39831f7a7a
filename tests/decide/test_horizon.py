"""A long history that comes in at once: what is far too old leaves unmeasured."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from hypothesis import given, settings
from hypothesis import strategies as st

from context_builder import ContextBuilder, ContextItem, Settings, ToolCall
from context_builder.decide import horizon
from context_builder.decide.horizon import beyond_horizon
from context_builder.decide.rules import Rules
from context_builder.testing import WordCounter, turns
from tests.decide.test_digest import looked_up
from tests.decide.test_rungs import Ruler, answer, user

if TYPE_CHECKING:
    import pytest

    from context_builder.items import Unit

BUDGET_TOKENS = 600


class Counting(WordCounter):
    """Counts words, and remembers of which texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def count(self, text: str) -> int:
        """Count the words of a text."""
        self.texts.append(text)
        return super().count(text)


def history(count: int) -> list[dict[str, Any]]:
    """Return turns with calls, each text another one."""
    said: list[dict[str, Any]] = []
    for number in range(count):
        said += [
            {"role": "user", "content": f"question {number} about order_{number}"},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": f"c{number}",
                        "type": "function",
                        "function": {"name": "look", "arguments": "{}"},
                    }
                ],
            },
            {
                "role": "tool",
                "tool_call_id": f"c{number}",
                "content": f"result {number}: " + "row " * 40,
            },
            {"role": "assistant", "content": f"answer {number} " + "word " * 15},
        ]
    return said


def builder(**options: Any) -> ContextBuilder:
    """Return a builder that counts words."""
    options = {"max_tokens": BUDGET_TOKENS, "counter": WordCounter(), **options}
    return ContextBuilder(**options)


def all_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the shortcut away."""
    monkeypatch.setattr(horizon, "LEAST_UNITS", 10**9)


def test_what_is_far_too_old_is_not_counted() -> None:
    """The work of a load is that of what may fit, not that of the history."""
    counter = Counting()
    ctx = builder(counter=counter)
    ctx.extend(history(2_000))
    ctx.build()
    results = [text for text in counter.texts if text.startswith("result")]
    assert 10 < len(set(results)) < 100


def test_the_request_is_the_same_as_if_all_had_been_measured(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The horizon is several budgets away: nothing behind it would have stayed."""
    near = builder()
    near.extend(history(300))
    request, report = near.build(), near.explain()
    all_measured(monkeypatch)
    far = builder()
    far.extend(history(300))
    assert far.build() == request
    assert [(o.item_id, o.tokens_before, o.action) for o in far.explain().outcomes] == [
        (o.item_id, o.tokens_before, o.action) for o in report.outcomes
    ]


def test_a_large_result_fills_no_more_than_its_reference() -> None:
    """As references many more results fit, and those are looked at."""
    rules = Rules(Ruler(), Settings(reference_facts_tokens=6))

    def looked_at(units: list[Unit]) -> int:
        units = [*units, user(len(units) + 1, 2)]
        return len(units) - len(beyond_horizon(units, (), 6_400, rules))

    said = [answer(n, 1, 1_000) for n in range(1, 400)]
    found = [
        dataclasses.replace(looked_up(2 * n, "{}", "word " * 1_000), turn=1)
        for n in range(1, 400)
    ]
    assert looked_at(said) == 65  # a hundred tokens each
    assert 195 < looked_at(found) < 205  # twenty-four and six, and the call


def test_the_report_counts_what_the_request_did_not() -> None:
    """Every item is accounted for, with what it would have taken, and why it left."""
    ctx = builder()
    ctx.extend(history(500))
    outcomes = ctx.explain().outcomes
    assert [one.item_id for one in outcomes] == [f"i{n}" for n in range(1, 2_001)]
    assert all(one.tokens_before for one in outcomes)
    oldest = outcomes[0]
    assert (oldest.action, oldest.reason) == ("evicted", horizon.BEYOND)
    assert "1,9" in ctx.build()[0]["content"].partition("messages were")[0]


def test_one_load_is_one_decision_on_every_machine() -> None:
    """A session that is restored from its log decides the same."""
    ctx = builder()
    ctx.extend(history(400))
    ctx.add_user_message("what of order_12?")
    again = ContextBuilder.load(
        ctx.dump(), max_tokens=BUDGET_TOKENS, counter=WordCounter()
    )
    assert again.build() == ctx.build()
    assert again.explain() == ctx.explain()


def test_what_left_unmeasured_is_found_again() -> None:
    """The newest of it is in the archive."""
    ctx = builder(max_tokens=1_000)
    said = history(120)
    said[160]["content"] = "the lighthouse keeper prefers marzipan"
    ctx.extend(said)
    fate = next(one for one in ctx.explain().outcomes if one.item_id == "i161")
    assert fate.reason == horizon.BEYOND
    ctx.add_user_message("what does the lighthouse keeper prefer?")
    assert "prefers marzipan" in str(ctx.build()[:-1])


def test_pins_priorities_and_keys_are_looked_at_however_old() -> None:
    """Only what nobody asked anything for leaves unmeasured."""
    pinned = ContextItem(role="user", content="never forget this", pinned=True)
    dear = ContextItem(role="assistant", content="dear old answer", priority=95)
    keyed = ContextItem(role="user", content="a stale fact", cache_key="fact")
    ctx = builder()
    items = [
        ContextItem(role=one["role"], content=one["content"])
        for one in turns(400)
        if isinstance(one["content"], str)
    ]
    ctx.add_turn([pinned, dear, keyed, *items])
    said = str(ctx.build())
    assert "never forget this" in said
    assert "dear old answer" in said
    assert {one.reason for one in ctx.explain().outcomes[2:3]} != {horizon.BEYOND}


def test_what_is_rated_lower_leaves_as_well() -> None:
    """No inversion: a low priority of the newest turns does not outlive the rest."""
    items = [
        ContextItem(role=one["role"], content=one["content"])
        for one in turns(400)
        if isinstance(one["content"], str)
    ]
    cheap = ContextItem(role="assistant", content="cheap words", priority=3)
    ctx = builder()
    ctx.add_turn([*items[:-4], cheap, *items[-4:]])
    assert "cheap words" not in str(ctx.build())


def test_a_message_far_back_is_whole_when_it_is_the_latest_again() -> None:
    """Rewinding behind the horizon measures what is shown again."""
    ctx = builder()
    logged = ctx.extend(history(300))
    ctx.build()
    ctx.rewind(logged[8].id)
    assert ctx.build()[-1]["content"] == "question 2 about order_2"
    assert ctx.explain().tokens <= BUDGET_TOKENS


def test_a_message_far_back_can_be_edited_and_removed() -> None:
    """What left unmeasured is still the session's."""
    ctx = builder()
    logged = ctx.extend(history(300))
    ctx.build()
    ctx.edit(logged[0].id, content="other words")
    ctx.remove(logged[4].id)
    ctx.edit(logged[2].id, pinned=True)
    fates = {one.item_id: one.action for one in ctx.explain().outcomes}
    assert fates[logged[2].id] == "kept"
    assert fates[logged[0].id] == "evicted"
    assert logged[4].id not in fates or fates[logged[4].id] == "evicted"


def test_own_rules_are_asked_about_everything() -> None:
    """Where somebody has rules of another kind, nothing leaves unasked."""
    ctx = builder(settings=Settings(keep_first_messages=3))
    ctx.extend(history(300))
    assert "question 0 about order_0" in str(ctx.build())
    assert horizon.BEYOND not in {one.reason for one in ctx.explain().outcomes}


@settings(max_examples=25, deadline=None)
@given(
    count=st.integers(20, 150),
    budget=st.integers(200, 3_000),
    lows=st.sets(st.integers(0, 400), max_size=6),
    priority=st.integers(0, 60),
)
def test_no_unit_leaves_while_a_less_important_one_stays(
    count: int, budget: int, lows: set[int], priority: int
) -> None:
    """For any history with a few ratings in it."""
    items = []
    for number, said in enumerate(history(count)):
        rated = priority if number in lows else -1
        if said["role"] == "tool":
            items.append(
                ContextItem(
                    role="tool",
                    content=said["content"],
                    tool_call_id=said["tool_call_id"],
                    tool_name="look",
                )
            )
        elif said.get("tool_calls"):
            call = ToolCall(id=said["tool_calls"][0]["id"], name="look")
            items.append(ContextItem(role="assistant", tool_calls=(call,)))
        else:
            items.append(
                ContextItem(role=said["role"], content=said["content"], priority=rated)
            )
    ctx = builder(max_tokens=budget)
    ctx.add_turn(items)
    ctx.build()
    passed = [o for o in ctx.explain().outcomes if o.reason == horizon.BEYOND]
    kept = [
        o
        for o in ctx.explain().outcomes
        if o.action == "kept" and o.role != "tool" and o.context_class == "history"
    ]
    if passed and kept:
        best = max(o.priority for o in passed if o.role != "tool")
        assert min(o.priority for o in kept) >= min(best, 30)


def test_what_gives_way_to_equal_content_fills_no_request() -> None:
    """Many versions of one thing push nothing out: one of them is shown."""
    told = [ContextItem(role=one["role"], content=one["content"]) for one in turns(8)]
    versions = [
        ContextItem(role="user", content=f"state {n} " + "so " * 40, cache_key="state")
        for n in range(150)
    ]
    ctx = builder()
    ctx.add_turn([*told, *versions])
    assert "question 0" in str(ctx.build())
    assert horizon.BEYOND not in {one.reason for one in ctx.explain().outcomes}
