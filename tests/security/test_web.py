"""Threat: the web service: who asks, from where, how much, and what is shown."""

from __future__ import annotations

import hmac
import json
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.accounts import Accounts, new_token
from tests.web.serving import INJECTION, Events, client_of, site

if TYPE_CHECKING:
    from collections.abc import Iterator


def endpoints(one: Any) -> Iterator[tuple[str, str]]:
    """Yield the method and the path of each endpoint of the service's own."""
    for path, methods in one.app.openapi()["paths"].items():
        for method in methods:
            yield method.upper(), path


OPEN = {"/healthz", "/readyz", "/metrics"}
"""They say nothing of a user or a conversation."""


async def test_nobody_gets_in_without_a_token() -> None:
    """At any endpoint, with whatever else is sent along."""
    one = site()
    async with client_of(one, None) as anyone:
        for method, path in endpoints(one):
            if path in OPEN:
                continue
            url = path.replace("{session_id}", "x").replace("{item_id}", "i1")
            url = url.replace("{number}", "1")
            for headers in (
                {},
                {"Authorization": "Bearer "},
                {"Authorization": "Bearer x"},
                {"Authorization": f"Basic {one.tokens['ada']}"},
                {"Authorization": one.tokens["ada"]},
                {"Cookie": f"token={one.tokens['ada']}"},
                {"Authorization": f"Bearer {one.tokens['ada']}x"},
            ):
                answer = await anyone.http.request(
                    method, f"{url}?token={one.tokens['ada']}", headers=headers, json={}
                )
                assert answer.status_code == 401, (method, path, headers)


async def test_open_endpoints_say_nothing_of_anybody() -> None:
    """No user, no conversation, no word."""
    one = site()
    async with client_of(one) as ada:
        session_id = await ada.begin()
        await ada.http.post(
            f"/api/sessions/{session_id}/messages", json={"text": "walnut"}
        )
        for path in (*sorted(OPEN), "/openapi.json"):
            answer = await ada.http.get(path, headers={"Authorization": ""})
            assert answer.status_code == 200
            for word in ("walnut", session_id, "ada", one.tokens["ada"]):
                assert word not in answer.text, (path, word)


async def test_what_is_somebody_elses_does_not_exist() -> None:
    """The answer is the same, byte for byte, as for an id that nobody has."""
    one = site()
    async with client_of(one, "ada") as ada, client_of(one, "bob") as bob:
        theirs = await ada.begin()
        for method, path in endpoints(one):
            if "{session_id}" not in path:
                continue
            answers = []
            for session_id in (
                theirs,
                theirs[:-1] + ("0" if theirs[-1] != "0" else "1"),
            ):
                url = path.format(session_id=session_id, item_id="i1", number="1")
                body = {"text": "x"} if method == "POST" else None
                answers.append(
                    await bob.http.request(
                        method, url, json=body, params={"max_tokens": 500}
                    )
                )
            assert [one.status_code for one in answers] == [404, 404], path
            assert answers[0].content == answers[1].content
        assert (await ada.http.get(f"/api/sessions/{theirs}")).status_code == 200


def test_tokens_are_compared_in_constant_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """A token that is nobody's takes the same steps as one that is nearly right."""
    compared: list[tuple[int, int]] = []
    compare = hmac.compare_digest

    def watched(one: str, other: str) -> bool:
        compared.append((len(one), len(other)))
        return compare(one, other)

    monkeypatch.setattr("context_builder.accounts.hmac.compare_digest", watched)
    token, account = new_token("ada")
    accounts = Accounts([account])
    asked = (token, token[:-2] + "AA", new_token("bob")[0], "", "x", "cb-" + "0" * 60)
    found = [accounts.user_of(one) for one in asked]
    assert found == ["ada", None, None, None, None, None]
    assert compared == [(64, 64)] * len(asked)


async def test_another_site_can_send_nothing_in_a_users_name() -> None:
    """There is no cookie to ride on, no form is read, no other origin is allowed."""
    one = site()
    async with client_of(one) as ada:
        session_id = await ada.begin()
        path = f"/api/sessions/{session_id}/messages"
        for kind in ("application/x-www-form-urlencoded", "text/plain"):
            answer = await ada.http.post(
                path, content=b'{"text": "x"}', headers={"Content-Type": kind}
            )
            assert answer.status_code == 422
        asked = {
            "Origin": "https://evil.example",
            "Access-Control-Request-Method": "POST",
        }
        for answer in (
            await ada.http.options(path, headers=asked),
            await ada.http.get("/api/me", headers=asked),
            await ada.http.get("/", headers=asked),
        ):
            assert "access-control-allow-origin" not in answer.headers
            assert "set-cookie" not in answer.headers
        assert await ada.texts(session_id) == []


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 400_000,
        b'{"text":' * 100_000,
        b'{"text": ' + b"9" * 5_000 + b"}",
        b'{"text": 1e999}',
        b'{"text": NaN}',
        b"\xff\xfe",
        b"",
        b"\x1f\x8b\x08" + b"\0" * 100,
        b'{"text": "x", "text2": "y"}',
    ],
)
async def test_a_body_that_is_a_bomb_is_refused(body: bytes) -> None:
    """By a plain answer; the service goes on, and nothing was said."""
    async with client_of(site()) as ada:
        session_id = await ada.begin()
        for path in ("/api/sessions", f"/api/sessions/{session_id}/messages"):
            answer = await ada.http.post(
                path,
                content=body,
                headers={
                    "Content-Type": "application/json",
                    "Content-Encoding": "gzip",
                },
            )
            assert answer.status_code in {400, 422} or (
                path == "/api/sessions" and not body
            ), answer.text
        assert await ada.texts(session_id) == []


async def test_a_length_of_five_thousand_digits_is_no_length() -> None:
    """Servers check it first; whoever does not still gets an answer."""
    one = site(max_body_bytes=100)
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"x" * 200, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    token = one.tokens["ada"]
    headers = [
        (b"content-length", b"9" * 5_000),
        (b"content-type", b"application/json"),
        (b"authorization", f"Bearer {token}".encode()),
    ]
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
        "path": "/api/sessions",
        "raw_path": b"/api/sessions",
        "query_string": b"",
        "root_path": "",
        "headers": headers,
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 2),
    }
    await one.app(scope, receive, send)
    assert sent[0]["status"] == 413


@pytest.mark.parametrize(
    "query",
    [
        "max_tokens=" + "9" * 5_000,
        "max_tokens=-1",
        "max_tokens=NaN",
        "target=" + "x" * 65,
        "target=<script>",
        "target=..%2F..%2Fetc",
        "model=" + "m" * 201,
    ],
)
async def test_a_query_that_is_none_is_refused(query: str) -> None:
    """As JSON that no browser takes for a page, without content of a conversation."""
    async with client_of(site()) as ada:
        session_id = await ada.begin()
        answer = await ada.http.get(f"/api/sessions/{session_id}/window?{query}")
        assert answer.status_code == 422
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"


async def test_no_event_can_be_forged() -> None:
    """What a tool or a user says is one line of JSON in ASCII."""
    forged = 'x\n\nevent: finished\ndata: {"text": "forged"}\n\n\u2028\u0085'
    async with client_of(site()) as ada:
        session_id = await ada.begin()
        answer = await ada.http.post(
            f"/api/sessions/{session_id}/messages", json={"text": forged + INJECTION}
        )
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.content.isascii()
        names = [name for name, _ in Events.read(answer.text)]
        assert names.count("finished") == 1
        for block in answer.text.strip().split("\n\n"):
            lines = [line for line in block.split("\n") if not line.startswith(":")]
            if lines:
                assert [line.partition(":")[0] for line in lines] == ["event", "data"]
                json.loads(lines[1].removeprefix("data:"))
