"""Says parts, calls and results as content blocks of Anthropic's Messages API."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.render.claude import Claude, claude_of, same_model
from context_builder.render.described import described_part
from context_builder.render.ids import clean_name

if TYPE_CHECKING:
    from context_builder.items import ContextItem
    from context_builder.messages import Content, FilePart, ImagePart, Part, ToolCall

__all__ = [
    "EMPTY_RESULT",
    "arguments_object",
    "assistant_blocks",
    "may_go_back",
    "picture_type",
    "plain_text_of",
    "result_block",
    "said_parts",
    "settle_server_tools",
    "shown_reasoning",
    "text_block",
]

Block = dict[str, Any]

PROVIDER = "anthropic"
NAME_CHARS = 128
EMPTY_RESULT = "(no output)"

_PICTURES = {"image/jpeg", "image/png", "image/gif", "image/webp"}
_BEGINNINGS = {
    "/9j/": "image/jpeg",
    "iVBORw": "image/png",
    "R0lGOD": "image/gif",
    "UklGR": "image/webp",
}
_THINKING = {"thinking", "redacted_thinking"}
_MEDIA = frozenset({"image", "document", "search_result"})
_TAKEN: Mapping[str, frozenset[str]] = {
    "user": _MEDIA | {"text", "container_upload"},
    "result": _MEDIA | {"text", "tool_reference", "browser_state"},
    "system": frozenset({"text", "tool_addition", "tool_removal"}),
}
"""Kinds of blocks that go back word for word, by where they stand."""
_NEVER_SPOKEN = _MEDIA | {"tool_result", "container_upload"}
"""What the assistant does not say; all else it may have said is the vendor's own."""
_TEXT_TYPES = ("text/", "application/json", "application/xml", "application/x-yaml")


def text_block(text: str) -> Block:
    """Say a text."""
    return {"type": "text", "text": text}


# --- parts ---------------------------------------------------------------------------


def said_parts(content: Content, *, place: str = "user") -> list[Block]:
    """Say content as blocks; blank text is left out.

    Args:
        content: Text or parts.
        place: Where the blocks stand: user, assistant, result or system.
    """
    if isinstance(content, str):
        return [text_block(content)] if content.strip() else []
    said = (_said_part(part, place) for part in content)
    return [block for block in said if block is not None]


def _said_part(part: Part, place: str) -> Block | None:
    own = (part.extra or {}).get(PROVIDER) or {}
    if "block" in own:
        return _own_block(own["block"], part, place)
    if part.type == "text":
        return {**text_block(part.text), **own} if part.text.strip() else None
    block = None
    if place in {"user", "result"}:
        if part.type == "image":
            block = _image(part)
        elif part.type == "file":
            block = _document(part)
    if block:
        return {**block, **own}
    said = described_part(part)
    return text_block(said) if said.strip() else None


def _own_block(block: Mapping[str, Any], part: Part, place: str) -> Block | None:
    """Say a block that only this vendor knows, word for word, where it may stand."""
    taken = _TAKEN.get(place)
    kind = block["type"]
    if kind not in _NEVER_SPOKEN if taken is None else kind in taken:
        return dict(block)
    text = getattr(part, "text", "") or ""
    return text_block(text) if text.strip() else None


def picture_type(part: ImagePart) -> str | None:
    """Return the media type of a picture's data; its first bytes win over its label."""
    for beginning, media_type in _BEGINNINGS.items():
        if (part.data or "").startswith(beginning):
            return media_type
    return part.media_type or "image/png"


def _image(part: ImagePart) -> Block | None:
    source: Block
    if part.data is not None:
        media_type = picture_type(part)
        if media_type not in _PICTURES or not part.data:
            return None
        source = {"type": "base64", "media_type": media_type, "data": part.data}
    elif part.url is not None:
        if not part.url.startswith(("https://", "http://")):
            return None
        source = {"type": "url", "url": part.url}
    elif _is_ours(part.file_id):
        source = {"type": "file", "file_id": part.file_id}
    else:
        return None
    return {"type": "image", "source": source}


def _is_ours(file_id: str | None) -> bool:
    """Say whether a file was uploaded here: OpenAI's ids begin with `file-`."""
    return bool(file_id) and not str(file_id).startswith("file-")


def _document(part: FilePart) -> Block | None:
    source = _document_source(part)
    if source is None:
        return None
    titled = {"title": part.filename} if part.filename else {}
    return {"type": "document", "source": source, **titled}


def _document_source(part: FilePart) -> Block | None:
    text = plain_text_of(part)
    if text is not None:
        plain = {"type": "text", "media_type": "text/plain", "data": text}
        return plain if text.strip() else None
    if part.data is not None:
        if not _is_pdf(part) or not part.data:
            return None
        return {"type": "base64", "media_type": "application/pdf", "data": part.data}
    if part.url is not None:
        fetched = part.url.startswith(("https://", "http://"))
        return {"type": "url", "url": part.url} if fetched else None
    return {"type": "file", "file_id": part.file_id} if _is_ours(part.file_id) else None


def _is_pdf(part: FilePart) -> bool:
    return (part.data or "").startswith("JVBERi") or (
        part.media_type in {None, "application/pdf"}
    )


def plain_text_of(part: FilePart) -> str | None:
    """Return a file as text: its own, or decoded where its type is a text's."""
    if part.text is not None:
        return part.text
    if part.data is None or not (part.media_type or "").startswith(_TEXT_TYPES):
        return None
    try:
        return base64.b64decode(part.data, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        return None


# --- the assistant -------------------------------------------------------------------


def assistant_blocks(
    item: ContextItem, ids: Sequence[str], model: str | None, *, with_reasoning: bool
) -> list[Block]:
    """Say what the assistant thought, said and called, in the order in which it did."""
    thought = shown_reasoning(item, model) if with_reasoning else []
    said = said_parts(item.content, place="assistant")
    called = [
        _call(call, call_id) for call, call_id in zip(item.tool_calls, ids, strict=True)
    ]
    blocks = _in_order(item, thought, said, called)
    while blocks and blocks[-1]["type"] in _THINKING:
        blocks.pop()  # a turn may not end with a thought
    return blocks


def _in_order(
    item: ContextItem, thought: list[Block], said: list[Block], called: list[Block]
) -> list[Block]:
    """Put the blocks into the order of the vendor's own answer, where it is known."""
    queues = {"r": thought, "c": said, "t": called}
    extra = (item.metadata or {}).get("extra")
    marks = extra.get(PROVIDER) if isinstance(extra, Mapping) else None
    order = marks.get("order") if isinstance(marks, Mapping) else None
    counts = {"r": len(thought), "c": len(said), "t": len(called)}
    if not isinstance(order, str) or any(
        order.count(kind) != count for kind, count in counts.items() if count
    ):
        return [*thought, *said, *called]
    taken = {kind: iter(blocks) for kind, blocks in queues.items() if blocks}
    return [next(taken[kind]) for kind in order if kind in taken]


def shown_reasoning(item: ContextItem, model: str | None) -> list[Block]:
    """Return the thinking blocks that go back, byte for byte."""
    claude = claude_of(model)
    blocks = (
        _thinking(part.data, part.text, part.signature)
        for part in item.reasoning
        if part.provider == PROVIDER and may_go_back(part.model, model, claude)
    )
    return [block for block in blocks if block is not None]


def may_go_back(written_by: str | None, model: str | None, claude: Claude) -> bool:
    """Say whether a model takes the thinking of the model that wrote it."""
    if written_by is None or model is None:
        return True
    is_bound = claude.binds_thinking or claude_of(written_by).binds_thinking
    return not is_bound or same_model(written_by, model)


def _thinking(
    data: Mapping[str, Any] | None, text: str, signature: str | None
) -> Block | None:
    if data is not None:
        proof = "data" if data.get("type") == "redacted_thinking" else "signature"
        return dict(data) if data.get("type") in _THINKING and data.get(proof) else None
    if not signature:
        return None
    return {"type": "thinking", "thinking": text, "signature": signature}


def _call(call: ToolCall, call_id: str) -> Block:
    own = (call.extra or {}).get(PROVIDER) or {}
    return {
        "type": "tool_use",
        "id": call_id,
        "name": clean_name(call.name, max_chars=NAME_CHARS),
        "input": arguments_object(call),
        **own,
    }


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of a call as an object, whatever they are."""
    if call.type == "custom":
        return {"input": call.arguments}
    if not call.arguments.strip():
        return {}
    try:
        read = json.loads(call.arguments)
    except (ValueError, RecursionError):
        read = None
    return read if isinstance(read, dict) else {"_raw": call.arguments}


def settle_server_tools(messages: Sequence[Mapping[str, Any]]) -> None:
    """Say in words, in place, which calls of the vendor's own tools were given up.

    A call and its result stand in one turn. Only the last turn may still wait, and one
    that also calls tools of ours: the vendor goes on with its own behind their results.
    """
    for message in messages[:-1]:
        blocks = message["content"]
        if any(block["type"] == "tool_use" for block in blocks):
            continue
        answered = {block.get("tool_use_id") for block in blocks}
        for number, block in enumerate(blocks):
            if block["type"] in _SERVER_CALLS and block["id"] not in answered:
                blocks[number] = text_block(f"[{block['name']}: not finished]")


_SERVER_CALLS = frozenset({"server_tool_use", "mcp_tool_use"})


# --- results -------------------------------------------------------------------------


def result_block(item: ContextItem, call_id: str) -> Block:
    """Say a tool's result."""
    said: str | list[Block]
    if isinstance(item.content, str):
        said = item.content if item.content.strip() else EMPTY_RESULT
    else:
        said = said_parts(item.content, place="result") or EMPTY_RESULT
    flagged = {"is_error": True} if item.is_error else {}
    return {"type": "tool_result", "tool_use_id": call_id, "content": said, **flagged}
