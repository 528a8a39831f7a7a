"""Reads Anthropic's Messages API: messages, whole requests and answers.

What only this vendor knows travels with the item it stands in, under the vendor's name:
blocks of its own tools word for word, and the order in which thoughts, texts and calls
came, where it is not the usual one.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_builder.collect.content import as_mapping, read_content, read_part
from context_builder.collect.imports.anthropic_stream import joined, looks_like_events
from context_builder.collect.imports.reading import (
    Imported,
    Reply,
    Usage,
    need_mapping,
    need_str,
)
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem
from context_builder.messages import Content, Part, ReasoningPart, TextPart, ToolCall
from context_builder.unicode import quoted

__all__ = ["read_messages", "read_request", "read_response"]

PROVIDER = "anthropic"
_ROLES = ("user", "assistant", "system")
_THOUGHTS = {"thinking", "redacted_thinking"}
_SETTINGS = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "output_format",
        "temperature",
        "stream",
    }
)
"""What a session has settings for; anything else in a request is named as lost."""
_CUT_OFF = {"max_tokens", "model_context_window_exceeded"}


def read_messages(messages: Sequence[object]) -> list[ContextItem]:
    """Read a list of messages.

    Raises:
        InvalidItemError: If one is not what the API takes; `field` is its path.
    """
    return _Reader().read(messages)


def read_request(request: Mapping[str, Any]) -> Imported:
    """Read a whole request.

    Raises:
        InvalidItemError: If a part of it is not what the API takes.
    """
    reader = _Reader()
    lost = reader.lost
    lost += [
        name for name in sorted(set(request) - _SETTINGS) if request[name] is not None
    ]
    system = _system(request.get("system"), lost)
    tools = tuple(_tools(request.get("tools") or (), lost))
    messages = request.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        raise InvalidItemError("messages must be a list", field="messages")  # noqa: EM101
    return Imported(tuple(reader.read(messages)), system, tools, tuple(lost))


# --- system and tools ----------------------------------------------------------------


def _system(system: object, lost: list[str]) -> str | None:
    if system is None or isinstance(system, str):
        return system or None
    if not isinstance(system, Sequence):
        raise InvalidItemError("system must be text or blocks", field="system")  # noqa: EM101
    texts = []
    for number, block in enumerate(system):
        field = f"system[{number}]"
        data = need_mapping(block, field)
        texts.append(need_str(data.get("text"), f"{field}.text", allow_empty=True))
        lost += _extra_keys(data, {"type", "text"}, field)
    return "\n\n".join(text for text in texts if text.strip()) or None


def _extra_keys(data: Mapping[str, Any], known: set[str], field: str) -> list[str]:
    """Name what a mapping holds besides what is read."""
    return [
        f"{field}.{key}"
        for key, value in data.items()
        if key not in known and value is not None
    ]


def _tools(tools: Sequence[object], lost: list[str]) -> Iterator[Mapping[str, Any]]:
    for number, tool in enumerate(tools):
        field = f"tools[{number}]"
        data = need_mapping(tool, field)
        if "input_schema" not in data:
            lost.append(field)  # one of the vendor's own tools
            continue
        function: dict[str, Any] = {"name": need_str(data.get("name"), f"{field}.name")}
        if data.get("description"):
            function["description"] = data["description"]
        function["parameters"] = copy.deepcopy(dict(data["input_schema"]))
        if data.get("strict") is not None:
            function["strict"] = data["strict"]
        known = {"name", "description", "input_schema", "strict", "type"}
        lost += _extra_keys(data, known, field)
        yield {"type": "function", "function": function}


# --- messages ------------------------------------------------------------------------


class _Reader:
    """Reads one list of messages, and remembers what there is no place for."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self._names: dict[str, str] = {}

    def read(self, messages: Sequence[object]) -> list[ContextItem]:
        items: list[ContextItem] = []
        open_turn: list[Mapping[str, Any]] = []
        for number, message in enumerate(messages):
            field = f"messages[{number}]"
            data = need_mapping(message, field)
            role = data.get("role")
            if role not in _ROLES:
                known = ", ".join(_ROLES)
                message_text = f"{field}.role {quoted(role)} is none of {known}"
                raise InvalidItemError(message_text, field=f"{field}.role", value=role)
            self.lost += _extra_keys(data, {"role", "content"}, field)
            blocks = _blocks(data.get("content"), f"{field}.content")
            if role == "assistant":
                open_turn += blocks
                if _is_followed_by_assistant(messages, number) and _calls(open_turn):
                    continue  # the API joins them: the results come behind both
                items.append(self.assistant(open_turn, f"{field}.content"))
                open_turn = []
            else:
                items += self._user(blocks, f"{field}.content", role)
        return items

    def _user(
        self, blocks: Sequence[Mapping[str, Any]], field: str, role: str
    ) -> Iterator[ContextItem]:
        """Read a user's message: results, each an item, and what stands between."""
        said: list[Part] = []
        for number, block in enumerate(blocks):
            path = f"{field}[{number}]"
            if block.get("type") == "tool_result":
                yield from self._spoken(said, role)
                said = []
                yield self._result(block, path)
            else:
                said.append(self._part(block, path))
        yield from self._spoken(said, role)

    def _spoken(self, said: list[Part], role: str) -> Iterator[ContextItem]:
        if not said:
            return
        content = read_content(said)
        if role == "system":
            yield ContextItem(role="system", content=content, source="system_prompt")
        else:
            yield ContextItem(role="user", content=content, source="user")

    def _result(self, block: Mapping[str, Any], field: str) -> ContextItem:
        call_id = need_str(block.get("tool_use_id"), f"{field}.tool_use_id")
        known = {"type", "tool_use_id", "content", "is_error"}
        self.lost += _extra_keys(block, known, field)
        content: Content = ""
        if isinstance(block.get("content"), str):
            content = block["content"]
        elif block.get("content") is not None:
            parts = _blocks(block["content"], f"{field}.content")
            content = read_content(
                [
                    self._part(part, f"{field}.content[{number}]")
                    for number, part in enumerate(parts)
                ]
            )
        return ContextItem(
            role="tool",
            content=content,
            source="tool_result",
            tool_call_id=call_id,
            tool_name=self._names.get(call_id),
            is_error=bool(block.get("is_error")),
        )

    def assistant(
        self,
        blocks: Sequence[Mapping[str, Any]],
        field: str,
        *,
        model: str | None = None,
        partial: bool = False,
    ) -> ContextItem:
        """Read an assistant's message."""
        reasoning: list[ReasoningPart] = []
        said: list[Part] = []
        calls: list[ToolCall] = []
        order = ""
        for number, block in enumerate(blocks):
            path = f"{field}[{number}]"
            kind = block.get("type")
            if kind in _THOUGHTS:
                reasoning.append(_thought(block, model))
                order += "r"
            elif kind == "tool_use":
                calls.append(self._call(block, path))
                order += "t"
            elif kind != "text" or str(block.get("text") or "").strip():
                said.append(self._part(block, path))
                order += "c"
        is_usual = order == "".join(sorted(order, key="rct".index))
        return ContextItem(
            role="assistant",
            content=read_content(said),
            source="assistant",
            tool_calls=tuple(calls),
            reasoning=tuple(reasoning),
            partial=partial,
            metadata=None if is_usual else {"extra": {PROVIDER: {"order": order}}},
        )

    def _call(self, block: Mapping[str, Any], field: str) -> ToolCall:
        call_id = need_str(block.get("id"), f"{field}.id")
        name = need_str(block.get("name"), f"{field}.name")
        self._names[call_id] = name
        known = {"type", "id", "name", "input", "caller", "toolset_name"}
        self.lost += _extra_keys(block, known, field)
        own = {
            key: copy.deepcopy(block[key])
            for key in ("caller", "toolset_name")
            if block.get(key) and block[key] != {"type": "direct"}
        }
        return ToolCall(
            id=call_id,
            name=name,
            arguments=_arguments(block.get("input")),
            extra={PROVIDER: own} if own else None,
        )

    def _part(self, block: Mapping[str, Any], field: str) -> Part:
        """Read a block that becomes a part of the content."""
        kind = block.get("type")
        if block.get("cache_control") is not None:
            self.lost.append(f"{field}.cache_control")
        keys = _OWN_KEYS.get(kind or "")
        source = block.get("source")
        if keys is None or (
            isinstance(source, Mapping) and source.get("type") == "content"
        ):
            return _opaque(block, field)
        part = read_part(block, field=field) or _opaque(block, field)
        own = {key: copy.deepcopy(block[key]) for key in keys if block.get(key)}
        return part.model_copy(update={"extra": {PROVIDER: own}}) if own else part


_OWN_KEYS: Mapping[str, tuple[str, ...]] = {
    "text": ("citations",),
    "image": ("transformations",),
    "document": ("citations", "context"),
}
"""The blocks that others have too, and what only this vendor puts on them."""


def _is_followed_by_assistant(messages: Sequence[object], number: int) -> bool:
    if number + 1 >= len(messages):
        return False
    after = as_mapping(messages[number + 1])
    return after is not None and after.get("role") == "assistant"


def _calls(blocks: Sequence[Mapping[str, Any]]) -> bool:
    return any(block.get("type") == "tool_use" for block in blocks)


def _blocks(content: object, field: str) -> list[Mapping[str, Any]]:
    if content is None:
        return []
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, Sequence):
        message = f"{field} must be text or a list of blocks"
        raise InvalidItemError(message, field=field, value=content)
    return [
        need_mapping(block, f"{field}[{number}]")
        for number, block in enumerate(content)
    ]


def _opaque(block: Mapping[str, Any], field: str) -> TextPart:
    """Keep a block that only this vendor knows; others are told what it was."""
    kind = need_str(block.get("type"), f"{field}.type")
    kept = {key: value for key, value in block.items() if key != "cache_control"}
    said = block.get("name") or block.get("title") or ""
    text = block.get("content") if kind == "compaction" else None
    described = text if isinstance(text, str) and text.strip() else None
    return TextPart(
        text=described or f"[{kind}{': ' + said if said else ''}]",
        extra={PROVIDER: {"block": copy.deepcopy(kept)}},
    )


def _thought(block: Mapping[str, Any], model: str | None) -> ReasoningPart:
    proof = block.get("data" if block["type"] == "redacted_thinking" else "signature")
    return ReasoningPart(
        provider=PROVIDER,
        text=block.get("thinking") or "",
        signature=block.get("signature") or None,
        model=model,
        data=copy.deepcopy(dict(block)) if proof else None,
    )


def _arguments(given: object) -> str:
    """Return arguments as JSON text; those of a stream are text already."""
    if isinstance(given, str):
        return given
    return json.dumps(given if given is not None else {}, ensure_ascii=False)


# --- answers -------------------------------------------------------------------------


def read_response(
    answer: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Reply | None:
    """Read an answer, or the events of a stream; None for other vendors' shapes."""
    if isinstance(answer, Mapping):
        return _reply(answer) if _is_message(answer) else None
    if not looks_like_events(answer):
        return None
    return _reply(joined(answer), is_stream=True)


def _is_message(answer: Mapping[str, Any]) -> bool:
    return (
        answer.get("type") == "message"
        and answer.get("role") == "assistant"
        and isinstance(answer.get("content"), Sequence)
    )


def _reply(answer: Mapping[str, Any], *, is_stream: bool = False) -> Reply:
    stop_reason = answer.get("stop_reason")
    model = answer.get("model")
    is_cut = stop_reason in _CUT_OFF or stop_reason is None
    blocks = _blocks(answer["content"], "response.content")
    if stop_reason is None and not is_stream:
        blocks = _without_open_call(blocks)
    item = _Reader().assistant(blocks, "response.content", model=model, partial=is_cut)
    holds = item.content or item.tool_calls or item.reasoning
    return Reply(
        items=(item,) if holds else (),
        usage=_usage(answer.get("usage")),
        stop_reason=stop_reason,
        model=model,
    )


def _without_open_call(
    blocks: list[Mapping[str, Any]],
) -> list[Mapping[str, Any]]:
    """Leave out a last call: a snapshot of an answer in the making may hold a part.

    Its arguments are closed by the SDK, and no longer show that they were cut off.
    """
    is_open = bool(blocks) and blocks[-1].get("type") == "tool_use"
    return blocks[:-1] if is_open else blocks


def _usage(data: object) -> Usage | None:
    if not isinstance(data, Mapping) or "input_tokens" not in data:
        return None
    cached = data.get("cache_read_input_tokens") or 0
    written = data.get("cache_creation_input_tokens") or 0
    details = data.get("output_tokens_details") or {}
    return Usage(
        input_tokens=(data["input_tokens"] or 0) + cached + written,
        output_tokens=data.get("output_tokens") or 0,
        cached_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=details.get("thinking_tokens") or 0,
    )
