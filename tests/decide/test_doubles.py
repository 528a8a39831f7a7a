"""One key, many items: every short history, and what is left when one is taken out."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ContextBuilder, Settings
from context_builder.render import adapter_for
from context_builder.testing import WordCounter, tool_call, turns

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from context_builder import Outcome

TEXTS = {"A": "alpha " * 30, "B": "beta " * 30, "C": "gamma " * 30}


def builder(max_tokens: int = 100_000, **settings: Any) -> ContextBuilder:
    """Return a builder that counts words."""
    return ContextBuilder(
        model="gpt-4o",
        max_tokens=max_tokens,
        counter=WordCounter(),
        settings=Settings(**settings),
    )


def told(ctx: ContextBuilder) -> dict[str, Outcome]:
    """Return what became of each item."""
    return {one.item_id: one for one in ctx.explain().outcomes}


def said(ctx: ContextBuilder) -> str:
    """Return all that is said, as one text."""
    return "\n".join(str(message["content"]) for message in ctx.build())


def add_round(ctx: ContextBuilder, letters: str, **fields: Any) -> list[str]:
    """Add calls made at once, whose results share a key; return the results' ids."""
    number = len(ctx.items)
    names = [f"c{number}_{n}" for n in range(len(letters))]
    ctx.add_assistant_message("", tool_calls=[tool_call(name) for name in names])
    return [
        ctx.add_tool_result(
            "search", TEXTS[letter], tool_call_id=name, cache_key="file", **fields
        ).id
        for letter, name in zip(letters, names, strict=True)
    ]


def rounds_of(letters: str) -> Iterator[list[str]]:
    """Yield every way to part these results into rounds."""
    for cuts in itertools.product([False, True], repeat=len(letters) - 1):
        parts = [letters[0]]
        for letter, is_new in zip(letters[1:], cuts, strict=True):
            if is_new:
                parts.append(letter)
            else:
                parts[-1] += letter
        yield parts


def session(parts: Sequence[str]) -> tuple[ContextBuilder, list[str]]:
    """Return a session with these rounds, and the ids of the results."""
    ctx = builder()
    ids: list[str] = []
    for part in parts:
        ctx.add_user_message("read it")
        ids += add_round(ctx, part)
    return ctx, ids


def expected(letters: str, ids: Sequence[str]) -> dict[str, str]:
    """Return why each result but one does not show its content, by the rule.

    The same again refers to what shows it. Other content makes stale what shows the
    old, and all that refers to that.
    """
    reasons: dict[str, str] = {}
    shows, refer = 0, list[int]()
    for new in range(1, len(letters)):
        if letters[new] == letters[shows]:
            reasons[ids[new]] = f"the same content as {ids[shows]}"
            refer.append(new)
            continue
        for old in [shows, *refer]:
            reasons[ids[old]] = f"superseded by {ids[new]}, same key"
        shows, refer = new, []
    return reasons


def check_count(ctx: ContextBuilder) -> None:
    """Check that the report and a recount of the request agree."""
    recounted = adapter_for("openai").request_tokens(ctx.request(), WordCounter().count)
    assert recounted == ctx.explain().tokens


SHORT = [
    "".join(letters)
    for count in (2, 3)
    for letters in itertools.product("AB", repeat=count)
]
FOUR = ["AABA", "ABAB", "AAAB", "ABBA", "AABB", "ABCA", "AABC", "ABBC"]


@pytest.mark.parametrize("letters", [*SHORT, *FOUR])
def test_every_history_of_a_key_ends_with_one_that_shows(letters: str) -> None:
    """In one round or in several: the rule is the same, and every count is right."""
    for parts in rounds_of(letters):
        ctx, ids = session(parts)
        reasons = expected(letters, ids)
        outcomes = told(ctx)
        deduplicated = {
            name: one.reason
            for name, one in outcomes.items()
            if one.action == "deduplicated"
        }
        assert deduplicated == reasons
        assert said(ctx).count(TEXTS[letters[-1]]) == 1
        for name, reason in reasons.items():
            assert 0 < outcomes[name].tokens_after < outcomes[name].tokens_before
            other = reason.split()[-1 if "content" in reason else 2].rstrip(",")
            kind = "newer result (" if "superseded" in reason else "earlier result "
            assert f"{kind}{other}" in said(ctx)
        check_count(ctx)


@pytest.mark.parametrize("letters", [*SHORT, *FOUR])
def test_whatever_is_taken_out_the_newest_that_is_left_shows(letters: str) -> None:
    """Whole and once; all others refer to what is still there."""
    for parts in rounds_of(letters):
        if max(map(len, parts)) > 1 and len(letters) > 3:
            continue
        for out in range(len(letters)):
            ctx, ids = session(parts)
            ctx.remove(ids[out])
            left = [n for n in range(len(letters)) if n != out]
            outcomes = told(ctx)
            newest = letters[left[-1]]
            whole = [n for n in left if outcomes[ids[n]].action == "kept"]
            assert [letters[n] for n in whole] == [newest]
            assert said(ctx).count(TEXTS[newest]) == 1
            for n in {*left} - {*whole}:
                assert outcomes[ids[n]].action == "deduplicated"
                assert ids[out] not in outcomes[ids[n]].reason
                is_same = "the same content" in outcomes[ids[n]].reason
                assert not is_same or letters[n] == newest
            check_count(ctx)


@pytest.mark.parametrize("letters", SHORT)
def test_an_edit_that_says_nothing_new_changes_nothing_of_that(letters: str) -> None:
    """Whichever was touched before: the newest that is left is whole, and once."""
    for edited, out in itertools.product(range(len(letters)), repeat=2):
        ctx, ids = session([*letters])
        ctx.edit(ids[edited], metadata={"seen": True})
        ctx.remove(ids[out])
        newest = (letters[:out] + letters[out + 1 :])[-1]
        assert said(ctx).count(TEXTS[newest]) == 1
        check_count(ctx)


def test_what_is_valid_again_is_told_as_a_move() -> None:
    """And nothing is where nothing changed."""
    ctx, ids = session(["A", "B"])
    before = len(ctx.explain().prefix_moves)
    ctx.remove(ids[1])
    assert f"{ids[0]} is valid again" in ctx.explain().prefix_moves[before:]
    ctx, ids = session(["A", "B"])
    ctx.remove(ids[0])
    assert not any("valid again" in why for why in ctx.explain().prefix_moves)


@pytest.mark.parametrize("letters", SHORT)
def test_memories_of_a_key_follow_the_same_rule(letters: str) -> None:
    """What gave way is not there at all, and takes nothing."""
    ctx = builder()
    ids = [item.id for item in map(add_memory, itertools.repeat(ctx), letters) if item]
    ctx.add_user_message("go")
    gone = {name: one for name, one in told(ctx).items() if one.action != "kept"}
    assert {name: one.reason for name, one in gone.items()} == expected(letters, ids)
    assert all(one.tokens_after == 0 for one in gone.values())
    check_count(ctx)
    for out in range(len(letters)):
        again = builder()
        items = [add_memory(again, letter) for letter in letters]
        again.add_user_message("go")
        again.build()
        again.remove(items[out].id)
        left = letters[:out] + letters[out + 1 :]
        assert said(again).count(TEXTS[left[-1]]) == 1
        check_count(again)


def add_memory(ctx: ContextBuilder, letter: str) -> Any:
    """Add a memory under the key."""
    return ctx.add_memory(TEXTS[letter], cache_key="file")


# --- What the one that shows inherits


@pytest.mark.parametrize(
    ("older", "newer", "rated"),
    [(None, None, 20), (40, None, 40), (None, 40, 40), (40, 30, 40), (30, 40, 40)],
)
def test_the_higher_priority_stays(
    older: int | None, newer: int | None, rated: int
) -> None:
    """Whichever of the two was given it, where one supersedes the other."""
    ctx = builder()
    for text, priority in (("A", older), ("B", newer)):
        given: dict[str, Any] = {} if priority is None else {"priority": priority}
        ctx.add_message(
            "user", TEXTS[text], source="memory", optional=True, cache_key="k", **given
        )
    ctx.add_user_message("go")
    assert told(ctx)["i2"].priority == rated


@pytest.mark.parametrize(
    ("older", "newer", "rated"),
    [(None, None, None), (75, 60, 75), (60, 75, 75), (None, 75, 75)],
)
def test_what_is_said_again_is_as_young_and_as_important(
    older: int | None, newer: int | None, rated: int | None
) -> None:
    """The result that shows it counts from the turn of the one that refers to it."""
    ctx = builder()
    ids = []
    for priority in (older, newer):
        given: dict[str, Any] = {} if priority is None else {"priority": priority}
        for number in range(2):
            ctx.add_user_message(f"question {number}")
            ctx.add_assistant_message("so it is")
        ctx.add_user_message("read it")
        name = f"c{len(ctx.items)}"
        ctx.add_assistant_message("", tool_calls=[tool_call(name)], **given)
        ids.append(
            ctx.add_tool_result(
                "search", TEXTS["A"], tool_call_id=name, cache_key="k", **given
            ).id
        )
    # of the current turn: 80; at the next question history, and of age 1: 65
    if rated is None:
        assert told(ctx)[ids[0]].priority == 80
        ctx.add_user_message("and now?")
        assert told(ctx)[ids[0]].priority == 65
    else:
        assert told(ctx)[ids[0]].priority == rated


@pytest.mark.parametrize("is_pinned", [False, True])
def test_the_pin_goes_to_what_supersedes(is_pinned: bool) -> None:
    """The one that gave way is pinned no more: it takes nothing."""
    ctx = builder(240, recall_share=0)
    ctx.add_memory(TEXTS["A"], cache_key="k", pinned=is_pinned)
    ctx.add_memory(TEXTS["B"], cache_key="k")
    ctx.extend(turns(20))
    ctx.add_user_message("last")
    assert (TEXTS["B"] in said(ctx)) is is_pinned
    assert TEXTS["A"] not in said(ctx)
    if is_pinned:
        ctx.remove("i2")
        assert TEXTS["A"] in said(ctx)
        ctx.extend(turns(20))
        assert TEXTS["A"] in said(ctx)  # it has its own pin again
    check_count(ctx)


# --- Who holds a key


def test_a_key_is_one_of_a_session_whatever_kind_of_item_has_it() -> None:
    """A newer message supersedes an older result of the same key."""
    ctx, ids = session(["A"])
    ctx.add_assistant_message("gamma", cache_key="file")
    assert told(ctx)[ids[0]].reason == "superseded by i4, same key"


def test_an_older_item_that_is_edited_does_not_supersede_the_newer() -> None:
    """It is stale, whatever it says now; the newer holds the key."""
    ctx, ids = session(["A", "B"])
    ctx.edit(ids[0], content=TEXTS["C"])
    outcomes = told(ctx)
    assert outcomes[ids[0]].action == "deduplicated"
    assert outcomes[ids[0]].reason == f"superseded by {ids[1]}, same key"
    assert TEXTS["B"] in said(ctx)
    assert TEXTS["C"] not in said(ctx)
    ctx.remove(ids[1])
    assert TEXTS["C"] in said(ctx)
    check_count(ctx)


def test_the_newest_that_is_edited_goes_on_holding_the_key() -> None:
    """And what gave way to it does not come back."""
    ctx, ids = session(["A", "B"])
    ctx.edit(ids[1], content=TEXTS["C"])
    assert told(ctx)[ids[1]].action == "kept"
    assert TEXTS["A"] not in said(ctx)
    assert said(ctx).count(TEXTS["C"]) == 1
    check_count(ctx)


def test_a_question_is_said_again_though_it_is_the_same() -> None:
    """What the user asks now is always there; equal words are no stale words."""
    ctx = builder()
    ctx.add_user_message("what is the price?", cache_key="k")
    ctx.add_assistant_message("four")
    ctx.add_user_message("what is the price?", cache_key="k")
    assert ctx.build()[-1]["content"] == "what is the price?"
    assert told(ctx)["i3"].action == "kept"


@pytest.mark.parametrize("pinned", [False, True])
def test_old_rounds_of_stale_results_are_the_first_to_go(pinned: bool) -> None:
    """As soon as room is needed, before anything that holds; pinned ones stay."""
    ctx = builder(300, recall_share=0)
    for number, letter in enumerate("ABC"):
        ctx.add_user_message(f"read it {number}")
        add_round(ctx, letter, pinned=pinned and letter == "A")
    for number in range(4):
        ctx.add_user_message(f"and {number} " + "why " * 40)
        ctx.add_assistant_message("so " * 10)
    outcomes = told(ctx)
    assert ctx.explain().compactions
    assert ("newer result" in said(ctx)) is pinned
    assert outcomes["i6"].action == "deduplicated"


def test_a_round_that_left_does_not_come_back_with_its_key() -> None:
    """It holds again, but it stays out: it can be recalled."""
    ctx = builder(300, recall_share=0)
    for letter in "AB":
        ctx.add_user_message("read it")
        add_round(ctx, letter)
    for number in range(4):
        ctx.add_user_message(f"and {number} " + "why " * 40)
        ctx.add_assistant_message("so " * 10)
    assert told(ctx)["i3"].action == "deduplicated"
    assert told(ctx)["i3"].tokens_after == 0
    ctx.remove("i6")
    assert told(ctx)["i3"].action == "evicted"
    assert TEXTS["A"] not in said(ctx)
    check_count(ctx)
