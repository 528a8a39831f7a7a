from __future__ import annotations

import json
import time
from dataclasses import fields
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionChunk

from context_builder import ContextBuilder
from context_builder.agent import (
    Agent,
    OfflineModel,
    TurnFinished,
    TurnResult,
    tool,
)
from context_builder.agent.offline import OfflineReply, Wanted, reading
from context_builder.agent.offline.answering import _worth, reply_to
from context_builder.agent.offline.calling import wanted_rounds
from context_builder.collect import read_response

SCHEMA = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "unit": {"enum": ["C", "F"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "exact": {"type": "boolean"},
        "area": {"type": "object"},
    },
}
TOOLS = {
    "weather": {**SCHEMA, "required": ["city"]},
    "climate": {**SCHEMA, "required": ["city", "days", "unit"]},
    "search": {
        "type": "object",
        "properties": {"q": {"type": "string"}},
        "required": ["q"],
    },
    "all": {**SCHEMA, "required": list(SCHEMA["properties"])},
}


@pytest.mark.parametrize(
    ("asked", "rounds"),
    [
        ("What is the weather?", []),
        ("Use weather for Rome.", [[("weather", {"city": "Rome"})]]),
        (
            "use weather with city=Rome and use search to find rivers",
            [[("weather", {"city": "Rome"}), ("search", {"q": "rivers"})]],
        ),
        (
            "Use weather for Rome, then use search for rain",
            [[("weather", {"city": "Rome"})], [("search", {"q": "rain"})]],
        ),
        (
            'call climate with city="New York", days=5, unit=F',
            [[("climate", {"city": "New York", "days": 5, "unit": "F"})]],
        ),
        (
            "run climate for 3 days in Bern, in c",
            [[("climate", {"city": "3 days in Bern, in c", "days": 3, "unit": "C"})]],
        ),
        ('use search {"q": "as it is"}', [[("search", {"q": "as it is"})]]),
        ("use the tool nothing", [[("nothing", {})]]),
        ("\u4f7f\u7528 search \u6cb3\u6d41", [[("search", {"q": "\u6cb3\u6d41"})]]),
        (
            "use all",
            [
                [
                    (
                        "all",
                        {
                            "city": "",
                            "days": 1,
                            "unit": "C",
                            "tags": [""],
                            "exact": True,
                            "area": {},
                        },
                    )
                ]
            ],
        ),
    ],
)
def test_it_calls_what_it_is_told_to(asked: str, rounds: list[Any]) -> None:
    """By name, in rounds; arguments from what is said around the name."""
    found = [
        [(call.name, json.loads(call.arguments)) for call in calls]
        for calls in wanted_rounds(asked, TOOLS)
    ]
    assert found == rounds


def say(*messages: tuple[str, str], **request: Any) -> str:
    """Return the answer to a conversation."""
    said = [{"role": role, "content": text} for role, text in messages]
    return reply_to({"messages": said, **request}).text


def test_it_quotes_what_answers_best() -> None:
    """From all of its context, by the rarest words, Chinese included."""
    text = say(
        ("system", "You sell boats."),
        ("user", "My boat is called Petrel. It is green. The harbour is in Kiel."),
        ("assistant", "A fine boat."),
        ("user", "What colour is green, and where is the harbour of my boat?"),
    )
    assert text.startswith("[offline] ")
    assert "It is green." in text
    assert "The harbour is in Kiel." in text
    text = say(
        (
            "user",
            "\u6211\u7684\u732b\u53eb\u56e2\u56e2\u3002\u4eca\u5929\u4e0b\u96e8\u3002",
        ),
        ("user", "\u6211\u7684\u732b\u53eb\u4ec0\u4e48\uff1f"),
    )
    assert "\u56e2\u56e2" in text
    assert "\u4e0b\u96e8" not in text


def test_it_keeps_to_what_the_user_wants() -> None:
    """Of two wishes that differ the later counts; what others say is no wish."""
    text = say(
        ("user", "Call me Ann. Begin every answer with 'Hi!'."),
        ("assistant", "Always end every answer with 'Never!'."),
        ("user", "From now on call me Bea. Answer in capitals."),
        ("user", "Hello."),
    )
    assert text.startswith("[offline] Hi! Bea, YOU SAID: HELLO.")
    assert not text.endswith("Never!")


def test_it_tells_results_and_compares_them() -> None:
    """Those since the last question, by the names of their tools."""
    call = {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}}
    text = reply_to(
        {
            "messages": [
                {"role": "user", "content": "Which?"},
                {"role": "assistant", "tool_calls": [call, {**call, "id": "d"}]},
                {"role": "tool", "tool_call_id": "c", "content": "3 apples"},
                {"role": "tool", "tool_call_id": "d", "content": "-5 apples"},
            ]
        }
    ).text
    assert "a returned: 3 apples" in text
    assert "result 1 (a) has the larger figure, 3 against -5 of result 2 (a)." in text


@given(
    st.lists(
        st.tuples(st.sampled_from(["system", "user", "assistant"]), st.text()),
        min_size=1,
    )
)
def test_it_answers_whatever_it_is_sent_and_always_the_same(
    messages: list[tuple[str, str]],
) -> None:
    """Never an error; the answer depends on the request alone."""
    answer = say(*messages)
    assert answer.startswith("[offline]")
    assert answer == say(*messages)


def request(**more: Any) -> dict[str, Any]:
    """Return a request."""
    return {
        "model": "offline",
        "messages": [{"role": "user", "content": "Use search for rivers"}],
        "tools": [
            {
                "type": "function",
                "function": {"name": "search", "parameters": TOOLS["search"]},
            }
        ],
        **more,
    }


async def test_it_has_the_interface_of_openai_s_client() -> None:
    """Whole and in pieces, blocking and awaited: one answer, in OpenAI's types."""
    model = OfflineModel()
    whole = model.chat.completions.create(**request())
    awaited = await model.aio.chat.completions.create(**request())
    usage = {"include_usage": True}
    pieces = list(
        model.chat.completions.create(**request(), stream=True, stream_options=usage)
    )
    streamed = await model.aio.chat.completions.create(
        **request(), stream=True, stream_options=usage
    )
    apieces = [piece async for piece in streamed]
    assert isinstance(whole, ChatCompletion)
    assert all(isinstance(piece, ChatCompletionChunk) for piece in [*pieces, *apieces])
    replies = [read_response(one) for one in (whole, awaited, pieces, apieces)]
    assert [reply.items for reply in replies] == [replies[0].items] * 4
    assert replies[0].items[0].tool_calls[0].name == "search"
    assert {reply.stop_reason for reply in replies} == {"tool_calls"}
    assert all(reply.usage and reply.usage.input_tokens > 0 for reply in replies)


def test_a_choice_of_none_is_kept_to() -> None:
    """Asked to answer, it answers."""
    reply = read_response(
        OfflineModel().chat.completions.create(**request(tool_choice="none"))
    )
    assert reply.items[0].tool_calls == ()


def test_a_script_comes_first() -> None:
    """Texts, replies and errors, in order; then it answers by itself."""
    model = OfflineModel(
        ["one", OfflineReply(calls=[Wanted("a", "{}")]), LookupError("three")]
    )
    create = model.chat.completions.create
    first, second = (read_response(create(**request())) for _ in range(2))
    assert first.items[0].text == "one"
    assert second.items[0].tool_calls[0].name == "a"
    with pytest.raises(LookupError):
        create(**request())
    assert read_response(create(**request())).items[0].tool_calls[0].name == "search"


def test_it_bills_what_the_library_counts_and_caches_what_it_has_seen() -> None:
    """So that a session's figures are those of a vendor that keeps prefixes."""
    ctx = ContextBuilder(model="gpt-4o", system_prompt="You are terse. " * 50)
    agent = Agent(OfflineModel())
    first = agent.run(ctx, "Hello.").usage
    second = agent.run(ctx, "Hello again.").usage
    assert first.cached_tokens == 0
    assert 0.8 < second.cached_tokens / second.input_tokens < 1
    other = ContextBuilder(model="gpt-4o", system_prompt="You are kind. " * 50)
    assert agent.run(other, "Hello.").usage.cached_tokens == 0


class Clock:
    """Time that goes on only where somebody sleeps."""

    now = 0.0

    def monotonic(self) -> float:
        """Return the time, in seconds."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let so much time go by."""
        self.now += seconds


def test_the_pace_is_the_models_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who is slow to take a piece does not put off those that follow."""
    clock = Clock()
    monkeypatch.setattr("context_builder.agent.offline.model.time", clock)
    for listening_seconds, whole_seconds in ((0.0, 16.0), (1.5, 17.5), (3.0, 26.0)):
        model = OfflineModel(["x" * 24 * 6], delay_seconds=2.0)
        began = clock.now
        for _ in model.chat.completions.create(
            model="offline", messages=[{"role": "user", "content": "hi"}], stream=True
        ):
            clock.sleep(listening_seconds)
        assert clock.now - began == whole_seconds


@pytest.mark.parametrize("streams", [True, False])
async def test_a_turn_says_how_long_others_took(streams: bool) -> None:
    """The model's time, and the tools', which is not the builder's."""

    @tool
    def slow(text: str) -> str:
        """Take a while."""
        time.sleep(0.05)
        return text

    ctx = ContextBuilder(model=OfflineModel.name, max_tokens=4_000)
    agent = Agent(OfflineModel(delay_seconds=0.01), tools=[slow])
    if streams:
        events = [event async for event in agent.astream(ctx, "use slow for tea")]
        assert isinstance(events[-1], TurnFinished)
        result = events[-1].result
    else:
        result = await agent.arun(ctx, "use slow for tea")
    assert result.tool_calls == 1
    assert 0.06 <= result.waited_seconds < result.duration_seconds
    assert TurnResult(**{**vars_of(result), "waited_seconds": 9.0}) == result


def vars_of(result: TurnResult) -> dict[str, Any]:
    """Return what a result says, by its names."""
    return {field.name: getattr(result, field.name) for field in fields(result)}


def test_what_a_sentence_is_worth_is_the_same_in_every_process() -> None:
    """The order of a set is another one in each; so would a plain sum be."""
    rarity = {"a": 10, "b": 5, "c": 3, "d": 7, "e": 6}
    assert len({_worth(order, rarity) for order in permutations(rarity)}) == 1


def test_a_context_is_read_once_however_many_turns_show_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A message that was there at the turn before is not taken apart again."""
    said = [f"There are {n} rivers beyond hill {n}." for n in range(70, 80)]
    messages = [{"role": "user", "content": text} for text in said]
    asked: dict[str, Any] = {"messages": [*messages, messages[0]]}
    first = reply_to(asked)
    monkeypatch.setattr(reading, "sentences_of", _never)
    assert reply_to(asked) == first


def _never(text: str) -> list[str]:
    raise AssertionError(text)
