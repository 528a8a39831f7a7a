"""Small versions of the proofs in `benchmarks/load`, on real servers and processes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.load import figures, isolation, writers
from benchmarks.load.crash import prove_torn_files, prove_torn_logs
from context_builder.sessions import SessionManager

ROOT = Path(__file__).parents[2]


def test_sessions_stay_apart_while_workers_are_killed(
    durable_url: str, namespace: str, tmp_path: Path
) -> None:
    """Every session's content is exactly its own, in order; nothing lost or doubled."""
    proof = isolation.prove(
        durable_url,
        namespace,
        tmp_path,
        sessions=16,
        turns=6,
        processes=3,
        tasks=6,
        kills=2,
        timeout_seconds=240,
    )
    assert proof["turns"] == 96
    assert proof["acknowledged"] > 150


def test_one_session_stands_many_writers(
    durable_url: str, namespace: str, tmp_path: Path
) -> None:
    """Sixteen writers in four processes: every turn whole, none lost, no deadlock."""
    proof = writers.prove(
        durable_url, namespace, tmp_path, turns=2, timeout_seconds=240
    )
    assert proof["turns"] == 32


def test_kill_9_loses_nothing(tmp_path: Path) -> None:
    """What was acknowledged is there after each of these crashes."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load.crash", "--points", "40"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=240,
    )
    assert done.stdout.count(b": 40") == 3


@pytest.mark.parametrize("seed", range(2))
def test_torn_writes_lose_nothing_that_was_flushed(tmp_path: Path, seed: int) -> None:
    """A log or a file that was cut gives all that is complete before the cut."""
    assert prove_torn_logs(tmp_path, points=60, seed=seed)["tears"] == 60
    assert prove_torn_files(tmp_path, points=100, seed=seed)["tears"] == 100


def test_a_turn_does_not_grow_with_the_history(durable_url: str) -> None:
    """A long session costs about what a short one does; the bound is for slow days."""
    kind = "store"
    rows = figures.growth({kind: durable_url}, lengths=(100, 4_000), count=30)
    assert rows[kind][4_000] < 3 * rows[kind][100]


def test_a_full_disk_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    """When SQLite cannot write any more, it is said; what was kept is there."""
    script = (
        "import resource, signal, sys\n"
        "from context_builder.errors import StoreError\n"
        "from context_builder.sessions import SessionManager\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))\n"
        "kept = 0\n"
        "with SessionManager(\n"
        "    store=sys.argv[1], max_tokens=99_999, lease_seconds=0.5\n"
        ") as sessions:\n"
        "    try:\n"
        "        for turn in range(1_000):\n"
        "            with sessions.open('s') as ctx:\n"
        "                ctx.add_user_message(f'{turn} ' + 'word ' * 500)\n"
        "            kept += 1\n"
        "    except StoreError as error:\n"
        "        print(kept)\n"
    )
    url = f"sqlite:///{tmp_path}/s.db"
    done = subprocess.run(
        [sys.executable, "-c", script, url], check=True, capture_output=True, cwd=ROOT
    )
    kept = int(done.stdout)
    assert 0 < kept < 1_000
    with SessionManager(store=url, max_tokens=99_999) as sessions:
        with sessions.open("s") as ctx:
            assert [int(item.text.split()[0]) for item in ctx.items] == list(
                range(kept)
            )
            ctx.add_user_message("go on")
        with sessions.open("s") as ctx:
            assert len(ctx.items) == kept + 1
