"""Shows that one session stands many writers: every turn whole, none lost, no deadlock.

python -m benchmarks.load.writers --store redis://localhost:6379/0
"""

from __future__ import annotations

import argparse
import tempfile
import uuid
from pathlib import Path

from benchmarks.load.crowd import Crowd, acknowledged, contents, wipe
from benchmarks.load.worker import Job

__all__ = ["prove"]

STEPS = ("ask", "", "result", "answer")


def prove(
    store: str,
    namespace: str,
    folder: Path,
    *,
    turns: int = 20,
    processes: int = 4,
    tasks: int = 4,
    timeout_seconds: float = 900,
) -> dict[str, float]:
    """Let `processes * tasks` writers take turns in one session, and check each turn.

    Raises:
        AssertionError: If a turn is split, lost or doubled, or they block one another.
    """
    job = Job(
        store=store,
        namespace=namespace,
        mode="writers",
        sessions=1,
        turns=turns,
        tasks=tasks,
        acks=str(folder / "acks"),
        wait_seconds=5.0,
    )
    crowd = Crowd(job, processes=processes)
    seconds = crowd.run(kills=0, timeout_seconds=timeout_seconds)
    texts = contents(job)["one"]
    names = []
    for place in range(0, len(texts), len(STEPS)):
        turn = texts[place : place + len(STEPS)]
        name = turn[0].removesuffix(" | ask")
        assert turn == [f"{name} | {step}" if step else "" for step in STEPS], turn
        names.append(name)
    writers = range(processes * tasks)
    assert sorted(names) == sorted(
        f"writer {writer} | {turn}" for writer in writers for turn in range(turns)
    )
    for _, place, text in acknowledged(job):
        assert texts[place] == text
    return {
        "writers": len(writers),
        "turns": len(names),
        "seconds": round(seconds, 1),
        "turns_per_second": round(len(names) / seconds, 1),
    }


def main() -> None:
    """Run it as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--processes", type=int, default=4)
    parser.add_argument("--tasks", type=int, default=4)
    args = vars(parser.parse_args())
    with tempfile.TemporaryDirectory() as folder:
        namespace = f"load-{uuid.uuid4().hex}"
        store = args.pop("store")
        print(prove(store, namespace, Path(folder), **args))
        wipe(store, namespace)


if __name__ == "__main__":
    main()
