"""The service as processes serve it: with sockets, disconnects and sudden ends."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from typing import TYPE_CHECKING

import httpx
import pytest
from typer.testing import CliRunner

from context_builder.accounts import AccountsFile, new_token
from context_builder.cli.commands import app
from tests.web.serving import Client, Events, Recorder, free_port, program, served, site

if TYPE_CHECKING:
    from pathlib import Path

LONG = "Tell me " + "a long story about rivers and mountains " * 10


def client(url: str, token: str) -> Client:
    """Return a user's client."""
    headers = {"Authorization": f"Bearer {token}"}
    return Client(httpx.AsyncClient(base_url=url, headers=headers, timeout=60))


async def test_pieces_come_while_the_turn_goes_on() -> None:
    """The first words are there long before the last."""
    one = site(model=Recorder(delay_seconds=0.05), keep_alive_seconds=0.02)
    with served(one.app) as url:
        ada = client(url, one.tokens["ada"])
        session_id = await ada.begin()
        times: dict[str, float] = {}
        raw = ""
        async with ada.http.stream(
            "POST", f"/api/sessions/{session_id}/messages", json={"text": LONG}
        ) as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            async for piece in answer.aiter_text():
                raw += piece
                for name in ("accepted", "text", "finished"):
                    if f"event: {name}\n" in raw:
                        times.setdefault(name, time.monotonic())
        assert times["accepted"] < times["text"] < times["finished"] - 0.2
        assert ": still there" in raw
        assert Events.read(raw).names[-1] == "finished"
        await ada.http.aclose()


async def test_who_goes_away_stops_the_turn() -> None:
    """What was said until then is kept, and the conversation is valid and free."""
    one = site(model=Recorder(delay_seconds=0.1), wait_seconds=3.0)
    with served(one.app) as url:
        ada = client(url, one.tokens["ada"])
        session_id = await ada.begin()
        with contextlib.suppress(httpx.ReadError):
            async with ada.http.stream(
                "POST", f"/api/sessions/{session_id}/messages", json={"text": LONG}
            ) as answer:
                async for piece in answer.aiter_text():
                    if "event: text" in piece:
                        break
        started = time.monotonic()
        events = await ada.say(session_id, "Are you still there?")
        assert events.of("finished")
        assert time.monotonic() - started < 5
        found = await ada.get(f"/api/sessions/{session_id}")
        roles = [item["role"] for item in found["items"]]
        assert roles == ["system", "user", "assistant", "user", "assistant"]
        assert found["items"][2]["partial"]
        assert not found["was_interrupted"]
        metrics = (await ada.http.get("/metrics")).text
        assert 'context_builder_turns_total{outcome="cancelled"} 1.0' in metrics
        assert "context_builder_running_turns 0.0" in metrics
        await ada.http.aclose()


async def test_a_server_that_stops_keeps_what_was_said(tmp_path: Path) -> None:
    """Stopped in mid-turn it closes the conversation properly."""
    token, _ = new_token("ada")
    port = free_port()
    with program(tmp_path, tokens=[f"ada={token}"], port=port) as (url, process):
        ada = client(url, token)
        session_id = await ada.begin()
        with contextlib.suppress(httpx.TransportError):
            async with ada.http.stream(
                "POST", f"/api/sessions/{session_id}/messages", json={"text": LONG}
            ) as answer:
                async for piece in answer.aiter_text():
                    if "event: text" in piece:
                        process.send_signal(signal.SIGTERM)
                        break
        await asyncio.to_thread(process.wait, 30)
        await ada.http.aclose()
    with program(tmp_path, tokens=[f"ada={token}"], port=port) as (url, _):
        ada = client(url, token)
        texts = await ada.texts(session_id)
        assert texts[0] == LONG.strip() or texts[0] == LONG
        assert (await ada.say(session_id, "And now?")).of("finished")
        await ada.http.aclose()


async def test_a_killed_server_loses_nothing_acknowledged(tmp_path: Path) -> None:
    """Every message that was accepted, and every turn that finished, is there."""
    token, _ = new_token("ada")
    acknowledged: list[tuple[str, str]] = []
    session_ids: list[str] = []

    async def talk(ada: Client, session_id: str) -> None:
        for number in range(1_000):
            text = f"message {number} of {session_id}"
            async with ada.http.stream(
                "POST", f"/api/sessions/{session_id}/messages", json={"text": text}
            ) as answer:
                raw = ""
                async for piece in answer.aiter_text():
                    raw += piece
                    if "event: accepted" in raw and (session_id, text) not in told:
                        told.add((session_id, text))
                        acknowledged.append((session_id, text))
                        if len(acknowledged) > 20:
                            enough.set()
            finished = Events.read(raw).of("finished")
            acknowledged.extend((session_id, one["text"]) for one in finished)

    told: set[tuple[str, str]] = set()
    enough = asyncio.Event()
    with program(tmp_path, tokens=[f"ada={token}"]) as (url, process):
        ada = client(url, token)
        session_ids += [await ada.begin() for _ in range(4)]
        talks = [asyncio.create_task(talk(ada, one)) for one in session_ids]
        await asyncio.wait_for(enough.wait(), 60)
        process.kill()
        for done in await asyncio.gather(*talks, return_exceptions=True):
            assert isinstance(done, httpx.TransportError), done
        await ada.http.aclose()
    with program(tmp_path, tokens=[f"ada={token}"]) as (url, _):
        ada = client(url, token)
        kept = {one: await ada.texts(one) for one in session_ids}
        for session_id, text in acknowledged:
            assert text in kept[session_id]
        # A dead worker's sessions are free once its lease has run out.
        assert (await ada.say_in_the_end(session_ids[0], "still here")).of("finished")
        await ada.http.aclose()


async def test_several_workers_serve_one_conversation(tmp_path: Path) -> None:
    """Whichever worker is asked, the conversation goes on; counts are added up."""
    token, _ = new_token("ada")
    with program(tmp_path, "--workers", "2", tokens=[f"ada={token}"]) as (url, _):
        first = client(url, token)
        session_id = await first.begin()
        await first.http.aclose()
        for number in range(6):
            ada = client(url, token)  # another connection: maybe another worker
            assert (await ada.say(session_id, f"turn {number}")).of("finished")
            assert f"turn {number}" in await ada.texts(session_id)
            await ada.http.aclose()
        ada = client(url, token)
        metrics = (await ada.http.get("/metrics")).text
        assert 'context_builder_turns_total{outcome="answered"} 6.0' in metrics
        await ada.http.aclose()


@pytest.mark.parametrize(
    ("arguments", "environment", "words"),
    [
        (("--model", "gpt-4o"), {}, "OPENAI_API_KEY"),
        ((), {"OPENAI_API_KEY": "x"}, "--model"),
        (("--offline", "--store", "nowhere:"), {}, "a store is"),
        (("--offline", "--store", "memory:", "--workers", "2"), {}, "one worker"),
        (("--model", "no-such"), {"OPENAI_API_KEY": "x"}, "--context-window"),
        (("--offline", "--tools", "no.such:X"), {}, "module:name"),
        (("--to", "nosuch", "--model", "m"), {"OPENAI_API_KEY": "x"}, "no driver for"),
        (("--to", "groq", "--model", "m"), {"OPENAI_API_KEY": "x"}, "GROQ_API_KEY"),
        (("--offline", "--host", "0.0.0.0"), {}, "users add"),  # noqa: S104
        (("--offline", "--summary-model", "gpt-4o-mini"), {}, "OPENAI_API_KEY"),
        (("--offline",), {"CONTEXT_BUILDER_TOKENS": "ada=hunter2"}, "users add"),
    ],
)
def test_what_cannot_be_served_is_said_in_one_line(
    arguments: tuple[str, ...],
    environment: dict[str, str],
    words: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No key, no model, no store, no users: what to do about it, and no traceback."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "CONTEXT_BUILDER_TOKENS"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CONTEXT_BUILDER_USERS", str(tmp_path / "users.json"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    result = CliRunner().invoke(app, ["serve", *arguments])
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert "hunter2" not in result.stderr


def test_users_are_managed_by_the_command_line(tmp_path: Path) -> None:
    """A token is printed once; names are listed; who is removed is gone."""
    path = tmp_path / "users.json"

    def run(*arguments: str) -> str:
        result = CliRunner().invoke(app, ["users", *arguments, "--users", str(path)])
        assert result.exit_code == 0, result.output
        return result.stdout.strip()

    token = run("add", "ada")
    assert AccountsFile(path).user_of(token) == "ada"
    assert run("list") == "ada"
    run("remove", "ada")
    assert run("list") == ""
    result = CliRunner().invoke(app, ["users", "remove", "eve", "--users", str(path)])
    assert result.exit_code == 1
