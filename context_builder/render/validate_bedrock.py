"""Checks a request against the rules of Bedrock's Converse API.

Written from the vendor's rules, not from what the adapter does. The shapes themselves
are checked by the SDK; here is what the service says beyond them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Problem
from context_builder.render.bedrock_hosts import Host, host_of
from context_builder.render.claude import Claude, claude_of
from context_builder.render.validate_anthropic_blocks import (
    found_until_misshapen,
    text_problems,
)
from context_builder.render.validate_bedrock_blocks import (
    block_problems,
    document_problems,
    point_problems,
)

__all__ = ["validate_bedrock"]

_FIELDS = frozenset(
    {
        "modelId",
        "messages",
        "system",
        "inferenceConfig",
        "toolConfig",
        "guardrailConfig",
        "additionalModelRequestFields",
        "promptVariables",
        "additionalModelResponseFieldPaths",
        "requestMetadata",
        "performanceConfig",
        "serviceTier",
        "outputConfig",
        "projectIdentifier",
    }
)
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
MIN_BUDGET = 1_024


def validate_bedrock(request: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    messages = request.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        rule = "there has to be at least one message"
        return [Problem("messages", rule, "Add a user message")]
    return found_until_misshapen(_problems(request, messages))


def _problems(
    request: Mapping[str, Any], messages: Sequence[Mapping[str, Any]]
) -> Iterator[Problem]:
    model = request.get("modelId")
    claude, host = claude_of(model), host_of(model)
    yield from _field_problems(request)
    yield from _role_problems(messages, claude)
    yield from _block_problems(messages, host)
    yield from _pair_problems(messages, host)
    yield from _tool_problems(request, messages, claude)
    yield from _thinking_problems(request, messages, claude)
    yield from document_problems(messages)
    yield from point_problems(request, messages, host)
    yield from text_problems(request)


def _field_problems(request: Mapping[str, Any]) -> Iterator[Problem]:
    for name in sorted(set(request) - _FIELDS):
        yield Problem(name, "the call has no such parameter", "Leave it out")
    if not request.get("modelId"):
        yield Problem("modelId", "the field is required", "Set modelId")
    for number, block in enumerate(request.get("system") or ()):
        text = block.get("text")
        if text is not None and not text.strip():
            rule = "the text field is blank"
            yield Problem(f"system[{number}]", rule, "Leave the block out")
    config = request.get("inferenceConfig") or {}
    for name in ("temperature", "topP"):
        if not 0 <= config.get(name, 0) <= 1:
            where = f"inferenceConfig.{name}"
            yield Problem(where, "it lies between 0 and 1", "Lower it")
    if config.get("maxTokens", 1) < 1:
        yield Problem("inferenceConfig.maxTokens", "it is at least 1", "Raise it")


# --- roles ---------------------------------------------------------------------------


def _role_problems(
    messages: Sequence[Mapping[str, Any]], claude: Claude
) -> Iterator[Problem]:
    if messages[0].get("role") != "user":
        rule = "a conversation must start with a user message"
        yield Problem("messages[0].role", rule, "Put a user message first")
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        role = message.get("role")
        before = messages[number - 1].get("role") if number else None
        if role not in {"user", "assistant", "system"}:
            rule = "a role is user or assistant"
            yield Problem(f"{where}.role", rule, "Use one of them")
        if role == before:
            rule = "roles must alternate between user and assistant"
            yield Problem(f"{where}.role", rule, "Join it with the message before")
        if role == "system":
            after = (
                messages[number + 1].get("role") if number + 1 < len(messages) else None
            )
            yield from _note_problems(where, before, after, claude)
    if messages[-1].get("role") == "assistant":
        yield from _last_problems(messages, claude)


def _note_problems(
    where: str, before: str | None, after: str | None, claude: Claude
) -> Iterator[Problem]:
    if not claude.takes_notes:
        rule = "role 'system' is not supported on this model"
        yield Problem(f"{where}.role", rule, "Say it in the user's turn")
    elif before != "user" or after not in {None, "assistant"}:
        rule = "role 'system' stands between a user's and an assistant's turn"
        yield Problem(where, rule, "Say it in the user's turn")


def _last_problems(
    messages: Sequence[Mapping[str, Any]], claude: Claude
) -> Iterator[Problem]:
    where = f"messages[{len(messages) - 1}]"
    if not claude.takes_prefill:
        rule = "the conversation must end with a user message"
        yield Problem(where, rule, "Add a user message")
    content = messages[-1].get("content") or [{}]
    text = content[-1].get("text") or ""
    if text != text.rstrip():
        rule = "final assistant content cannot end with trailing whitespace"
        yield Problem(f"{where}.content", rule, "Strip the text")


def _block_problems(
    messages: Sequence[Mapping[str, Any]], host: Host
) -> Iterator[Problem]:
    for number, message in enumerate(messages):
        content = message.get("content")
        where = f"messages[{number}].content"
        if not isinstance(content, list) or not content:
            yield Problem(where, "content is a list that is not empty", "Say something")
            continue
        for place, block in enumerate(content):
            role = str(message.get("role"))
            yield from block_problems(block, f"{where}[{place}]", role=role, host=host)


# --- calls and results ---------------------------------------------------------------


def _pair_problems(
    messages: Sequence[Mapping[str, Any]], host: Host
) -> Iterator[Problem]:
    wanted: list[str] = []
    seen: set[str] = set()
    for number, message in enumerate(messages):
        where = f"messages[{number}].content"
        blocks = message.get("content") or []
        answered = [b["toolResult"]["toolUseId"] for b in blocks if "toolResult" in b]
        yield from _answer_problems(wanted, answered, where)
        if answered and host.results_alone and len(answered) < len(blocks):
            rule = "conversation blocks and tool result blocks cannot be in one turn"
            yield Problem(where, rule, "Put an assistant's turn between them")
        wanted = [b["toolUse"]["toolUseId"] for b in blocks if "toolUse" in b]
        for call_id in wanted:
            if call_id in seen:
                rule = f"the id {call_id!r} stands for two calls"
                yield Problem(where, rule, "Rename the later one")
            seen.add(call_id)
    yield from _answer_problems(wanted, [], f"messages[{len(messages) - 1}].content")


def _answer_problems(
    wanted: Sequence[str], answered: Sequence[str], where: str
) -> Iterator[Problem]:
    missing = [call_id for call_id in wanted if call_id not in answered]
    if missing:
        rule = f"expected toolResult blocks for the following ids: {', '.join(missing)}"
        yield Problem(where, rule, "Put the results into the next user turn")
    if len(answered) > len(set(answered)) or set(answered) - set(wanted):
        rule = "the toolResult blocks exceed the toolUse blocks of the previous turn"
        yield Problem(where, rule, "Keep one result for each call")


# --- tools and thinking --------------------------------------------------------------


def _tool_problems(
    request: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], claude: Claude
) -> Iterator[Problem]:
    config = request.get("toolConfig")
    if config is None:
        kinds = {
            kind for m in messages for block in m.get("content") or () for kind in block
        }
        if kinds & {"toolUse", "toolResult"}:
            rule = "toolConfig must be defined when using toolUse and toolResult blocks"
            yield Problem("toolConfig", rule, "Send the tools, or say calls in words")
        return
    names: list[str] = []
    for number, tool in enumerate(config.get("tools") or ()):
        spec = tool.get("toolSpec")
        if spec is not None:
            where = f"toolConfig.tools[{number}].toolSpec"
            yield from _spec_problems(spec, names, where)
            names.append(spec.get("name"))
    yield from _choice_problems(config.get("toolChoice") or {}, names, claude)


def _spec_problems(
    spec: Mapping[str, Any], names: Sequence[str], where: str
) -> Iterator[Problem]:
    name = str(spec.get("name") or "")
    if not _NAME.fullmatch(name):
        yield Problem(f"{where}.name", f"a name matches {_NAME.pattern}", "Rename it")
    if name in names:
        yield Problem(f"{where}.name", "tool names must be unique", "Rename one")
    if not (spec.get("description") or "x").strip():
        yield Problem(f"{where}.description", "it is not blank", "Leave it out")
    schema = (spec.get("inputSchema") or {}).get("json")
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        rule = "the schema is one of type object"
        yield Problem(f"{where}.inputSchema.json", rule, "Set type to object")


def _choice_problems(
    choice: Mapping[str, Any], names: Sequence[str], claude: Claude
) -> Iterator[Problem]:
    where = "toolConfig.toolChoice"
    if set(choice) - {"auto", "any", "tool"}:
        yield Problem(where, "a choice is auto, any or tool", "Leave it out")
    if "tool" in choice and choice["tool"].get("name") not in names:
        yield Problem(where, "there is no tool of that name", "Name one of the tools")
    if {"any", "tool"} & set(choice) and not claude.takes_forced_tool:
        yield Problem(where, "the model does not take a forced choice", "Use auto")


def _thinking_problems(
    request: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], claude: Claude
) -> Iterator[Problem]:
    fields = request.get("additionalModelRequestFields") or {}
    thinking = fields.get("thinking") or {}
    config = request.get("inferenceConfig") or {}
    where = "additionalModelRequestFields.thinking"
    if thinking.get("type") == "enabled":
        yield from _budget_problems(thinking, config, claude, where)
        yield from _loop_problems(messages)
        if {"any", "tool"} & set(
            (request.get("toolConfig") or {}).get("toolChoice") or {}
        ):
            rule = "thinking may not be enabled when toolChoice forces tool use"
            yield Problem("toolConfig.toolChoice", rule, "Use auto")
    if thinking.get("type") == "adaptive" and not claude.takes_adaptive_thinking:
        yield Problem(where, "adaptive thinking is not supported", "Set a budget")
    if claude.is_known and not claude.takes_sampling:
        for name in ("temperature", "topP"):
            if name in config:
                rule = "the model takes no sampling parameters"
                yield Problem(f"inferenceConfig.{name}", rule, "Leave it out")


def _budget_problems(
    thinking: Mapping[str, Any], config: Mapping[str, Any], claude: Claude, where: str
) -> Iterator[Problem]:
    budget = thinking.get("budget_tokens") or 0
    if not claude.takes_thinking_budget:
        yield Problem(where, "a thinking budget is not supported", "Use adaptive")
    if budget < MIN_BUDGET:
        yield Problem(where, f"budget_tokens is at least {MIN_BUDGET:,}", "Raise it")
    if budget >= config.get("maxTokens", budget + 1):
        yield Problem(where, "budget_tokens is less than maxTokens", "Lower it")
    if config.get("temperature", 1) != 1:
        rule = "temperature may only be 1 when thinking is enabled"
        yield Problem("inferenceConfig.temperature", rule, "Leave it out")


def _loop_problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield it where a running tool loop does not start with a thought."""
    for number in range(len(messages) - 1, -1, -1):
        content = messages[number].get("content") or [{}]
        if messages[number].get("role") == "assistant":
            if "reasoningContent" not in content[0]:
                rule = "a final assistant message must start with a thinking block"
                fix = "Leave thinking out of the request, or send the block"
                yield Problem(f"messages[{number}].content[0]", rule, fix)
            return
        if any("toolResult" not in b and "cachePoint" not in b for b in content):
            return
