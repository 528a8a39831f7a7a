from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot

from context_builder.agent.drivers import driver_for
from context_builder.cli.chat.vendors import (
    VENDORS,
    Answerer,
    chosen,
    close_client,
    open_client,
    speak_to,
    summarizer_for,
    target_for,
    without_secrets,
)
from tests.agent.vendors import MODELS, Says, ScriptedServer
from tests.chatting import chat
from tests.summarizers.test_openai import Endpoint, always, completion
from tests.test_cli_chat import LONG, no_keys, texts

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["no_keys"]

SUMMARY = (
    '{"goal": "Tell of the ferry", "constraints": [], "done": [], "to_do": [], '
    '"facts_and_risks": ["it leaves at 7:40"]}'
)
KEY = "sk-test-0123456789abcdef"
NATIVE = ("openai", "openai-responses", "anthropic", "gemini")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    """Give a server on this machine that speaks every vendor's protocol."""
    with ScriptedServer() as one:
        yield one


def address(server: ScriptedServer, target: str) -> str:
    """Return the address that a vendor's client is given."""
    ending = "/v1" if target not in {"anthropic", "gemini"} else ""
    return f"{server.url(target)}{ending}"


def options(server: ScriptedServer, target: str = "openai") -> list[str]:
    """Return the options that have the server asked."""
    model = MODELS.get(target, "gpt-4o")
    asked = ["--target", target, "--model", model]
    return [*asked, "--base-url", address(server, target)]


# --- The protocol


def test_a_turn_speaks_openais_protocol(server: ScriptedServer, tmp_path: Path) -> None:
    """The whole requests: system prompt, history, tools, a call and its result."""
    server.play(
        Says("Hello Ada."),
        Says(calls=(("calculator", {"expression": "2 + 3"}),)),
        Says("It is 5."),
    )
    done = chat(
        tmp_path,
        *options(server),
        *("--system", "You are terse.", "--tools"),
        lines="I am Ada.\nWhat is 2 + 3?\n/tokens\n",
    )
    assert done.exit_code == 0, done.output
    assert server.refused == []
    assert done.stdout.startswith("Hello Ada.\nIt is 5.\n")
    assert "last answer: 80 tokens of input, 20% of them from the cache" in done.stdout
    requests = [arguments for _, arguments in server.sent]
    assert [one["messages"] for one in requests] == snapshot(
        [
            [
                {"role": "system", "content": "You are terse."},
                {"role": "user", "content": "I am Ada."},
            ],
            [
                {"role": "system", "content": "You are terse."},
                {"role": "user", "content": "I am Ada."},
                {"role": "assistant", "content": "Hello Ada."},
                {"role": "user", "content": "What is 2 + 3?"},
            ],
            [
                {"role": "system", "content": "You are terse."},
                {"role": "user", "content": "I am Ada."},
                {"role": "assistant", "content": "Hello Ada."},
                {"role": "user", "content": "What is 2 + 3?"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": "call_0",
                            "type": "function",
                            "function": {
                                "name": "calculator",
                                "arguments": '{"expression": "2 + 3"}',
                            },
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": "call_0", "content": "5"},
            ],
        ]
    )
    assert [tool["function"]["name"] for tool in requests[0]["tools"]] == [
        "clock",
        "calculator",
        "notes",
    ]
    assert {one["model"] for one in requests} == {"gpt-4o"}


@pytest.mark.parametrize("target", VENDORS)
def test_every_vendor_can_be_talked_to(
    target: str, server: ScriptedServer, tmp_path: Path
) -> None:
    """Two turns and the commands between them, in each vendor's protocol."""
    server.play(Says("The capital is Paris."), Says("Yes, Paris."))
    done = chat(
        tmp_path,
        *options(server, target),
        *("--context-window", "32000"),
        lines="France?\n/context\n/context i2\n/tokens\n/compact\nSure?\n/retry\n",
    )
    assert done.exit_code == 0, done.output
    assert server.refused == []
    assert [name for name, _ in server.sent] == [target] * 3
    assert done.stdout.startswith("The capital is Paris.\nitem ")
    assert f"for {target} {MODELS.get(target, 'gpt-4o')}" in done.stdout
    assert "last answer: 40 tokens of input, 20% of them" in done.stdout
    assert done.stdout.endswith("Yes, Paris.\nDone.\n")
    assert [text for _, text in texts(tmp_path)] == [
        "France?",
        "The capital is Paris.",
        "Sure?",
        "Done.",
    ]


def test_where_the_user_has_to_speak_last_the_report_says_so(
    server: ScriptedServer, tmp_path: Path
) -> None:
    """The window can be looked at between turns all the same; nothing is added."""
    done = chat(
        tmp_path, *options(server, "gemini"), lines="hello\n/context\n/context i1\n"
    )
    assert done.exit_code == 0, done.output
    assert "i3 stands for your next message" in done.stderr
    assert [text for _, text in texts(tmp_path)] == ["hello", "Done."]


def test_a_switch_takes_the_conversation_along(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next vendor is told what was said to the former one, in its own form."""
    server.play(Says("Hello Ada."), Says("You are Ada."))
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url("anthropic"))
    lines = "I am Ada.\n/switch anthropic claude-sonnet-4-6\nWho am I?\n"
    done = chat(tmp_path, *options(server), lines=lines)
    assert done.exit_code == 0, done.output
    assert server.refused == []
    assert done.stdout == snapshot("""\
Hello Ada.
now answers: anthropic claude-sonnet-4-6
You are Ada.
""")
    target, request = server.sent[1]
    assert target == "anthropic"
    assert request["model"] == "claude-sonnet-4-6"
    assert "I am Ada." in str(request["messages"])


def test_a_switch_that_fails_changes_nothing(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that nobody knows, and no budget given: the former one goes on."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", KEY)
    lines = "/switch deepseek nobody-knows-1\nhello\n"
    done = chat(tmp_path, *options(server), lines=lines)
    assert "'nobody-knows-1' is not known" in done.stderr
    assert [name for name, _ in server.sent] == ["openai"]


# --- Failures


def test_what_a_vendor_refuses_is_said_and_the_chat_goes_on(
    server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No secret in it, whole or half hidden; exit code 1 at the end."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    message = f"Incorrect API key provided: {KEY}, or sk-test-****cdef."
    server.failures = [(401, {"error": {"message": message, "code": "bad"}})]
    done = chat(tmp_path, *options(server), lines="one\ntwo\n")
    assert done.exit_code == 1
    assert "error: AuthenticationError: Error code: 401" in done.stderr
    assert "Incorrect API key provided: ***" in done.stderr
    assert "cdef" not in done.output
    assert done.stdout == "Done.\n"
    assert [text for _, text in texts(tmp_path)] == ["one", "two", "Done."]


def test_a_broken_stream_keeps_what_came(
    server: ScriptedServer, tmp_path: Path
) -> None:
    """What the user read is in the session; the next turn is accepted."""
    server.play(Says("One two three four five six."), Says("Fine."))
    server.break_after = 3
    first = chat(tmp_path, *options(server), lines="count\n")
    assert first.exit_code == 1
    assert first.stdout.startswith("One two ")
    server.break_after = None
    second = chat(tmp_path, *options(server), lines="go on\n")
    assert second.exit_code == 0, second.output
    assert "that turn was stopped; /retry asks again" in second.stderr
    assert server.refused == []


def test_a_message_over_the_budget_is_said(
    server: ScriptedServer, tmp_path: Path
) -> None:
    """With what takes how much; the session can go on after an undo."""
    done = chat(
        tmp_path,
        *(*options(server), "--max-tokens", "60", "--system", LONG),
        lines="hello\n",
    )
    assert done.exit_code == 1
    assert "What may not be left out needs" in done.stderr
    assert server.sent == []


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Says("Half of", stop="length"), "the answer was cut at the output's limit"),
        (Says("I will not.", stop="refusal"), "the model declined"),
        (Says("Some", stop="content_filter"), "the vendor withheld the answer"),
        (Says(""), "the model said nothing"),
    ],
)
def test_why_an_answer_ended_early_is_told(
    answer: Says, said: str, server: ScriptedServer, tmp_path: Path
) -> None:
    """Beside the answer, and the chat goes on."""
    server.play(answer)
    done = chat(tmp_path, *options(server), lines="one\ntwo\n")
    assert said in done.stderr
    assert done.stdout.split("\n")[-2] == "Done."
    assert server.refused == []


# --- Keys


@pytest.mark.parametrize("target", VENDORS)
async def test_a_key_goes_to_its_vendor_alone(
    target: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every vendor's key set, each client has its own, and its own address."""
    for number, vendor in enumerate(VENDORS.values()):
        monkeypatch.setenv(vendor.keys[0], f"key-of-{number}-{vendor.keys[0]}")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-of-openai")
    vendor = VENDORS[target]
    base_url = "http://127.0.0.1:9" if target == "openai-compatible" else None
    who = chosen(target, MODELS.get(target, "gpt-4o"), base_url)
    client: Any = open_client(who)
    try:
        key = client._api_client.api_key if target == "gemini" else client.api_key
        assert str(key).endswith(vendor.keys[0])
        if vendor.url is not None:
            assert str(client.base_url).rstrip("/") == vendor.url
            assert client.organization is None
    finally:
        await close_client(who, client)


def test_the_environment_is_left_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """Making a client sets nothing for those who come later."""
    import os  # noqa: PLC0415

    monkeypatch.setenv("XAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_API_KEY", "another")
    before = dict(os.environ)
    open_client(Answerer("xai", "grok-4.5"))
    assert dict(os.environ) == before


def test_every_vendor_has_a_driver() -> None:
    """Whoever can be named can be asked."""
    for target in VENDORS:
        assert hasattr(driver_for(target), "make_client")


@pytest.mark.parametrize(
    ("model", "target"),
    [
        ("gpt-4o", "openai"),
        ("claude-sonnet-4-6", "anthropic"),
        ("gemini-2.5-pro", "gemini"),
        ("deepseek-v4-pro", "deepseek"),
        ("kimi-k3", "kimi"),
        ("grok-4.7", "xai"),
        ("my-own", "openai"),
    ],
)
def test_a_model_says_which_vendor(model: str, target: str) -> None:
    """Without `--target`; a model that nobody knows is OpenAI's, or the address's."""
    assert target_for(model) == target
    assert target_for("my-own", "http://127.0.0.1:9") == "openai-compatible"


def test_the_first_vendor_with_a_key_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither vendor nor model is named; the model is one of that vendor."""
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    who = chosen(None, None, None)
    assert who.target == "anthropic"
    assert who.model.startswith("claude-")


@given(st.text(), st.text())
def test_no_secret_is_ever_shown(before: str, behind: str) -> None:
    """Wherever it stands: keys of the environment, and passwords in addresses."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XAI_API_KEY", KEY)
        said = f"{before}{KEY}{behind} redis://me:hunter2@host/0 Bearer abc.def-ghi"
        told = without_secrets(said)
    assert KEY not in told
    assert "hunter2" not in told
    assert "abc.def" not in told


# --- Who writes summaries


def test_a_model_writes_summaries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one that was named, and what it wrote is what the chat's model sees."""
    lines = "".join(f"{n}: {'the ferry ' * 120}\n" for n in range(6)) + "/context\n"
    endpoint = Endpoint(always(completion(SUMMARY)))
    try:
        monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        options = ("--offline", "--max-tokens", "1500", "--summary-model", "small")
        done = chat(tmp_path, *options, lines=lines)
    finally:
        endpoint.close()
    assert done.exit_code == 0, done.output
    assert {body["model"] for body in endpoint.asked} == {"small"}
    told = r"^summary s\d+ of \d+ items by OpenAISummarizer \(small\) shown$"
    assert re.search(told, done.stdout, re.M), done.stdout


def test_without_a_key_nobody_can_be_asked_for_summaries(tmp_path: Path) -> None:
    """It is said before anything is."""
    done = chat(tmp_path, "--offline", "--summary-model", "small", lines="hello\n")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == "error: chat: set OPENAI_API_KEY for --summary-model\n"


@pytest.mark.parametrize(
    ("who", "url", "key"),
    [
        (Answerer("deepseek", "m"), "https://api.deepseek.com", "key-deepseek"),
        (Answerer("openai", "m", "http://own/v1"), "http://own/v1", "key-openai"),
        (Answerer("anthropic", "m", "http://own"), "http://own2/v1", "key-openai"),
        (Answerer.offline(), "http://own2/v1", "key-openai"),
    ],
)
def test_summaries_are_asked_of_whom_is_spoken_to(
    who: Answerer, url: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With that vendor's key; of OpenAI where the vendor has another interface."""
    monkeypatch.setenv("DEEPSEEK_API_KEY", "key-deepseek")
    monkeypatch.setenv("OPENAI_API_KEY", "key-openai")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://own2/v1")
    client = summarizer_for("small", who)._own_client()
    assert str(client.base_url).rstrip("/") == url
    assert client.api_key == key


def test_a_service_has_the_key_of_its_vendor_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """SDKs of one shape look into one variable; OpenAI's goes to nobody else."""
    monkeypatch.setenv("OPENAI_API_KEY", "key-openai")
    monkeypatch.setenv("OPENAI_ORG_ID", "org")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://proxy.test/v1")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "key-deepseek")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "key-anthropic")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", "https://api.test")
    speak_to("deepseek", None, "serve")
    assert os.environ["OPENAI_API_KEY"] == "key-deepseek"
    assert os.environ["OPENAI_BASE_URL"] == "https://api.deepseek.com"
    assert "OPENAI_ORG_ID" not in os.environ
    speak_to("anthropic", "http://127.0.0.1:1", "serve")
    assert os.environ["ANTHROPIC_BASE_URL"] == "http://127.0.0.1:1"
