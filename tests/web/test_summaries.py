"""A service with a model that writes summaries."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx

from context_builder.accounts import Account, new_token
from context_builder.web.serving import app_of
from context_builder.web.settings import WebSettings
from tests.summarizers.test_openai import Endpoint, always, completion
from tests.web.serving import Client

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

SUMMARY = (
    '{"goal": "Tell of the ferry", "constraints": [], "done": [], "to_do": [], '
    '"facts_and_risks": ["it leaves at 7:40"]}'
)


def served(folder: Path, account: Account, token: str) -> httpx.AsyncClient:
    """Return a client of what `serve --summary-model small` serves."""
    app = app_of(
        WebSettings(
            store=f"sqlite:///{folder / 'chats.db'}",
            is_offline=True,
            offline_delay_seconds=0,
            max_tokens=1_500,
            summary_model="small",
            accounts=((account.user, account.key, account.digest),),
        )
    )
    return httpx.AsyncClient(
        transport=httpx.ASGITransport(app=app),
        base_url="http://test",
        headers={"Authorization": f"Bearer {token}"},
    )


async def test_what_leaves_a_conversation_is_summarized(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The model that was named is asked; who only looks into it asks nobody."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    token, account = new_token("ada")
    asked, unasked = (Endpoint(always(completion(SUMMARY))) for _ in range(2))
    try:
        monkeypatch.setenv("OPENAI_BASE_URL", asked.url)
        async with served(tmp_path, account, token) as http:
            ada = Client(http)
            session_id = await ada.begin()
            for number in range(8):
                events = await ada.say(session_id, f"{number}: " + "the ferry " * 120)
                assert events.names[-1] == "finished"
        monkeypatch.setenv("OPENAI_BASE_URL", unasked.url)
        async with served(tmp_path, account, token) as http:
            ada, path = Client(http), f"/api/sessions/{session_id}"
            request = await ada.get(f"{path}/request", target="openai")
            await ada.get(f"{path}/plan", max_tokens=900)
            for view in ("timeline", "window", "report"):
                await ada.get(f"{path}/{view}")
    finally:
        asked.close()
        unasked.close()
    assert "it leaves at 7:40" in str(request)
    assert {body["model"] for body in asked.asked} == {"small"}
    assert unasked.asked == []
