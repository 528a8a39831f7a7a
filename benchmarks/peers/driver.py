"""Starts workers, gives them tasks, and does not wait longer than it said.

A worker that is still busy when its time is over is ended and started anew for its next
task: one that does quadratic work must not keep the others waiting.
"""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from benchmarks.peers import vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from benchmarks.peers.catalogue import Peer

__all__ = ["PeerFailedError", "PeerTooSlowError", "WorkerProcess"]

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 300.0
"""A worker imports its library and loads the vocabulary before its first answer."""


class PeerTooSlowError(Exception):
    """The time of a task was over before the peer had done it."""


class PeerFailedError(Exception):
    """The peer raised, or its process ended."""


class WorkerProcess:
    """One peer in its own process, which is started when it is first asked."""

    def __init__(
        self,
        peer: Peer,
        lines: Sequence[str],
        *,
        python: Path | str,
        vocabularies: Path,
        budget_tokens: int,
    ) -> None:
        self.peer = peer
        self._lines = lines
        self._python = str(python)
        self._vocabularies = vocabularies
        self._budget_tokens = budget_tokens
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def ask(self, task: str, within_seconds: float, **given: Any) -> dict[str, Any]:
        """Have a task done.

        Raises:
            PeerTooSlowError: If that takes longer than it may. The process is ended.
            PeerFailedError: If the peer raised, or its process ended.
        """
        if self._process is None:
            self._start()
        return self._ask(task, within_seconds, given)

    @property
    def is_running(self) -> bool:
        """Whether there is a process, with what it was asked to keep."""
        return self._process is not None

    def versions(self) -> dict[str, str]:
        """Return the versions of the packages that the peer consists of.

        Raises:
            PeerFailedError: If the peer cannot be imported, or one is not installed.
        """
        return self.ask("versions", START_SECONDS, names=list(self.peer.packages))

    def end(self) -> None:
        """End the process, if there is one."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    stream.close()
        self._process = None

    def _start(self) -> None:
        command = [self._python, "-m", "benchmarks.peers.worker", self.peer.module]
        command += [self.peer.variant, str(self._budget_tokens)]
        settings = os.environ | vocabulary.environment(self._vocabularies)
        self._process = subprocess.Popen(  # noqa: S603 - our own worker
            command,
            cwd=ROOT,
            env=settings | {"PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if _is_quiet() else None,
            text=True,
            encoding="utf-8",
        )
        self._answers = queue.Queue()
        arguments = (self._process, self._answers)
        threading.Thread(target=_read, args=arguments, daemon=True).start()
        self._ask("take", START_SECONDS, {"lines": list(self._lines)})

    def _ask(
        self, task: str, within_seconds: float, given: Mapping[str, Any]
    ) -> dict[str, Any]:
        process = self._process
        if process is None or process.stdin is None:
            msg = f"{self.peer.name}: the worker is not running"
            raise PeerFailedError(msg)
        try:
            process.stdin.write(json.dumps({"task": task, **given}) + "\n")
            process.stdin.flush()
            line = self._answers.get(timeout=within_seconds)
        except queue.Empty:
            self.end()
            msg = f"{self.peer.name}: {task} took longer than {within_seconds:.0f} s"
            raise PeerTooSlowError(msg) from None
        except OSError:
            line = None
        if line is None:
            self.end()
            msg = f"{self.peer.name}: the worker ended during {task}"
            raise PeerFailedError(msg)
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            msg = f"{self.peer.name}: {task}: {answer['error']}"
            raise PeerFailedError(msg)
        return answer


def _read(process: subprocess.Popen[str], answers: queue.Queue[str | None]) -> None:
    """Hand on what a worker says; None when it says no more."""
    try:
        for line in process.stdout or ():
            answers.put(line)
    except ValueError:  # closed while it was read: the worker was ended
        pass
    answers.put(None)


def _is_quiet() -> bool:
    """Say whether what peers print is left out: `--noise` shows it."""
    return "--noise" not in sys.argv[1:]
