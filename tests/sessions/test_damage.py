"""What is left when the disk, or somebody, has damaged what was stored."""

from __future__ import annotations

import logging
import random
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.errors import SessionCorruptedError, StoreError
from context_builder.sessions import MemoryStore, SessionKey, SessionManager
from context_builder.sessions.codec import RecordCodec

if TYPE_CHECKING:
    from pathlib import Path

KEY = SessionKey("default", "s")


def manager(store: Any) -> SessionManager:
    """Make a manager with a budget."""
    return SessionManager(store=store, max_tokens=50_000)


def converse(store: Any, turns: int = 6) -> list[str]:
    """Fill a session with turns that call a tool, and return its texts."""
    with manager(store) as sessions, sessions.open("s") as ctx:
        for turn in range(turns):
            ctx.add_user_message(f"ask {turn}")
            call = {"id": f"c{turn}", "function": {"name": "f", "arguments": "{}"}}
            ctx.add_assistant_message(f"call {turn}", tool_calls=[call])
            ctx.add_tool_result("f", f"result {turn}", tool_call_id=f"c{turn}")
            ctx.add_assistant_message(f"answer {turn}")
            ctx.edit(f"i{turn * 4 + 1}", pinned=True)
        return [item.text for item in ctx.items]


def spoil(store: MemoryStore, position: int, chance: random.Random) -> None:
    """Change one byte of a record, or cut it."""
    records = store._kept[KEY].records
    record = bytearray(records[position])
    where = chance.randrange(len(record))
    if chance.random() < 0.5:
        del record[where:]
    else:
        record[where] ^= 1 + chance.randrange(255)
    records[position] = bytes(record)


@pytest.mark.parametrize("seed", range(40))
def test_the_rest_opens(seed: int, caplog: pytest.LogCaptureFixture) -> None:
    """Damaged records are named; the others are there, under their own names."""
    caplog.set_level(logging.WARNING, logger="context_builder")
    chance = random.Random(seed)  # noqa: S311
    store = MemoryStore()
    before = converse(store)
    count = len(store._kept[KEY].records)
    hit = sorted(chance.sample(range(count), chance.randint(1, 8)))
    for position in hit:
        spoil(store, position, chance)
    with manager(store) as sessions, sessions.open("s") as ctx:
        assert [damage.position for damage in ctx.damage] == hit
        assert all(damage.reason for damage in ctx.damage)
        for number, item in enumerate(ctx.items):
            assert item.id == f"i{number + 1}"
            assert item.text in {before[number], ""}
        ctx.build()
        ctx.add_user_message("go on")
        live = ctx.build()
        assert live[-1]["content"] == "go on"
    with manager(store) as sessions, sessions.open("s") as ctx:
        assert ctx.build() == live
        assert [damage.position for damage in ctx.damage] == hit
    assert any(record.message == "session_damaged" for record in caplog.records)
    assert not any("answer" in str(record.__dict__) for record in caplog.records)


def test_nothing_left_is_an_error() -> None:
    """Where no record can be read, that is said, and nothing changes."""
    store = MemoryStore()
    converse(store, turns=1)
    records = store._kept[KEY].records
    records[:] = [b"\0" * len(record) for record in records]
    before = list(records)
    with manager(store) as sessions:
        with pytest.raises(SessionCorruptedError) as caught, sessions.open("s"):
            pass
        assert (caught.value.session_id, caught.value.position) == ("s", 0)
        assert store._kept[KEY].records == before
        assert sessions.delete("s")


def test_entries_of_a_later_release_are_refused() -> None:
    """A kind of entry that is not known is no damage: the session stays closed."""
    store = MemoryStore()
    converse(store, turns=1)
    later = RecordCodec().encode(b'{"at":0,"entry":{"entry":"hologram"}}', position=0)
    store._kept[KEY].records[2] = later
    with (
        manager(store) as sessions,
        pytest.raises(StoreError, match="later version"),
        sessions.open("s"),
    ):
        pass


def damaged_file(path: Path, chance: random.Random) -> None:
    """Overwrite a few bytes somewhere behind the first pages."""
    raw = bytearray(path.read_bytes())
    for _ in range(3):
        where = chance.randrange(3 * 4096, len(raw) - 16)
        raw[where : where + 16] = chance.randbytes(16)
    path.write_bytes(raw)


@pytest.mark.parametrize("seed", range(20))
def test_a_damaged_database_gives_what_it_can(tmp_path: Path, seed: int) -> None:
    """Whatever was hit, what opens is as it was; else it is said, and never made up."""
    url, path = f"sqlite:///{tmp_path}/s.db", tmp_path / "s.db"
    before = converse(url, turns=40)
    damaged_file(path, random.Random(seed))  # noqa: S311
    with manager(url) as sessions:
        try:
            with sessions.open("s") as ctx:
                found = [item.text for item in ctx.items]
        except StoreError:
            return
    assert all(new in {old, ""} for new, old in zip(found, before, strict=False))


def refuses(store: Any, says: str) -> None:
    """Show that a store refuses to open a session, and why."""
    with manager(store) as sessions:
        block = sessions.open("s")
        with pytest.raises(StoreError, match=says):
            block.__enter__()


def test_another_programs_file_is_left_alone(tmp_path: Path) -> None:
    """A database that is not ours is not written, nor one of a later schema."""
    path = tmp_path / "other.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE theirs (a)")
    refuses(f"sqlite:///{path}", "another program")
    ours = tmp_path / "ours.db"
    converse(f"sqlite:///{ours}", turns=1)
    with closing(sqlite3.connect(ours)) as db:
        db.execute("PRAGMA user_version = 99")
    refuses(f"sqlite:///{ours}", "later version")
    text = tmp_path / "text.db"
    text.write_text("this is no database at all " * 100)
    refuses(f"sqlite:///{text}", r"text\.db")
