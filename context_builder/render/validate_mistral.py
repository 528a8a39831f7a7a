"""Checks a request against the rules of Mistral's chat completions.

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
    check_alternation,
    check_arguments,
    check_blank,
    check_first_user,
    check_ids,
    check_keys,
    check_names,
    check_pairs,
    check_system,
    check_tools,
    messages_of,
    numbered,
    says_nothing,
)

__all__ = ["validate_mistral"]

_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
_CHUNKS = {
    "system": {"text": "text", "thinking": "thinking"},
    "user": {
        "text": "text",
        "image_url": "image_url",
        "document_url": "document_url",
        "file": "file_id",
        "input_audio": "input_audio",
    },
    "assistant": {"text": "text", "thinking": "thinking"},
    "tool": {"text": "text"},
}
_ARGUMENTS = {
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens",
    "temperature", "top_p", "random_seed", "response_format", "stop", "stream", "n",
    "prompt_mode", "reasoning_effort", "prompt_cache_key", "metadata", "prediction",
    "presence_penalty", "frequency_penalty", "safe_prompt", "guardrails",
    "service_tier", "min_tokens", "repetition_penalty", "top_k", "logprobs",
    "top_logprobs", "prompt_logprobs", "top_prompt_logprobs", "retries", "server_url",
    "timeout_ms", "http_headers",
}  # fmt: skip
_CHOICES = {"auto", "none", "any", "required"}
_ID = re.compile(r"[a-zA-Z0-9]{9}")


def validate_mistral(request: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    return list(_problems(request))


def _problems(request: Object) -> Problems:
    yield from check_keys(request, _FIELDS)
    yield from check_system(request)
    yield from check_first_user(request)
    yield from check_alternation(request, user_after_tool=False)
    yield from check_pairs(request)
    yield from check_ids(request, _ID, "an id is exactly nine letters or digits")
    yield from _arguments(request)
    yield from check_names(request)
    yield from check_tools(request, {"name", "description", "parameters", "strict"})
    yield from check_blank(request, "system", "user", "tool")
    for where, message in numbered(request):
        yield from _chunks(message, where)
    yield from _assistants(request)
    yield from _last(request)
    yield from _asked(request)


def _arguments(request: Object) -> Problems:
    for where, message in numbered(request, "assistant"):
        for number, call in enumerate(calls_of(message)):
            if isinstance(call.get("function", {}).get("arguments"), Mapping):
                continue
            alone = {"messages": [{**message, "tool_calls": [call]}]}
            for problem in check_arguments(alone, str):
                path = f"{where}.tool_calls[{number}].function.arguments"
                yield Problem(path, problem.rule, problem.fix)


def _chunks(message: Object, where: str) -> Problems:
    content = message.get("content")
    known = _CHUNKS.get(str(message.get("role")), {})
    if content is None or isinstance(content, str):
        return
    for number, chunk in enumerate(content):
        path = f"{where}.content[{number}]"
        kind = str(chunk.get("type"))
        if kind not in known:
            role = message.get("role")
            rule = f"a message of the role {role} holds no chunk of type {kind!r}"
            yield Problem(path, rule, "Leave it out, or say it in words.")
        elif not chunk.get(known[kind]):
            yield Problem(path, f"a chunk has {known[kind]!r}", "Fill it, or leave it.")
        elif kind == "thinking" and number and _kind(content[number - 1]) != kind:
            yield Problem(path, "thinking opens the content", "Put it first.")


def _kind(chunk: Object) -> object:
    return chunk.get("type")


def _assistants(request: Object) -> Problems:
    messages = messages_of(request)
    for where, message in numbered(request, "assistant"):
        if says_nothing(message.get("content")) and not calls_of(message):
            rule = "an assistant message has content or calls"
            yield Problem(where, rule, "Leave the message out.")
        if message.get("prefix") and message is not messages[-1]:
            rule = "only the last message may be a prefix"
            yield Problem(f"{where}.prefix", rule, "Leave it out.")
    for where, message in numbered(request, "tool"):
        if not message.get("name"):
            yield Problem(f"{where}.name", "a result names its tool", "Add the name.")


def _last(request: Object) -> Problems:
    messages = messages_of(request)
    if not messages or messages[-1].get("role") in {"user", "tool"}:
        return
    if not messages[-1].get("prefix"):
        rule = "the last message is the user's, a result, or an assistant's prefix"
        yield Problem(f"messages[{len(messages) - 1}]", rule, "Add a user message.")


def _asked(request: Object) -> Problems:
    for key in request:
        if key not in _ARGUMENTS:
            yield Problem(key, "there is no such argument", "Leave it out.")
    for number, tool in enumerate(request.get("tools") or ()):
        if not isinstance(tool.get("function", {}).get("parameters"), Mapping):
            rule = "a function says its parameters"
            yield Problem(f"tools[{number}].function.parameters", rule, "Add a schema.")
    choice = request.get("tool_choice")
    if isinstance(choice, str) and choice not in _CHOICES:
        rule = f"a choice is one of {', '.join(sorted(_CHOICES))}"
        yield Problem("tool_choice", rule, "Change it.")
    cache_key = request.get("prompt_cache_key")
    if isinstance(cache_key, str) and not cache_key.isascii():
        yield Problem("prompt_cache_key", "it holds ASCII only", "Leave it out.")
