"""Frames for text that nobody said: memories, summaries, notes, notices.

Such text is data. It stands in a user message, in a frame that names where it comes
from and that its own text cannot close, so that it can never pass for a turn.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from context_builder.messages import Content, TextPart
from context_builder.passing import CONTEXT_PREFIX

if TYPE_CHECKING:
    from context_builder.items import ContextItem

__all__ = ["frame", "framed_content", "note_text"]

_ENTITIES = (
    ("&", "&amp;"),
    (">", "&gt;"),
    ("<", "&lt;"),
    ("\n", "&#10;"),
    ("\r", "&#13;"),
    ("\t", "&#9;"),
)

_OWN = (
    "background",
    "compacted",
    "event",
    "file",
    "memory",
    "notice",
    "recalled",
    "summary",
    "system-note",
    "tool-call",
    "tool-result",
)
"""All frames that the library makes: text inside of one can neither close it nor open
another, or what a page said would pass for a summary of ours."""
_GAP = r"[\s\u200b-\u200f\u2060-\u2064\ufeff]*"
"""What a reader may overlook between the brackets and the name."""
_OPENS = re.compile(rf"<(?={_GAP}/?{_GAP}(?:{'|'.join(_OWN)})\b)", re.IGNORECASE)

_LINE_CHARS = 80
"""Text up to this length stands in one line with its frame."""
_TAGS = {
    "memory": "memory",
    "summary": "summary",
    "event": "event",
    "notice": "notice",
    "recall": "recalled",
}


def frame(tag: str, text: str, **attributes: str) -> str:
    """Put text into a frame that it cannot close itself, one of `_OWN`."""
    inner = _OPENS.sub(r"<\\", text) if "<" in text else text
    said = "".join(f" {name}={_quoted(value)}" for name, value in attributes.items())
    line = "\n" if "\n" in inner or len(inner) > _LINE_CHARS else ""
    return f"<{tag}{said}>{line}{inner}{line}</{tag}>"


def note_text(text: str) -> str:
    """Say a system message where the vendor takes none in mid-conversation."""
    return frame("system-note", text)


def framed_content(item: ContextItem) -> Content:
    """Return an item's content, framed where it is not the speaker's own word."""
    if item.role != "user" or item.is_spoken or item.source in {"user", "message"}:
        return item.content
    tag = _TAGS.get(item.source, "background")
    source = item.source.removeprefix(CONTEXT_PREFIX)
    attributes = {} if item.source in _TAGS else {"source": source}
    if isinstance(item.content, str):
        return frame(tag, item.content, **attributes)
    return tuple(
        part.model_copy(update={"text": frame(tag, part.text, **attributes)})
        if isinstance(part, TextPart)
        else part
        for part in item.content
    )


def _quoted(value: str) -> str:
    """Return an attribute in quotes that its own text cannot close.

    As `xml.sax.saxutils.quoteattr`, which is slow to load: it brings urllib with it.
    """
    for char, entity in _ENTITIES:
        value = value.replace(char, entity)
    if '"' not in value:
        return f'"{value}"'
    return f"'{value}'" if "'" not in value else f'"{value.replace(chr(34), "&quot;")}"'
