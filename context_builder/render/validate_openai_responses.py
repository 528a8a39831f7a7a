"""Checks a Responses request against the rules of the API.

It reads nothing but the finished body and shares no code with the adapter that made it.
What only the vendor's store knows (which reasoning an id belongs to) it cannot check.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Problem
from context_builder.unicode import is_well_formed

__all__ = ["validate_openai_responses"]

_CALL_ID_CHARS = 64
_MOST_METADATA = 16
_LEAST_OUTPUT_TOKENS = 16
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(;[\w.+=-]+)*;base64,\S+")
_IMAGE = re.compile(r"https?://\S+|data:image/(png|jpe?g|gif|webp);base64,\S+", re.I)
_ADDRESS = re.compile(r"https?://\S+")
_ROLES = frozenset({"user", "system", "developer", "assistant"})
_INPUT_PARTS = frozenset({"input_text", "input_image", "input_file", "input_audio"})
_PARTS: Mapping[str, frozenset[str]] = {
    "user": _INPUT_PARTS,
    "system": _INPUT_PARTS,
    "developer": _INPUT_PARTS,
    "assistant": frozenset({"output_text", "refusal"}),
    "result": frozenset({"input_text", "input_image", "input_file"}),
}
_CALLS = {"function_call": "function", "custom_tool_call": "custom"}
_OUTPUTS = {"function_call_output": "function", "custom_tool_call_output": "custom"}
_ID_BEGINS = {
    "reasoning": "rs",
    "function_call": "fc",
    "custom_tool_call": "ctc",
    "message": "msg",
}

_Object = Mapping[str, Any]
_Problems = Iterator[Problem]


def validate_openai_responses(request: _Object) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    return [*_conversation(request), *_arguments_of_call(request), *_json(request)]


def _conversation(request: _Object) -> _Problems:
    said = request.get("input")
    has_state = any(
        request.get(key) for key in ("previous_response_id", "conversation")
    )
    if isinstance(said, str):
        if not said:
            yield Problem("input", "it must not be empty", "Say something.")
        return
    if not isinstance(said, Sequence) or (not said and not has_state):
        rule = "it is text, or a list of at least one item"
        yield Problem("input", rule, "Add a user message.")
        return
    for number, item in enumerate(said):
        yield from _item(item, f"input[{number}]", request)
    yield from _reasoning_order(said)
    yield from _pairs(said, has_state=has_state)
    for number, item in enumerate(said[:-1]):
        if _kind(item) == "compaction_trigger":
            rule = "a compaction trigger is the last item"
            yield Problem(f"input[{number}]", rule, "Move it to the end.")


def _kind(item: object) -> str:
    if not isinstance(item, Mapping):
        return ""
    return str(item.get("type") or ("message" if "role" in item else ""))


def _object(value: object) -> _Object:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> bool:
    return isinstance(value, str) and value != ""


# --- items ----------------------------------------------------------------------------


def _item(item: object, where: str, request: _Object) -> _Problems:
    kind = _kind(item)
    if not isinstance(item, Mapping) or not kind:
        yield Problem(where, "an item has a type, or a role", "Add it.")
        return
    yield from _item_id(item, kind, where)
    if kind in _RULES:
        yield from _RULES[kind](item, where)
    if kind in {"reasoning", "item_reference"} and request.get("store") is False:
        yield from _stored(item, kind, where)


def _item_id(item: _Object, kind: str, where: str) -> _Problems:
    begin = _ID_BEGINS.get(kind)
    item_id = item.get("id")
    if begin is None or item_id is None:
        return
    if not isinstance(item_id, str) or not item_id.startswith(begin):
        rule = f"the id of such an item begins with {begin!r}; call_id is another field"
        yield Problem(f"{where}.id", rule, "Leave it out.")


def _stored(item: _Object, kind: str, where: str) -> _Problems:
    if kind == "item_reference":
        rule = "nothing is stored that could be referred to"
        yield Problem(where, rule, "Send the item itself.")
    elif not (item.get("encrypted_content") or item.get("content")):
        rule = "where nothing is stored, reasoning carries its encrypted content"
        yield Problem(where, rule, "Leave it out.")


def _message(item: _Object, where: str) -> _Problems:
    role = item.get("role")
    if role not in _ROLES:
        rule = f"a message's role is one of {', '.join(sorted(_ROLES))}"
        yield Problem(f"{where}.role", rule, "Say who speaks.")
        return
    yield from _content(item.get("content"), str(role), f"{where}.content")
    if item.get("phase") not in {None, "commentary", "final_answer"}:
        rule = "the phase is commentary or final_answer"
        yield Problem(f"{where}.phase", rule, "Leave it out.")
    for field in ("name", "tool_calls", "tool_call_id"):
        if field in item:
            rule = "a message has no such field here"
            yield Problem(f"{where}.{field}", rule, "Leave it out.")


def _content(content: object, role: str, where: str) -> _Problems:
    if isinstance(content, str):
        return
    if not isinstance(content, Sequence) or not content:
        yield Problem(where, "content is text, or a list of parts", "Send text.")
        return
    for number, part in enumerate(content):
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind not in _PARTS[role]:
            rule = f"no part of type {kind!r} stands here"
            fix = f"Use {', '.join(sorted(_PARTS[role]))}."
            yield Problem(f"{where}[{number}].type", rule, fix)
        else:
            yield from _part(part, str(kind), f"{where}[{number}]")


def _part(part: _Object, kind: str, where: str) -> _Problems:
    match kind:
        case "input_image":
            yield from _image(part, where)
        case "input_file":
            yield from _file(part, where)
        case "input_audio":
            if not isinstance(part.get("input_audio"), Mapping):
                yield Problem(where, "sound has data and a format", "Add them.")
        case _:
            key = "refusal" if kind == "refusal" else "text"
            if not isinstance(part.get(key), str):
                yield Problem(f"{where}.{key}", "it is text", "Send text.")


def _image(part: _Object, where: str) -> _Problems:
    url, file_id = part.get("image_url"), part.get("file_id")
    if (url is None) == (file_id is None):
        rule = "a picture has either an address or the id of a file"
        yield Problem(where, rule, "Keep one.")
    elif url is not None and not (isinstance(url, str) and _IMAGE.fullmatch(url)):
        rule = "a picture is an http(s) address or base64 of PNG, JPEG, GIF or WEBP"
        yield Problem(f"{where}.image_url", rule, "Convert it.")
    if part.get("detail", "auto") not in {"auto", "low", "high", "original"}:
        rule = "detail is auto, low, high or original"
        yield Problem(f"{where}.detail", rule, "Leave it out.")


def _file(part: _Object, where: str) -> _Problems:
    sources = [key for key in ("file_data", "file_id", "file_url") if part.get(key)]
    if len(sources) != 1:
        rule = "a file has exactly one of file_data, file_id and file_url"
        yield Problem(where, rule, "Keep one.")
        return
    value = str(part[sources[0]])
    if sources == ["file_url"] and not _ADDRESS.fullmatch(value):
        yield Problem(f"{where}.file_url", "it is an http(s) address", "Send data.")
    if sources == ["file_data"]:
        if not _DATA_URL.fullmatch(value):
            rule = "the data is a data: address in base64"
            yield Problem(f"{where}.file_data", rule, "Put the media type in front.")
        if not _text(part.get("filename")):
            yield Problem(f"{where}.filename", "data has a file name", "Add one.")


def _call(item: _Object, where: str) -> _Problems:
    yield from _call_id(item, where)
    if not (isinstance(item.get("name"), str) and _NAME.fullmatch(item["name"])):
        rule = "a name is 1 to 64 of a-z, A-Z, 0-9, _ and -"
        yield Problem(f"{where}.name", rule, "Replace the other characters.")
    if item["type"] == "custom_tool_call":
        if not isinstance(item.get("input"), str):
            yield Problem(f"{where}.input", "the input is text", "Send text.")
        return
    arguments = item.get("arguments")
    try:
        parsed = json.loads(arguments) if isinstance(arguments, str) else None
    except (ValueError, RecursionError):
        parsed = None
    if not isinstance(parsed, Mapping):
        rule = "arguments are the JSON text of an object"
        yield Problem(f"{where}.arguments", rule, "Send '{}' where there are none.")
    else:
        yield from _json(parsed, f"{where}.arguments")


def _call_id(item: _Object, where: str) -> _Problems:
    call_id = item.get("call_id")
    if not isinstance(call_id, str) or not 0 < len(call_id) <= _CALL_ID_CHARS:
        rule = f"a call_id has 1 to {_CALL_ID_CHARS} characters"
        yield Problem(f"{where}.call_id", rule, "Map it, on both sides.")
    elif "|" in call_id:
        rule = "a call_id is not glued to the id of an item"
        yield Problem(f"{where}.call_id", rule, "Keep the part before the bar.")


def _output(item: _Object, where: str) -> _Problems:
    yield from _call_id(item, where)
    yield from _content(item.get("output"), "result", f"{where}.output")


def _reasoning(item: _Object, where: str) -> _Problems:
    if not isinstance(item.get("summary"), list | tuple):
        rule = "reasoning has a summary, if only an empty list"
        yield Problem(f"{where}.summary", rule, "Send [].")


_RULES: Mapping[str, Callable[[_Object, str], _Problems]] = {
    "message": _message,
    "function_call": _call,
    "custom_tool_call": _call,
    "function_call_output": _output,
    "custom_tool_call_output": _output,
    "reasoning": _reasoning,
}


# --- order ----------------------------------------------------------------------------


def _reasoning_order(items: Sequence[object]) -> _Problems:
    """Check that what was thought is followed by what came of it."""
    for number, item in enumerate(items):
        if not isinstance(item, Mapping) or _kind(item) != "reasoning":
            continue
        after = items[number + 1] if number + 1 < len(items) else None
        if _is_input(after):
            rule = "reasoning is followed by the message or call that it led to"
            yield Problem(f"input[{number}]", rule, "Keep or drop both.")
        elif item.get("id") and not _object(after).get("id"):
            rule = "what follows reasoning that has an id has an id as well"
            yield Problem(f"input[{number}].id", rule, "Leave it out of both.")


def _is_input(item: object) -> bool:
    """Say whether an item is no part of an answer of the model."""
    if not isinstance(item, Mapping):
        return True
    role = item.get("role", "assistant")
    return role != "assistant" or _kind(item).endswith("_call_output")


def _pairs(items: Sequence[object], *, has_state: bool) -> _Problems:
    calls: dict[tuple[str, object], list[int]] = {}
    for number, item in enumerate(items):
        if not isinstance(item, Mapping):
            continue
        kind, call_id = _kind(item), item.get("call_id")
        if kind in _CALLS:
            calls.setdefault((_CALLS[kind], call_id), []).append(number)
        elif kind in _OUTPUTS:
            waiting = calls.get((_OUTPUTS[kind], call_id))
            if waiting:
                waiting.pop(0)
            elif not has_state:
                rule = "an output answers an open call before it"
                yield Problem(f"input[{number}]", rule, "Leave it out.")
    for number in sorted(number for waiting in calls.values() for number in waiting):
        rule = "each call has an output behind it"
        yield Problem(f"input[{number}]", rule, "Answer it, or take it out.")


# --- the other arguments --------------------------------------------------------------


def _arguments_of_call(request: _Object) -> _Problems:
    if request.get("previous_response_id") and request.get("conversation"):
        rule = "it cannot stand beside conversation"
        yield Problem("previous_response_id", rule, "Keep one.")
    if "messages" in request:
        yield Problem("messages", "the conversation is called input", "Rename it.")
    if not isinstance(request.get("instructions", ""), str | None):
        yield Problem("instructions", "they are text", "Send text.")
    most = request.get("max_output_tokens")
    if most is not None and not (
        isinstance(most, int) and most >= _LEAST_OUTPUT_TOKENS
    ):
        rule = f"it is at least {_LEAST_OUTPUT_TOKENS} tokens"
        yield Problem("max_output_tokens", rule, "Raise it.")
    if len(request.get("metadata") or {}) > _MOST_METADATA:
        rule = f"there are at most {_MOST_METADATA} pairs"
        yield Problem("metadata", rule, "Leave some out.")
    yield from _format(request.get("text"))
    yield from _tools(request)


def _format(text: object) -> _Problems:
    asked = text.get("format") if isinstance(text, Mapping) else None
    if not isinstance(asked, Mapping) or asked.get("type") != "json_schema":
        return
    if not _NAME.fullmatch(str(asked.get("name") or "")) or "schema" not in asked:
        rule = "a JSON Schema stands flat beside its type and its name"
        yield Problem("text.format", rule, "Add name and schema.")


def _tools(request: _Object) -> _Problems:
    tools = request.get("tools") or ()
    names = []
    for number, tool in enumerate(tools):
        names += (
            [tool.get("name")] if tool.get("type") in {"function", "custom"} else []
        )
        yield from _tool(tool, f"tools[{number}]")
    if len(set(names)) < len(names):
        yield Problem("tools", "a name stands for one tool", "Rename one.")
    choice = request.get("tool_choice")
    if isinstance(choice, Mapping) and choice.get("type") in {"function", "custom"}:
        if choice.get("name") not in names:
            rule = "it names one of the tools, flat"
            yield Problem("tool_choice.name", rule, "Name a tool of the request.")
    elif isinstance(choice, str) and choice not in {"none", "auto", "required"}:
        rule = "it is none, auto or required, or an object"
        yield Problem("tool_choice", rule, "Use one of them.")


def _tool(tool: _Object, where: str) -> _Problems:
    kind = tool.get("type")
    if kind not in {"function", "custom"}:
        return
    if kind in tool:
        yield Problem(f"{where}.{kind}", "a tool is flat here", "Lift its fields.")
        return
    if not _NAME.fullmatch(str(tool.get("name") or "")):
        rule = "a name is 1 to 64 of a-z, A-Z, 0-9, _ and -"
        yield Problem(f"{where}.name", rule, "Replace the other characters.")
    if kind == "custom":
        return
    schema = tool.get("parameters")
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object":
        rule = "the parameters are a JSON Schema of an object"
        yield Problem(f"{where}.parameters", rule, "Wrap them.")
    elif tool.get("strict"):
        yield from _strict(schema, where)


def _strict(schema: _Object, where: str) -> _Problems:
    required = set(schema.get("required") or ())
    if set(schema.get("properties") or {}) - required:
        rule = "with strict, every property is required"
        yield Problem(
            f"{where}.parameters.required", rule, "List them, or drop strict."
        )


def _json(value: object, where: str = "") -> _Problems:
    """Check that every text is one that the vendor's parser takes."""
    if isinstance(value, str):
        if not is_well_formed(value):
            rule = "text is well-formed, without NUL and lone surrogates"
            yield Problem(where, rule, "Repair it.")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _json(inner, f"{where}.{key}".lstrip("."))
    elif isinstance(value, list | tuple):
        for number, inner in enumerate(value):
            yield from _json(inner, f"{where}[{number}]")
