"""Rules that bodies shaped like Chat Completions share, each as a check of its own.

A check reads nothing but the finished body and knows nothing of how it was made. The
validators of the vendors put theirs together from these.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from context_builder.render.adapter import Problem

__all__ = [
    "Object",
    "Problems",
    "calls_of",
    "check_alternation",
    "check_arguments",
    "check_blank",
    "check_first_user",
    "check_ids",
    "check_keys",
    "check_names",
    "check_pairs",
    "check_system",
    "check_tools",
    "messages_of",
    "numbered",
    "says_nothing",
]

Object = Mapping[str, Any]
Problems = Iterator[Problem]

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")


def messages_of(request: Object) -> list[Object]:
    """Return the messages that are objects; the rest is somebody else's finding."""
    messages = request.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        return []
    return [message for message in messages if isinstance(message, Mapping)]


def numbered(request: Object, *roles: str) -> Iterator[tuple[str, Object]]:
    """Yield the path and the body of each message of these roles; none: of any."""
    for number, message in enumerate(messages_of(request)):
        if not roles or message.get("role") in roles:
            yield f"messages[{number}]", message


def calls_of(message: Object) -> list[Object]:
    """Return the calls of a message."""
    calls = message.get("tool_calls")
    if not isinstance(calls, Sequence):
        return []
    return [call for call in calls if isinstance(call, Mapping)]


def says_nothing(content: object) -> bool:
    """Say whether content is absent, blank, or made of blank text parts alone."""
    if content is None or isinstance(content, str):
        return not (content or "").strip()
    if not isinstance(content, Sequence):
        return True
    return all(
        isinstance(part, Mapping)
        and part.get("type") == "text"
        and says_nothing(part.get("text"))
        for part in content
    )


# --- fields ---------------------------------------------------------------------------


def check_keys(request: Object, known: Mapping[str, Collection[str]]) -> Problems:
    """Find roles and fields that the vendor does not know."""
    if not messages_of(request):
        yield Problem("messages", "there is at least one message", "Add a message.")
    for where, message in numbered(request):
        fields = known.get(str(message.get("role")))
        if fields is None:
            roles = ", ".join(known)
            yield Problem(f"{where}.role", f"a role is one of {roles}", "Change it.")
            continue
        for key in message:
            if key not in fields:
                rule = f"a message of the role {message['role']} has no such field"
                yield Problem(f"{where}.{key}", rule, "Leave it out.")


def check_blank(request: Object, *roles: str) -> Problems:
    """Find messages of these roles that say nothing."""
    for where, message in numbered(request, *roles):
        if says_nothing(message.get("content")):
            rule = (
                f"the content of a message of the role {message['role']} is not blank"
            )
            yield Problem(f"{where}.content", rule, "Leave it out, or say so in words.")


def check_names(request: Object) -> Problems:
    """Find names of functions that are not 1 to 64 letters, digits, `_` or `-`."""
    for where, name in _function_names(request):
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            rule = "a function's name is 1 to 64 letters, digits, _ or -"
            yield Problem(where, rule, "Clean the name, everywhere in the same way.")


def _function_names(request: Object) -> Iterator[tuple[str, object]]:
    for number, tool in enumerate(request.get("tools") or ()):
        yield f"tools[{number}].function.name", tool.get("function", {}).get("name")
    for where, message in numbered(request, "assistant"):
        for number, call in enumerate(calls_of(message)):
            path = f"{where}.tool_calls[{number}].function.name"
            yield path, call.get("function", {}).get("name")


def check_tools(request: Object, keys: Collection[str]) -> Problems:
    """Find tools that are no functions, have unknown keys, or share a name."""
    seen: set[object] = set()
    for number, tool in enumerate(request.get("tools") or ()):
        where = f"tools[{number}]"
        function = tool.get("function")
        if tool.get("type") != "function" or not isinstance(function, Mapping):
            yield Problem(where, "every tool is a function", "Say it as a function.")
            continue
        for key in function:
            if key not in keys:
                rule = "a function's definition has no such field"
                yield Problem(f"{where}.function.{key}", rule, "Leave it out.")
        if function.get("name") in seen:
            yield Problem(where, "names of tools are unique", "Rename one of them.")
        seen.add(function.get("name"))


# --- calls and results ----------------------------------------------------------------


def check_arguments(request: Object, kind: type) -> Problems:
    """Find arguments that are not a JSON object, as text or as an object."""
    for where, message in numbered(request, "assistant"):
        for number, call in enumerate(calls_of(message)):
            arguments = call.get("function", {}).get("arguments")
            path = f"{where}.tool_calls[{number}].function.arguments"
            if not isinstance(arguments, kind):
                rule = (
                    "arguments are JSON text" if kind is str else "they are an object"
                )
                yield Problem(path, rule, "Write or parse the JSON.")
            elif isinstance(arguments, str) and not _is_object(arguments):
                rule = "arguments parse as a JSON object"
                yield Problem(path, rule, "Repair them, or wrap them in one.")


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def check_ids(request: Object, pattern: re.Pattern[str], rule: str) -> Problems:
    """Find ids of calls and results that do not match."""
    for where, message in numbered(request, "assistant", "tool"):
        for number, call in enumerate(calls_of(message)):
            if not _matches(pattern, call.get("id")):
                path = f"{where}.tool_calls[{number}].id"
                yield Problem(path, rule, "Map it, here and in its result.")
        if message["role"] == "tool" and not _matches(
            pattern, message.get("tool_call_id")
        ):
            yield Problem(
                f"{where}.tool_call_id", rule, "Map it, here and in its call."
            )


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def check_pairs(request: Object, *, in_order: bool = False) -> Problems:
    """Find calls without a result right behind them, and results without their call."""
    open_ids: list[object] = []
    asking = ""
    for where, message in numbered(request):
        if message.get("role") == "tool":
            yield from _answer(open_ids, message, where, in_order=in_order)
            continue
        yield from _unanswered(open_ids, asking)
        open_ids, asking = [call.get("id") for call in calls_of(message)], where
        if len(set(open_ids)) != len(open_ids):
            rule = "the ids of the calls of one message differ"
            yield Problem(f"{where}.tool_calls", rule, "Rename one, and in its result.")
        if message.get("tool_calls") == []:
            rule = "a list of calls is not empty"
            yield Problem(f"{where}.tool_calls", rule, "Leave the key out.")
    yield from _unanswered(open_ids, asking)


def _answer(
    open_ids: list[object], message: Object, where: str, *, in_order: bool
) -> Problems:
    call_id = message.get("tool_call_id")
    if call_id not in open_ids:
        rule = "a result answers an open call of the message before it"
        yield Problem(where, rule, "Put it behind its call, or leave it out.")
        return
    if in_order and open_ids[0] != call_id:
        yield Problem(where, "results stand in the order of the calls", "Move it.")
    open_ids.remove(call_id)


def _unanswered(open_ids: list[object], asking: str) -> Problems:
    if open_ids:
        missing = ", ".join(map(str, open_ids))
        rule = f"every call is answered before anything else is said; open: {missing}"
        yield Problem(asking, rule, "Put a result behind it.")


# --- order ----------------------------------------------------------------------------


def check_system(request: Object, *, allowed: bool = True) -> Problems:
    """Find system messages besides the one at the front, or any where none is known."""
    for number, (where, _) in enumerate(numbered(request, "system", "developer")):
        if not allowed:
            yield Problem(
                where, "there is no system role", "Put it before a user text."
            )
        elif number or where != "messages[0]":
            rule = "there is one system message, at the front"
            yield Problem(where, rule, "Say it in a user message, marked.")


def check_first_user(request: Object) -> Problems:
    """Find a conversation that does not begin with the user."""
    for where, message in numbered(request):
        if message.get("role") not in {"system", "developer"}:
            if message.get("role") != "user":
                rule = "the first message after the system's is the user's"
                yield Problem(where, rule, "Put a user message before it.")
            return
    yield Problem("messages", "there is a user message", "Add one.")


def check_alternation(request: Object, *, user_after_tool: bool) -> Problems:
    """Find neighbours of one role, and a user message where the assistant is due."""
    for (_, first), (where, second) in pairwise(numbered(request)):
        roles = first.get("role"), second.get("role")
        if roles in {("user", "user"), ("assistant", "assistant")}:
            yield Problem(
                where, "user and assistant alternate", "Join the two messages."
            )
        if roles == ("tool", "user") and not user_after_tool:
            rule = "behind a result stands another result or the assistant"
            yield Problem(where, rule, "Put an assistant message between them.")
