"""Logging: silent until somebody listens, and never a word of content."""

from __future__ import annotations

import logging
import re
import subprocess
import sys
from pathlib import Path

import pytest

import context_builder
from context_builder import BudgetExceededError, ContextBuilder
from context_builder.testing import WordCounter, turns

SECRET = "the-door-code-is-4711"  # noqa: S105  what must not be in a log

FIRST_ARGUMENT = re.compile(r"(?:log_event|\._event|\._tell)\(\s*([^,()]+)")
NAME = re.compile(r'"([a-z_]+)"')
USE = """
from context_builder import ContextBuilder
ctx = ContextBuilder(max_tokens=1_000)
ctx.add_user_message("hello")
ctx.build()
"""


def builder(max_tokens: int = 1_000) -> ContextBuilder:
    """Return a session that has something to hide."""
    ctx = ContextBuilder(
        max_tokens=max_tokens, counter=WordCounter(), system_prompt=f"Hide {SECRET}"
    )
    ctx.set_tools([{"name": "search", "description": SECRET}])
    ctx.extend(turns(2, tools=True))
    ctx.add_user_message(SECRET, metadata={"note": SECRET})
    return ctx


def test_a_build_is_one_event_with_its_totals(caplog: pytest.LogCaptureFixture) -> None:
    """Tokens, budget, messages, compactions, how long it took."""
    ctx = builder()
    with caplog.at_level(logging.DEBUG, logger="context_builder"):
        messages = ctx.build()
    (record,) = caplog.records
    facts = record.__dict__
    assert (record.name, record.msg) == ("context_builder", "context_built")
    assert facts["tokens"] == ctx.explain().tokens
    assert facts["budget_tokens"] == 1_000
    assert facts["messages"] == len(messages)
    assert facts["compactions"] == 0
    assert facts["revision"] == ctx.revision
    assert facts["duration_seconds"] >= 0


def test_an_unchanged_session_logs_nothing_more(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Nothing was built."""
    ctx = builder()
    with caplog.at_level(logging.DEBUG, logger="context_builder"):
        ctx.build()
        ctx.build()
        ctx.request(model=None) if ctx.model else None
        ctx.explain()
    assert len(caplog.records) == 1


def test_no_event_holds_content(caplog: pytest.LogCaptureFixture) -> None:
    """Not in its text, not in its facts."""
    ctx = builder(120)
    with caplog.at_level(logging.DEBUG):
        ctx.build()
        ctx.explain()
        ctx.add_message("user", f"{SECRET} " * 900, pinned=True)
        with pytest.raises(BudgetExceededError) as error:
            ctx.build()
    assert caplog.records
    assert all(SECRET not in str(record.__dict__) for record in caplog.records)
    assert SECRET not in str(error.value)


def test_every_event_is_on_the_page() -> None:
    """What the code says and what docs/sessions.md lists are the same names."""
    root = Path(context_builder.__file__).parent
    said = {
        name
        for path in root.rglob("*.py")
        for argument in FIRST_ARGUMENT.findall(path.read_text(encoding="utf-8"))
        for name in NAME.findall(argument)
    }
    page = (root.parent / "docs" / "sessions.md").read_text(encoding="utf-8")
    table = page.partition("## Events")[2].partition("With OpenTelemetry")[0]
    rows = re.findall(r"^\| (`.*?) \|", table, re.M)
    listed = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert said == listed
    assert "compacted" in said


def test_the_library_is_silent_by_default() -> None:
    """Not even Python's handler of last resort says anything."""
    done = subprocess.run(
        [sys.executable, "-c", USE], capture_output=True, text=True, check=True
    )
    assert done.stdout == done.stderr == ""


def test_a_build_that_explain_asked_for_is_an_event_too(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """One event for each request that was worked out."""
    ctx = builder()
    with caplog.at_level(logging.DEBUG, logger="context_builder"):
        ctx.explain()
        ctx.build()
    assert len(caplog.records) == 1
