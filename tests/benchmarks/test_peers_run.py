"""A run of real workers, on tiny sizes."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from benchmarks.peers import vocabulary
from benchmarks.peers.catalogue import EAGER, OURS, PEERS, REFERENCE, Peer, python_of
from benchmarks.peers.driver import PeerFailedError, PeerTooSlowError, WorkerProcess
from benchmarks.peers.results import Plan, Results
from benchmarks.peers.run import run
from benchmarks.peers.table import report

if TYPE_CHECKING:
    from collections.abc import Iterator

TINY = Plan(
    budget_tokens=2_000,
    lengths=(20, 40),
    cold_rounds=1,
    warm_rounds=2,
    steps_a_round=3,
    warm_up=2,
    rebuilds=2,
    box_seconds=60.0,
    share_seconds=60.0,
    sessions=2,
    session_messages=20,
    judged_length=20,
    judged_steps=16,
)
ODD = "tests.benchmarks.odd_peers"
BY_NAME = {peer.name: peer for peer in PEERS}


@pytest.fixture(scope="module")
def vocabularies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the vocabularies where tiktoken looks for them."""
    return vocabulary.write_vocabularies(tmp_path_factory.mktemp("vocabularies"))


@pytest.fixture(scope="module")
def results(vocabularies: Path) -> Results:
    """Run the library, a floor, R, a peer that is wrong, and two that cannot run."""
    peers = (
        BY_NAME[OURS],
        BY_NAME[EAGER],
        BY_NAME[REFERENCE],
        Peer("forgetful", ODD, "system"),
        Peer("broken", ODD, "raises"),
        Peer("nowhere", ODD, environment="nowhere"),
    )
    return run(
        peers,
        TINY,
        python_of=lambda peer: (
            None if peer.environment == "nowhere" else Path(sys.executable)
        ),
        vocabularies=vocabularies,
        say=lambda _: None,
    )


def test_every_peer_does_every_task(results: Results) -> None:
    """Each has its times at each length, as many as were asked for."""
    for name in (OURS, EAGER, REFERENCE, "forgetful"):
        for length in TINY.lengths:
            assert len(results.figures["cold"][name][length].wall) == 1
            assert len(results.figures["first"][name][length].wall) == 2
            assert len(results.figures["warm"][name][length].wall) == 6
            assert len(results.figures["warm"][name][length].cpu) == 6
            assert len(results.figures["rebuild"][name][length].wall) == 2
        assert name in results.memory
    assert set(results.figures["view"]) == {OURS}


def test_the_library_and_r_are_correct_and_the_wrong_peer_is_not(
    results: Results,
) -> None:
    """Requests of real processes are judged, and a mistake is seen."""
    assert results.verdicts[OURS].is_correct
    assert results.verdicts[REFERENCE].is_correct
    assert results.verdicts["forgetful"].held["system"] == 0


def test_who_is_not_there_is_said(results: Results) -> None:
    """No environment, or a peer that raises at once: named, with the reason."""
    assert set(results.missing) == {"nowhere", "broken"}
    assert "not installed" in results.missing["nowhere"]
    assert "no room" in results.missing["broken"]
    text = report(results)
    assert "Not in this run: nowhere" in text
    assert [peer.name for peer in results.peers] == [
        OURS,
        EAGER,
        REFERENCE,
        "forgetful",
    ]


def test_the_report_tells_every_peer_and_every_goal(results: Results) -> None:
    """Each table has a row for each peer; what is wrong is not said to be right."""
    text = report(results)
    for heading in ("fits", "append and build", "kB a session", "goal"):
        assert heading in text
    row = next(line for line in text.splitlines() if line.startswith("| forgetful | y"))
    assert "**0%**" in row
    assert "over the eager floor" in text
    json.loads(results.to_json())


@pytest.fixture
def worker(
    request: pytest.FixtureRequest, vocabularies: Path
) -> Iterator[WorkerProcess]:
    """Start a worker of the odd peer that a test names."""
    lines = [
        json.dumps({"role": "system", "content": "Be terse."}),
        json.dumps({"role": "user", "content": "Hello"}),
    ]
    peer = Peer("odd", ODD, request.param)
    with WorkerProcess(
        peer,
        lines,
        python=sys.executable,
        vocabularies=vocabularies,
        budget_tokens=100,
    ) as started:
        yield started


@pytest.mark.parametrize("worker", [""], indirect=True)
def test_a_failed_task_is_an_error_and_the_worker_goes_on(
    worker: WorkerProcess,
) -> None:
    """What a peer raises is told with its task; the next task is done."""
    with pytest.raises(PeerFailedError, match=r"odd: warm: RuntimeError: No session"):
        worker.ask("warm", 60, count=1, box_seconds=1)
    assert len(worker.ask("cold", 60, length=2)["wall"]) == 1


@pytest.mark.parametrize("worker", ["slow"], indirect=True)
def test_a_worker_that_takes_too_long_is_ended(
    worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its time is over, its process too: the others do not wait for it."""
    monkeypatch.setattr("benchmarks.peers.driver.START_SECONDS", 3.0)
    with pytest.raises(PeerTooSlowError, match=r"odd: take took longer than 3 s"):
        worker.ask("cold", 60, length=2)
    assert not worker.is_running


def test_time_that_is_over_is_told_as_such(results: Results) -> None:
    """Who gave no answer in the time has no figure, but the limit."""
    name = results.peers[-1].name
    figures = results.figures["cold"][name]
    figures[40] = replace(figures[40], wall=[], cpu=[], is_over=True)
    rows = [row for row in report(results).splitlines() if row.startswith(f"| {name}")]
    assert any("> 60 s" in row for row in rows)


def test_an_environment_is_used_only_when_it_is_whole(tmp_path: Path) -> None:
    """A folder in which the installation did not end does not count."""
    peer = BY_NAME[REFERENCE]
    home = tmp_path / peer.environment
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").touch()
    assert python_of(peer, tmp_path) is None
    (home / ".installed").touch()
    assert python_of(peer, tmp_path) == home / "bin" / "python"
