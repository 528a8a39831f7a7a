"""What OpenAI bills for a Chat Completions request, piece by piece.

Pure functions of the request, in the vendor's own shape, and of a way to count text.
The pieces add up: `request_tokens` is their sum, so that a caller may keep the cost of
each message. Worked out from bills; on recorded requests whose cost depends on nothing
outside them nearly every one is met to the token (`benchmarks/count_error.py`).

Beneath the JSON, the vendor lays a request out as text. Tools and response formats
stand behind the system message. A call is a message to `functions.<name>`; several
calls at once are one call of `multi_tool_use.parallel`, and their results one list.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from context_builder.tokens.openai_families import OpenAIFraming, framing_for
from context_builder.tokens.openai_media import (
    audio_tokens,
    file_tokens,
    picture_tokens,
)
from context_builder.tokens.openai_schemas import functions_text

__all__ = [
    "OpenAIFraming",
    "framing_for",
    "message_tokens",
    "messages_tokens",
    "request_overhead",
    "request_tokens",
    "response_format_tokens",
    "tools_tokens",
]

Count = Callable[[str], int]
Payload = Mapping[str, Any]

_PARALLEL = "multi_tool_use.parallel"

# JSON Schema words that OpenAI leaves out when it shows a response format.
_NOT_SHOWN = frozenset(
    {
        "additionalProperties",
        "default",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maximum",
        "minItems",
        "minimum",
        "multipleOf",
        "required",
    }
)


def request_tokens(request: Payload, count: Count, framing: OpenAIFraming) -> int:
    """Count a whole request body: every piece below, added up."""
    messages = request.get("messages") or ()
    tools = request.get("tools") or _as_tools(request.get("functions"))
    choice = request.get("tool_choice") or request.get("function_call")
    format_ = request.get("response_format")
    system = _system_text(messages)
    return (
        request_overhead(framing)
        + sum(messages_tokens(messages, count, framing))
        + tools_tokens(
            tools,
            count,
            framing,
            has_system=system is not None,
            tool_choice=choice,
            system_text=system,
        )
        + response_format_tokens(
            format_,
            count,
            framing,
            has_system=system is not None,
            has_tools=bool(tools),
            system_text=system,
        )
    )


def request_overhead(framing: OpenAIFraming) -> int:
    """Count what is billed once a request: the beginning of the answer."""
    return framing.reply_priming


def messages_tokens(
    messages: Sequence[Payload], count: Count, framing: OpenAIFraming
) -> tuple[int, ...]:
    """Count each message of a conversation, knowing which calls it answers."""
    return tuple(
        message_tokens(message, count, framing, is_parallel_result=is_parallel)
        for message, is_parallel in zip(
            messages, _answers_several(messages), strict=True
        )
    )


def message_tokens(
    message: Payload,
    count: Count,
    framing: OpenAIFraming,
    *,
    is_parallel_result: bool | None = None,
) -> int:
    """Count one message in OpenAI's format.

    Args:
        message: The message.
        count: Counts a text with the model's encoding.
        framing: The constants of the model's family.
        is_parallel_result: Whether it answers one of several calls of one assistant
            message. Such a result is shown as an element of a JSON list, and its line
            breaks and quotes cost more. None: not known, so the dearer is taken.
    """
    role = message.get("role")
    if role == "tool":
        return _result_tokens(message, count, framing, is_parallel_result)
    content = _content_tokens(message, count, framing)
    calls = _calls(message)
    if calls:
        # Text beside the calls is a message of its own.
        spoken = framing.per_message + content if content else 0
        return spoken + _calls_tokens(calls, count, framing)
    channel = framing.answer_channel if role == "assistant" else 0
    return framing.per_message + channel + content + _name_tokens(message, count)


def tools_tokens(
    tools: Sequence[Payload],
    count: Count,
    framing: OpenAIFraming,
    *,
    has_system: bool,
    tool_choice: object = None,
    system_text: str | None = None,
) -> int:
    """Count the tool definitions of a request, in OpenAI's format.

    Args:
        tools: The definitions.
        count: Counts a text with the model's encoding.
        framing: The constants of the model's family.
        has_system: Whether a system or developer message carries them.
        tool_choice: The setting as it is sent; naming one tool costs tokens.
        system_text: The text of the first system message. Its last token can merge
            with the definitions behind it; without it, that one token is not saved.
    """
    if not tools:
        return 0
    functions = [tool["function"] for tool in tools if tool.get("function")]
    others = [tool for tool in tools if not tool.get("function")]
    text = functions_text(functions) + "".join(map(_dumps, others))
    total = framing.tools_header + count(text)
    if framing.tools_in_own_message or not has_system:
        total += framing.extra_message
    else:
        total += framing.section_gap - _merged(system_text, count)
    return total + _choice_tokens(tool_choice, count, framing)


def response_format_tokens(
    response_format: Payload | None,
    count: Count,
    framing: OpenAIFraming,
    *,
    has_system: bool = True,
    has_tools: bool = False,
    system_text: str | None = None,
) -> int:
    """Count a response format: nothing, unless it is a JSON Schema.

    Args:
        response_format: The setting as it is sent.
        count: Counts a text with the model's encoding.
        framing: The constants of the model's family.
        has_system: Whether a system or developer message carries it.
        has_tools: Whether tools stand in front of it; then it costs its text only.
        system_text: The text of the first system message, as for `tools_tokens`.
    """
    wanted = (response_format or {}).get("json_schema")
    if not wanted:
        return 0
    name, description = str(wanted.get("name", "")), wanted.get("description")
    comment = f"// {description}\n" if description else ""
    schema = json.dumps(_shown(wanted.get("schema")), separators=(",", ":"))
    text = f"\n\n# Response Formats\n\n## {name}\n\n{comment}{schema}"
    if has_tools:
        return count(text)
    gap = framing.section_gap - _merged(system_text, count)
    carried = gap if has_system else framing.extra_message
    return count(text) + count(name) + framing.response_format + carried


def _result_tokens(
    message: Payload, count: Count, framing: OpenAIFraming, is_parallel: bool | None
) -> int:
    content = message.get("content")
    text = _content_text(content)
    alone = framing.per_tool_result + count(text) if not is_parallel else 0
    in_list = count(f" {_as_json_value(text)},") if is_parallel is not False else 0
    return max(alone, in_list) + _media_tokens(content, count, framing)


def _calls_tokens(
    calls: Sequence[Payload], count: Count, framing: OpenAIFraming
) -> int:
    # The name is shown twice: in the call, and as the author of the result. A result
    # does not say its name, so both are counted here.
    if len(calls) == 1:
        name, arguments = calls[0]["name"], _compact(calls[0])
        return framing.per_call_message + sum(
            map(count, (name, f"functions.{name}", arguments))
        )
    uses = ",".join(
        f'{{"recipient_name":{_dumps("functions." + call["name"])},'
        f'"parameters":{_compact(call)}}}'
        for call in calls
    )
    # The results share one message, and the list's second bracket.
    return (
        framing.per_call_message
        + framing.per_tool_result
        + 1
        + sum(map(count, (_PARALLEL, _PARALLEL, f'{{"tool_uses":[{uses}]}}')))
    )


def _name_tokens(message: Payload, count: Count) -> int:
    name = message.get("name")
    if not name:
        return 0
    # A name has a separator before it; one that only repeats the role has none.
    return count(str(name)) + int(name != message.get("role"))


def _calls(message: Payload) -> list[Payload]:
    calls: list[Payload] = [
        {"name": "", **(call.get("function") or call.get("custom") or {})}
        for call in message.get("tool_calls") or ()
    ]
    old = message.get("function_call")
    return [*calls, {"name": "", **old}] if old else calls


def _compact(call: Payload) -> str:
    # Arguments are shown without blanks, however the model wrote them.
    text = str(call.get("arguments") or call.get("input") or "")
    try:
        return _dumps(json.loads(text))
    except (ValueError, RecursionError):
        return text


def _as_json_value(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)


_dumps = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False).encode
"""Writes JSON without blanks."""


def _content_tokens(message: Payload, count: Count, framing: OpenAIFraming) -> int:
    content = message.get("content")
    text = _content_text(content) + str(message.get("refusal") or "")
    return count(text) + _media_tokens(content, count, framing)


def _content_text(content: object) -> str:
    """Join the texts of a message: nothing stands between two parts."""
    if isinstance(content, str):
        return content
    return "".join(
        str(part.get("text") or part.get("refusal") or "") for part in _parts(content)
    )


def _media_tokens(content: object, count: Count, framing: OpenAIFraming) -> int:
    if isinstance(content, str):
        return 0
    return sum(_part_tokens(part, count, framing) for part in _parts(content))


def _parts(content: object) -> Iterable[Payload]:
    if isinstance(content, str) or not isinstance(content, Iterable):
        return ()
    return [part if isinstance(part, Mapping) else {"text": part} for part in content]


def _part_tokens(part: Payload, count: Count, framing: OpenAIFraming) -> int:
    match part.get("type"):
        case "image_url" | "input_image" | "image":
            return picture_tokens(part, framing.image_model)
        case "file" | "input_file" | "document":
            return file_tokens(part, count)
        case "input_audio" | "audio":
            return audio_tokens(part)
        case _ if part.get("text") is None and part.get("refusal") is None:
            return count(_dumps(part))
        case _:
            return 0


def _choice_tokens(choice: object, count: Count, framing: OpenAIFraming) -> int:
    if not isinstance(choice, Mapping) or not framing.counts_named_choice:
        return 0
    named: Payload = choice.get("function") or choice.get("custom") or choice
    name = named.get("name")
    return framing.named_choice + count(str(name)) if name else 0


def _shown(schema: object, *, is_names: bool = False) -> object:
    """Leave out of a schema what is not shown; never a property of that name."""
    if isinstance(schema, Mapping):
        return {
            key: _shown(value, is_names=not is_names and key in ("properties", "$defs"))
            for key, value in schema.items()
            if is_names or key not in _NOT_SHOWN
        }
    if isinstance(schema, list | tuple):
        return [_shown(value) for value in schema]
    return schema


def _merged(system_text: str | None, count: Count) -> int:
    """How many tokens the end of a text saves by a blank line behind it."""
    end = (system_text or "")[-20:]
    return count(end) + count("\n\n") - count(end + "\n\n") if end else 0


def _system_text(messages: Sequence[Payload]) -> str | None:
    for message in messages:
        if message.get("role") in ("system", "developer"):
            return _content_text(message.get("content"))
    return None


def _answers_several(messages: Iterable[Payload]) -> Iterator[bool]:
    """Say of each message whether it answers one of several calls made at once.

    Vendors use an id again: it names the latest call that was given it.
    """
    several: dict[object, bool] = {}
    for message in messages:
        calls = message.get("tool_calls") or ()
        several |= {call.get("id"): len(calls) > 1 for call in calls}
        yield several.get(message.get("tool_call_id"), False)


def _as_tools(functions: Sequence[Payload] | None) -> list[Payload]:
    return [{"type": "function", "function": function} for function in functions or ()]
