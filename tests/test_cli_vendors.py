from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from context_builder.builder import ContextBuilder
from context_builder.collect import import_formats
from context_builder.render import adapter_names, validate
from tests.render.real_chats import TRANSCRIPTS
from tests.render.sdk_types import MODELS
from tests.test_cli import EXAMPLE, MODEL, run, write_json, write_jsonl

if TYPE_CHECKING:
    from pathlib import Path

every = pytest.mark.parametrize("target", adapter_names())

CHAT = next(one for one in TRANSCRIPTS if one["id"].startswith("toolbench"))


def whole(target: str) -> dict[str, Any]:
    """Return a real conversation as a vendor's whole request."""
    ctx = ContextBuilder(
        max_tokens=10**9, tools=CHAT["tools"], system_prompt="Be terse."
    )
    ctx.extend([one for one in CHAT["messages"] if one["role"] != "system"])
    ctx.add_user_message("Thanks.")
    return ctx.request(target, model=MODELS[target])


@every
@pytest.mark.parametrize("option", ["--for", "--to"])
def test_validate_takes_whole_requests(
    target: str, option: str, tmp_path: Path
) -> None:
    """Each vendor's own request is checked as it stands."""
    file = write_json(tmp_path / "request.json", whole(target))
    result = run("validate", file, option, target)
    assert result.exit_code == 0, result.stdout
    assert result.stdout == f"{file}: valid for {target}\n"


@every
def test_validate_names_what_is_wrong(target: str, tmp_path: Path) -> None:
    """An orphan result breaks every vendor's rules; where it stands is said."""
    body = whole(target)
    field = {"gemini": "contents", "openai-responses": "input"}.get(target, "messages")
    body[field] = [one for one in body[field] if "call" not in json.dumps(one)] or [{}]
    body[field] = body[field][:1] * 2 + [{"role": "nobody"}]
    file = write_json(tmp_path / "request.json", body)
    result = run("validate", file, "--for", target, "--json")
    assert result.exit_code == 1
    found = json.loads(result.stdout)
    assert any(problem["where"].startswith(field) for problem in found)


@pytest.mark.parametrize("origin", import_formats())
@every
def test_convert_reads_and_says_every_vendor(
    origin: str, target: str, tmp_path: Path
) -> None:
    """From every format to every vendor, whole requests included."""
    file = write_json(tmp_path / "request.json", whole(origin))
    result = run("convert", file, "--from", origin, "--to", target, "--json")
    assert result.exit_code == 0, result.stderr
    body = json.loads(result.stdout)
    body["modelId" if target == "bedrock" else "model"] = MODELS[target]
    assert list(validate(body, target)) == []
    assert "Be terse." in result.stdout
    for message in CHAT["messages"]:
        for call in message.get("tool_calls") or ():
            assert call["function"]["name"] in result.stdout


def test_convert_knows_a_request_by_its_shape(tmp_path: Path) -> None:
    """Contents are Gemini's and input is Responses', whatever `--from` says."""
    for origin in ("gemini", "openai-responses"):
        file = write_json(tmp_path / "request.json", whole(origin))
        result = run("convert", file, "--to", "anthropic")
        assert result.exit_code == 0, result.stderr
        assert "Be terse." in result.stdout


def test_convert_says_what_was_lost(tmp_path: Path) -> None:
    """What the new vendor cannot carry, and what nobody can, is said to people."""
    body = {
        "model": MODELS["anthropic"],
        "max_tokens": 100,
        "metadata": {"user_id": "u"},
        "messages": [
            {"role": "user", "content": "Look."},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "so", "signature": "s"},
                    {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {
                        "type": "tool_result",
                        "tool_use_id": "t1",
                        "content": "gone",
                        "is_error": True,
                    }
                ],
            },
        ],
    }
    file = write_json(tmp_path / "request.json", body)
    result = run("convert", file, "--from", "anthropic", "--to", "openai")
    assert result.exit_code == 0
    assert "not carried over" in result.stderr
    assert "reasoning: 1 of 1" in result.stderr
    assert "error flags: 1 of 1" in result.stderr
    quiet = run("convert", file, "--from", "anthropic", "--to", "openai", "--quiet")
    assert quiet.stderr == ""
    assert quiet.stdout == result.stdout
    same = run("convert", file, "--from", "anthropic", "--to", "anthropic")
    assert "reasoning" not in same.stderr


@every
def test_count_counts_for_every_vendor(target: str, tmp_path: Path) -> None:
    """`count --to` says what a budget would count, part by part."""
    file = write_json(tmp_path / "chat.json", CHAT)
    model = ("--model", MODELS[target])
    counts = json.loads(run("count", file, "--to", target, *model, "--json").stdout)
    parts = sum(message["tokens"] for message in counts["messages"])
    total = parts + counts["tools_tokens"] + counts["overhead_tokens"]
    assert counts["total_tokens"] == total > 500
    assert counts["tools_tokens"] > 0


@every
def test_count_reads_whole_requests(target: str, tmp_path: Path) -> None:
    """A vendor's own request is counted for that vendor."""
    file = write_json(tmp_path / "request.json", whole(target))
    result = run("count", file, "--from", target, "--to", target, "--json")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["total_tokens"] > 500


def test_records_may_hold_a_request(tmp_path: Path) -> None:
    """A record that is about a request is read as that request."""
    record = {"id": "r1", "model": "claude-sonnet-4-6", "request": whole("anthropic")}
    file = write_jsonl(tmp_path / "usage.jsonl", record, {**record, "id": "r2"})
    assert run("validate", file, "--for", "anthropic").exit_code == 0
    result = run("convert", file, "--id", "r2", "--from", "anthropic", "--to", "gemini")
    assert result.exit_code == 0
    assert "contents" in json.loads(result.stdout)


def test_a_request_of_another_shape_is_said_so(tmp_path: Path) -> None:
    """`build` takes messages; for another shape it says how to get them."""
    file = write_json(tmp_path / "request.json", whole("gemini"))
    result = run("build", file, *MODEL)
    assert result.exit_code == 2
    assert "convert --from gemini" in result.stderr


@pytest.mark.parametrize("command", ["replay", "sessions"])
def test_further_commands_are_there(command: str) -> None:
    """They explain themselves."""
    result = run(command, "--help")
    assert result.exit_code == 0
    assert run("--help").stdout.count(command) >= 1
    assert EXAMPLE.exists()
