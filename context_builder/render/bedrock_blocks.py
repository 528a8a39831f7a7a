"""Says parts, calls and results as content blocks of Bedrock's Converse API."""

from __future__ import annotations

import base64
import binascii
import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.render.anthropic_blocks import (
    EMPTY_RESULT,
    arguments_object,
    may_go_back,
    picture_type,
    plain_text_of,
)
from context_builder.render.bedrock_hosts import Host, host_of
from context_builder.render.claude import claude_of
from context_builder.render.described import call_text, described_part, framed_result
from context_builder.render.ids import clean_name

if TYPE_CHECKING:
    from context_builder.items import ContextItem
    from context_builder.messages import (
        Content,
        FilePart,
        ImagePart,
        Part,
        ReasoningPart,
        ToolCall,
    )

__all__ = [
    "PROVIDER",
    "Names",
    "assistant_blocks",
    "call_frames",
    "flat_result",
    "result_block",
    "said_parts",
    "text_block",
]

Block = dict[str, Any]

PROVIDER = "bedrock"

_PICTURES = {
    "image/png": "png",
    "image/jpeg": "jpeg",
    "image/gif": "gif",
    "image/webp": "webp",
}
_DOCUMENTS = {
    "application/pdf": "pdf",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "application/msword": "doc",
    "application/vnd.ms-excel": "xls",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document": "docx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
}
_NAME_CHARS = 200
_SPOKEN = frozenset(
    {"audio", "citationsContent", "guardContent", "searchResult", "video"}
)
_TAKEN: Mapping[str, frozenset[str]] = {
    "user": _SPOKEN - {"citationsContent"} | {"document", "image"},
    "assistant": _SPOKEN,
    "result": frozenset({"text", "json", "image", "document", "video", "searchResult"}),
    "system": frozenset({"guardContent"}),
}
"""Kinds of blocks that go back word for word, by where they stand."""


def text_block(text: str) -> Block:
    """Say a text."""
    return {"text": text}


class Names:
    """The names of a request's documents: clean, and never one twice."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def take(self, wanted: str) -> str:
        """Return a name that is like the wanted one, and free."""
        cleaned = re.sub(r"[^a-zA-Z0-9 ()\[\]-]", "-", wanted)
        name = re.sub(r"\s+", " ", cleaned).strip()[: _NAME_CHARS - 8] or "document"
        chosen, number = name, 1
        while chosen in self._taken:
            number += 1
            chosen = f"{name} {number}"
        self._taken.add(chosen)
        return chosen


# --- parts ---------------------------------------------------------------------------


def said_parts(
    content: Content, names: Names, *, place: str = "user", media: bool = True
) -> list[Block]:
    """Say content as blocks; blank text is left out.

    Args:
        content: Text or parts.
        names: The names that documents have already.
        place: Where the blocks stand: user, assistant, result or system.
        media: Whether pictures and documents may be shown there.
    """
    if isinstance(content, str):
        return [text_block(content)] if content.strip() else []
    said = (_said_part(part, names, place, media) for part in content)
    blocks = [block for block in said if block is not None]
    documents = [block["document"]["name"] for block in blocks if "document" in block]
    if documents and place == "user" and not any("text" in block for block in blocks):
        # The API wants a text beside a document.
        blocks.insert(0, text_block(f"[attached: {', '.join(documents)}]"))
    return blocks


def _said_part(part: Part, names: Names, place: str, media: bool) -> Block | None:
    own = (part.extra or {}).get(PROVIDER) or {}
    if len(own.get("block") or ()) == 1 and set(own["block"]) <= _TAKEN[place]:
        block: Block | None = _with_bytes(own["block"])
        return block
    if part.type == "text":
        return text_block(part.text) if part.text.strip() else None
    block = None
    if media and place in {"user", "result"}:
        if part.type == "image":
            block = _image(part)
        elif part.type == "file":
            block = _document(part, names)
    said = described_part(part)
    return block or (text_block(said) if said.strip() else None)


def _with_bytes(value: Any) -> Any:
    """Turn what was kept as base64 into bytes again."""
    if isinstance(value, Mapping):
        if set(value) == {"$base64"}:
            return base64.b64decode(value["$base64"])
        return {key: _with_bytes(member) for key, member in value.items()}
    return [_with_bytes(each) for each in value] if isinstance(value, list) else value


def _decoded(data: str) -> bytes:
    try:
        return base64.b64decode(data)
    except (binascii.Error, ValueError):
        return b""


def _source(part: ImagePart | FilePart) -> Block | None:
    """Say where the bytes are: here, or in S3; the API fetches no other address."""
    if part.data is not None:
        data = _decoded(part.data)
        return {"bytes": data} if data else None
    if part.url is not None and part.url.startswith("s3://"):
        own = (part.extra or {}).get(PROVIDER) or {}
        return {"s3Location": {"uri": part.url, **own.get("s3Location", {})}}
    return None


def _image(part: ImagePart) -> Block | None:
    kind = _PICTURES.get(picture_type(part) or "")
    source = _source(part)
    if kind is None or source is None:
        return None
    return {"image": {"format": kind, "source": source}}


def _document(part: FilePart, names: Names) -> Block | None:
    kind = _format(part)
    text = part.text if part.text is not None else None
    source = {"bytes": text.encode()} if text else _source(part)
    if kind is None or source is None:
        return None
    name = names.take((part.filename or "document").rpartition(".")[0] or "document")
    return {"document": {"format": kind, "name": name, "source": source}}


def _format(part: FilePart) -> str | None:
    ending = (part.filename or part.url or "").rpartition(".")[2].lower()
    known = _DOCUMENTS.get(part.media_type or "")
    if known is None and ending in _DOCUMENTS.values():
        known = ending
    if known is None and plain_text_of(part) is not None:
        return "txt"
    if known is None and (part.data or "").startswith("JVBERi"):
        return "pdf"
    return known


# --- the assistant -------------------------------------------------------------------


def assistant_blocks(
    item: ContextItem,
    ids: Sequence[str],
    model: str | None,
    *,
    flat: bool = False,
    with_reasoning: bool = True,
) -> list[Block]:
    """Say what the assistant thought, said and called, in this order.

    Args:
        item: The assistant's message.
        ids: The ids of its calls.
        model: The model that the request is for.
        flat: Say calls in words, as without tools there may be no blocks for them.
        with_reasoning: Whether what it thought goes back, where the model takes it.
    """
    said = said_parts(item.content, Names(), place="assistant")
    if flat:
        said += [text_block(call_text(_tidied(call))) for call in item.tool_calls]
        called = []
    else:
        called = [
            {
                "toolUse": {
                    "toolUseId": call_id,
                    "name": clean_name(call.name),
                    "input": arguments_object(call),
                }
            }
            for call, call_id in zip(item.tool_calls, ids, strict=True)
        ]
    if not said and not called:
        return []  # a turn may not end with a thought
    if not with_reasoning or (flat and item.tool_calls):
        return [*said, *called]
    return [*_reasoning(item, model), *said, *called]


def call_frames(item: ContextItem) -> list[tuple[str, str]]:
    """Return, for each call, how it is said in words, and its arguments alone."""
    calls = map(_tidied, item.tool_calls)
    return [(call_text(call), call.arguments) for call in calls]


def _tidied(call: ToolCall) -> ToolCall:
    """Return a call whose arguments are written as those in blocks are."""
    written = json.dumps(arguments_object(call), ensure_ascii=False)
    return dataclasses.replace(call, arguments=written)


def _reasoning(item: ContextItem, model: str | None) -> list[Block]:
    """Return the reasoning that goes back, byte for byte."""
    host = host_of(model)
    if not host.keeps_reasoning:
        return []
    blocks = (
        _thought(part)
        for part in item.reasoning
        if part.provider == PROVIDER
        and may_go_back(part.model, model, claude_of(model))
        and _is_same_family(part.model, model)
    )
    return [{"reasoningContent": block} for block in blocks if block is not None]


def _is_same_family(written_by: str | None, model: str | None) -> bool:
    return written_by is None or host_of(written_by) == host_of(model)


def _thought(part: ReasoningPart) -> Block | None:
    if part.data is None:
        if not part.signature:
            return None
        return {"reasoningText": {"text": part.text, "signature": part.signature}}
    if "redactedContent" in part.data:
        return {"redactedContent": _decoded(part.data["redactedContent"])}
    said = part.data.get("reasoningText") or {}
    return {"reasoningText": dict(said)} if said.get("signature") else None


# --- results -------------------------------------------------------------------------


def result_block(item: ContextItem, call_id: str, host: Host, names: Names) -> Block:
    """Say a tool's result."""
    blocks = said_parts(
        item.content, names, place="result", media=host.media_in_results
    ) or [text_block(EMPTY_RESULT)]
    said: Block = {"toolUseId": call_id, "content": blocks}
    if item.is_error and host.takes_status:
        said["status"] = "error"
    elif item.is_error and not blocks[0].get("text", "").lower().startswith("error"):
        blocks.insert(0, text_block("Error:"))
    return {"toolResult": said}


def flat_result(item: ContextItem, names: Names) -> list[Block]:
    """Say a tool's result in words, and what else it holds behind them."""
    blocks = said_parts(item.content, names)
    texts = [block["text"] for block in blocks if "text" in block]
    said = "\n".join(texts) or EMPTY_RESULT
    if item.is_error:
        said = f"Error: {said}"
    rest = [block for block in blocks if "text" not in block]
    return [text_block(framed_result(item, said)), *rest]
