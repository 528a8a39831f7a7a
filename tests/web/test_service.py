from __future__ import annotations

import asyncio
import json
import re
import uuid
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.agent import OfflineModel
from context_builder.errors import StoreError
from context_builder.sessions import MemoryStore
from tests.sessions import stores
from tests.web.serving import Recorder, client_of, site

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from fastapi import FastAPI

ENDPOINTS = (
    ("GET", ""),
    ("DELETE", ""),
    ("POST", "/messages"),
    ("GET", "/window"),
    ("GET", "/plan?max_tokens=500"),
    ("GET", "/report"),
    ("GET", "/request"),
    ("GET", "/timeline"),
    ("GET", "/differences/1"),
    ("GET", "/items/i1"),
)
"""All that can be asked of one conversation."""


def paths(app: FastAPI) -> Iterator[tuple[str, str]]:
    """Yield every method and path that the service describes."""
    for path, operations in app.openapi()["paths"].items():
        for method in operations:
            yield method.upper(), path


def test_the_endpoints_of_a_conversation_are_all_tried_here() -> None:
    """No endpoint is added without a test that others cannot use it."""
    prefix = "/api/sessions/{session_id}"
    described = {
        (method, path.removeprefix(prefix))
        for method, path in paths(site().app)
        if path.startswith(prefix)
    }
    tried = {
        (
            method,
            re.sub(r"/i1$", "/{item_id}", re.sub(r"/1$", "/{number}", path)).split("?")[
                0
            ],
        )
        for method, path in ENDPOINTS
    }
    assert described == tried


# --- who may do what ------------------------------------------------------------------


@pytest.mark.parametrize(
    "token", [None, "", "nonsense", "cb-0123456789abcdef-" + "x" * 43]
)
async def test_nothing_is_said_to_whom_nobody_knows(token: str | None) -> None:
    """Every path under /api asks for a token, and a wrong one is refused."""
    one = site()
    tried = 0
    async with client_of(one, None) as client:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        for method, path in paths(one.app):
            if not path.startswith("/api"):
                continue
            answer = await client.http.request(
                method,
                path.format(session_id="s", number=1, item_id="i1"),
                headers=headers,
            )
            assert answer.status_code == 401, (method, path)
            assert answer.headers["www-authenticate"] == "Bearer"
            tried += 1
    assert tried > 10


async def test_a_conversation_is_nobody_elses() -> None:
    """Who guesses the id of another user's conversation is told that there is none."""
    one = site()
    async with client_of(one, "ada") as ada, client_of(one, "bob") as bob:
        mine = await ada.begin()
        await ada.say(mine, "My secret is heliotrope.")
        for method, path in ENDPOINTS:
            body = {"text": "What is the secret?"} if method == "POST" else None
            answer = await bob.http.request(
                method, f"/api/sessions/{mine}{path}", json=body
            )
            assert answer.status_code == 404, (method, path, answer.text)
            assert "heliotrope" not in answer.text
        assert (await bob.get("/api/sessions")) == {"sessions": [], "total": 0}
        assert "My secret is heliotrope." in await ada.texts(mine)


async def test_an_id_of_nobodys_makes_no_conversation() -> None:
    """Asking for what does not exist leaves nothing behind."""
    one = site()
    async with client_of(one) as ada:
        for method, path in ENDPOINTS:
            body = {"text": "hello"} if method == "POST" else None
            answer = await ada.http.request(
                method, f"/api/sessions/made-up{path}", json=body
            )
            assert answer.status_code == 404, (method, path)
        assert (await ada.get("/api/sessions"))["total"] == 0


async def test_users_with_the_same_words_stay_apart() -> None:
    """Two users who talk at once each hear of their own words only."""
    one = site(model=Recorder(delay_seconds=0.001))
    async with client_of(one, "ada") as ada, client_of(one, "bob") as bob:
        pairs = [(ada, await ada.begin(), "amber"), (bob, await bob.begin(), "basalt")]

        async def talk(client: Any, session_id: str, word: str) -> None:
            for number in range(6):
                await client.say(session_id, f"Remember {word} number {number}.")

        await asyncio.gather(*(talk(*pair) for pair in pairs))
        for client, session_id, word in pairs:
            texts = " ".join(await client.texts(session_id))
            other = "basalt" if word == "amber" else "amber"
            assert word in texts
            assert other not in texts
    for request in one.model.requests:
        said = json.dumps(request)
        assert ("amber" in said) != ("basalt" in said)


# --- conversations --------------------------------------------------------------------


async def test_a_turn_is_told_as_it_happens_and_kept() -> None:
    """Accepted, asked, called, answered, finished; and all of it can be read again."""
    one = site()
    async with client_of(one) as ada:
        session_id = await ada.begin()
        events = await ada.say(session_id, "Use look_up for tea, then use failing now")
        assert events.names == [
            *("accepted", "request", "usage", "tool_started", "tool_finished"),
            *("request", "usage", "tool_started", "tool_finished"),
            *("request", "text", "usage", "finished"),
        ]
        done, failed = events.of("tool_finished")
        assert (done["is_error"], failed["is_error"]) == (False, True)
        said = "".join(piece["text"] for piece in events.of("text"))
        (finished,) = events.of("finished")
        assert finished["text"] == said
        assert finished["stop_reason"] == "answered"
        items = (await ada.get(f"/api/sessions/{session_id}"))["items"]
        roles = [item["role"] for item in items]
        assert roles == [
            *("system", "user", "assistant", "tool", "assistant", "tool", "assistant")
        ]
        assert items[-1]["text"] == said
        assert [item["id"] for item in items[1:]] == finished["item_ids"]
        (line,) = (await ada.get("/api/sessions"))["sessions"]
        assert line["title"] == "Use look_up for tea, then use failing now"


async def test_a_conversation_begins_with_its_own_prompt_or_the_services() -> None:
    """What a conversation was begun with is what the model is told."""
    one = site(system_prompt="You are kind.")
    async with client_of(one) as ada:
        for body, prompt in (
            ({}, "You are kind."),
            ({"system_prompt": "Be brief."}, "Be brief."),
        ):
            await ada.say(await ada.begin(**body), "hello")
            first = one.model.requests[-1]["messages"][0]
            assert first == {"role": "system", "content": prompt}


async def test_what_is_deleted_is_gone() -> None:
    """A deleted conversation is neither listed nor found."""
    one = site()
    async with client_of(one) as ada:
        session_id = await ada.begin()
        await ada.say(session_id, "hello")
        path = f"/api/sessions/{session_id}"
        assert (await ada.http.delete(path)).status_code == 204
        assert (await ada.http.get(path)).status_code == 404
        assert (await ada.http.delete(path)).status_code == 404
        assert (await ada.get("/api/sessions"))["total"] == 0


async def test_the_conversation_used_last_is_listed_first() -> None:
    """And no more of them than were asked for."""
    one = site()
    async with client_of(one) as ada:
        ids = [await ada.begin() for _ in range(3)]
        await ada.say(ids[0], "again")
        found = await ada.get("/api/sessions", limit=2)
        assert found["total"] == 3
        assert [line["id"] for line in found["sessions"]] == [ids[0], ids[2]]


async def test_one_turn_at_a_time() -> None:
    """A second turn of a conversation waits a while, and is then told to wait."""
    one = site(model=Recorder(delay_seconds=0.2))
    async with client_of(one) as ada:
        session_id = await ada.begin()
        first = asyncio.create_task(ada.say(session_id, "a long one, please"))
        await one.model.asked.wait()
        answer = await ada.http.post(
            f"/api/sessions/{session_id}/messages", json={"text": "and another"}
        )
        assert answer.status_code == 409
        assert "another turn of this conversation is running" in answer.json()["detail"]
        assert (await first).of("finished")
        assert "and another" not in await ada.texts(session_id)
        assert (await ada.say(session_id, "now?")).of("finished")


async def test_a_vendors_failure_is_told_without_its_words() -> None:
    """The turn ends with an error that says whose it is, and the next one works."""
    one = site(model=Recorder(RuntimeError("the key sk-123 said: secret")))
    async with client_of(one) as ada:
        session_id = await ada.begin()
        events = await ada.say(session_id, "hello")
        assert events.names[-1] == "error"
        (told,) = events.of("error")
        assert told == {"message": "the model could not be asked (RuntimeError)"}
        assert (await ada.get(f"/api/sessions/{session_id}"))["was_interrupted"]
        assert (await ada.say(session_id, "again")).of("finished")
        assert not (await ada.get(f"/api/sessions/{session_id}"))["was_interrupted"]


async def test_a_turn_that_takes_too_long_is_ended() -> None:
    """And the conversation can be used again."""
    one = site(model=Recorder(delay_seconds=0.3), turn_seconds=0.5)
    async with client_of(one) as ada:
        session_id = await ada.begin()
        events = await ada.say(session_id, "hello")
        assert events.of("error") == [
            {"message": "the turn took too long, and was ended"}
        ]


@pytest.mark.parametrize("kind", stores.DURABLE)
async def test_two_servers_share_a_store(kind: str, tmp_path: Path) -> None:
    """In a file, in Redis or in PostgreSQL: what one keeps the other goes on with."""
    user = f"user-{uuid.uuid4().hex}"
    with stores.place(kind, tmp_path, f"web:{user}") as url:
        one, other = (site(url, names=[user]) for _ in range(2))
        async with (
            client_of(one, user) as here,
            client_of(other, user) as there,
            one.sessions,
            other.sessions,
        ):
            session_id = await here.begin()
            await here.say(session_id, "Use look_up for tea")
            assert (await there.say(session_id, "And coffee?")).of("finished")
            texts = await here.texts(session_id)
            assert texts[0] == "Use look_up for tea"
            assert texts[-2] == "And coffee?"
            assert texts == await there.texts(session_id)
            timelines = [
                await client.get(f"/api/sessions/{session_id}/timeline")
                for client in (here, there)
            ]
            assert timelines[0] == timelines[1]
            path = f"/api/sessions/{session_id}"
            assert (await there.http.delete(path)).status_code == 204
            assert (await here.http.get(path)).status_code == 404


# --- what is told of the service ---------------------------------------------------


async def test_openapi_describes_the_service() -> None:
    """Each endpoint says what it does, and how one logs in."""
    one = site()
    async with client_of(one, None) as anyone:
        described = (await anyone.http.get("/openapi.json")).json()
    for path, operations in described["paths"].items():
        for operation in operations.values():
            assert operation["description"], path
            assert ("security" in operation) == path.startswith("/api"), path
    assert (
        described["components"]["securitySchemes"]["HTTPBearer"]["scheme"] == "bearer"
    )


async def test_what_is_counted_names_nobody() -> None:
    """Turns, tokens and tools are counted; users and words are not told."""
    one = site()
    async with client_of(one) as ada:
        session_id = await ada.begin()
        await ada.say(session_id, "Use look_up for tea, and use failing now")
        text = (await ada.http.get("/metrics")).text
    assert 'context_builder_turns_total{outcome="answered"} 1.0' in text
    assert 'context_builder_tool_calls_total{outcome="done"} 1.0' in text
    assert 'context_builder_tool_calls_total{outcome="failed"} 1.0' in text
    assert "context_builder_request_tokens_count 2.0" in text
    assert "context_builder_own_seconds_count 1.0" in text
    assert "context_builder_running_turns 0.0" in text
    billed = sum(
        one.model._till.bill(r, "")["prompt_tokens"] for r in one.model.requests
    )
    assert (
        f'context_builder_billed_tokens_total{{kind="input"}} {float(billed)}' in text
    )
    for word in ("ada", session_id, "tea", "look_up"):
        assert word not in text


async def test_it_says_when_the_store_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is alive, but not ready; a request says so as well."""
    one = site()
    async with client_of(one) as ada:
        assert (await ada.http.get("/readyz")).status_code == 200

        def refuse(*_: object, **__: object) -> None:
            message = "the store cannot be reached"
            raise StoreError(message)

        monkeypatch.setattr(MemoryStore, "sessions", refuse)
        assert (await ada.http.get("/healthz")).status_code == 200
        assert (await ada.http.head("/healthz")).status_code == 200  # as probes ask
        assert (await ada.http.head("/readyz")).status_code == 503
        for path in ("/readyz", "/api/sessions"):
            answer = await ada.http.get(path)
            assert answer.status_code == 503
            assert answer.json() == {"detail": "the store cannot be reached"}


async def test_the_page_is_told_that_the_model_is_none() -> None:
    """Who is served offline is told so, and by whom else they could be."""
    one = site()
    async with client_of(one) as ada:
        me = await ada.get("/api/me")
    assert me["is_offline"] is True
    assert me["user"] == "ada"
    assert me["budget_tokens"] == 3_000
    assert me["tools"] == ["look_up", "hostile", "failing"]
    assert {"openai", "anthropic", "gemini"} <= set(me["targets"])
    assert isinstance(one.model, OfflineModel)
