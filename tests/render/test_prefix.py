from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder import ContextBuilder
from context_builder.render import adapter_for, adapter_names
from context_builder.render.prefix import compare_requests
from tests.render.conversations_chat import TOOLS, assistant, prompt, user
from tests.render.real_chats import TRANSCRIPTS, requests_of
from tests.render.sdk_types import MODELS

if TYPE_CHECKING:
    from context_builder.render import Rendering

every = pytest.mark.parametrize("target", adapter_names())

MESSAGES = {
    "gemini": "contents",
    "openai-responses": "input",
}


def said(target: str, *texts: str, **fields: Any) -> Rendering:
    """Say what a user says, in turn with an assistant."""
    items = [item for text in texts for item in (user(text), assistant(f"Yes, {text}"))]
    chat = prompt(*items[:-1], system=fields.pop("system", "Be terse."), **fields)
    return adapter_for(target).render(chat)


@every
def test_the_same_request_is_kept_whole(target: str) -> None:
    """Nothing is lost, and only the cache is paid for."""
    request = said(target, "sea", "sky", tools=TOOLS).request
    diff = compare_requests(request, json.loads(json.dumps(request)), target=target)
    assert diff.is_extension
    assert diff.lost_tokens == diff.resent_tokens == diff.cost_tokens == 0
    assert diff.kept_tokens == diff.former_tokens == diff.latter_tokens
    assert diff.billed_tokens == diff.former_tokens * 0.1


@every
def test_a_longer_conversation_extends_the_shorter(target: str) -> None:
    """What came in is sent anew, all else is kept."""
    former, latter = said(target, "sea"), said(target, "sea", "sky")
    diff = compare_requests(former.request, latter.request, target=target)
    assert diff.path is None
    assert diff.cost_tokens == 0
    assert 0 < diff.resent_tokens < diff.latter_tokens


@every
def test_the_first_difference_and_its_item_are_named(target: str) -> None:
    """A text that changed in the middle loses what stands behind it."""
    former = said(target, "sea " * 50, "sky " * 50, "sun " * 50)
    latter = said(target, "sea " * 50, "ship " * 50, "sun " * 50)
    diff = compare_requests(
        former.request,
        latter.request,
        target=target,
        former_spans=former.spans,
        latter_spans=latter.spans,
        cached_price_share=0.25,
    )
    assert diff.path is not None
    assert diff.path.startswith(MESSAGES.get(target, "messages"))
    assert diff.item_ids == ("i3",)
    assert 40 < diff.kept_tokens < diff.former_tokens - 100
    again = min(diff.lost_tokens, diff.resent_tokens)
    assert diff.cost_tokens == again * 0.75
    assert "i3" in str(diff)


@every
def test_an_item_that_left_is_named(target: str) -> None:
    """The items of a message that are not there any more caused it."""
    former, latter = said(target, "sea", "sky", "sun"), said(target, "sea")
    (_, place) = next(span for span in former.spans if span[0] == "i4")
    diff = compare_requests(
        former.request,
        said(target, "sea", "sky", "moon").request,
        target=target,
        former_spans=former.spans,
        latter_spans=[span for span in former.spans if span[0] != "i5"],
    )
    assert diff.item_ids == ("i5",)
    assert str(place + 1) in str(diff.path)
    shorter = compare_requests(former.request, latter.request, target=target)
    assert shorter.path is not None
    assert shorter.resent_tokens == 0
    assert shorter.cost_tokens == 0


@every
def test_another_model_keeps_nothing(target: str) -> None:
    """A cache belongs to one model."""
    one, other = said(target, "a", model="m"), said(target, "a", model="n")
    diff = compare_requests(one.request, other.request, target=target)
    assert diff.path in {"model", "modelId"}
    assert diff.kept_tokens == 0
    assert diff.item_ids == ()


@every
def test_tools_and_system_come_first(target: str) -> None:
    """A tool more, or another system prompt, loses all of the messages."""
    plain = said(target, "sea", "sky")
    armed = said(target, "sea", "sky", tools=TOOLS)
    diff = compare_requests(plain.request, armed.request, target=target)
    assert "tools" in str(diff.path)
    other = said(target, "sea", "sky", system="Be kind.")
    diff = compare_requests(plain.request, other.request, target=target)
    assert diff.path is not None
    assert diff.kept_tokens < 30


def test_cache_marks_are_no_difference() -> None:
    """They move with every request, and what they mark stays the same."""
    texts = ["many words here " * 800, "sky", "sun"]
    former, latter = said("anthropic", *texts[:2]), said("anthropic", *texts)
    assert "cache_control" in json.dumps(former.request)
    diff = compare_requests(former.request, latter.request, target="anthropic")
    assert diff.is_extension
    points = [
        said("bedrock", *some, model=MODELS["bedrock"]).request
        for some in (texts[:2], texts)
    ]
    assert "cachePoint" in json.dumps(points[0])
    assert compare_requests(points[0], points[1], target="bedrock").is_extension


def test_anthropics_thinking_loses_the_messages_only() -> None:
    """Tools and system stay cached when the thinking changes."""
    former = said("anthropic", "sea", "sky", tools=TOOLS).request
    latter = {**former, "thinking": {"type": "adaptive"}}
    diff = compare_requests(former, latter, target="anthropic")
    assert diff.path == "thinking"
    assert 0 < diff.kept_tokens < diff.former_tokens


def test_parts_of_a_message_are_told_apart() -> None:
    """Where messages are merged, the part that changed is named."""
    former = said("anthropic", "sea").request
    latter = json.loads(json.dumps(former))
    latter["messages"][0]["content"].append({"type": "text", "text": "and sky"})
    assert compare_requests(former, latter, target="anthropic").is_extension
    longer = json.loads(json.dumps(latter))
    longer["messages"][0]["content"][1]["text"] = "and sun"
    diff = compare_requests(latter, longer, target="anthropic")
    assert diff.path == "messages[0].content[1]"


@every
def test_real_sessions_only_grow(target: str) -> None:
    """Between compactions, each request begins with the one before."""
    record = min(TRANSCRIPTS, key=lambda one: len(one["messages"]))
    former: dict[str, Any] | None = None
    for _, request, _ in requests_of(record, target):
        if former is not None:
            # Ollama's window is made for the size; it is no part of the prefix.
            assert compare_requests(former, request, target=target).is_extension
        former = request


def test_a_compaction_says_what_it_cost() -> None:
    """In a session, the first item that was moved is the one that is named."""
    ctx = ContextBuilder(model="gpt-4o", max_tokens=2_000)
    ctx.add_user_message("Begin.")
    former = ctx.request()
    for number in range(30):
        ctx.add_assistant_message(f"{number} " + "word " * 150)
        ctx.add_user_message(f"Go on {number}.")
        latter = ctx.request()
        diff = compare_requests(former, latter)
        moved = bool(diff.path)
        if moved:
            break
        former = latter
    assert moved
    assert diff.cost_tokens > 0
    assert diff.kept_tokens + diff.resent_tokens == diff.latter_tokens


@given(
    texts=st.lists(st.sampled_from(["sea", "sky", "sun"]), min_size=1, max_size=5),
    others=st.lists(st.sampled_from(["sea", "sky", "sun"]), min_size=1, max_size=5),
    target=st.sampled_from(adapter_names()),
)
def test_the_figures_add_up(texts: list[str], others: list[str], target: str) -> None:
    """Kept and lost are the former, kept and resent the later request."""
    former, latter = said(target, *texts).request, said(target, *others).request
    diff = compare_requests(former, latter, target=target)
    assert 0 <= diff.kept_tokens <= min(diff.former_tokens, diff.latter_tokens)
    assert diff.is_extension == (others[: len(texts)] == texts)
    assert diff.lost_tokens >= 0
    assert diff.resent_tokens >= 0
