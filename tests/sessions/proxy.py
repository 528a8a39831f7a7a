"""A TCP proxy that cuts, stalls or delays what goes through it, as networks do."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import TYPE_CHECKING, Literal, Self

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Proxy", "Way"]

Way = Literal["asked", "answered"]
"""From the client to the server, or back."""


class Proxy:
    """Forwards a port of this machine to another one.

    Args:
        port: Where to.
    """

    def __init__(self, port: int) -> None:
        self._target = port
        self.passed: dict[Way, int] = {"asked": 0, "answered": 0}
        """Bytes that went through, each way, since `reset`."""
        self.cut_after: dict[Way, int | None] = {"asked": None, "answered": None}
        """So many bytes go through that way; then all connections end."""
        self.delay_seconds = 0.0
        """How long each piece is held back."""
        self.stalls = False
        """Whether nothing goes through, while the connections stay."""
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._listen, daemon=True).start()

    def reset(self) -> None:
        """Let everything through again, and count anew."""
        with self._lock:
            self.passed = {"asked": 0, "answered": 0}
            self.cut_after = {"asked": None, "answered": None}
            self.delay_seconds, self.stalls = 0.0, False

    def cut(self) -> None:
        """End all connections."""
        with self._lock:
            ended, self._open = self._open, []
        for one in ended:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def __enter__(self) -> Self:
        """Forward until the block ends."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End all connections, and take no more."""
        self._listener.close()
        self.cut()

    def _listen(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            with self._lock:
                self._open += [client, server]
            self._start(client, server, "asked")
            self._start(server, client, "answered")

    def _start(self, here: socket.socket, there: socket.socket, way: Way) -> None:
        work = threading.Thread(
            target=self._forward, args=(here, there, way), daemon=True
        )
        work.start()

    def _forward(self, here: socket.socket, there: socket.socket, way: Way) -> None:
        with contextlib.suppress(OSError):
            while piece := here.recv(65_536):
                time.sleep(self.delay_seconds)
                while self.stalls:
                    time.sleep(0.01)
                whole = self._allowed(len(piece), way)
                there.sendall(piece[:whole])
                if whole < len(piece):
                    break
        self._end(here, there)

    def _allowed(self, size: int, way: Way) -> int:
        with self._lock:
            limit = self.cut_after[way]
            room = size if limit is None else max(0, limit - self.passed[way])
            allowed = min(size, room)
            self.passed[way] += allowed
            return allowed

    def _end(self, *ends: socket.socket) -> None:
        for one in ends:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
