"""The report: a table for people, data for programs, and never content."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from inline_snapshot import snapshot

from context_builder import ContextBuilder, Outcome, Report
from context_builder.report import ClassUse

if TYPE_CHECKING:
    from context_builder.items import Action


def outcome(
    number: int, action: Action = "kept", after: int = 10, why: str = ""
) -> Outcome:
    """Return what became of an item of 10 tokens."""
    return Outcome(
        item_id=f"i{number}",
        role="user",
        source="user",
        action=action,
        tokens_before=10,
        tokens_after=after,
        reason=why,
        context_class="history",
        priority=70,
    )


REPORT = Report(
    target="openai",
    model="gpt-4o",
    budget_tokens=4_000,
    context_window=128_000,
    tokens=1_234,
    is_exact=True,
    parts={"system": 0, "tools": 0, "overhead": 3, "notice": 0, "messages": 1_231},
    outcomes=(
        outcome(1, "evicted", 0, "over budget"),
        outcome(2, "evicted", 0, "over budget"),
        outcome(3, "evicted", 0, "over budget"),
        outcome(4, "shortened", 5, "too long"),
        outcome(5, "repaired", 10, "put behind its call"),
        outcome(6),
        outcome(7),
    ),
    classes=(ClassUse("system", 3, 600), ClassUse("history", 1_231, 1_000)),
    compactions=1,
    prefix_moves=("compaction",),
    pending_calls=0,
    revision=7,
)


def test_the_table_reads_well() -> None:
    """Items alike in a row are one line; then the classes and the totals."""
    assert str(REPORT) == snapshot("""\
item   from     what       before  after  why
-----  -------  ---------  ------  -----  -------------------
i1-i3  3 items  evicted        30      0  over budget
i4     user     shortened      10      5  too long
i5     user     repaired       10     10  put behind its call
i6     user     kept           10     10
i7     user     kept           10     10

system                3 of       600 tokens
history           1,231 of     1,000 tokens

1,234 of 4,000 tokens (31%) for openai gpt-4o; 1 compaction, 4 of 7 items not whole\
""")


def test_an_estimate_says_so_and_one_compaction_is_one() -> None:
    """Numbers that were not counted are named."""
    estimated = Report(
        **{
            **{name: getattr(REPORT, name) for name in REPORT.__slots__},
            "is_exact": False,
            "model": None,
            "compactions": 2,
        }
    )
    assert str(estimated).splitlines()[-1] == snapshot(
        "about 1,234 of 4,000 tokens (31%) for openai; 2 compactions, "
        "4 of 7 items not whole"
    )


def test_what_is_not_whole_is_listed() -> None:
    """A repair that left the item whole is no loss."""
    assert [one.item_id for one in REPORT.removed] == ["i1", "i2", "i3", "i4"]


def test_it_is_plain_data_for_programs() -> None:
    """Ready for JSON, and the same again."""
    data = REPORT.to_dict()
    assert json.loads(json.dumps(data)) == json.loads(json.dumps(REPORT.to_dict()))
    assert data["outcomes"][3] == snapshot(
        {
            "item_id": "i4",
            "role": "user",
            "source": "user",
            "action": "shortened",
            "tokens_before": 10,
            "tokens_after": 5,
            "reason": "too long",
            "context_class": "history",
            "priority": 70,
        }
    )
    assert data["classes"][0] == {"name": "system", "tokens": 3, "share_tokens": 600}


def test_an_empty_report_prints() -> None:
    """Before anything came in there is a table of nothing."""
    empty = Report(
        **{
            **{name: getattr(REPORT, name) for name in REPORT.__slots__},
            "outcomes": (),
            "classes": (),
            "tokens": 0,
        }
    )
    assert "0 of 0 items not whole" in str(empty)


def test_a_guessed_window_is_said_to_be_one() -> None:
    """In the data and in the table; what is known or given is no guess."""
    ctx = ContextBuilder(model="gpt-4o-of-tomorrow")
    ctx.add_user_message("Hello.")
    report = ctx.explain()
    assert report.guessed_from == "gpt-4o"
    assert str(report).splitlines()[-1].split(": ") == snapshot(
        [
            "the window of 128,000 tokens is a guess",
            "gpt-4o-of-tomorrow is not known, it counts as gpt-4o",
        ]
    )
    assert ContextBuilder(model="gpt-4o").explain().guessed_from is None
    given = ContextBuilder(model="gpt-4o-of-tomorrow", context_window=9_000).explain()
    assert given.guessed_from is None
    assert "guess" not in str(given)
    capped = ContextBuilder(model="gpt-4o-of-tomorrow", max_tokens=900).explain()
    assert capped.guessed_from == "gpt-4o"
