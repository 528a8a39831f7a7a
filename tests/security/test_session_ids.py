"""Threat: guessing a session, or reaching another one by what its id says.

Ids are opaque: no store looks into them, and no file is named after one.
"""

from __future__ import annotations

import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_builder import InvalidItemError
from context_builder.sessions import SessionKey, SessionManager
from context_builder.web.service import new_session_id

if TYPE_CHECKING:
    from pathlib import Path

HOSTILE = (
    "' OR '1'='1",
    "x'; DROP TABLE sessions; --",
    '" UNION SELECT * FROM records --',
    "%",
    "_",
    "*",
    "../../etc/passwd",
    "..\\..\\windows",
    "/etc/passwd",
    "~root",
    "file:///etc/passwd",
    "a\0b",
    "\ud800",
    "\u202e",
    "\r\nSet-Cookie: x=y",
    "$(touch broken)",
    "`touch broken`",
    "{{7*7}}",
    "con",
    ".",
    "x" * 512,
)
IDS = st.sampled_from(HOSTILE) | st.text(
    st.characters(codec=None, exclude_categories=()), min_size=1, max_size=40
)


@pytest.mark.parametrize("store", ["memory:", "sqlite"])
def test_each_id_is_a_session_of_its_own(store: str, tmp_path: Path) -> None:
    """All of them side by side, in two namespaces; none reads or ends another."""
    folder = tmp_path / "kept"
    url = f"sqlite:///{folder}/s.db" if store == "sqlite" else store
    with SessionManager(max_tokens=500, store=url) as sessions:
        for number, session_id in enumerate(HOSTILE):
            for manager in (sessions, sessions.for_namespace(HOSTILE[number - 1])):
                with manager.open(session_id) as ctx:
                    assert ctx.is_new
                    ctx.add_user_message(f"{manager.namespace} {number}")
        assert sessions.delete("%")
        assert not sessions.delete("'")
        listed = {one.session_id for one in sessions.list()}
        assert listed == set(HOSTILE) - {"%"}
        for number, session_id in enumerate(HOSTILE):
            if session_id == "%":
                continue
            with sessions.open(session_id) as ctx:
                assert [item.text for item in ctx.items] == [f"default {number}"]
            assert f"default {number}" in sessions.export(session_id)
    written = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert written <= {"s.db", "s.db-wal", "s.db-shm"}


def test_the_tables_are_as_they_were(tmp_path: Path) -> None:
    """No id is a statement."""
    with SessionManager(max_tokens=500, store=f"sqlite:///{tmp_path}/s.db") as sessions:
        for session_id in HOSTILE:
            with sessions.open(session_id) as ctx:
                ctx.add_user_message("x")
            assert sessions.list(after=session_id, limit=1) is not None
    with sqlite3.connect(tmp_path / "s.db") as db:
        tables = {row[0] for row in db.execute("SELECT name FROM sqlite_schema")}
        (kept,) = db.execute("SELECT count(*) FROM sessions").fetchone()
    db.close()
    assert {"sessions", "records"} <= tables
    assert kept == len(HOSTILE)


@settings(max_examples=50)
@given(one=IDS, other=IDS)
def test_two_ids_are_one_only_if_they_are_equal(one: str, other: str) -> None:
    """Whatever they are made of, as stores keep them."""
    keys = SessionKey("n", one), SessionKey("n", other)
    assert (keys[0].raw_id == keys[1].raw_id) == (one == other)
    swapped = SessionKey(one, other), SessionKey(other, one)
    assert (swapped[0] == swapped[1]) == (one == other)


@pytest.mark.parametrize("session_id", ["", "x" * 513, None, 7, b"x", ["x"]])
def test_what_is_no_id_is_refused(session_id: object) -> None:
    """Before a store sees it, and without being said back."""
    sessions = SessionManager(max_tokens=500)
    with pytest.raises(InvalidItemError) as refused:
        sessions.open(session_id)  # type: ignore[arg-type]
    assert "xx" not in str(refused.value)


def test_ids_that_the_service_makes_cannot_be_guessed() -> None:
    """128 random bits each: ten thousand share nothing but their time."""
    made = [new_session_id() for _ in range(10_000)]
    secrets = [one.partition("-")[2] for one in made]
    assert len(set(secrets)) == len(made)
    assert {len(secret) for secret in secrets} == {32}
    for place in range(32):  # each digit takes every value
        assert {secret[place] for secret in secrets} == set("0123456789abcdef")
