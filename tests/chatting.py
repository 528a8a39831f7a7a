"""Chats for tests: through the program, piped or in a terminal of its own."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from typing import TYPE_CHECKING

from typer.testing import CliRunner, Result

from context_builder.cli.commands import app

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Terminal", "chat", "command", "store_in", "surroundings", "terminal"]

_ESCAPE = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[()][A-Z0-9]|[=>])")
_MOST_SECONDS = 30


def store_in(folder: Path) -> tuple[str, str]:
    """Return the options for a store of a test's own."""
    return "--store", f"sqlite:///{folder}/chat.db"


def chat(
    folder: Path, *arguments: str, lines: str | bytes, session: str = "s"
) -> Result:
    """Chat in this process; what is said comes from a pipe."""
    words = ["chat", *store_in(folder), "--session", session, *arguments]
    return CliRunner().invoke(app, words, input=lines)


def command(folder: Path, *arguments: str) -> list[str]:
    """Return the command of a chat in a process of its own."""
    program = [sys.executable, "-m", "context_builder.cli", "chat"]
    return [*program, *store_in(folder), *arguments]


def surroundings(**more: str) -> dict[str, str]:
    """Return the environment of a process, without keys and colours."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith(("_API_KEY", "_AUTH_TOKEN", "_BASE_URL"))
        and name not in {"FORCE_COLOR", "NO_COLOR"}
    }
    return kept | {"TERM": "xterm"} | more


class Terminal:
    """A program in a terminal: keys go in, and what is shown comes out."""

    def __init__(self, process: subprocess.Popen[bytes], end: int) -> None:
        self.process = process
        self.raw = b""
        """All that was written, escapes included."""
        self._end = end
        self._seen = 0

    @property
    def text(self) -> str:
        """All that was shown, without what moves the cursor."""
        return _ESCAPE.sub("", self.raw.decode("utf-8", "replace"))

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._end, keys.encode())

    def wait_for(self, text: str) -> str:
        """Wait until a text was shown behind what was waited for; return what came."""
        deadline = time.monotonic() + _MOST_SECONDS
        while (place := self.text.find(text, self._seen)) < 0:
            assert time.monotonic() < deadline, f"no {text!r} in {self.text!r}"
            assert self._read(), f"it ended without {text!r}: {self.text!r}"
        start, self._seen = self._seen, place + len(text)
        return self.text[start : self._seen]

    def end(self) -> int:
        """Read to the end; return the exit code."""
        deadline = time.monotonic() + _MOST_SECONDS
        while self._read():
            assert time.monotonic() < deadline, f"it goes on: {self.text!r}"
        return self.process.wait(_MOST_SECONDS)

    def _read(self) -> bool:
        """Take in what is there; say whether there can be more."""
        ready, _, _ = select.select([self._end], [], [], 0.1)
        if not ready:
            return self.process.poll() is None
        try:
            piece = os.read(self._end, 65_536)
        except OSError:  # how Linux says that the other end is closed
            return False
        self.raw += piece
        for _ in range(piece.count(b"\x1b[6n")):  # where is the cursor?
            os.write(self._end, b"\x1b[1;1R")
        return bool(piece)


@contextlib.contextmanager
def terminal(
    folder: Path, *arguments: str, env: dict[str, str] | None = None
) -> Iterator[Terminal]:
    """Chat in a terminal of 100 columns."""
    end, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))

    def take_terminal() -> None:
        os.setsid()  # Ctrl-C of a terminal goes to its own session
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(
        command(folder, *arguments),
        stdin=other,
        stdout=other,
        stderr=other,
        env=surroundings() if env is None else env,
        preexec_fn=take_terminal,  # noqa: PLW1509  it calls two functions of C
    )
    os.close(other)
    try:
        yield Terminal(process, end)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(signal.SIGKILL)
        process.wait(_MOST_SECONDS)
        os.close(end)
