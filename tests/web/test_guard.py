"""What is refused on the way in, and what guards each answer on the way out."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.web.serving import INJECTION, Events, client_of, site

# --- what comes in --------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", "  \n ", None, 7, ["a"]])
async def test_a_message_that_says_nothing_is_refused(text: object) -> None:
    """Nothing enters the conversation."""
    async with client_of(site()) as ada:
        session_id = await ada.begin()
        answer = await ada.http.post(
            f"/api/sessions/{session_id}/messages", json={"text": text}
        )
        assert answer.status_code == 422
        assert await ada.texts(session_id) == []


@pytest.mark.parametrize("is_announced", [True, False])
async def test_a_request_may_have_only_so_many_bytes(*, is_announced: bool) -> None:
    """Whether or not it says how many it has."""
    one = site(max_body_bytes=10_000)
    body = json.dumps({"text": "x" * 20_000}).encode()

    async def pieces() -> Any:
        for start in range(0, len(body), 1_000):
            yield body[start : start + 1_000]

    async with client_of(one) as ada:
        session_id = await ada.begin()
        answer = await ada.http.post(
            f"/api/sessions/{session_id}/messages",
            content=body if is_announced else pieces(),
            headers={"Content-Type": "application/json"},
        )
        assert answer.status_code == 413
        assert answer.json() == {"detail": "a request may have 10,000 bytes at most"}
        assert await ada.texts(session_id) == []


async def test_a_message_may_have_only_so_many_characters() -> None:
    """The limit is a setting, and the answer says what it is."""
    async with client_of(site(max_message_chars=10)) as ada:
        session_id = await ada.begin()
        answer = await ada.http.post(
            f"/api/sessions/{session_id}/messages", json={"text": "x" * 11}
        )
        assert answer.status_code == 413
        assert "10 characters" in answer.json()["detail"]


@pytest.mark.parametrize(
    "text",
    [
        "a\n\nevent: finished\ndata: {}\n\n",
        "\ud83d alone",
        "nul \0 and \u2028 and \x1b[31m",
        INJECTION,
        "<|endoftext|>",
    ],
)
async def test_hostile_text_is_text(text: str) -> None:
    """It can forge no event and break no answer, and comes back as it was."""
    one = site()
    async with client_of(one) as ada:
        session_id = await ada.begin()
        answer = await ada.http.post(
            f"/api/sessions/{session_id}/messages",
            content=json.dumps({"text": text}).encode(),
            headers={"Content-Type": "application/json"},
        )
        events = Events.read(answer.text)
        assert answer.status_code == 200, answer.text
        assert [name for name, _ in events].count("finished") == 1
        assert events.names[-1] == "finished"
        for path in ("", "/window", "/request", "/timeline", "/items/i2"):
            await ada.get(f"/api/sessions/{session_id}{path}")
        said = (await ada.texts(session_id))[0]
        assert said == text.replace("\ud83d", "\ufffd").replace("\0", "")


# --- what goes out --------------------------------------------------------------------


async def test_every_answer_is_guarded() -> None:
    """Pages, data, errors and refusals carry the policy; nothing may be kept."""
    one = site(max_body_bytes=100)
    async with client_of(one) as ada:
        for answer in (
            await ada.http.get("/"),
            await ada.http.get("/static/app.js"),
            await ada.http.get("/api/me"),
            await ada.http.get("/api/sessions/none"),
            await ada.http.get("/no/such/path"),
            await ada.http.post("/api/sessions", content=b"x" * 200),
        ):
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "script-src 'self';" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["x-frame-options"] == "DENY"
            assert answer.headers["cache-control"] in {"no-store", "no-cache"}


async def test_the_page_needs_nothing_from_elsewhere() -> None:
    """No address of another host, no markup made of text, no code made of text."""
    one = site()
    async with client_of(one, None) as anyone:
        page = (await anyone.http.get("/")).text
        names = set(re.findall(r'(?:src|href)="(/[^"]*)"', page))
        texts = {"/": page}
        while names - texts.keys():
            for name in names - texts.keys():
                answer = await anyone.http.get(name)
                assert answer.status_code == 200, name
                texts[name] = answer.text
                names |= {
                    f"/static/{other}"
                    for other in re.findall(r'from "\./([^"]+)"', answer.text)
                }
    assert len(texts) > 9
    for name, text in texts.items():
        addresses = set(re.findall(r"(?:https?:)?//[\w.]+\.\w+[^\s\"')]*", text))
        assert addresses <= {"http://www.w3.org/2000/svg"}, name
        for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write"):
            assert word not in text, name
        assert not re.search(r"\beval\(|new Function|<script>|\son\w+=\"", text), name


async def test_another_site_gets_no_leave() -> None:
    """No CORS header to any origin, and no cookie that a browser would send along."""
    one = site()
    async with client_of(one) as ada:
        origin = {"Origin": "https://elsewhere.example"}
        asks = {**origin, "Access-Control-Request-Method": "POST"}
        for answer in (
            await ada.http.options("/api/sessions", headers=asks),
            await ada.http.get("/api/me", headers=origin),
            await ada.http.get("/", headers=origin),
        ):
            names = {name.lower() for name in answer.headers}
            assert not any(name.startswith("access-control-") for name in names)
            assert "set-cookie" not in names
