"""Checks the blocks of a Converse request: text, media, calls, cache points."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.render.adapter import Problem
from context_builder.tokens.images import image_size

if TYPE_CHECKING:
    from context_builder.render.bedrock_hosts import Host

__all__ = ["block_problems", "document_problems", "point_problems"]

_ID = re.compile(r"[a-zA-Z0-9_.:-]{1,64}")
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_DOCUMENT_NAME = re.compile(r"[a-zA-Z0-9()\[\]-]+( [a-zA-Z0-9()\[\]-]+)*")
_DOCUMENT_NAME_CHARS = 200
_FORMATS = {
    "image": {"png", "jpeg", "gif", "webp"},
    "document": {"pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md"},
}
_IN_RESULT = frozenset({"text", "json", "image", "document", "video", "searchResult"})

_HEAD_BYTES = 786_432

MAX_POINTS = 4
MAX_PICTURES = 20
MAX_DOCUMENTS = 5
MAX_SIDE = 8_000
MAX_PICTURE_BYTES = 3_750_000
MAX_DOCUMENT_BYTES = 4_500_000


def block_problems(
    block: Mapping[str, Any], where: str, *, role: str, host: Host
) -> Iterator[Problem]:
    """Yield what is wrong with one block of a message."""
    if len(block) != 1:
        yield Problem(where, "a block is of exactly one kind", "Split it")
        return
    kind, value = next(iter(block.items()))
    if kind in {"toolUse", "reasoningContent"} and role != "assistant":
        rule = f"a block {kind} stands in an assistant's turn"
        yield Problem(where, rule, "Leave it out")
    if kind in {"toolResult", "image", "document"} and role != "user":
        yield Problem(where, f"a block {kind} stands in a user's turn", "Leave it out")
    if kind == "toolResult":
        yield from _result(value, where, host)
    elif kind in _CHECKS:
        yield from _CHECKS[kind](value, where)


def _text(text: str, where: str) -> Iterator[Problem]:
    if not text.strip():
        rule = "the text field in the ContentBlock object is blank"
        yield Problem(where, rule, "Leave the block out")


def _call(call: Mapping[str, Any], where: str) -> Iterator[Problem]:
    if not _ID.fullmatch(str(call.get("toolUseId") or "")):
        yield Problem(f"{where}.toolUseId", f"an id matches {_ID.pattern}", "Map it")
    if not _NAME.fullmatch(str(call.get("name") or "")):
        yield Problem(f"{where}.name", f"a name matches {_NAME.pattern}", "Rename it")
    if not isinstance(call.get("input"), Mapping):
        yield Problem(f"{where}.input", "the input is an object", "Send an object")


def _result(result: Mapping[str, Any], where: str, host: Host) -> Iterator[Problem]:
    if not _ID.fullmatch(str(result.get("toolUseId") or "")):
        yield Problem(f"{where}.toolUseId", f"an id matches {_ID.pattern}", "Map it")
    status = result.get("status")
    if status is not None and not host.takes_status:
        rule = "the model takes no status"
        yield Problem(f"{where}.status", rule, "Say it in the text")
    content = result.get("content") or []
    if status == "error" and not any(_says(block) for block in content):
        rule = "the content of a toolResult cannot be empty when status is error"
        yield Problem(f"{where}.content", rule, "Say what failed")
    for number, block in enumerate(content):
        yield from _inner(block, f"{where}.content[{number}]", host)


def _says(block: Mapping[str, Any]) -> bool:
    return "text" not in block or bool(block["text"].strip())


def _inner(block: Mapping[str, Any], where: str, host: Host) -> Iterator[Problem]:
    kind = next(iter(block), "")
    if kind not in _IN_RESULT:
        rule = f"a block {kind!r} may not stand in a toolResult"
        yield Problem(where, rule, "Describe it in text")
    if kind == "json" and not isinstance(block["json"], Mapping):
        yield Problem(where, "json is an object", "Wrap it into one")
    if kind in _FORMATS:
        if not host.media_in_results:
            rule = "the model takes no media in results"
            yield Problem(where, rule, "Describe it in text")
        yield from _CHECKS[kind](block[kind], where)


def _reasoning(block: Mapping[str, Any], where: str) -> Iterator[Problem]:
    said = block.get("reasoningText")
    if said is not None and not said.get("signature"):
        rule = "reasoning goes back with its signature"
        yield Problem(where, rule, "Leave the block out")
    if said is None and not block.get("redactedContent"):
        yield Problem(where, "redacted reasoning has content", "Leave the block out")


def _image(image: Mapping[str, Any], where: str) -> Iterator[Problem]:
    yield from _media(image, where, "image", MAX_PICTURE_BYTES)
    data = (image.get("source") or {}).get("bytes")
    if not isinstance(data, bytes):
        return
    size = image_size(base64.b64encode(data[:_HEAD_BYTES]).decode())
    if size is not None and max(size) > MAX_SIDE:
        rule = f"a picture has at most {MAX_SIDE:,} pixels on a side"
        yield Problem(where, rule, "Make it smaller")


def _document(document: Mapping[str, Any], where: str) -> Iterator[Problem]:
    yield from _media(document, where, "document", MAX_DOCUMENT_BYTES)
    name = str(document.get("name") or "")
    if not _DOCUMENT_NAME.fullmatch(name) or len(name) > _DOCUMENT_NAME_CHARS:
        rule = "a name has letters, digits, single spaces, hyphens and brackets only"
        yield Problem(f"{where}.name", rule, "Clean the name")


def _media(
    media: Mapping[str, Any], where: str, kind: str, most: int
) -> Iterator[Problem]:
    if media.get("format") not in _FORMATS[kind]:
        rule = f"the format is one of {', '.join(sorted(_FORMATS[kind]))}"
        yield Problem(f"{where}.format", rule, "Convert it")
    source = media.get("source") or {}
    data = source.get("bytes")
    if "bytes" in source and (not isinstance(data, bytes) or not data):
        rule = "bytes are raw bytes, not empty; the SDK encodes them"
        yield Problem(f"{where}.source", rule, "Decode the base64")
    elif data is not None and len(data) > most:
        yield Problem(f"{where}.source", f"it has at most {most:,} bytes", "Shrink it")


_CHECKS: Mapping[str, Callable[[Any, str], Iterator[Problem]]] = {
    "text": _text,
    "toolUse": _call,
    "reasoningContent": _reasoning,
    "image": _image,
    "document": _document,
}


# --- the whole -----------------------------------------------------------------------


def document_problems(messages: Sequence[Mapping[str, Any]]) -> Iterator[Problem]:
    """Yield what is wrong with documents and pictures taken together."""
    names: list[str] = []
    pictures = 0
    for number, message in enumerate(messages):
        blocks = message.get("content") or []
        where = f"messages[{number}].content"
        if any("document" in b for b in blocks) and not any(
            "text" in b for b in blocks
        ):
            rule = "a text block must be included when using documents"
            yield Problem(where, rule, "Add a text block")
        for block in _media_in(blocks):
            pictures += "image" in block
            name = block.get("document", {}).get("name")
            if name in names:
                rule = "messages can not contain duplicate document names"
                yield Problem(where, rule, f"Rename {name!r}")
            if name is not None:
                names.append(name)
    if pictures > MAX_PICTURES:
        rule = f"a request holds at most {MAX_PICTURES} pictures"
        yield Problem("messages", rule, "Leave the oldest out")
    if len(names) > MAX_DOCUMENTS:
        rule = f"a request holds at most {MAX_DOCUMENTS} documents"
        yield Problem("messages", rule, "Leave the oldest out")


def _media_in(blocks: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    for block in blocks:
        yield block
        if "toolResult" in block:
            yield from block["toolResult"].get("content") or ()


def point_problems(
    request: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], host: Host
) -> Iterator[Problem]:
    """Yield what is wrong with the cache points."""
    tools = (request.get("toolConfig") or {}).get("tools") or []
    places = {"toolConfig.tools": tools, "system": request.get("system") or []}
    for number, message in enumerate(messages):
        places[f"messages[{number}].content"] = message.get("content") or []
    found = 0
    for where, blocks in places.items():
        points = [at for at, block in enumerate(blocks) if "cachePoint" in block]
        found += len(points)
        if 0 in points:
            yield Problem(
                where, "a cachePoint is never first", "Move it behind a block"
            )
    if found and not host.caches:
        yield Problem("messages", "the model caches nothing", "Leave cachePoint out")
    if found > MAX_POINTS:
        rule = f"there are at most {MAX_POINTS} cachePoint blocks; found {found}"
        yield Problem("messages", rule, "Leave some out")
