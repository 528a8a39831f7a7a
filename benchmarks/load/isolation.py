"""Shows that sessions stay apart: every session's content is exactly its own, in order.

    python -m benchmarks.load.isolation --store sqlite:////tmp/x/s.db --kills 10

Many tasks in several processes serve random sessions; processes are killed at random.
"""

from __future__ import annotations

import argparse
import tempfile
import uuid
from pathlib import Path

from benchmarks.load.crowd import Crowd, acknowledged, contents, wipe
from benchmarks.load.worker import Job

__all__ = ["prove"]


def prove(
    store: str,
    namespace: str,
    folder: Path,
    *,
    sessions: int = 200,
    turns: int = 50,
    processes: int = 4,
    tasks: int = 8,
    kills: int = 0,
    timeout_seconds: float = 1_800,
) -> dict[str, float]:
    """Run the crowd, and check every message.

    Raises:
        AssertionError: If a message is lost, doubled, strange or in the wrong place.
    """
    job = Job(
        store=store,
        namespace=namespace,
        mode="isolation",
        sessions=sessions,
        turns=turns,
        tasks=tasks,
        acks=str(folder / "acks"),
    )
    crowd = Crowd(job, processes=processes)
    seconds = crowd.run(kills=kills, timeout_seconds=timeout_seconds)
    found = contents(job)
    assert sorted(found) == sorted(f"session {number}" for number in range(sessions))
    for session_id, texts in found.items():
        assert len(texts) == 2 * turns, f"{session_id} has {len(texts)} messages"
        for place, text in enumerate(texts):
            assert text.startswith(f"{session_id} | {place} | "), (
                f"{session_id}/{place}"
            )
    every = [text for texts in found.values() for text in texts]
    assert len(set(every)) == len(every), "a message is there twice"
    acks = acknowledged(job)
    for session_id, place, text in acks:
        assert found[session_id][place] == text, f"lost: {session_id}/{place}"
    return {
        "turns": sessions * turns,
        "acknowledged": len(acks),
        "killed": crowd.killed,
        "seconds": round(seconds, 1),
        "turns_per_second": round(sessions * turns / seconds, 1),
    }


def main() -> None:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--tasks", type=int, default=8)
    parser.add_argument("--kills", type=int, default=10)
    args = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        namespace = f"load-{uuid.uuid4().hex}"
        store = args.pop("store")
        print(prove(store, namespace, Path(folder), **args))
        wipe(store, namespace)


if __name__ == "__main__":
    main()
