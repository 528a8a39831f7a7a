"""Checks a request against the rules of Ollama's own chat.

Written from the API's rules, not from the adapter. The server itself refuses little:
what it would cut off or lose silently is found here.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Problem
from context_builder.render.chat_rules import (
    Object,
    Problems,
    calls_of,
    check_arguments,
    check_keys,
    check_names,
    check_system,
    check_tools,
    numbered,
    says_nothing,
)

__all__ = ["validate_ollama"]

_FIELDS = {
    "system": {"role", "content"},
    "user": {"role", "content", "images"},
    "assistant": {"role", "content", "thinking", "tool_calls"},
    "tool": {"role", "content", "images", "tool_name", "tool_call_id"},
}
_ARGUMENTS = {
    "model", "messages", "tools", "stream", "think", "logprobs", "top_logprobs",
    "format", "options", "keep_alive",
}  # fmt: skip
_EFFORTS = (True, False, "low", "medium", "high", "max")


def validate_ollama(request: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    return list(_problems(request))


def _problems(request: Object) -> Problems:
    yield from check_keys(request, _FIELDS)
    yield from check_system(request)
    yield from check_arguments(request, Mapping)
    yield from check_names(request)
    yield from check_tools(request, {"name", "description", "parameters"})
    for where, message in numbered(request):
        yield from _content(message, where)
        yield from _images(message, where)
    yield from _pairs(request)
    yield from _asked(request)


def _content(message: Object, where: str) -> Problems:
    # The official client leaves blank content out where a message only calls.
    content = message.get("content", "" if calls_of(message) else None)
    if not isinstance(content, str):
        rule = "content is text, be it empty"
        yield Problem(f"{where}.content", rule, "Send one text.")
    elif says_nothing(content) and not message.get("images") and not calls_of(message):
        yield Problem(where, "a message says something", "Leave it out.")


def _images(message: Object, where: str) -> Problems:
    for number, image in enumerate(message.get("images") or ()):
        if not _is_base64(image):
            rule = "a picture is bare base64, without a data: prefix"
            yield Problem(f"{where}.images[{number}]", rule, "Send the data alone.")


def _is_base64(image: object) -> bool:
    try:
        return bool(base64.b64decode(str(image), validate=True))
    except (binascii.Error, ValueError):
        return False


def _pairs(request: Object) -> Problems:
    """Results are paired with calls by their order and name: nothing else tells."""
    waiting: list[str] = []
    for where, message in numbered(request):
        if message.get("role") != "tool":
            if waiting:
                rule = f"every call is answered first; open: {', '.join(waiting)}"
                yield Problem(where, rule, "Put the results before it.")
            functions = [call.get("function", {}) for call in calls_of(message)]
            waiting = [str(function.get("name")) for function in functions]
        elif not waiting or message.get("tool_name") != waiting[0]:
            rule = "results stand in the order of the calls and name their tool"
            yield Problem(f"{where}.tool_name", rule, "Put it behind its call.")
        else:
            waiting.pop(0)
    if waiting:
        rule = f"every call is answered; open: {', '.join(waiting)}"
        yield Problem("messages", rule, "Add the results.")


def _asked(request: Object) -> Problems:
    for key in request:
        if key not in _ARGUMENTS:
            yield Problem(key, "there is no such argument", "Leave it out.")
    options = request.get("options")
    window = options.get("num_ctx") if isinstance(options, Mapping) else None
    if not isinstance(window, int) or window < 1:
        rule = "num_ctx is sent, as what does not fit is cut off silently"
        yield Problem("options.num_ctx", rule, "Send the size of the window in tokens.")
    if request.get("think") is not None and request["think"] not in _EFFORTS:
        yield Problem("think", "it is a truth value, low, medium or high", "Change it.")
    wanted = request.get("format")
    if wanted not in (None, "", "json") and not isinstance(wanted, Mapping):
        yield Problem("format", "it is 'json' or a JSON schema", "Send the schema.")
