"""The default summariser, with the real SDK, against a server on this machine."""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.errors import SummarizerError
from context_builder.summarizers import (
    OpenAISummarizer,
    SummaryPolicy,
    SummaryResult,
    adrive,
    drive,
    summary_flow,
)
from tests.summarizers.conversations import request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

RECORD = {
    "goal": "Paint the wall blue",
    "constraints": ["no ladder", "before 2024-05-01"],
    "done": ["measured: 4.25 m"],
    "to_do": [],
    "facts_and_risks": ["paint code RAL-5015"],
}
RECORD_TEXT = """\
Goal: Paint the wall blue
Constraints:
- no ladder
- before 2024-05-01
Done: measured: 4.25 m
To do: none
Facts and risks: paint code RAL-5015"""

Reply = tuple[int, Any]


def completion(content: str | None, **choice: Any) -> Reply:
    """Return what an endpoint answers."""
    message = {"role": "assistant", "content": content}
    message |= choice.pop("message", {})
    made = {"index": 0, "finish_reason": "stop", "message": message, **choice}
    usage = {"prompt_tokens": 321, "completion_tokens": 45, "total_tokens": 366}
    body = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return 200, {**body, "choices": [made], "usage": usage}


def refused(message: str, status: int = 400, code: str | None = None) -> Reply:
    """Return an error as endpoints word it."""
    return status, {"error": {"message": message, "type": "invalid", "code": code}}


def always(reply: Reply) -> Callable[[dict[str, Any]], Reply]:
    """Return what answers everything with this."""

    def answer(body: dict[str, Any]) -> Reply:
        return reply

    return answer


class Endpoint:
    """An OpenAI-compatible endpoint: it keeps what it is asked and answers as told."""

    def __init__(self, answer: Callable[[dict[str, Any]], Reply]) -> None:
        self.answer = answer
        self.asked: list[dict[str, Any]] = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                length = int(self.headers["Content-Length"])
                body = json.loads(self.rfile.read(length))
                endpoint.asked.append(body)
                status, said = endpoint.answer(body)
                is_text = isinstance(said, str)
                data = said.encode() if is_text else json.dumps(said).encode()
                kind = "text/html" if is_text else "application/json"
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", kind)
                    self.send_header("Content-Length", str(len(data)))
                    self.end_headers()
                    self.wfile.write(data)
                except OSError:  # the client is gone
                    pass

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def summarizer(self, **settings: Any) -> OpenAISummarizer:
        """Return a summariser that speaks to it."""
        given = {"model": "m", "base_url": self.url, "api_key": "k", **settings}
        return OpenAISummarizer(**given)

    def close(self) -> None:
        """End it."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An endpoint that answers with the record."""
    made = Endpoint(always(completion(json.dumps(RECORD))))
    yield made
    made.close()


async def both(summarizer: OpenAISummarizer, seconds: float = 10) -> SummaryResult:
    """Ask in both ways; they come to the same."""
    policy = SummaryPolicy()
    waited = drive(summary_flow(request(), policy), summarizer, seconds)
    asked = await adrive(summary_flow(request(), policy), summarizer, seconds)
    assert waited == asked
    if summarizer._client is not None:
        summarizer._client.close()
        summarizer._client = None
    return waited


async def test_five_fields_become_a_compact_text(endpoint: Endpoint) -> None:
    """Structured output is asked for; usage is reported."""
    result = await both(endpoint.summarizer())
    assert result.text == RECORD_TEXT
    assert (result.input_tokens, result.output_tokens) == (321, 45)
    assert len(endpoint.asked) == 2
    assert endpoint.asked[0] == endpoint.asked[1]
    body = endpoint.asked[0]
    assert body["model"] == "m"
    assert body["max_tokens"] == 2_048
    form = body["response_format"]["json_schema"]
    assert form["strict"] is True
    assert form["schema"]["required"] == [
        "goal",
        "constraints",
        "done",
        "to_do",
        "facts_and_risks",
    ]
    assert [message["role"] for message in body["messages"]] == ["system", "user"]
    assert "question 0" in body["messages"][1]["content"]


async def test_the_format_falls_back(endpoint: Endpoint) -> None:
    """From a schema to any object, and to plain text; what works is remembered."""

    def answer(body: dict[str, Any]) -> Reply:
        form = body.get("response_format", {}).get("type")
        if form is not None:
            return refused(f"response_format {form} is not supported")
        return completion("Goal: blue wall")

    endpoint.answer = answer
    summarizer = endpoint.summarizer()
    assert (await both(summarizer)).text == "Goal: blue wall"
    assert len(endpoint.asked) == 4  # three to find out, one by the other twin
    assert "heading" in endpoint.asked[-1]["messages"][0]["content"]


async def test_any_object_is_read(endpoint: Endpoint) -> None:
    """Models that only promise JSON word it as they like."""
    loose = {"goal": ["blue"], "done": "measured", "to_do": [{"task": "paint"}, None]}

    def answer(body: dict[str, Any]) -> Reply:
        if body["response_format"]["type"] == "json_schema":
            return refused("unknown variant json_schema", 422)
        assert "JSON" in body["messages"][0]["content"]
        return completion(f"<think>hm\n</think>\n```json\n{json.dumps(loose)}\n```")

    endpoint.answer = answer
    assert (await both(endpoint.summarizer())).text == (
        "Goal: blue\nConstraints: none\nDone: measured\n"
        'To do: {"task": "paint"}\nFacts and risks: none'
    )


async def test_who_ignores_the_format_is_read_as_text(endpoint: Endpoint) -> None:
    """Some endpoints take the argument and answer in prose."""
    endpoint.answer = always(completion("Goal: a blue wall. Open: the roof."))
    result = await both(endpoint.summarizer())
    assert result.text == "Goal: a blue wall. Open: the roof."


@pytest.mark.parametrize(
    ("reply", "reason", "calls"),
    [
        (completion('{"goal": "Pai', finish_reason="length"), "cut_off", 2),
        (completion("Goal: whole?", finish_reason="length"), "cut_off", 2),
        (completion(None, message={"refusal": "no"}), "refusal", 1),
        (completion("", finish_reason="content_filter"), "refusal", 1),
        (completion(None), "empty", 2),
        (completion(json.dumps(dict.fromkeys(RECORD, ""))), "empty", 2),
        (completion('{"error": {"message": "overloaded"}}'), "error_text", 1),
        ((200, "<html>Bad gateway</html>"), "error_text", 1),
        (refused("busy", 500), "failed", 1),
        (refused("slow down", 429), "failed", 1),
        (refused("who?", 401), "failed", 1),
        (refused("long", 400, "context_length_exceeded"), "failed", 1),
    ],
)
async def test_what_goes_wrong_has_a_reason(
    endpoint: Endpoint, reply: Reply, reason: str, calls: int
) -> None:
    """Cut off, declined, empty, down: refused, and never more than two calls."""
    endpoint.answer = always(reply)
    result = await both(endpoint.summarizer())
    assert (result.text, result.reason) == (None, reason)
    assert len(endpoint.asked) == 2 * calls
    if reason == "failed":
        assert isinstance(result.error, SummarizerError)
        assert f"answered {reply[0]}" in str(result.error)
        assert result.error.__cause__ is not None


async def test_it_does_not_wait_for_ever(endpoint: Endpoint) -> None:
    """The client has a timeout of its own, beside that of the build."""

    def answer(body: dict[str, Any]) -> Reply:
        time.sleep(1)
        return completion("late")

    endpoint.answer = answer
    result = await both(endpoint.summarizer(timeout_seconds=0.1))
    assert result.reason == "timeout"


async def test_a_missing_key_is_a_failed_summary(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the SDK raises before any call is recorded like the rest."""
    for name in ("OPENAI_API_KEY", "OPENAI_ADMIN_KEY"):
        monkeypatch.delenv(name, raising=False)
    result = await both(OpenAISummarizer(model="m", base_url="http://127.0.0.1:9/v1"))
    assert result.reason == "failed"


async def test_nobody_there_is_a_failed_summary() -> None:
    """A connection that cannot be made."""
    nobody = OpenAISummarizer(model="m", base_url="http://127.0.0.1:9/v1", api_key="k")
    assert (await both(nobody)).reason == "failed"


async def test_clients_of_ones_own_are_used(endpoint: Endpoint) -> None:
    """Headers, proxies, keys: whatever the application's clients have."""
    from openai import AsyncOpenAI, OpenAI  # noqa: PLC0415  only this test needs it

    with OpenAI(base_url=endpoint.url, api_key="k", max_retries=0) as client:
        async with AsyncOpenAI(base_url=endpoint.url, api_key="k") as async_client:
            summarizer = OpenAISummarizer(
                model="m",
                client=client,
                async_client=async_client,
                max_output_tokens=900,
                extra={"reasoning_effort": "low"},
            )
            result = await both(summarizer)
    assert result.text == RECORD_TEXT
    assert endpoint.asked[0]["max_tokens"] == 900
    assert endpoint.asked[0]["reasoning_effort"] == "low"


def test_openai_itself_gets_its_own_name_for_the_limit() -> None:
    """Its reasoning models refuse `max_tokens`; most other endpoints know only that."""
    made = OpenAISummarizer(model="m")
    arguments = made._arguments(request(), "text", "https://api.openai.com/v1/")
    assert arguments["max_completion_tokens"] == 2_048
    assert "max_tokens" not in arguments
    assert "response_format" not in arguments
