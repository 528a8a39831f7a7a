"""What a request to Bedrock's Converse API costs: as with the model that it hosts."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from context_builder.render.anthropic_tokens import MESSAGE, REQUEST, tools_tokens
from context_builder.render.claude import claude_of
from context_builder.tokens.images import bedrock_image_tokens, image_size

__all__ = [
    "MESSAGE",
    "REQUEST",
    "blocks_tokens",
    "config_tokens",
    "format_tokens",
    "request_tokens",
    "thinking_tokens",
]

Count = Callable[[str], int]
Block = Mapping[str, Any]

_CALL = 24
_RESULT = 22
_TOOL_INSTRUCTIONS = 120
"""About tools, with models that are not Claude."""
_TOOL = 12
_THINKING = 30
_FORMAT = 135
_PAGE = 2_400
_PAGE_BYTES = 50_000
_HEAD_BYTES = 786_432
_MEDIA = 5_000
_SIGNATURE_CHARS = 6
_READABLE = frozenset({"txt", "md", "csv", "html"})


def request_tokens(request: Mapping[str, Any], count: Count) -> int:
    """Count a finished request from its body."""
    model = request.get("modelId")
    return (
        REQUEST
        + blocks_tokens(request.get("system"), count, model)
        + config_tokens(request.get("toolConfig"), count, model)
        + thinking_tokens(request.get("additionalModelRequestFields"))
        + format_tokens(request.get("outputConfig"), count)
        + sum(
            MESSAGE + blocks_tokens(message["content"], count, model)
            for message in request["messages"]
        )
    )


def thinking_tokens(fields: Mapping[str, Any] | None) -> int:
    """Return what it costs to switch thinking on."""
    wanted = (fields or {}).get("thinking") or {}
    return _THINKING if wanted.get("type") in {"enabled", "adaptive"} else 0


def format_tokens(config: Mapping[str, Any] | None, count: Count) -> int:
    """Count the schema of the answer."""
    wanted = (config or {}).get("textFormat")
    if not wanted:
        return 0
    return _FORMAT + count(wanted["structure"]["jsonSchema"]["schema"])


def config_tokens(
    config: Mapping[str, Any] | None, count: Count, model: str | None
) -> int:
    """Count the tools."""
    if not config:
        return 0
    specs = [tool["toolSpec"] for tool in config["tools"] if "toolSpec" in tool]
    if claude_of(model).is_known or model is None:
        chosen = next(iter(config.get("toolChoice") or {}), None)
        said = [
            {**spec, "input_schema": spec["inputSchema"]["json"], "inputSchema": None}
            for spec in specs
        ]
        return tools_tokens(said, count, model, {"type": chosen})
    return _TOOL_INSTRUCTIONS + sum(_TOOL + _json_tokens(spec, count) for spec in specs)


def blocks_tokens(
    content: Iterable[Block] | None, count: Count, model: str | None
) -> int:
    """Count the content of a message; cache points cost nothing."""
    return sum(_block(block, count, model) for block in content or ())


def _block(block: Block, count: Count, model: str | None) -> int:
    for key, counter in _COUNTERS.items():
        if key in block:
            return counter(block[key], count, model)
    if "cachePoint" in block:
        return 0
    return _MEDIA


def _text(text: str, count: Count, model: str | None) -> int:
    del model
    return count(text)


def _json(value: object, count: Count, model: str | None) -> int:
    del model
    return _json_tokens(value, count)


def _call(call: Mapping[str, Any], count: Count, model: str | None) -> int:
    del model
    return _CALL + count(call["name"]) + _json_tokens(call["input"], count)


def _result(result: Mapping[str, Any], count: Count, model: str | None) -> int:
    return _RESULT + blocks_tokens(result["content"], count, model)


def _reasoning(block: Mapping[str, Any], count: Count, model: str | None) -> int:
    del model
    said = block.get("reasoningText")
    if said is None:
        return len(block.get("redactedContent") or b"") // 4
    text = count(said["text"]) if said["text"] else 0
    return max(text, len(said.get("signature") or "") // _SIGNATURE_CHARS)


def _image(image: Mapping[str, Any], count: Count, model: str | None) -> int:
    del count
    data = image["source"].get("bytes")
    head = base64.b64encode(data[:_HEAD_BYTES]).decode() if data else ""
    size = image_size(head) if head else None
    return 4 + bedrock_image_tokens(size, model=model)


def _document(document: Mapping[str, Any], count: Count, model: str | None) -> int:
    del model
    data = document["source"].get("bytes") or b""
    if document.get("format") in _READABLE:
        return 4 + count(document["name"]) + count(data.decode("utf-8", "replace"))
    return 4 + count(document["name"]) + _PAGE * (1 + len(data) // _PAGE_BYTES)


def _json_tokens(value: object, count: Count) -> int:
    return count(json.dumps(value, ensure_ascii=False, default=str))


_COUNTERS: Mapping[str, Callable[[Any, Count, str | None], int]] = {
    "text": _text,
    "json": _json,
    "toolUse": _call,
    "toolResult": _result,
    "reasoningContent": _reasoning,
    "image": _image,
    "document": _document,
}
