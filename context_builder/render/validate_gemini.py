"""Checks a generateContent request against the rules of the API.

It reads nothing but the finished request, the SDK's arguments or a REST body, and
shares no code with the adapter that made it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Problem
from context_builder.unicode import is_well_formed

__all__ = ["validate_gemini"]

_NAME = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.:-]{0,63}")
_NEWER = re.compile(r"gemini-([3-9]|\d\d)")
_DATA = ("text", "inline_data", "file_data", "function_call", "function_response")
_VENDORS_OWN = (
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
)
_NOT_IN_SCHEMA = ("$ref", "additionalProperties", "additional_properties", "const")
_MODES = frozenset({"AUTO", "ANY", "NONE", "VALIDATED"})
_MEDIA = {"inline_data": "data", "file_data": "file_uri"}

_Object = Mapping[str, Any]
_Problems = Iterator[Problem]


def validate_gemini(request: _Object) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    said = _object(_get(request, "generate_content_request")) or request
    return [*_contents(said, str(request.get("model") or "")), *_config(said)]


def _get(data: object, name: str) -> Any:
    """Return a field in either spelling."""
    if not isinstance(data, Mapping):
        return None
    if name in data:
        return data[name]
    head, *rest = name.split("_")
    return data.get(head + "".join(map(str.capitalize, rest)))


def _object(value: object) -> _Object:
    return value if isinstance(value, Mapping) else {}


def _parts(content: object) -> list[_Object]:
    parts = _get(content, "parts")
    if isinstance(parts, Mapping):
        parts = [parts]
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        return []
    return [_object(part) for part in parts]


# --- contents -------------------------------------------------------------------------


def _contents(request: _Object, model: str) -> _Problems:
    contents = _get(request, "contents")
    if isinstance(contents, str) and contents.strip():
        return
    if (
        not isinstance(contents, Sequence)
        or isinstance(contents, str)
        or len(contents) == 0
    ):
        rule = "it is a list of at least one content"
        yield Problem("contents", rule, "Add a user's content.")
        return
    for number, content in enumerate(contents):
        yield from _content(content, f"contents[{number}]")
    yield from _edges(contents)
    yield from _order(contents)
    if _NEWER.search(model.lower()):
        yield from _signatures(contents)


def _content(content: object, where: str) -> _Problems:
    role = _get(content, "role")
    if role not in {"user", "model"}:
        yield Problem(f"{where}.role", "a role is user or model", "Map the role.")
    parts = _parts(content)
    if not parts:
        yield Problem(f"{where}.parts", "there is at least one part", "Leave it out.")
    for number, part in enumerate(parts):
        yield from _part(part, str(role), f"{where}.parts[{number}]")
    answers = [part for part in parts if _get(part, "function_response") is not None]
    if answers and len(answers) < len(parts):
        rule = "responses stand alone in their content"
        yield Problem(f"{where}.parts", rule, "Put the rest into a second content.")


def _part(part: _Object, role: str, where: str) -> _Problems:
    held = [key for key in (*_DATA, *_VENDORS_OWN) if _get(part, key) is not None]
    is_signed = bool(_get(part, "thought_signature"))
    if len(held) != 1:
        if held or not is_signed:
            yield Problem(where, "a part holds exactly one thing", "Split or drop it.")
        return
    kind = held[0]
    value = _get(part, kind)
    match kind:
        case "text":
            yield from _text(value, where, is_signed=is_signed)
        case "inline_data" | "file_data":
            yield from _media(value, kind, f"{where}.{kind}")
        case "function_call":
            yield from _call(_object(value), role, where)
        case "function_response":
            yield from _response(_object(value), role, where)
        case _ if role != "model":
            yield Problem(where, "the model alone writes such a part", "Leave it out.")


def _media(value: object, kind: str, where: str) -> _Problems:
    if not _get(value, _MEDIA[kind]):
        yield Problem(where, "media has its data", "Leave it out.")
    elif kind == "inline_data" and not _get(value, "mime_type"):
        yield Problem(where, "data has a mime_type", "Add it.")


def _text(text: object, where: str, *, is_signed: bool) -> _Problems:
    if not isinstance(text, str) or (not text.strip() and not is_signed):
        yield Problem(f"{where}.text", "text says something", "Leave the part out.")
    elif not is_well_formed(text):
        rule = "text is well-formed, without NUL and lone surrogates"
        yield Problem(f"{where}.text", rule, "Repair it.")


def _call(call: _Object, role: str, where: str) -> _Problems:
    where = f"{where}.function_call"
    if role != "model":
        yield Problem(where, "the model makes calls", "Move it.")
    yield from _name(_get(call, "name"), where)
    if not isinstance(_get(call, "args") or {}, Mapping):
        yield Problem(f"{where}.args", "arguments are an object", "Parse them.")
    else:
        yield from _json(_get(call, "args"), f"{where}.args")


def _response(response: _Object, role: str, where: str) -> _Problems:
    where = f"{where}.function_response"
    if role != "user":
        yield Problem(where, "the user's side answers calls", "Move it.")
    yield from _name(_get(response, "name"), where)
    if not isinstance(_get(response, "response"), Mapping):
        rule = "a response is an object"
        yield Problem(f"{where}.response", rule, "Wrap it: {'output': ...}.")
    else:
        yield from _json(_get(response, "response"), f"{where}.response")


def _name(name: object, where: str) -> _Problems:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        rule = "a name is a letter or _, then up to 63 of letters, digits, _ . : -"
        yield Problem(f"{where}.name", rule, "Replace the other characters.")


def _json(value: object, where: str) -> _Problems:
    if isinstance(value, str) and not is_well_formed(value):
        rule = "text is well-formed, without NUL and lone surrogates"
        yield Problem(where, rule, "Repair it.")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Problem(where, "numbers are finite", "Say it as text.")
    for key, inner in _inner(value):
        yield from _json(inner, f"{where}.{key}")


def _inner(value: object) -> Iterable[tuple[object, object]]:
    if isinstance(value, Mapping):
        return value.items()
    return enumerate(value) if isinstance(value, list | tuple) else ()


# --- order ----------------------------------------------------------------------------


def _edges(contents: Sequence[object]) -> _Problems:
    if _get(contents[0], "role") == "model":
        rule = "the user's content comes first"
        yield Problem("contents[0]", rule, "Put one before it.")
    if _get(contents[-1], "role") == "model":
        rule = "the user's content comes last"
        yield Problem(f"contents[{len(contents) - 1}]", rule, "Add one.")


def _order(contents: Sequence[object]) -> _Problems:
    for number, content in enumerate(contents):
        where = f"contents[{number}]"
        before = contents[number - 1] if number else None
        after = contents[number + 1] if number + 1 < len(contents) else None
        calls, answers = _held(content, "call"), _held(content, "response")
        if before is not None and _is_neighbour(before, content):
            yield Problem(where, "neighbours of one role are one", "Merge them.")
        if calls:
            yield from _answered(calls, _held(after, "response"), where)
        if answers and not _held(before, "call"):
            rule = "responses come directly behind the calls that they answer"
            yield Problem(where, rule, "Move or drop them.")


def _held(content: object, kind: str) -> list[_Object]:
    found = (_get(part, f"function_{kind}") for part in _parts(content))
    return [_object(each) for each in found if each is not None]


def _is_neighbour(before: object, content: object) -> bool:
    """Say whether two contents should be one: responses stay a content of their own."""
    is_same = _get(before, "role") == _get(content, "role")
    return is_same and not _held(before, "response")


def _answered(
    calls: Sequence[_Object], answers: Sequence[_Object], where: str
) -> _Problems:
    if len(calls) != len(answers):
        rule = "the next content has as many responses as there are calls"
        yield Problem(where, rule, "Answer each call, once.")
        return
    for number, (call, answer) in enumerate(zip(calls, answers, strict=True)):
        if _get(call, "name") != _get(answer, "name"):
            rule = "a response has the name of its call, in the order of the calls"
            yield Problem(f"{where}.parts[{number}]", rule, "Sort and rename them.")
        elif _get(call, "id") and _get(call, "id") != _get(answer, "id"):
            rule = "a response has the id of its call"
            yield Problem(f"{where}.parts[{number}]", rule, "Copy the id.")


def _signatures(contents: Sequence[object]) -> _Problems:
    """Check the current turn: all that follows the user's last own words."""
    start = 0
    for number, content in enumerate(contents):
        is_users = _get(content, "role") == "user"
        own = [p for p in _parts(content) if _get(p, "function_response") is None]
        if is_users and own:
            start = number
    seen: set[object] = set()
    for number, content in enumerate(contents):
        called = [p for p in _parts(content) if _get(p, "function_call") is not None]
        where = f"contents[{number}]"
        if number >= start and called and not _get(called[0], "thought_signature"):
            rule = "the first call of each step of the turn has a thought signature"
            yield Problem(where, rule, "Send it back, or the value that skips it.")
        signed = [_get(p, "thought_signature") for p in _parts(content)]
        for signature in filter(None, signed):
            if signature in seen and not _is_skip(signature):
                yield Problem(where, "a signature stands once", "Keep the first.")
            seen.add(signature)


def _is_skip(signature: object) -> bool:
    text = signature.decode("ascii", "replace") if isinstance(signature, bytes) else ""
    return text.startswith("skip_") or str(signature).startswith("c2tpcF")


# --- the configuration ----------------------------------------------------------------


def _config(request: _Object) -> _Problems:
    config = {**request, **_object(_get(request, "config"))}
    model = str(request.get("model") or "").lower()
    system = _get(config, "system_instruction")
    tools = _get(config, "tools") or ()
    tools = [tools] if isinstance(tools, Mapping) else tools
    if system is not None and "gemma" in model:
        rule = "Gemma takes no system instruction"
        yield Problem("config.system_instruction", rule, "Put it before the user's.")
    elif isinstance(system, str) and not system.strip():
        rule = "a system instruction says something"
        yield Problem("config.system_instruction", rule, "Leave it out.")
    if _get(config, "cached_content"):
        for name in ("system_instruction", "tools", "tool_config"):
            if _get(config, name):
                rule = "it is part of the cached content"
                yield Problem(f"config.{name}", rule, "Leave it out.")
    yield from _tools(tools)
    yield from _choice(_get(config, "tool_config"), tools)
    yield from _thinking(config)


def _declared(tools: Sequence[object]) -> list[_Object]:
    found = (_get(tool, "function_declarations") or () for tool in tools)
    return [_object(each) for declared in found for each in declared]


def _tools(tools: Sequence[object]) -> _Problems:
    names = [_get(tool, "name") for tool in _declared(tools)]
    for number, tool in enumerate(_declared(tools)):
        where = f"config.tools.function_declarations[{number}]"
        yield from _name(_get(tool, "name"), where)
        schema = _get(tool, "parameters")
        if schema is not None and _get(tool, "parameters_json_schema") is not None:
            rule = "a tool has one schema of its parameters"
            yield Problem(where, rule, "Keep parameters_json_schema.")
        found = next(_unknown_words(schema), None)
        if found is not None:
            rule = f"parameters know no {found!r}"
            yield Problem(where, rule, "Use parameters_json_schema.")
    if len(set(names)) < len(names):
        yield Problem("config.tools", "a name stands for one tool", "Rename one.")


def _unknown_words(schema: object, *, is_names: bool = False) -> Iterator[str]:
    if isinstance(schema, list):
        for each in schema:
            yield from _unknown_words(each)
    if not isinstance(schema, Mapping):
        return
    for key, value in schema.items():
        if key in _NOT_IN_SCHEMA and not is_names:
            yield key
        names = key == "properties" and not is_names
        yield from _unknown_words(value, is_names=names)


def _choice(given: object, tools: Sequence[object]) -> _Problems:
    config = _object(_get(given, "function_calling_config"))
    mode = _get(config, "mode")
    mode = mode.upper() if isinstance(mode, str) else mode
    if mode is not None and mode not in _MODES:
        where = "config.tool_config.function_calling_config.mode"
        yield Problem(where, f"it is one of {', '.join(sorted(_MODES))}", "Map it.")
    allowed = _get(config, "allowed_function_names") or ()
    where = "config.tool_config.function_calling_config.allowed_function_names"
    if allowed and mode not in {"ANY", "VALIDATED"}:
        yield Problem(where, "names need the mode ANY or VALIDATED", "Change it.")
    if set(allowed) - {_get(tool, "name") for tool in _declared(tools)}:
        yield Problem(where, "they are names of the tools", "Name a declared tool.")


def _thinking(config: _Object) -> _Problems:
    outer = _object(_get(config, "generation_config")) or config
    thinking = _get(outer, "thinking_config")
    both = [_get(thinking, name) for name in ("thinking_budget", "thinking_level")]
    if None not in both:
        rule = "a budget and a level exclude one another"
        yield Problem("config.thinking_config", rule, "Keep one.")
