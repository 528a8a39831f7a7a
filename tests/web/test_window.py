from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from context_builder.inspector import EXAMPLES, model_for
from context_builder.limits import provider_of
from context_builder.render import adapter_for, adapter_names, validate
from tests.web.serving import Recorder, Site, client_of, site

LONG = 14
"""Turns, each with a large tool result: they cross the budget several times."""


async def long_talk(one: Site, turns: int = LONG) -> str:
    """Hold a long conversation that uses tools; return its id."""
    async with client_of(one) as ada:
        session_id = await ada.begin()
        for number in range(turns):
            await ada.say(session_id, f"Use look_up for order {number}")
        return session_id


@pytest.fixture
async def talked() -> tuple[Site, str]:
    """Return an application, and the id of a long conversation that it has."""
    one = site()
    return one, await long_talk(one)


async def test_the_window_is_the_builders_own_report(talked: tuple[Site, str]) -> None:
    """Item by item: what became of it, its tokens, and why."""
    one, session_id = talked
    async with client_of(one) as ada:
        window = await ada.get(f"/api/sessions/{session_id}/window")
    with one.sessions.for_namespace("web:ada").open(session_id) as ctx:
        report = ctx.explain()
        texts = {item.id: item.text for item in ctx.items}
    fates = [
        (window["actions"][action], tokens, window["reasons"][reason])
        for action, tokens, reason in window["plan"]["fates"]
    ]
    assert fates == [(o.action, o.tokens_after, o.reason) for o in report.outcomes]
    assert [i["id"] for i in window["items"]] == [o.item_id for o in report.outcomes]
    assert [i["tokens"] for i in window["items"]] == [
        o.tokens_before for o in report.outcomes
    ]
    assert window["plan"]["tokens"] == report.tokens <= 3_000
    assert window["plan"]["compactions"] == report.compactions > 1
    assert {"kept", "evicted"} <= set(window["actions"])
    for item in window["items"]:
        assert (
            texts[item["id"]].startswith(item["text"].rstrip("…"))
            or "(" in item["text"]
        )


@pytest.mark.parametrize("target", adapter_names())
async def test_the_body_is_what_the_vendor_would_get(
    talked: tuple[Site, str], target: str
) -> None:
    """Byte for byte the builder's request, for every vendor."""
    one, session_id = talked
    async with client_of(one) as ada:
        shown = await ada.get(f"/api/sessions/{session_id}/request", target=target)
    with one.sessions.for_namespace("web:ada").open(session_id) as ctx:
        answers = [item for item in ctx.items if item.role == "assistant"]
        ctx.remove(answers[-1].id)
        theirs = ctx.request(target, model=model_for(target, "gpt-4o"))
    assert shown["model" if "model" in shown else "modelId"]
    assert not validate(shown, target)
    if target == "openai":
        assert shown["messages"] == one.model.requests[-1]["messages"]
    assert shown == theirs


@pytest.mark.parametrize("target", EXAMPLES)
def test_a_vendor_is_shown_with_a_model_of_its_own(target: str) -> None:
    """A request to a vendor never names a model that it does not serve."""
    served = adapter_for(target).capabilities.providers
    assert provider_of(EXAMPLES[target]) in served
    assert provider_of(model_for(target, "no-such-model-1")) in {None, *served}
    assert model_for(target, EXAMPLES[target]) == EXAMPLES[target]


async def test_the_timeline_tells_what_was_really_sent(
    talked: tuple[Site, str],
) -> None:
    """Request by request, the log gives the very bodies that the model got."""
    one, session_id = talked
    async with client_of(one) as ada:
        sent = (await ada.get(f"/api/sessions/{session_id}/timeline"))["requests"]
    view = await one.app.state.service.view("ada", session_id)
    assert len(sent) == len(one.model.requests) == 2 * LONG
    for told, real in zip(sent, one.model.requests, strict=True):
        replayed = view.followed().until(told["position"])
        assert replayed.build() == real["messages"]
        assert told["tokens"] == replayed.explain().tokens
        assert told["tokens"] == told["billed_tokens"] <= 3_000
    assert sum(told["compactions"] for told in sent) > 1


async def test_the_timeline_tells_what_a_cache_keeps(talked: tuple[Site, str]) -> None:
    """Without a compaction all of the former request; after one, only its beginning."""
    one, session_id = talked
    async with client_of(one) as ada:
        sent = (await ada.get(f"/api/sessions/{session_id}/timeline"))["requests"]
    for former, latter in itertools.pairwise(sent):
        if latter["why"]:
            assert 0 < latter["kept_tokens"] < former["tokens"]
        else:
            assert latter["compactions"] == 0
            assert latter["kept_tokens"] == former["tokens"]


async def test_a_difference_shows_where_the_prefix_breaks(
    talked: tuple[Site, str],
) -> None:
    """The messages before the place are the same, the one at it is not."""
    one, session_id = talked
    async with client_of(one) as ada:
        sent = (await ada.get(f"/api/sessions/{session_id}/timeline"))["requests"]
        for told in sent[1:]:
            number = told["number"]
            found = await ada.get(f"/api/sessions/{session_id}/differences/{number}")
            former = one.model.requests[number - 1]["messages"]
            latter = one.model.requests[number]["messages"]
            same = found["same_messages"]
            assert former[:same] == latter[:same]
            assert (found["path"] is None) == (same == len(former))
            assert (found["path"] is None) == (not told["compactions"])
            if found["path"] is not None:
                assert found["path"].startswith(f"messages[{same}]")
                assert former[same] != latter[same]
                assert found["lost_tokens"] > 0
        answer = await ada.http.get(f"/api/sessions/{session_id}/differences/0")
        assert answer.status_code == 404


async def test_another_budget_is_planned_and_changes_nothing(
    talked: tuple[Site, str],
) -> None:
    """The plan is the builder's own, and the window is what it was before."""
    one, session_id = talked
    path = f"/api/sessions/{session_id}"
    async with client_of(one) as ada:
        before = await ada.get(f"{path}/window")
        smaller = await ada.get(f"{path}/plan", max_tokens=1_500)
        larger = await ada.get(f"{path}/plan", max_tokens=100_000)
        assert await ada.get(f"{path}/window") == before
    assert smaller["plan"]["tokens"] <= 1_500
    assert {larger["actions"][fate[0]] for fate in larger["plan"]["fates"]} == {"kept"}
    with one.sessions.for_namespace("web:ada").open(session_id) as ctx:
        report = ctx.plan(what_if_max_tokens=1_500)
    assert [fate[1] for fate in smaller["plan"]["fates"]] == [
        outcome.tokens_after for outcome in report.outcomes
    ]


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"max_tokens": 5}, 422, "tokens"),
        ({"max_tokens": 0}, 422, "greater"),
        ({"max_tokens": "many"}, 422, "integer"),
        ({}, 422, "required"),
    ],
)
async def test_a_budget_that_cannot_be_is_explained(
    query: dict[str, Any], status: int, words: str
) -> None:
    """Too small, none at all, no number: the answer says which."""
    one = site()
    session_id = await long_talk(one, 1)
    async with client_of(one) as ada:
        answer = await ada.http.get(f"/api/sessions/{session_id}/plan", params=query)
    assert answer.status_code == status
    assert words in answer.text


@pytest.mark.parametrize("path", ["/window", "/request", "/report"])
async def test_an_unknown_vendor_is_explained(path: str) -> None:
    """The answer names those that are known."""
    one = site()
    session_id = await long_talk(one, 1)
    async with client_of(one) as ada:
        answer = await ada.http.get(
            f"/api/sessions/{session_id}{path}", params={"target": "nobody"}
        )
    assert answer.status_code == 422
    assert "anthropic" in answer.json()["detail"]


async def test_the_window_can_be_looked_at_while_a_turn_runs() -> None:
    """What was said is there as soon as it is accepted, before it is answered."""
    one = site(model=Recorder(delay_seconds=0.05))
    async with client_of(one) as ada:
        session_id = await ada.begin()
        stream = ada.http.stream(
            "POST", f"/api/sessions/{session_id}/messages", json={"text": "Hello there"}
        )
        seen: list[str] = []

        async def look() -> None:
            await one.model.asked.wait()
            window = await ada.get(f"/api/sessions/{session_id}/window")
            seen.extend(item["text"] for item in window["items"])

        looking = asyncio.create_task(look())
        async with stream as answer:
            await looking
            await answer.aread()
    assert "Hello there" in seen
    assert not any("offline" in text for text in seen)


async def test_an_item_is_told_in_full() -> None:
    """The list has its beginning; asked for by its id, all of it is there."""
    one = site(max_tokens=50_000)
    text = "word " * 500
    async with client_of(one) as ada:
        session_id = await ada.begin()
        await ada.say(session_id, text)
        found = await ada.get(f"/api/sessions/{session_id}/items/i2")
        assert found["text"] == text
        answer = await ada.http.get(f"/api/sessions/{session_id}/items/i99")
        assert answer.status_code == 404


async def test_copies_follow_the_store() -> None:
    """What another process did since, deletion included, is seen at the next look."""
    one = site()
    session_id = await long_talk(one, 1)
    theirs = one.sessions.for_namespace("web:ada")
    async with client_of(one) as ada:
        before = await ada.texts(session_id)
        with theirs.open(session_id) as ctx:
            ctx.add_user_message("from elsewhere")
        assert await ada.texts(session_id) == [*before, "from elsewhere"]
        theirs.delete(session_id)
        with theirs.open(session_id) as ctx:
            ctx.add_user_message("another life")
        assert await ada.texts(session_id) == ["another life"]
