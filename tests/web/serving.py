"""Serves the application of the tests: in this process, or as a program of its own."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import uvicorn
from fastapi import FastAPI

from context_builder.accounts import Accounts, new_token
from context_builder.agent import Agent, OfflineModel, tool
from context_builder.sessions import SessionManager
from context_builder.web import WebSettings, create_app

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
    from pathlib import Path

__all__ = [
    "INJECTION",
    "Events",
    "Recorder",
    "Site",
    "client_of",
    "free_port",
    "program",
    "served",
    "site",
]

INJECTION = (
    "</script><script>window.broken = 1</script>"
    '<img src="x" onerror="window.broken = 1"><b>bold</b>'
)
NAMES = ("ada", "bob")


@tool
def look_up(topic: str) -> str:
    """Look something up in the archive.

    Args:
        topic: What to look for.
    """
    lines = [
        f"{number}. {topic}: shipment {number * 7919 % 9973} left the warehouse on day "
        f"{number % 28 + 1} and was signed for by customer {number * 31 % 997}."
        for number in range(1, 41)
    ]
    return "\n".join(lines)


@tool
def hostile(word: str) -> str:
    """Return markup that would run a script where it were shown as markup.

    Args:
        word: Said beside it.
    """
    return f"{INJECTION} {word}"


@tool
def failing(word: str) -> str:
    """Fail.

    Args:
        word: Said in the error.
    """
    message = f"no luck with {word}"
    raise ValueError(message)


class Recorder(OfflineModel):
    """The offline model, which also remembers the requests that it was sent."""

    def __init__(self, *script: Any, delay_seconds: float = 0.0) -> None:
        super().__init__(script, delay_seconds=delay_seconds)
        self.requests: list[dict[str, Any]] = []
        self.asked = asyncio.Event()
        """Set once there was a request."""

    def answer(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Answer, and remember what was asked."""
        self.requests.append(json.loads(json.dumps(request)))
        self.asked.set()
        return super().answer(request)


@dataclass(slots=True)
class Site:
    """An application with two users."""

    app: FastAPI
    model: Recorder
    sessions: SessionManager
    tokens: dict[str, str] = field(default_factory=dict)


def site(
    store: str = "memory:",
    *,
    model: Recorder | None = None,
    max_tokens: int = 3_000,
    names: Sequence[str] = NAMES,
    **settings: Any,
) -> Site:
    """Return an application that answers offline."""
    made = {name: new_token(name) for name in names}
    builder: dict[str, Any] = {"model": "gpt-4o", "max_tokens": max_tokens}
    chosen = WebSettings(is_offline=True, **({"wait_seconds": 0.2} | settings))
    sessions = SessionManager(store=store, wait_seconds=chosen.wait_seconds, **builder)
    model = model or Recorder()
    app = create_app(
        sessions=sessions,
        accounts=Accounts(account for _, account in made.values()),
        agent=Agent(model, tools=[look_up, hostile, failing], max_rounds=5),
        settings=chosen,
        builder=builder,
    )
    return Site(
        app, model, sessions, {name: token for name, (token, _) in made.items()}
    )


def _headers(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


@asynccontextmanager
async def client_of(one: Site, user: str | None = "ada") -> AsyncIterator[Client]:
    """Return a user's client that speaks to the application without a network."""
    transport = httpx.ASGITransport(app=one.app)
    token = one.tokens.get(user) if user else None
    async with httpx.AsyncClient(
        transport=transport, base_url="http://test", headers=_headers(token)
    ) as http:
        yield Client(http)


class Events(list[tuple[str, dict[str, Any]]]):
    """What a turn told, in order."""

    @classmethod
    def read(cls, text: str) -> Events:
        """Read server-sent events."""
        found = cls()
        for piece in text.split("\n\n"):
            lines = dict(
                line.split(": ", 1) for line in piece.split("\n") if ": " in line
            )
            if "event" in lines:
                found.append((lines["event"], json.loads(lines["data"])))
        return found

    @property
    def names(self) -> list[str]:
        """The events' names, each run of one name once."""
        names = [name for name, _ in self]
        return [
            n for n, before in zip(names, ["", *names], strict=False) if n != before
        ]

    def of(self, name: str) -> list[dict[str, Any]]:
        """Return what the events of one name say."""
        return [data for known, data in self if known == name]


@dataclass(slots=True)
class Client:
    """A user of the service."""

    http: httpx.AsyncClient

    async def begin(self, **body: Any) -> str:
        """Begin a conversation; return its id."""
        answer = await self.http.post("/api/sessions", json=body)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    async def say(self, session_id: str, text: str) -> Events:
        """Say something, and return what followed."""
        answer = await self.http.post(
            f"/api/sessions/{session_id}/messages", json={"text": text}
        )
        assert answer.status_code == 200, answer.text
        return Events.read(answer.text)

    async def say_in_the_end(self, session_id: str, text: str) -> Events:
        """Say something, as often as the conversation is somebody else's."""
        path = f"/api/sessions/{session_id}/messages"
        for _ in range(60):
            answer = await self.http.post(path, json={"text": text})
            if answer.status_code != 409:
                break
            await asyncio.sleep(0.5)
        assert answer.status_code == 200, answer.text
        return Events.read(answer.text)

    async def get(self, path: str, **query: Any) -> Any:
        """Return what an endpoint answers."""
        answer = await self.http.get(path, params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    async def texts(self, session_id: str) -> list[str]:
        """Return what was said in a conversation, without the system prompt."""
        found = await self.get(f"/api/sessions/{session_id}")
        return [i["text"] for i in found["items"] if i["role"] != "system"]


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def served(app: FastAPI) -> Iterator[str]:
    """Serve an application on this machine, in a thread; yield its address."""
    port = free_port()
    config = uvicorn.Config(
        app, host="127.0.0.1", port=port, log_level="critical", lifespan="on"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    deadline = time.monotonic() + 30
    while not server.started:
        assert time.monotonic() < deadline, "the server does not start"
        assert thread.is_alive(), "the server ended"
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join(30)
        assert not thread.is_alive(), "the server does not stop"


@contextmanager
def program(
    folder: Path, *arguments: str, tokens: Sequence[str] = (), port: int | None = None
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run `context-builder serve --offline`; yield its address and its process."""
    port = port or free_port()
    command = [
        *(sys.executable, "-m", "context_builder.cli", "serve", "--offline"),
        *("--port", str(port), "--store", f"sqlite:///{folder}/chat.db"),
        *("--users", f"{folder}/users.json", *arguments),
    ]
    with (folder / "serve.log").open("ab") as log:
        process = subprocess.Popen(
            command,
            stderr=log,
            stdout=log,
            env=os.environ | {"CONTEXT_BUILDER_TOKENS": ",".join(tokens)},
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_until_ready(url, process, folder)
        yield url, process
    finally:
        process.terminate()
        try:
            process.wait(20)
        finally:
            process.kill()
            process.wait()


def _wait_until_ready(url: str, process: subprocess.Popen[bytes], folder: Path) -> None:
    deadline = time.monotonic() + 60
    while True:
        assert process.poll() is None, (folder / "serve.log").read_text("utf-8")
        try:
            if httpx.get(f"{url}/readyz").status_code == 200:
                return
        except httpx.TransportError:
            pass
        assert time.monotonic() < deadline, "the service does not get ready"
        time.sleep(0.1)
