"""Reads Bedrock's Converse API: messages, whole requests, answers and streams.

Bytes are kept as base64, so that a session can be stored as JSON.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from context_builder.collect.content import as_mapping, read_content
from context_builder.collect.imports.bedrock_stream import joined, looks_like_events
from context_builder.collect.imports.reading import (
    Imported,
    Reply,
    Usage,
    need_mapping,
    need_str,
)
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem
from context_builder.messages import (
    FilePart,
    ImagePart,
    Part,
    ReasoningPart,
    TextPart,
    ToolCall,
)
from context_builder.unicode import quoted

__all__ = ["read_messages", "read_request", "read_response"]

PROVIDER = "bedrock"
_ROLES = ("user", "assistant", "system")
_SETTINGS = frozenset(
    {
        "modelId",
        "messages",
        "system",
        "inferenceConfig",
        "toolConfig",
        "outputConfig",
        "additionalModelRequestFields",
    }
)
_CUT_OFF = {"max_tokens", "model_context_window_exceeded"}
_DOCUMENT_TYPES = {
    "pdf": "application/pdf",
    "csv": "text/csv",
    "html": "text/html",
    "txt": "text/plain",
    "md": "text/markdown",
    "doc": "application/msword",
    "xls": "application/vnd.ms-excel",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}


def read_messages(messages: Sequence[object]) -> list[ContextItem]:
    """Read a list of messages.

    Raises:
        InvalidItemError: If one is not what the API takes; `field` is its path.
    """
    return _Reader().read(messages)


def read_request(request: Mapping[str, Any]) -> Imported:
    """Read the arguments of a call.

    Raises:
        InvalidItemError: If a part of them is not what the API takes.
    """
    reader = _Reader()
    lost = reader.lost
    lost += sorted(set(request) - _SETTINGS)
    texts = []
    for number, block in enumerate(request.get("system") or ()):
        if "text" in block:
            texts.append(block["text"])
        else:
            lost.append(f"system[{number}]")
    messages = request.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str):
        message = "messages must be a list"
        raise InvalidItemError(message, field="messages")
    config = request.get("toolConfig") or {}
    return Imported(
        items=tuple(reader.read(messages)),
        system="\n\n".join(text for text in texts if text.strip()) or None,
        tools=tuple(_tools(config.get("tools") or (), lost)),
        lost=tuple(lost),
    )


def _tools(tools: Sequence[object], lost: list[str]) -> Iterator[Mapping[str, Any]]:
    for number, tool in enumerate(tools):
        field = f"toolConfig.tools[{number}]"
        spec = need_mapping(tool, field).get("toolSpec")
        if spec is None:
            lost.append(field)
            continue
        function: dict[str, Any] = {"name": need_str(spec.get("name"), f"{field}.name")}
        if spec.get("description"):
            function["description"] = spec["description"]
        function["parameters"] = dict(spec["inputSchema"]["json"])
        if spec.get("strict") is not None:
            function["strict"] = spec["strict"]
        yield {"type": "function", "function": function}


# --- messages ------------------------------------------------------------------------


class _Reader:
    """Reads one list of messages, and remembers what there is no place for."""

    def __init__(self) -> None:
        self.lost: list[str] = []
        self._names: dict[str, str] = {}

    def read(self, messages: Sequence[object]) -> list[ContextItem]:
        items: list[ContextItem] = []
        for number, message in enumerate(messages):
            field = f"messages[{number}]"
            data = need_mapping(message, field)
            role = data.get("role")
            if role not in _ROLES:
                unknown = f"{field}.role {quoted(role)} is none of {', '.join(_ROLES)}"
                raise InvalidItemError(unknown, field=f"{field}.role", value=role)
            blocks = self._blocks(data.get("content"), f"{field}.content")
            if role == "assistant":
                items.append(self.assistant(blocks, f"{field}.content"))
            else:
                items += self._user(blocks, f"{field}.content", role)
        return items

    def _blocks(self, content: object, field: str) -> list[Mapping[str, Any]]:
        """Return the blocks, cache points left out."""
        if not isinstance(content, Sequence) or isinstance(content, str):
            message = f"{field} must be a list of blocks"
            raise InvalidItemError(message, field=field, value=content)
        kept = []
        for number, block in enumerate(content):
            data = need_mapping(block, f"{field}[{number}]")
            if "cachePoint" in data:
                self.lost.append(f"{field}[{number}].cachePoint")
            else:
                kept.append(data)
        return kept

    def _user(
        self, blocks: Sequence[Mapping[str, Any]], field: str, role: str
    ) -> Iterator[ContextItem]:
        said: list[Part] = []
        for number, block in enumerate(blocks):
            path = f"{field}[{number}]"
            if "toolResult" in block:
                yield from _spoken(said, role)
                said = []
                yield self._result(block["toolResult"], path)
            else:
                said.append(_part(block, path))
        yield from _spoken(said, role)

    def _result(self, result: Mapping[str, Any], field: str) -> ContextItem:
        call_id = need_str(result.get("toolUseId"), f"{field}.toolUseId")
        parts = [
            _part(block, f"{field}.content[{number}]")
            for number, block in enumerate(result.get("content") or ())
        ]
        return ContextItem(
            role="tool",
            content=read_content(parts),
            source="tool_result",
            tool_call_id=call_id,
            tool_name=self._names.get(call_id),
            is_error=result.get("status") == "error",
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
        for number, block in enumerate(blocks):
            path = f"{field}[{number}]"
            if "reasoningContent" in block:
                reasoning.append(_thought(block["reasoningContent"], model))
            elif "toolUse" in block and not block["toolUse"].get("type"):
                calls.append(self._call(block["toolUse"], path))
            else:
                said.append(_part(block, path))
        return ContextItem(
            role="assistant",
            content=read_content(said),
            source="assistant",
            tool_calls=tuple(calls),
            reasoning=tuple(reasoning),
            partial=partial,
        )

    def _call(self, call: Mapping[str, Any], field: str) -> ToolCall:
        call_id = need_str(call.get("toolUseId"), f"{field}.toolUseId")
        name = need_str(call.get("name"), f"{field}.name")
        self._names[call_id] = name
        given = call.get("input")
        if not isinstance(given, str):
            given = json.dumps(given if given is not None else {}, ensure_ascii=False)
        return ToolCall(id=call_id, name=name, arguments=given)


def _spoken(said: list[Part], role: str) -> Iterator[ContextItem]:
    if not said:
        return
    content = read_content(said)
    if role == "system":
        yield ContextItem(role="system", content=content, source="system_prompt")
    else:
        yield ContextItem(role="user", content=content, source="user")


# --- parts ---------------------------------------------------------------------------


def _part(block: Mapping[str, Any], field: str) -> Part:
    if "text" in block:
        return TextPart(text=need_str(block["text"], f"{field}.text", allow_empty=True))
    if "json" in block:
        return TextPart(text=json.dumps(block["json"], ensure_ascii=False))
    if "image" in block and (image := _image(block["image"])):
        return image
    if "document" in block and (document := _document(block["document"])):
        return document
    kind = next(iter(block), "block")
    return TextPart(text=f"[{kind}]", extra={PROVIDER: {"block": _as_json(block)}})


def _image(image: Mapping[str, Any]) -> ImagePart | None:
    source = _source(image)
    if source is None:
        return None
    return ImagePart(media_type=f"image/{image.get('format')}", **source)


def _document(document: Mapping[str, Any]) -> FilePart | None:
    source = _source(document)
    if source is None or document.get("citations") or document.get("context"):
        return None
    kind = document.get("format") or "txt"
    return FilePart(
        filename=f"{document.get('name')}.{kind}",
        media_type=_DOCUMENT_TYPES.get(kind),
        **source,
    )


def _source(media: Mapping[str, Any]) -> dict[str, Any] | None:
    """Say where the bytes are, as our parts say it; None: they say it otherwise."""
    source = media.get("source") or {}
    if "bytes" in source:
        return {"data": base64.b64encode(source["bytes"]).decode("ascii")}
    place = source.get("s3Location")
    if not place:
        return None
    more = {key: value for key, value in place.items() if key != "uri"}
    extra = {"extra": {PROVIDER: {"s3Location": more}}} if more else {}
    return {"url": place["uri"], **extra}


def _as_json(value: Any) -> Any:
    """Return a block as JSON, its bytes as marked base64."""
    if isinstance(value, bytes | bytearray):
        return {"$base64": base64.b64encode(value).decode("ascii")}
    if isinstance(value, Mapping):
        return {key: _as_json(member) for key, member in value.items()}
    return [_as_json(each) for each in value] if isinstance(value, list) else value


def _thought(block: Mapping[str, Any], model: str | None) -> ReasoningPart:
    hidden = block.get("redactedContent")
    if hidden is not None:
        data = {"redactedContent": base64.b64encode(hidden).decode("ascii")}
        return ReasoningPart(PROVIDER, model=model, data=data)
    said = dict(block.get("reasoningText") or {})
    signature = said.get("signature") or None
    return ReasoningPart(
        provider=PROVIDER,
        text=said.get("text") or "",
        signature=signature,
        model=model,
        data={"reasoningText": said} if signature else None,
    )


# --- answers -------------------------------------------------------------------------


def read_response(
    answer: Mapping[str, Any] | Sequence[Mapping[str, Any]],
) -> Reply | None:
    """Read an answer, or the events of a stream; None for other vendors' shapes.

    Converse does not say which model answered: whoever asked knows.
    """
    if isinstance(answer, Mapping):
        message = as_mapping((as_mapping(answer.get("output")) or {}).get("message"))
        if message is None or "stopReason" not in answer:
            return None
        return _reply(answer, message)
    if not looks_like_events(answer):
        return None
    read = joined(answer)
    return _reply(read, read["output"]["message"])


def _reply(answer: Mapping[str, Any], message: Mapping[str, Any]) -> Reply:
    stop_reason = answer.get("stopReason")
    is_cut = stop_reason is None or stop_reason in _CUT_OFF
    item = _Reader().assistant(
        message.get("content") or [], "response.output.message.content", partial=is_cut
    )
    holds = item.content or item.tool_calls or item.reasoning
    return Reply(
        items=(item,) if holds else (),
        usage=_usage(answer.get("usage")),
        stop_reason=stop_reason,
    )


def _usage(data: object) -> Usage | None:
    if not isinstance(data, Mapping) or "inputTokens" not in data:
        return None
    cached = data.get("cacheReadInputTokens") or 0
    written = data.get("cacheWriteInputTokens") or 0
    return Usage(
        input_tokens=(data["inputTokens"] or 0) + cached + written,
        output_tokens=data.get("outputTokens") or 0,
        cached_tokens=cached,
        cache_write_tokens=written,
    )
