"""Collects the tests once, and lets each mutant meet those that reach it, in a fork.

A pytest plugin. It first runs every test, in a fork, and notes which lines of the tiers
each one reaches and how long it takes. A mutant then meets the tests that reach its
lines: those of its own module first, then the quick ones. The first failure kills it.
Caches that a test fills are gone with its fork, so that none hides a mutant.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import resource
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import coverage
import pytest
from _pytest.runner import runtestprotocol

from benchmarks.mutants.making import Mutant, NotApplicableError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

ALIVE, KILLED, NO_FIT = 0, 10, 11
_MEMORY_BYTES = 6 << 30
"""Address space of a mutant: one that never stops growing ends here."""
_AT_ONCE = 250
"""Tests whose reach is noted in one fork, and kept."""


@dataclass(frozen=True)
class Limits:
    """How long a mutant may take."""

    test_seconds: float
    """A test that takes longer is not used at all."""

    seconds: float
    """What all tests of one mutant may take together, by what they took without it."""

    patience: float = 6
    """How many times as long before it counts as hanging."""


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant."""

    status: str
    """killed, hanging (killed by the clock), survived, unreached or no fit."""

    tests: int
    """How many tests it met, or could have met."""

    killer: str = ""
    """The test that failed."""


class Trial:
    """The plugin: takes over once the tests are collected."""

    def __init__(
        self,
        mutants: Iterable[Mutant],
        limits: Limits,
        notes: Path,
        tell: Callable[[Mutant, Verdict, float], None],
    ) -> None:
        self._mutants = mutants
        self._limits = limits
        self._notes = notes
        self._tell = tell

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Note what each test reaches, then try every mutant."""
        items = {item.nodeid: item for item in session.items}
        noted = self._noted()
        known = {*noted["seconds"]}
        new = [item for item in session.items if item.nodeid not in known]
        for start in range(0, len(new), _AT_ONCE):
            some = new[start : start + _AT_ONCE]
            _in_fork(partial(self._note, some), self._notes.with_suffix(".log"))
            noted = self._noted()
            _import(noted["modules"])
        _import(noted["modules"])
        gc.collect()
        gc.freeze()
        for mutant in self._mutants:
            started = time.monotonic()
            verdict = self._try(mutant, noted, items)
            self._tell(mutant, verdict, time.monotonic() - started)
        return True

    # --- What each test reaches

    def _noted(self) -> dict[str, Any]:
        if not self._notes.exists():
            return {"seconds": {}, "failed": [], "lines": {}, "modules": []}
        noted: dict[str, Any] = json.loads(self._notes.read_text("utf-8"))
        return noted

    def _note(self, items: list[pytest.Item]) -> int:
        """Add to the notes what some tests reach."""
        noted = self._noted()
        watch = coverage.Coverage(
            data_file=None,
            branch=False,
            config_file=False,
            include=["context_builder/decide/*", "context_builder/render/*"],
        )
        watch.start()
        for item, following in zip(items, [*items[1:], None], strict=True):
            watch.switch_context(item.nodeid)
            started = time.process_time()
            if _fails(item, following, self._limits.test_seconds):
                noted["failed"].append(item.nodeid)
            noted["seconds"][item.nodeid] = time.process_time() - started
        watch.stop()
        numbers = {nodeid: number for number, nodeid in enumerate(noted["seconds"])}
        data, root = watch.get_data(), Path.cwd()
        for file in data.measured_files():
            lines = noted["lines"].setdefault(
                Path(file).relative_to(root).as_posix(), {}
            )
            for line, contexts in data.contexts_by_lineno(file).items():
                reached = lines.setdefault(str(line), [])
                reached += sorted(numbers[one] for one in contexts if one)
        ours = {"context_builder", "benchmarks", "tests", "__main__"}
        names = {name for name in sys.modules if name.partition(".")[0] not in ours}
        noted["modules"] = sorted(names | {*noted["modules"]})
        self._notes.write_text(json.dumps(noted), "utf-8")
        return 0

    # --- One mutant

    def _try(
        self, mutant: Mutant, noted: dict[str, Any], items: dict[str, pytest.Item]
    ) -> Verdict:
        chosen = [one for one in self._chosen(mutant, noted) if one in items]
        if not chosen:
            return Verdict("unreached", 0)
        tests = [items[one] for one in chosen]
        seconds = sum(noted["seconds"][one] for one in chosen)
        cpu_seconds = int(self._limits.patience * seconds) + 10
        log = self._notes.with_name("killer.txt")
        log.unlink(missing_ok=True)
        status = _in_fork(
            lambda: _meet(mutant, tests, log), Path(os.devnull), cpu_seconds
        )
        killer = log.read_text("utf-8") if log.exists() else ""
        if os.WIFSIGNALED(status):
            slow = os.WTERMSIG(status) in {signal.SIGXCPU, signal.SIGALRM}
            return Verdict("hanging" if slow else "killed", len(tests), killer)
        names = {ALIVE: "survived", NO_FIT: "no fit"}
        return Verdict(names.get(os.WEXITSTATUS(status), "killed"), len(tests), killer)

    def _chosen(self, mutant: Mutant, noted: dict[str, Any]) -> list[str]:
        """Return the tests that reach a mutant, in the order in which to try them."""
        nodeids, lines = [*noted["seconds"]], noted["lines"].get(mutant.path, {})
        spans = [mutant.lines] if not mutant.in_signature else [mutant.body]
        reached = _reached(lines, *spans[0])
        if not reached:  # a line of a longer statement, which carries its first number
            first = max(
                (int(n) for n in lines if mutant.body[0] <= int(n) < mutant.lines[0]),
                default=0,
            )
            reached = _reached(lines, first, first)
        skipped = {*noted["failed"]}
        usable = [
            nodeids[one]
            for one in reached
            if nodeids[one] not in skipped
            and noted["seconds"][nodeids[one]] <= self._limits.test_seconds
        ]
        seconds = noted["seconds"]
        usable.sort(key=lambda one: (_distance(mutant.path, one), seconds[one], one))
        chosen: list[str] = []
        total = 0.0
        for one in usable:
            total += seconds[one]
            if chosen and total > self._limits.seconds:
                break
            chosen.append(one)
        return chosen


def _reached(lines: dict[str, list[int]], first: int, last: int) -> set[int]:
    found: set[int] = set()
    for line in range(first, last + 1):
        found.update(lines.get(str(line), ()))
    return found


def _distance(path: str, nodeid: str) -> int:
    """Return how far a test is from a module: its own, its family's, its tier's."""
    _, tier, *_, file = path.removesuffix(".py").split("/")
    test = Path(nodeid.partition("::")[0])
    about = test.stem.removeprefix("test_")
    if about == file:
        return 0
    if file.split("_")[0] in about or about.split("_")[0] in file:
        return 1
    return 2 if test.parent.name == tier else 3


def _meet(mutant: Mutant, tests: list[pytest.Item], log: Path) -> int:
    try:
        mutant.put_in_place()
    except NotApplicableError:
        return NO_FIT
    for test, following in zip(tests, [*tests[1:], None], strict=True):
        if _fails(test, following):
            log.write_text(test.nodeid, "utf-8")
            return KILLED
    return ALIVE


class _TooLongError(BaseException):
    """A test took more than it may; no `except Exception` catches this."""


def _stop(*_: object) -> None:
    raise _TooLongError


def _fails(
    item: pytest.Item, following: pytest.Item | None, cpu_seconds: float = 0
) -> bool:
    signal.signal(signal.SIGVTALRM, _stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_seconds)
    try:
        reports = runtestprotocol(item, log=False, nextitem=following)
    except BaseException:  # whatever a mutant makes of pytest, it was noticed
        return True
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return any(report.failed for report in reports)


def _import(names: Iterable[str]) -> None:
    """Import what the tests import late: vendors' SDKs, once and not in every fork."""
    for name in names:
        if name not in sys.modules:
            try:
                importlib.import_module(name)
            except BaseException:  # noqa: S112 (a test will see to it)
                continue


def _in_fork(job: Callable[[], int], log: Path, cpu_seconds: int = 0) -> int:
    """Run a job in a fork and return its status, as the system tells it."""
    child = os.fork()
    if child:
        return os.waitpid(child, 0)[1]
    code = KILLED
    try:
        out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        if cpu_seconds:
            resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
            resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
            signal.alarm(20 * cpu_seconds)  # for one that waits, and takes no time
        code = job()
    except BaseException:  # a fork never comes back
        traceback.print_exc()
    finally:
        os._exit(code)
