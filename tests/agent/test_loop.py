from __future__ import annotations

import asyncio
import functools
import json
import threading
import time
from typing import TYPE_CHECKING, Any

import openai
import pytest

from context_builder import (
    AdapterError,
    ContextBuilder,
    ContextBuilderError,
    ImagePart,
    InvalidItemError,
)
from context_builder.agent import (
    Agent,
    AgentEvent,
    OfflineModel,
    RequestSent,
    TextDelta,
    Tool,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    UsageReported,
    tool,
)
from context_builder.agent.offline import OfflineReply, Scripted, Wanted
from context_builder.render import validate
from tests.agent.vendors import MODELS, TARGETS, Says, ScriptedServer, client

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.agent.conftest import Way


def session(**settings: Any) -> ContextBuilder:
    """Return a session of a model that is counted exactly."""
    return ContextBuilder(model="gpt-4o", **settings)


def results(ctx: ContextBuilder) -> list[str]:
    """Return what tools returned, in the order of the log."""
    return [item.text for item in ctx.items if item.role == "tool"]


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


# --- rounds ---------------------------------------------------------------------------


def test_rounds_are_limited_and_the_last_word_is_asked_for(
    way: Way, server: ScriptedServer
) -> None:
    """After the last round it may only answer; the reason is given; all is whole."""
    server.play(*[Says("", (("echo", {"text": "again"}),))] * 2, Says("Enough."))
    ctx = session()
    result = way.take(server, ctx, "Go on.", tools=[echo], max_rounds=2)
    assert (result.text, result.stop_reason) == ("Enough.", "max_rounds")
    assert (result.rounds, result.tool_calls) == (2, 2)
    choices = [body.get("tool_choice") for _, body in server.sent]
    assert choices == [None, None, "none"]
    assert validate(ctx.request(), "openai") == []


@pytest.mark.parametrize("target", TARGETS)
def test_the_last_question_forbids_calls_in_each_vendors_words(
    target: str, server: ScriptedServer
) -> None:
    """The tools stay described: the conversation has calls of them."""
    server.play(Says("", (("echo", {"text": "a"}),)), Says("Enough."))
    ctx = ContextBuilder(model=MODELS[target], max_tokens=9_000)
    opened = client(target, server)
    agent = Agent(opened, target=target, tools=[echo], max_rounds=1)
    assert agent.run(ctx, "Go on.").stop_reason == "max_rounds"
    opened.close()
    last = server.sent[-1][1]
    said = last.get("tool_choice") or last["toolConfig"]
    assert (
        said
        == {
            "openai": "none",
            "openai-responses": "none",
            "anthropic": {"type": "none"},
            "gemini": {"functionCallingConfig": {"mode": "NONE"}},
        }[target]
    )
    assert last["tools"]


def test_a_model_that_calls_all_the_same_is_refused(
    way: Way, server: ScriptedServer
) -> None:
    """Its calls get an answer that says why they were not run."""
    server.play(*[Says("Once more:", (("echo", {"text": "x"}),))] * 2)
    ctx = session()
    result = way.take(server, ctx, "Go on.", tools=[echo], max_rounds=1)
    assert result.stop_reason == "max_rounds"
    assert result.text == "Once more:"
    assert results(ctx) == [
        "x",
        "Error: this call was not run: a turn has 1 rounds at most",
    ]
    assert ctx.explain().repairs == ()


def test_a_turn_may_go_on_with_what_is_there(way: Way, server: ScriptedServer) -> None:
    """Without a message: as after `rewind`."""
    ctx = session()
    ctx.add_user_message("Hello.")
    result = way.take(server, ctx, None)
    assert result.text == "Done."
    assert [item.id for item in ctx.items] == ["i1", *result.item_ids]


# --- what goes wrong becomes a result -------------------------------------------------


@tool(timeout_seconds=0.05)
def slow() -> str:
    """Take too long."""
    time.sleep(0.4)
    return "late"


@tool(timeout_seconds=0.05)
async def aslow() -> str:
    """Take too long, asynchronously."""
    await asyncio.sleep(10)
    return "late"


@tool
def broken() -> str:
    """Fail."""
    message = "no such table"
    raise LookupError(message)


@tool
def leaving() -> str:
    """Try to end the program."""
    raise SystemExit(3)


@tool
async def cancelled() -> str:
    """Cancel itself."""
    raise asyncio.CancelledError


@tool
def odd() -> object:
    """Return what JSON cannot say."""
    return object()


@pytest.mark.parametrize(
    ("name", "arguments", "told"),
    [
        ("ecko", "{}", "there is no tool 'ecko'; there are aslow, broken, cancelled,"),
        ("ecko", "{}", "Did you mean 'echo'?"),
        ("echo", "{}", "Error: text: this argument is required. Correct the arguments"),
        ("echo", '{"text": ', "Error: the arguments are not valid JSON"),
        ("broken", "{}", "Error: LookupError: no such table"),
        ("leaving", "{}", "Error: SystemExit: 3"),
        ("cancelled", "{}", "Error: CancelledError"),
        ("odd", "{}", "cannot be written as JSON"),
        ("slow", "", "Error: tool 'slow' did not answer within 0.05 seconds"),
        ("aslow", "", "Error: tool 'aslow' did not answer within 0.05 seconds"),
    ],
)
def test_what_goes_wrong_is_told_to_the_model(
    way: Way, server: ScriptedServer, name: str, arguments: str, told: str
) -> None:
    """As a result that is an error; then the model goes on."""
    server.play(Says("", ((name, arguments),)), Says("I see."))
    ctx = session()
    every = [aslow, broken, cancelled, echo, leaving, odd, slow]
    result = way.take(server, ctx, "Try.", tools=every)
    assert result.text == "I see."
    (item,) = (item for item in ctx.items if item.role == "tool")
    assert item.is_error
    assert told in item.text


def test_calls_of_an_answer_that_was_cut_are_not_run(
    way: Way, server: ScriptedServer
) -> None:
    """The last may be half a call: empty arguments would do something else."""
    ran: list[str] = []

    @tool
    def wipe(path: str = "/") -> str:
        """Wipe a folder."""
        ran.append(path)
        return "wiped"

    server.play(Says("I will", (("wipe", ""),), stop="length"), Says("Shorter."))
    ctx = session()
    assert way.take(server, ctx, "Clean up.", tools=[wipe]).text == "Shorter."
    assert ran == []
    assert "cut off" in results(ctx)[0]


# --- side by side ---------------------------------------------------------------------


def test_calls_of_a_round_run_at_the_same_time(
    way: Way, server: ScriptedServer
) -> None:
    """Each waits for the others; results enter the session in the calls' order."""
    together = threading.Barrier(3, timeout=5)

    @tool
    def meet(number: int) -> int:
        """Wait for the others."""
        together.wait()
        time.sleep(0.05 * (3 - number))
        return number

    server.play(Says("", tuple(("meet", {"number": n}) for n in range(3))))
    ctx = session()
    assert way.take(server, ctx, "Meet.", tools=[meet]).tool_calls == 3
    assert results(ctx) == ["0", "1", "2"]


def test_no_more_run_than_are_allowed(way: Way, server: ScriptedServer) -> None:
    """The others wait for their turn, and their time counts from there."""
    running, most = 0, 0
    lock = threading.Lock()

    @tool(timeout_seconds=2)
    def work() -> str:
        """Work a little."""
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.03)
        with lock:
            running -= 1
        return "done"

    server.play(Says("", (("work", "{}"),) * 6))
    ctx = session()
    way.take(server, ctx, "Work.", tools=[work], max_parallel_calls=2)
    assert results(ctx) == ["done"] * 6
    assert most == 2


# --- why it stopped -------------------------------------------------------------------

STOPS = {
    "openai": {"length": "output_limit", "content_filter": "content_filter"},
    "openai-responses": {"max_output_tokens": "output_limit", "refusal": "refused"},
    "anthropic": {
        "max_tokens": "output_limit",
        "refusal": "refused",
        "pause_turn": "paused",
    },
    "gemini": {"MAX_TOKENS": "output_limit", "SAFETY": "content_filter"},
}


@pytest.mark.parametrize(
    ("target", "word", "reason"),
    [
        (target, word, reason)
        for target, words in STOPS.items()
        for word, reason in words.items()
    ]
    + [("openai", "refusal", "refused")],
)
@pytest.mark.parametrize("streams", [False, True])
async def test_stop_reasons_are_typed(
    target: str,
    word: str,
    reason: str,
    *,
    streams: bool,
    server: ScriptedServer,
) -> None:
    """Each vendor's word, and OpenAI's refusals, which have none."""
    server.play(Says("I cannot", stop=word))
    ctx = ContextBuilder(model=MODELS[target], max_tokens=9_000)
    opened = client(target, server)
    agent = Agent(opened, target=target)
    if streams:
        last = [event async for event in agent.astream(ctx, "Tell.")][-1]
        assert isinstance(last, TurnFinished)
        result = last.result
    else:
        result = await agent.arun(ctx, "Tell.")
    opened.close()
    if target == "gemini":
        await opened.aio.aclose()
    assert result.stop_reason == reason
    assert result.text == "I cannot"


def test_an_empty_answer_is_no_answer(way: Way, server: ScriptedServer) -> None:
    """And nothing enters the session but the question."""
    server.play(Says(""))
    ctx = session()
    result = way.take(server, ctx, "Hello?")
    assert (result.text, result.stop_reason) == ("", "no_answer")
    assert result.item_ids == ("i1",)


# --- overflow -------------------------------------------------------------------------


async def test_an_overflow_is_answered_by_a_smaller_request(
    server: ScriptedServer,
) -> None:
    """Once, and what was learned holds for the next turn; both are events."""
    ctx = session(context_window=8_000)
    for number in range(30):
        ctx.add_user_message(f"letter {number} " + "dear all " * 40)
        ctx.add_assistant_message("noted " * 40)
    message = (
        "This model's maximum context length is 3000 tokens. However, your messages "
        "resulted in 4100 tokens."
    )
    error = {"error": {"message": message, "code": "context_length_exceeded"}}
    server.failures.append((400, error))
    opened = client("openai", server)
    agent = Agent(opened)
    events = [event async for event in agent.astream(ctx, "Sum up.")]
    sent = [event for event in events if isinstance(event, RequestSent)]
    assert [event.round for event in sent] == [1, 1]
    assert sent[1].tokens < 3_000 < sent[0].tokens
    await agent.arun(ctx, "Thanks.")
    assert ctx.explain().tokens < 3_000
    opened.close()


def test_other_errors_are_the_callers(way: Way, server: ScriptedServer) -> None:
    """As the SDK raises them; the question stays, and can be asked again."""
    server.failures.append((401, {"error": {"message": "no key"}}))
    ctx = session()
    with pytest.raises(openai.AuthenticationError):
        way.take(server, ctx, "Hello?")
    assert [item.text for item in ctx.items] == ["Hello?"]
    assert way.take(server, ctx, None).text == "Done."


# --- events ---------------------------------------------------------------------------


async def test_events_tell_what_happens_as_it_happens() -> None:
    """Request, bill, tools, text, result: in this order, the result last."""
    script: list[Scripted] = [
        OfflineReply(calls=[Wanted("echo", '{"text": "x"}'), Wanted("nope", "{}")]),
        "All done here, at last and in the end.",
    ]
    ctx = session()
    agent = Agent(OfflineModel(script), tools=[echo])
    events: list[AgentEvent] = [event async for event in agent.astream(ctx, "Go.")]
    kinds = [type(event) for event in events]
    assert kinds[:2] == [RequestSent, UsageReported]
    assert sorted(kinds[2:6], key=str) == [ToolFinished] * 2 + [ToolStarted] * 2
    assert kinds[6:] == [RequestSent, TextDelta, TextDelta, UsageReported, TurnFinished]
    assert [e.text for e in events if isinstance(e, ToolFinished)] == [
        "x",
        "Error: there is no tool 'nope'; there are echo.",
    ]
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == script[1]
    asked = [event.tokens for event in events if isinstance(event, RequestSent)]
    billed = [e.input_tokens for e in events if isinstance(e, UsageReported)]
    assert asked == billed


# --- use ------------------------------------------------------------------------------


async def test_run_in_a_running_loop_names_its_twin() -> None:
    """It would hold the loop up."""
    with pytest.raises(ContextBuilderError, match=r"await arun\(\)"):
        Agent(OfflineModel()).run(session(), "Hello.")


def test_an_async_client_cannot_be_run_blocking() -> None:
    """The error names what can."""
    opened = openai.AsyncOpenAI(api_key="x")
    with pytest.raises(InvalidItemError, match=r"use arun\(\)"):
        Agent(opened).run(session(), "Hello.")
    asyncio.run(opened.close())


def test_a_session_has_one_turn_at_a_time() -> None:
    """A second one would be mixed into the first."""
    ctx = session()
    agent: Agent

    @tool
    def again() -> str:
        """Run another turn of the same session."""
        return agent.run(ctx, "And this?").text

    calls = OfflineReply(calls=[Wanted("again", "{}")])
    agent = Agent(OfflineModel([calls, "Well."]), tools=[again])
    agent.run(ctx, "Go.")
    assert "a turn of this session is running" in results(ctx)[0]
    agent.run(ctx, "It is free again.")


@pytest.mark.parametrize(
    ("make", "error", "field"),
    [
        (lambda: Agent(max_rounds=0), InvalidItemError, "max_rounds"),
        (lambda: Agent(tool_timeout_seconds=0), InvalidItemError, "tool_timeout"),
        (lambda: Agent(max_parallel_calls=True), InvalidItemError, "max_parallel"),
        (lambda: Agent(target="cohere"), AdapterError, "no driver for the target"),
        (lambda: Agent(5).run(session(), "x"), InvalidItemError, "no vendor's client"),
        (lambda: Agent(OfflineModel()).run(session(), " "), InvalidItemError, "blank"),
    ],
)
def test_what_cannot_be_run_is_refused(
    make: Callable[[], object], error: type[Exception], field: str
) -> None:
    """At once, and by name."""
    with pytest.raises(error, match=field):
        make()


def test_without_a_client_one_is_made_from_the_environment(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For the turn, blocking or awaited, and closed after it."""
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url("anthropic"))
    monkeypatch.setenv("GEMINI_API_KEY", "key")
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.url("gemini"))
    for target in TARGETS:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{server.url(target)}/v1")
        ctx = ContextBuilder(model=MODELS[target], max_tokens=9_000)
        agent = Agent(target=target)
        assert agent.run(ctx, "Hello.").text == "Done."
        assert asyncio.run(agent.arun(ctx, "Hello again.")).text == "Done."


def test_parts_go_in_and_out(way: Way, server: ScriptedServer) -> None:
    """A picture from the user, and one from a tool."""
    png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x08\0\0\0\x08\x08\x02\0\0\0"

    @tool
    def draw() -> bytes:
        """Draw."""
        return png

    server.play(Says("", (("draw", "{}"),)), Says("Nice."))
    ctx = session()
    asked = [
        {"type": "text", "text": "Draw such a one:"},
        ImagePart(url="https://example.com/a.png"),
    ]
    assert way.take(server, ctx, asked, tools=[draw]).text == "Nice."
    assert "image_url" in json.dumps(server.sent[-1][1]["messages"][-1])


def test_a_function_that_returns_an_awaitable_is_awaited(
    way: Way, server: ScriptedServer
) -> None:
    """As wrappers of async functions do."""

    async def later() -> str:
        return "later"

    made = Tool(
        "later", "", {"type": "object", "properties": {}}, functools.partial(later)
    )
    server.play(Says("", (("later", "{}"),)))
    ctx = session()
    way.take(server, ctx, "Go.", tools=[made])
    assert results(ctx) == ["later"]
