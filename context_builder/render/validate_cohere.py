"""Checks a request against the rules of Cohere's chat, version 2.

Written from the API's rules, not from the adapter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Problem
from context_builder.render.chat_rules import (
    Object,
    Problems,
    calls_of,
    check_arguments,
    check_blank,
    check_ids,
    check_keys,
    check_names,
    check_pairs,
    check_tools,
    messages_of,
    numbered,
    says_nothing,
)

__all__ = ["validate_cohere"]

_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "tool_plan", "citations"},
    "tool": {"role", "content", "tool_call_id"},
}
_BLOCKS = {
    "system": {"text": "text"},
    "user": {"text": "text", "image_url": "image_url"},
    "assistant": {"text": "text", "thinking": "thinking"},
    "tool": {"text": "text", "document": "document"},
}
_ARGUMENTS = {
    "model", "messages", "tools", "strict_tools", "documents", "citation_options",
    "response_format", "safety_mode", "max_tokens", "stop_sequences", "temperature",
    "seed", "frequency_penalty", "presence_penalty", "k", "p", "logprobs",
    "tool_choice", "thinking", "priority", "request_options",
}  # fmt: skip
_ANY_ID = re.compile(r"\S(.*\S)?")


def validate_cohere(request: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    return list(_problems(request))


def _problems(request: Object) -> Problems:
    yield from check_keys(request, _FIELDS)
    yield from check_pairs(request)
    yield from check_ids(request, _ANY_ID, "a call and its result have an id")
    yield from check_arguments(request, str)
    yield from check_names(request)
    yield from check_tools(request, {"name", "description", "parameters"})
    yield from check_blank(request, "system", "user", "tool")
    for where, message in numbered(request):
        yield from _blocks(message, where)
    yield from _assistants(request)
    yield from _last(request)
    yield from _asked(request)


def _blocks(message: Object, where: str) -> Problems:
    content = message.get("content")
    known = _BLOCKS.get(str(message.get("role")), {})
    if content is None or isinstance(content, str):
        return
    for number, block in enumerate(content):
        path, kind = f"{where}.content[{number}]", str(block.get("type"))
        if kind not in known:
            role = message.get("role")
            rule = f"a message of the role {role} holds no block of type {kind!r}"
            yield Problem(path, rule, "Leave it out, or say it in words.")
        elif not block.get(known[kind]):
            yield Problem(path, f"a block has {known[kind]!r}", "Fill it, or leave it.")


def _assistants(request: Object) -> Problems:
    for where, message in numbered(request, "assistant"):
        calls = calls_of(message)
        if "content" in message and message["content"] is None:
            yield Problem(f"{where}.content", "it is not null", "Leave the key out.")
        if not calls and says_nothing(message.get("content")):
            rule = "an assistant message has content or calls"
            yield Problem(where, rule, "Leave the message out.")
        if calls and _has_text(message.get("content")):
            rule = "what is said beside calls is the tool_plan"
            yield Problem(f"{where}.content", rule, "Move the text to tool_plan.")
        if "tool_plan" in message and (not calls or not message["tool_plan"]):
            rule = "a tool_plan is text beside calls"
            yield Problem(f"{where}.tool_plan", rule, "Leave it out.")


def _has_text(content: object) -> bool:
    if isinstance(content, str):
        return bool(content.strip())
    blocks = content if isinstance(content, Sequence) else ()
    return any(block.get("type") == "text" for block in blocks)


def _last(request: Object) -> Problems:
    messages = messages_of(request)
    if messages and messages[-1].get("role") not in {"user", "tool"}:
        rule = "the last message is the user's or a result"
        yield Problem(f"messages[{len(messages) - 1}]", rule, "Add a user message.")


def _asked(request: Object) -> Problems:
    for key in request:
        if key not in _ARGUMENTS:
            yield Problem(key, "there is no such argument", "Leave it out.")
    for number, tool in enumerate(request.get("tools") or ()):
        if not isinstance(tool.get("function", {}).get("parameters"), Mapping):
            rule = "a function says its parameters"
            yield Problem(f"tools[{number}].function.parameters", rule, "Add a schema.")
    if request.get("tool_choice") not in {None, "REQUIRED", "NONE"}:
        rule = "a choice is REQUIRED or NONE"
        yield Problem("tool_choice", rule, "Leave it out: the model chooses.")
    wanted = request.get("response_format")
    if wanted is not None:
        yield from _format(wanted, request)


def _format(wanted: Object, request: Object) -> Problems:
    if wanted.get("type") not in {"text", "json_object"}:
        rule = "a format is text or json_object"
        yield Problem("response_format.type", rule, "Send json_object and json_schema.")
    if request.get("tools") or request.get("documents"):
        rule = "a format is not taken beside tools or documents"
        yield Problem("response_format", rule, "Leave one of them out.")
