"""Checks a Chat Completions request against the rules of the API.

It reads nothing but the finished body and shares no code with the adapter that made it,
so that a mistake there cannot hide here. Where vendor and library differ it takes the
stricter side, but it refuses nothing that the vendor was seen to accept.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Problem
from context_builder.unicode import is_well_formed

__all__ = ["validate_openai"]

_ID_CHARS, _MAX_TOOLS = 40, 128
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PARTICIPANT = re.compile(r"[^\s<|\\/>]{1,64}")
_IMAGE = re.compile(r"https?://\S+|data:image/(png|jpe?g|gif|webp);base64,\S+", re.I)
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(;[\w.+=-]+)*;base64,\S+")

_SPEAKER = frozenset({"role", "content", "name"})
_FIELDS: Mapping[str, frozenset[str]] = {
    "system": _SPEAKER,
    "developer": _SPEAKER,
    "user": _SPEAKER,
    "assistant": _SPEAKER | {"refusal", "audio", "tool_calls", "annotations"},
    "tool": _SPEAKER | {"tool_call_id"},
}
_PARTS: Mapping[str, frozenset[str]] = {
    "system": frozenset({"text"}),
    "developer": frozenset({"text"}),
    "user": frozenset({"text", "image_url", "input_audio", "file"}),
    "assistant": frozenset({"text", "refusal"}),
    "tool": frozenset({"text"}),
}
_NEVER_BLANK = {"text": frozenset({"user", "tool"}), "parts": frozenset({"tool"})}
"""Whose content must say something. A user's blank parts were seen to be accepted."""

_Object = Mapping[str, Any]
_Problems = Iterator[Problem]


def validate_openai(request: _Object) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted.

    The model is not looked at: what only some models take or refuse is not known here.
    """
    return [*_request(request), *_json(request, "")]


def _request(request: _Object) -> _Problems:
    messages = request.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        yield Problem("messages", "it is a list of at least one message", "Add one.")
        return
    for number, message in enumerate(messages):
        yield from _message(message, f"messages[{number}]")
    yield from _pairs(messages)
    yield from _tools(request)
    yield from _tool_choice(request)
    yield from _options(request)


def _is_blank(value: object) -> bool:
    return not isinstance(value, str) or not value.strip()


def _object(value: object) -> _Object:
    return value if isinstance(value, Mapping) else {}


def _matches(pattern: re.Pattern[str], value: object) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


# --- messages -------------------------------------------------------------------------


def _message(said: object, where: str) -> _Problems:
    message = _object(said)
    role = message.get("role")
    if not isinstance(role, str) or role not in _FIELDS:
        rule = f"a message is an object whose role is one of {', '.join(_FIELDS)}"
        yield Problem(f"{where}.role", rule, "Say who speaks.")
        return
    yield from _fields(message, role, where)
    yield from _content(message, role, f"{where}.content")
    if role == "assistant" and message.get("tool_calls") is not None:
        yield from _calls(message["tool_calls"], f"{where}.tool_calls")
    if role == "tool":
        yield from _id(message.get("tool_call_id"), f"{where}.tool_call_id")


def _fields(message: _Object, role: str, where: str) -> _Problems:
    for field, value in message.items():
        if field not in _FIELDS[role]:
            rule = f"a message of the role {role} has no such field"
            yield Problem(f"{where}.{field}", rule, "Leave it out.")
        elif value is None and field in {"name", "tool_calls", "annotations"}:
            yield Problem(f"{where}.{field}", "it is not null", "Leave it out instead.")
    name = message.get("name")
    if name is not None and not _matches(_PARTICIPANT, name):
        rule = "a name has 1 to 64 characters, none of them a space or one of <|\\/>"
        yield Problem(f"{where}.name", rule, "Replace the other characters.")


def _content(message: _Object, role: str, where: str) -> _Problems:
    content = message.get("content")
    shape = "text" if isinstance(content, str) else "parts"
    parts = content if shape == "parts" else [{"type": "text", "text": content}]
    if content is None:
        says_else = any(message.get(key) for key in ("tool_calls", "refusal", "audio"))
        if role != "assistant" or not says_else:
            rule = (
                f"the content of the role {role} is not null where it says nothing else"
            )
            yield Problem(where, rule, "Send text.")
    elif not isinstance(parts, Sequence) or not parts:
        rule = "content is text, or a list of at least one part"
        yield Problem(where, rule, "Send text.")
    elif role in _NEVER_BLANK[shape] and all(map(_says_nothing, parts)):
        rule = f"the content of a message of the role {role} is not blank"
        yield Problem(where, rule, "Leave it out, or say that there is none.")
    elif shape == "parts":
        for number, part in enumerate(parts):
            yield from _part(part, role, f"{where}[{number}]")


def _says_nothing(part: object) -> bool:
    return (
        isinstance(part, Mapping)
        and part.get("type") == "text"
        and _is_blank(part.get("text"))
    )


def _part(part: object, role: str, where: str) -> _Problems:
    if not isinstance(part, Mapping) or not isinstance(part.get("type"), str):
        yield Problem(where, "a part is an object with a type", "Add the type.")
        return
    kind = part["type"]
    if kind in _PARTS[role]:
        yield from _PART_RULES[kind](part, where)
        return
    rule = f"a message of the role {role} holds no part of type {kind!r}"
    fix = f"Use {' or '.join(sorted(_PARTS[role]))}."
    if role == "tool":
        fix = "Put it in a user message behind the last result."
    yield Problem(f"{where}.type", rule, fix)


def _text_part(part: _Object, where: str) -> _Problems:
    if not isinstance(part.get(part["type"]), str):
        yield Problem(f"{where}.{part['type']}", "it is a string", "Send text.")


def _image_part(part: _Object, where: str) -> _Problems:
    image = _object(part.get("image_url"))
    if not _matches(_IMAGE, image.get("url")):
        rule = "a picture is an http(s) address or base64 of PNG, JPEG, GIF or WEBP"
        yield Problem(f"{where}.image_url.url", rule, "Convert it.")
    elif image.get("detail", "auto") not in {"auto", "low", "high", "original"}:
        rule = "detail is auto, low, high or original"
        yield Problem(f"{where}.image_url.detail", rule, "Leave it out.")


def _audio_part(part: _Object, where: str) -> _Problems:
    sound = _object(part.get("input_audio"))
    if _is_blank(sound.get("data")) or sound.get("format") not in {"wav", "mp3"}:
        rule = "sound is base64 in data, and its format is wav or mp3"
        yield Problem(f"{where}.input_audio", rule, "Convert it.")


def _file_part(part: _Object, where: str) -> _Problems:
    file = _object(part.get("file"))
    is_known = "file_id" in file or _matches(_DATA_URL, file.get("file_data"))
    if not is_known or ("file_id" in file and "file_data" in file):
        rule = "a file is either a file_id, or file_data as a data: address in base64"
        yield Problem(f"{where}.file", rule, "Keep one, with its media type in front.")


_PART_RULES: Mapping[str, Callable[[_Object, str], _Problems]] = {
    "text": _text_part,
    "refusal": _text_part,
    "image_url": _image_part,
    "input_audio": _audio_part,
    "file": _file_part,
}


# --- calls and their results ----------------------------------------------------------


def _calls(calls: object, where: str) -> _Problems:
    if not isinstance(calls, Sequence) or isinstance(calls, str) or not calls:
        rule = "it is a list of at least one call"
        yield Problem(where, rule, "Leave the field out.")
        return
    ids = list(_call_ids(calls))
    for number, call in enumerate(calls):
        yield from _call(call, f"{where}[{number}]")
    if len(set(ids)) < len(ids):
        rule = "an id stands for one call of a message"
        yield Problem(where, rule, "Rename the second, and its result.")


def _call(call: object, where: str) -> _Problems:
    said = _definition(call)
    if not isinstance(call, Mapping) or said is None:
        rule = "a call has a type, function or custom, and an object of that name"
        yield Problem(f"{where}.type", rule, "Say what is called.")
        return
    yield from _id(call.get("id"), f"{where}.id")
    kind = call["type"]
    yield from _name(said.get("name"), f"{where}.{kind}.name")
    if kind == "function":
        yield from _arguments(said.get("arguments"), f"{where}.function.arguments")
    elif not isinstance(said.get("input"), str):
        yield Problem(f"{where}.custom.input", "the input is a string", "Send text.")


def _definition(value: object) -> _Object | None:
    """Return what stands under the type of a call, a tool or a choice of one."""
    if isinstance(value, Mapping) and value.get("type") in {"function", "custom"}:
        said = value.get(value["type"])
        return said if isinstance(said, Mapping) else None
    return None


def _id(value: object, where: str) -> _Problems:
    if not isinstance(value, str) or not 0 < len(value) <= _ID_CHARS:
        rule = f"an id has 1 to {_ID_CHARS} characters"
        yield Problem(where, rule, "Map it to a shorter one, on both sides.")


def _name(value: object, where: str) -> _Problems:
    if not _matches(_NAME, value):
        rule = "a name is 1 to 64 of a-z, A-Z, 0-9, _ and -"
        yield Problem(where, rule, "Replace the other characters.")


def _arguments(value: object, where: str) -> _Problems:
    try:
        parsed = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, Mapping):
        rule = "arguments are the JSON text of an object"
        yield Problem(where, rule, "Send '{}' where there are none.")
        return
    yield from _json(parsed, where)  # an escape may hide what must not go out


def _pairs(messages: Iterable[object]) -> _Problems:
    """Check that each call is answered once, right behind the message that made it."""
    waiting: Counter[object] = Counter()
    asked_at = ""
    for number, message in enumerate(messages):
        said = _object(message)
        where = f"messages[{number}]"
        if said.get("role") == "tool":
            call_id = str(said.get("tool_call_id"))
            if waiting[call_id] < 1:
                rule = "a tool message answers an open call of the message before it"
                yield Problem(where, rule, "Put it behind its call, or leave it out.")
            waiting[call_id] -= 1
            continue
        yield from _unanswered(waiting, asked_at)
        calls = said.get("tool_calls") if said.get("role") == "assistant" else None
        waiting = Counter(_call_ids(calls))
        asked_at = where
    yield from _unanswered(waiting, asked_at)


def _call_ids(calls: object) -> Iterator[str]:
    for call in calls if isinstance(calls, list | tuple) else ():
        if isinstance(call, Mapping):
            yield str(call.get("id"))


def _unanswered(waiting: Counter[object], asked_at: str) -> _Problems:
    open_calls = (+waiting).total()
    if open_calls:
        rule = f"each call is answered right behind it; {open_calls} are not"
        yield Problem(f"{asked_at}.tool_calls", rule, "Answer them, or take them out.")


# --- the other arguments --------------------------------------------------------------


def _tools(request: _Object) -> _Problems:
    tools = request.get("tools")
    if tools is None:
        return
    if not isinstance(tools, list | tuple) or not 0 < len(tools) <= _MAX_TOOLS:
        rule = f"it is a list of 1 to {_MAX_TOOLS} tools"
        yield Problem("tools", rule, "Leave it out where there are none.")
        return
    for number, tool in enumerate(tools):
        yield from _tool(tool, f"tools[{number}]")
    names = _tool_names(tools)
    if len(set(names)) < len(names):
        yield Problem("tools", "a name stands for one tool", "Rename or remove one.")


def _tool_names(tools: object) -> list[str]:
    said = map(_definition, tools if isinstance(tools, list | tuple) else ())
    return [str(each.get("name")) for each in said if each is not None]


def _tool(tool: object, where: str) -> _Problems:
    said = _definition(tool)
    if not isinstance(tool, Mapping) or said is None:
        rule = "a tool has a type, function or custom, and an object of that name"
        yield Problem(where, rule, "Wrap the definition.")
        return
    where = f"{where}.{tool['type']}"
    yield from _name(said.get("name"), f"{where}.name")
    if not isinstance(said.get("description", ""), str):
        yield Problem(f"{where}.description", "it is a string", "Send text.")
    if tool["type"] == "function":
        yield from _parameters(said, f"{where}.parameters")


def _parameters(function: _Object, where: str) -> _Problems:
    schema = function.get("parameters", {"type": "object"})
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping) or schema.get("type") != "object":
        rule = "parameters are a JSON Schema of type object, with its properties"
        yield Problem(where, rule, "Describe the arguments as an object.")
    elif function.get("strict") and (
        set(schema.get("required", ())) != set(properties)
        or schema.get("additionalProperties", True)
    ):
        rule = "a strict schema requires all its properties, and allows no others"
        yield Problem(where, rule, "List them in required, or set strict to false.")


def _tool_choice(request: _Object) -> _Problems:
    for name in ("tool_choice", "parallel_tool_calls"):
        if name in request and request.get("tools") is None:
            yield Problem(name, "it needs tools beside it", "Leave it out.")
    choice = request.get("tool_choice", "auto")
    if isinstance(choice, Mapping) and choice.get("type") != "allowed_tools":
        chosen = _tool_names([choice])
        if chosen and chosen[0] in _tool_names(request.get("tools") or ()):
            return
    elif isinstance(choice, Mapping) or choice in {"none", "auto", "required"}:
        return
    rule = "it is none, auto or required, or names one of the tools"
    yield Problem("tool_choice", rule, "Name a tool that is in the request.")


def _options(request: _Object) -> _Problems:
    if _is_blank(request.get("model", "any")):
        yield Problem("model", "a model is named", "Pass model=...")
    for name in ("max_completion_tokens", "max_tokens"):
        if not isinstance(tokens := request.get(name, 1), int) or tokens < 1:
            yield Problem(name, "it is at least 1 token", "Leave it out.")
    asked = request.get("response_format")
    kind = asked.get("type") if isinstance(asked, Mapping) else asked
    if kind == "json_schema":
        schema = _object(_object(asked).get("json_schema"))
        yield from _name(schema.get("name"), "response_format.json_schema.name")
    elif kind == "json_object" and "json" not in repr(request["messages"]).lower():
        rule = "with json_object, the word JSON stands somewhere in the messages"
        yield Problem("response_format", rule, "Say it in the system prompt.")
    elif kind not in {None, "text", "json_object"}:
        rule = "the type is text, json_object or json_schema"
        yield Problem("response_format.type", rule, "Leave it out.")


def _json(value: object, where: str) -> _Problems:
    """Check that it can be written as JSON that every parser takes."""
    inside: list[tuple[str, object]] = []
    if isinstance(value, Mapping):
        for key, inner in value.items():
            path = f"{where}.{key}".lstrip(".")
            inside += [(path, key), (path, inner)]
    elif isinstance(value, list | tuple):
        inside = [(f"{where}[{number}]", inner) for number, inner in enumerate(value)]
    elif rule := _broken_by_leaf(value):
        yield Problem(where, rule, "Replace it.")
    for path, inner in inside:
        yield from _json(inner, path)


def _broken_by_leaf(value: object) -> str | None:
    if isinstance(value, str) and not is_well_formed(value):
        return "text holds neither NUL nor half a surrogate pair"
    if isinstance(value, float) and not math.isfinite(value):
        return "a number is finite"
    is_json = value is None or isinstance(value, str | int | float)
    return None if is_json else f"a body is JSON; {type(value).__name__} is not"
