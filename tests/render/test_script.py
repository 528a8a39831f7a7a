"""What was said is kept small and gone on with: it stays what it would be said anew."""

from __future__ import annotations

import dataclasses
import gc
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from context_builder.errors import AdapterError
from context_builder.items import ContextItem
from context_builder.render import KeptRendering, Prompt, adapter_for, adapter_names
from context_builder.render.kept import KeptMessages
from context_builder.render.openai_chat import OpenAIChatAdapter
from context_builder.render.script import Script, ScriptWriter
from tests.render.conversations_chat import EVERYTHING, closed_chats, user
from tests.render.sdk_types import MODELS

OPENAI = OpenAIChatAdapter()


def length(text: str) -> int:
    """Count a text by its characters."""
    return len(text)


def anew(prompt: Prompt) -> tuple[Any, ...]:
    """Return all that a prompt comes to when nothing was said before."""
    said = OPENAI.render(prompt)
    return said.messages, said.request, said.repairs, said.spans


def all_of(script: Script) -> tuple[Any, ...]:
    """Return all that a script comes to."""
    return script.messages, script.request, script.repairs, tuple(script.spans)


def test_the_builder_asks_for_scripts() -> None:
    """The adapter of OpenAI goes on with what it said: else it would only be slow."""
    assert isinstance(adapter_for("openai"), ScriptWriter)


@given(
    st.lists(closed_chats, min_size=1, max_size=2),
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 20)), max_size=6),
)
def test_going_on_is_saying_anew(
    chats: list[Prompt], steps: list[tuple[int, int]]
) -> None:
    """Whatever was said before, a prompt comes to the same request and count."""
    former: Script | None = None
    for which, end in [*steps, (0, 99)]:
        chat = chats[which % len(chats)]
        prompt = dataclasses.replace(chat, items=chat.items[: end + 1])
        former = OPENAI.script(prompt, former)
        assert all_of(former) == anew(prompt)
        expected = OPENAI.request_tokens(former.request, length)
        assert OPENAI.script_tokens(former, length) == expected


@given(closed_chats, st.integers(0, 20), st.sampled_from(["in", "out", "other"]))
def test_what_changes_in_the_middle_is_said_anew(
    chat: Prompt, place: int, change: str
) -> None:
    """An item that was put in, taken out or changed is found, and all behind it."""
    former = OPENAI.script(chat)
    place %= len(chat.items)
    new = [] if change == "out" else [user("News.", id="i99")]
    kept = chat.items[place + (change != "in") :]
    if any(item.role == "tool" for item in (*kept[:1], chat.items[place])):
        return  # rounds stay whole
    if chat.items[place].tool_calls:
        return
    items = (*chat.items[:place], *new, *kept)
    later = dataclasses.replace(chat, items=items)
    assert all_of(OPENAI.script(later, former)) == anew(later)
    assert all_of(former) == anew(chat)


def test_another_system_prompt_is_said() -> None:
    """A new system prompt stands before all that stays."""
    former = OPENAI.script(EVERYTHING)
    for system in (None, ContextItem("system", "New.", id="i70")):
        later = dataclasses.replace(EVERYTHING, system=system)
        assert all_of(OPENAI.script(later, former)) == anew(later)


@given(st.sampled_from(adapter_names()), closed_chats)
@example("ollama", EVERYTHING)  # its arguments are no text
def test_what_is_kept_comes_back(target: str, chat: Prompt) -> None:
    """Messages and request of every vendor come back as they were, again and again."""
    prompt = dataclasses.replace(chat, model=MODELS[target])
    try:
        said, again = (adapter_for(target).render(prompt) for _ in range(2))
    except AdapterError:
        return
    kept = KeptRendering.of(said)
    for _ in range(2):
        messages, request = kept.messages, kept.request
        assert messages == again.messages
        assert request == again.request
        assert [*request] == [*again.request]
        assert [[*one] for one in messages] == [[*one] for one in again.messages]
        spoil(messages)
        spoil(request)
    assert kept.count == len(again.messages)


def spoil(value: Any) -> None:
    """Change everything that can be changed."""
    for part in [*(value.values() if isinstance(value, dict) else value)]:
        if isinstance(part, dict | list):
            spoil(part)
    value.clear()


@pytest.mark.parametrize(
    "message",
    [
        {"content": "x", "role": "user"},
        {"role": "user", "content": [{"type": "text", "text": "x"}]},
        {"role": "user", "content": "x", "name": "Ann"},
        {"role": "tool", "content": "x", "tool_call_id": "a"},
        {"role": "tool", "tool_call_id": "a", "content": [{"type": "text"}]},
        {"role": "assistant", "content": None, "tool_calls": []},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "a", "type": "custom", "custom": {"name": "f", "input": ""}}
            ],
        },
        {
            "role": "assistant",
            "content": "x",
            "tool_calls": [
                {
                    "id": "a",
                    "type": "function",
                    "function": {"name": "f", "arguments": "{}"},
                    "extra": 1,
                }
            ],
        },
    ],
)
def test_other_forms_are_kept_whole(message: dict[str, Any]) -> None:
    """Nothing is left out of a message of another form; its keys keep their order."""
    copied = KeptMessages([message]).copied()
    assert copied == [message]
    assert [*copied[0]] == [*message]
    assert copied[0] is not message


def test_a_long_text_in_a_frame_is_kept_once() -> None:
    """What stands in a frame comes back in it, and is not held twice."""
    text = "Once upon a time. " * 100
    memory = user(text, source="memory", id="i1")
    script = OPENAI.script(Prompt(items=(memory,)))
    assert all_of(script) == anew(Prompt(items=(memory,)))
    said = script.messages[0]["content"]
    assert said != text
    assert text in said
    held = KeptMessages()
    held.append({"role": "user", "content": said}, text)
    assert any(one is text for one in gc.get_referents(*gc.get_referents(held)))
    assert held.copied() == [{"role": "user", "content": said}]
