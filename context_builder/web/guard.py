"""What holds for every answer and every request, whoever asks: headers and sizes.

The page may load nothing from anywhere else and runs no script but its own files. What
users and tools say is text in it, and even markup that slipped in could do nothing.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from typing import Any

    Scope = MutableMapping[str, Any]
    Message = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[Message]]
    Send = Callable[[Message], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

__all__ = ["Guard"]

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), geolocation=(), microphone=()"),
)

_MOST_DIGITS = 18
"""Of a length that is announced; Python reads no number of more than 4,300."""


class Guard:
    """Wraps an application: security headers out, no more than so many bytes in."""

    def __init__(self, app: App, *, max_body_bytes: int) -> None:
        self._app = app
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                names = {name.lower() for name, _ in headers}
                headers += [pair for pair in _HEADERS if pair[0] not in names]
                if b"cache-control" not in names:
                    headers.append((b"cache-control", b"no-store"))
                message = {**message, "headers": headers}
            await send(message)

        if self._declared_bytes(scope) > self._max_body_bytes:
            await _refuse(guarded, self._max_body_bytes)
            return
        limited = _Limited(receive, guarded, self._max_body_bytes)
        try:
            await self._app(scope, limited.receive, limited.send)
        except _TooLargeError:
            await _refuse(guarded, self._max_body_bytes)

    @staticmethod
    def _declared_bytes(scope: Scope) -> int:
        for name, value in scope["headers"]:
            if name == b"content-length":
                is_number = value.isdigit() and len(value) <= _MOST_DIGITS
                return int(value) if is_number else 0  # it is counted as it comes
        return 0


class _TooLargeError(Exception):
    """More came than was announced, or than may come."""


class _Limited:
    """Counts a body that did not say how long it is."""

    def __init__(self, receive: Receive, send: Send, max_body_bytes: int) -> None:
        self._receive = receive
        self._send = send
        self._left = max_body_bytes
        self._is_over = False

    async def receive(self) -> Message:
        """Return the next piece.

        Raises:
            _TooLargeError: If there was too much by now.
        """
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            self._is_over = True
            raise _TooLargeError
        return message

    async def send(self, message: Message) -> None:
        """Pass an answer on, unless the request is refused: then that is the answer."""
        if self._is_over:
            raise _TooLargeError
        await self._send(message)


async def _refuse(send: Send, max_body_bytes: int) -> None:
    detail = f"a request may have {max_body_bytes:,} bytes at most"
    body = json.dumps({"detail": detail}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    start = {"type": "http.response.start", "status": 413, "headers": headers}
    await send(start)
    await send({"type": "http.response.body", "body": body})
