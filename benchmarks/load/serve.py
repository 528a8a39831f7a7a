"""Loads the web service on this machine: many users at once, and a sudden end.

    python -m benchmarks.load.serve --users 100 --turns 20

Proves that no turn fails, that nobody hears of anybody else's words, and that a server
which is killed in the middle loses nothing that it had acknowledged. Measures what a
turn costs beyond the model: the model here sends its answer at a pace of its own, and
the time that it takes for all of it is taken off. What is left is HTTP, the queue, the
session and the store, and also what the machine's other work makes them wait for; so
the server's own processor time and this process's are told as well.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import json
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.accounts import new_token
from context_builder.web.settings import ENVIRONMENT, WebSettings

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Load", "prove"]

HOST = "127.0.0.1"
TEXT = "Turn {turn}: {word} ordered {count} boxes of tea. What did {word} order?"
WORD = re.compile(r"user\d{4}x")
SILENT_PIECES = 3
"""Pieces of an answer that hold no text: its head, its end and its bill."""


@dataclasses.dataclass(frozen=True, slots=True)
class Load:
    """What is asked of the service."""

    users: int = 100
    turns: int = 20
    think_seconds: float = 4.0
    """Between two turns of a user, on average."""
    piece_seconds: float = 0.1
    """What the model takes for each piece."""
    workers: int = 1
    store: str | None = None
    """None: a SQLite file that is thrown away."""
    kill_after_seconds: float | None = None
    """Kill the server then, and start it again."""


@dataclasses.dataclass(slots=True)
class User:
    """A user, and what they were told."""

    word: str
    token: str
    session_id: str = ""
    said: list[str] = dataclasses.field(default_factory=list)
    acknowledged: list[str] = dataclasses.field(default_factory=list)
    overheads: list[float] = dataclasses.field(default_factory=list)
    failures: list[str] = dataclasses.field(default_factory=list)


class Server:
    """The service, in processes of its own."""

    def __init__(self, load: Load, settings: WebSettings, folder: Path) -> None:
        self._load = load
        self._settings = settings
        self._folder = folder
        with socket.socket() as one:
            one.bind((HOST, 0))
            self.port = int(one.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None

    async def start(self) -> None:
        """Start it, and wait until it answers."""
        command = [
            *(sys.executable, "-m", "uvicorn", "--factory", "--no-access-log"),
            *("--host", HOST, "--port", str(self.port), "--log-level", "warning"),
            *("--workers", str(self._load.workers)),
            "context_builder.web.serving:app_from_environment",
        ]
        environment = os.environ | {ENVIRONMENT: self._settings.model_dump_json()}
        if self._load.workers > 1:
            environment["PROMETHEUS_MULTIPROC_DIR"] = str(self._folder)
        self._process = subprocess.Popen(  # noqa: S603, ASYNC220  (ourselves)
            command, env=environment, start_new_session=True
        )
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                if (await ask(self.port, "GET", "/readyz"))[0] == 200:
                    return
            assert time.monotonic() < deadline, "the service does not get ready"
            await asyncio.sleep(0.1)

    @property
    def cpu_seconds(self) -> float:
        """The processor's time that it took so far, workers included; Linux only."""
        if self._process is None or not Path("/proc/self/stat").exists():
            return math.nan
        return sum(map(_cpu_seconds, _with_children(self._process.pid)))

    def end(self, how: signal.Signals) -> None:
        """End it, workers included."""
        if self._process is not None:
            os.killpg(self._process.pid, how)
            self._process.wait()
            self._process = None


def _with_children(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _with_children(int(child))


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def ask(
    port: int, method: str, path: str, token: str = "", body: object = None
) -> tuple[int, bytes]:
    """Send one request, and read its whole answer, on a connection of its own.

    Raises:
        OSError: If the connection broke off.
    """
    told = b"" if body is None else json.dumps(body).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nConnection: close\r\n"
        f"Authorization: Bearer {token}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(told)}\r\n\r\n"
    )
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        writer.write(head.encode() + told)
        answer = await reader.read()
    finally:
        writer.close()
    status, _, rest = answer.partition(b"\r\n")
    if not status:
        message = "the connection broke off"
        raise OSError(message)
    _, _, content = rest.partition(b"\r\n\r\n")
    if b"transfer-encoding: chunked" in rest[: rest.find(b"\r\n\r\n")].lower():
        content = _joined(content)
    return int(status.split()[1]), content


def _joined(chunks: bytes) -> bytes:
    """Join the chunks of an answer, as far as they came."""
    pieces = []
    while chunks:
        size, _, rest = chunks.partition(b"\r\n")
        count = int(size or b"0", 16)
        pieces.append(rest[:count])
        chunks = rest[count + 2 :] if count else b""
    return b"".join(pieces)


async def _turn(user: User, port: int, text: str, load: Load) -> bool:
    """Say something, and note what was acknowledged and what it cost.

    Returns:
        Whether anybody listened; if not, it can be said again.
    """
    user.said.append(text)
    path = f"/api/sessions/{user.session_id}/messages"
    started = time.perf_counter()
    try:
        status, answer = await ask(port, "POST", path, user.token, {"text": text})
    except ConnectionRefusedError:
        user.said.pop()
        return False
    except OSError as error:
        user.failures.append(type(error).__name__)
        return True
    seconds = time.perf_counter() - started
    if status != 200:
        user.failures.append(f"HTTP {status}")
        return True
    events = _events(answer)
    names = [name for name, _ in events]
    if "accepted" in names:
        user.acknowledged.append(text)
    if names[-1:] != ["finished"]:
        user.failures.append(f"broke off behind {names[-1] if names else 'nothing'}")
        return True
    said = events[-1][1]["text"]
    user.acknowledged.append(said)
    assert set(WORD.findall(said)) <= {user.word}, "a mixed session"
    pieces = names.count("text") + SILENT_PIECES
    user.overheads.append(seconds - pieces * load.piece_seconds)
    return True


def _events(answer: bytes) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for piece in answer.decode().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in piece.split("\n") if ": " in line)
        if "event" in lines and "data" in lines:
            found.append((lines["event"], json.loads(lines["data"])))
    return found


async def _talk(user: User, port: int, load: Load, chance: random.Random) -> None:
    await asyncio.sleep(chance.uniform(0, load.think_seconds))
    for turn in range(load.turns):
        text = TEXT.format(turn=turn, word=user.word, count=chance.randrange(100))
        for _ in range(120):  # a server that is being started again
            if await _turn(user, port, text, load):
                break
            await asyncio.sleep(0.5)
        await asyncio.sleep(chance.uniform(0.5, 1.5) * load.think_seconds)


async def _begin(user: User, port: int) -> None:
    status, answer = await ask(port, "POST", "/api/sessions", user.token)
    assert status == 201, answer
    user.session_id = json.loads(answer)["id"]


async def _check(user: User, port: int) -> None:
    """Compare what is stored with what was acknowledged, and with nobody else's."""
    path = f"/api/sessions/{user.session_id}"
    status, answer = await ask(port, "GET", path, user.token)
    assert status == 200, answer
    items = json.loads(answer)["items"][1:]
    texts = [item["text"] for item in items]
    for text in user.acknowledged:
        assert text in texts, "something acknowledged was lost"
    mine = [text for text in texts if text in set(user.said)]
    assert mine == [text for text in user.said if text in set(mine)], "out of order"
    assert set(WORD.findall(" ".join(texts))) <= {user.word}, "a mixed session"


async def _run(load: Load, folder: Path) -> dict[str, Any]:
    people = [User(f"user{n:04}x", "") for n in range(load.users)]
    accounts = []
    for user in people:
        user.token, account = new_token(user.word)
        accounts.append((account.user, account.key, account.digest))
    settings = WebSettings(
        store=load.store or f"sqlite:///{folder}/chat.db",
        accounts=tuple(accounts),
        is_offline=True,
        max_tokens=4_000,
        offline_delay_seconds=load.piece_seconds,
        wait_seconds=30.0,
    )
    server = Server(load, settings, folder)
    await server.start()
    try:
        for user in people:
            await _begin(user, server.port)
        chance = random.Random(1)
        started, worked = time.monotonic(), time.process_time()
        server_worked = server.cpu_seconds
        talks = [
            asyncio.create_task(
                _talk(user, server.port, load, random.Random(chance.random()))
            )
            for user in people
        ]
        if load.kill_after_seconds is not None:
            await asyncio.sleep(load.kill_after_seconds)
            server.end(signal.SIGKILL)
            await server.start()
            server_worked = math.nan  # it began anew
        await asyncio.gather(*talks)
        seconds = time.monotonic() - started
        worked = time.process_time() - worked
        server_worked = server.cpu_seconds - server_worked
        for user in people:
            await _check(user, server.port)
    finally:
        server.end(signal.SIGTERM)
    return _figures(people, seconds, client_cpu=worked, server_cpu=server_worked)


def _figures(
    people: list[User], seconds: float, *, client_cpu: float, server_cpu: float
) -> dict[str, Any]:
    overheads = sorted(one for user in people for one in user.overheads)
    failures = [failure for user in people for failure in user.failures]

    def at(share: float) -> float:
        return round(
            1e3 * overheads[min(len(overheads) - 1, int(len(overheads) * share))], 1
        )

    return {
        "turns": len(overheads),
        "failures": len(failures),
        "kinds_of_failure": sorted(set(failures)),
        "acknowledged": sum(len(user.acknowledged) for user in people),
        "turns_per_second": round(len(overheads) / seconds, 1),
        "server_cpu_ms_per_turn": round(1e3 * server_cpu / len(overheads), 2),
        "client_cpu_ms_per_turn": round(1e3 * client_cpu / len(overheads), 2),
        "overhead_p50_ms": at(0.5),
        "overhead_p95_ms": at(0.95),
        "overhead_p99_ms": at(0.99),
    }


def prove(load: Load) -> dict[str, Any]:
    """Run a load; return its figures.

    Raises:
        AssertionError: If something acknowledged was lost, or sessions were mixed; or,
            where nobody was killed, if a turn failed.
    """
    with tempfile.TemporaryDirectory() as folder:
        figures = asyncio.run(_run(load, Path(folder)))
    if load.kill_after_seconds is None:
        assert figures["failures"] == 0, figures
    return figures


def main() -> None:
    """Run the load, then the sudden end, and print the figures of both."""
    ask_for = argparse.ArgumentParser(description=__doc__)
    ask_for.add_argument("--users", type=int, default=100)
    ask_for.add_argument("--turns", type=int, default=20)
    ask_for.add_argument("--think-seconds", type=float, default=4.0)
    ask_for.add_argument("--piece-seconds", type=float, default=0.1)
    ask_for.add_argument("--workers", type=int, default=1)
    ask_for.add_argument("--store")
    given = vars(ask_for.parse_args())
    load = Load(**given)
    print("load", json.dumps(prove(load)))
    half = dataclasses.replace(
        load,
        turns=max(2, load.turns // 4),
        kill_after_seconds=load.think_seconds * 2,
    )
    print("killed in the middle", json.dumps(prove(half)))


if __name__ == "__main__":
    main()
