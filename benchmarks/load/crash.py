"""Shows that what was acknowledged survives: kill -9, a torn log, a torn file.

    python -m benchmarks.load.crash --points 1000

Kills: a process writes turns and says after each that it is safe; it is killed at a
random moment, and its sessions are read by another. Tears: SQLite's log, or a session's
file, is cut and overwritten at random places, as a power cut may leave it.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from context_builder import ContextBuilder
from context_builder.errors import SessionCorruptedError
from context_builder.sessions import SessionManager, load_session, save_session

__all__ = ["prove_kills", "prove_torn_files", "prove_torn_logs"]

WORDS = ("alpha ", "größe ", "尺寸 ", "📦 ", "delta ")
SESSION_POINTS = 50
"""Crashes that one session goes through before another takes its place."""


def _text(chance: random.Random, number: int) -> str:
    return f"{number} " + chance.choice(WORDS) * chance.randrange(1, 120) + "."


def _manager(store: str) -> SessionManager:
    return SessionManager(store=store, max_tokens=4_096, lease_seconds=0.05)


def _write_turns(store: str, session_id: str, seed: int, says: int) -> None:
    """Write turns until killed; say how many messages are safe."""
    chance = random.Random(seed)
    with _manager(store) as sessions:
        while True:
            with sessions.open(session_id) as ctx:
                place = len(ctx.items)
                for _ in range(chance.randrange(1, 4)):
                    ctx.add_user_message(_text(chance, place))
                    place += 1
                if chance.random() < 0.5:
                    ctx.commit()
                    os.write(says, b"%d\n" % place)
                ctx.add_assistant_message(_text(chance, place))
                place += 1
            os.write(says, b"%d\n" % place)


def _killed_writer(store: str, session_id: str, seed: int, seconds: float) -> int:
    """Fork a writer, kill it after so long, and return what it was told is safe."""
    hears, says = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        try:
            os.close(hears)
            _write_turns(store, session_id, seed, says)
        finally:
            os._exit(1)
    os.close(says)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with os.fdopen(hears, "rb") as pipe:
        lines = pipe.read().split(b"\n")[:-1]
    return int(lines[-1]) if lines else 0


def prove_kills(store: str, *, points: int, seed: int = 1) -> dict[str, int]:
    """Kill a writer so many times; nothing that it was told is safe may be missing.

    Raises:
        AssertionError: If a message is missing, doubled or out of its place.
    """
    chance = random.Random(seed)
    total, known = 0, 0
    for point in range(points):
        session_id = f"crash {seed} {point // SESSION_POINTS}"
        if point % SESSION_POINTS == 0:
            known = 0
        safe = _killed_writer(store, session_id, point, chance.uniform(0.0, 0.06))
        with _manager(store) as sessions, sessions.open(session_id) as ctx:
            assert ctx.damage == ()
            found = [item.text for item in ctx.items]
        assert len(found) >= max(safe, known), f"lost at crash {point}"
        for place, text in enumerate(found):
            assert text.startswith(f"{place} "), f"crash {point}: {place}"
        total += len(found) - known
        known = len(found)
    return {"crashes": points, "messages": total}


def prove_torn_logs(folder: Path, *, points: int, seed: int = 1) -> dict[str, int]:
    """Tear copies of a SQLite log; what was flushed before the tear is there, whole.

    Raises:
        AssertionError: If an acknowledged message before the tear is missing.
    """
    chance = random.Random(seed)
    path, log = folder / "live.db", folder / "live.db-wal"
    safe: list[tuple[int, int]] = []
    texts: list[str] = []
    with _manager(f"sqlite:///{path}") as sessions:
        for _ in range(60):
            with sessions.open("s") as ctx:
                for _ in range(chance.randrange(1, 4)):
                    texts.append(_text(chance, len(texts)))
                    ctx.add_user_message(texts[-1])
            safe.append((log.stat().st_size, len(texts)))
        database, whole = path.read_bytes(), log.read_bytes()
    torn = folder / "torn.db"
    for point in range(points):
        cut = chance.randrange(len(whole) + 1)
        tail = chance.randbytes(chance.randrange(5_000)) if point % 2 else b""
        torn.write_bytes(database)
        (folder / "torn.db-wal").write_bytes(whole[:cut] + tail)
        (folder / "torn.db-shm").unlink(missing_ok=True)
        expected = max((count for end, count in safe if end <= cut), default=0)
        with _manager(f"sqlite:///{torn}") as sessions, sessions.open("s") as ctx:
            found = [item.text for item in ctx.items]
            assert ctx.damage == ()
        assert found == texts[: len(found)], f"made up at {cut}"
        assert len(found) >= expected, f"lost at {cut}"
    return {"tears": points, "messages": len(texts)}


def prove_torn_files(folder: Path, *, points: int, seed: int = 1) -> dict[str, int]:
    """Tear copies of a session's file; what is complete before the tear is there.

    Raises:
        AssertionError: If something complete is missing, or something is made up.
    """
    chance = random.Random(seed)
    ctx = ContextBuilder(max_tokens=4_096)
    for number in range(60):
        ctx.add_user_message(_text(chance, number))
    whole = save_session(ctx, folder / "whole.jsonl").read_bytes()
    texts = [item.text for item in ctx.items]
    torn = folder / "torn.jsonl"
    for _ in range(points):
        cut = chance.randrange(len(whole) + 1)
        torn.write_bytes(whole[:cut])
        complete = whole[:cut].count(b"\n") - 1
        try:
            loaded = load_session(torn, max_tokens=4_096)
        except SessionCorruptedError:
            assert complete <= 0, f"refused at {cut}"
            continue
        found = [item.text for item in loaded.items]
        assert found == texts[: len(found)], f"made up at {cut}"
        assert len(found) >= complete, f"lost at {cut}"
        assert bool(loaded.damage) == (len(found) < len(texts))
    return {"tears": points, "messages": len(texts)}


def main() -> None:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=1_000)
    parser.add_argument("--store", help="where kills are tried; default: a SQLite file")
    args = parser.parse_args()
    folder = Path(tempfile.mkdtemp())
    store = args.store or f"sqlite:///{folder}/kills.db"
    print("kills:", prove_kills(store, points=args.points, seed=int(time.time())))
    print("torn logs:", prove_torn_logs(folder, points=args.points))
    print("torn files:", prove_torn_files(folder, points=args.points))
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
