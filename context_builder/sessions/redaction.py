"""Applies a redaction hook to what comes in, before it enters the log.

What is stored is then also what the model sees, so that a session that was reloaded
says the same as one that was not. Names, ids and what belongs to a vendor stay as they
are; reasoning that the hook would change is left out: half of it is worth nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from context_builder.collect import entry_from_dict, entry_to_dict
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem, LogEntry

__all__ = ["Redact", "Redactor"]

Redact = Callable[[str], str]
"""Takes a text, and returns what may be kept of it. It may see a text twice."""

_KEPT = frozenset(
    {
        "cache_key",
        "covers",
        "data",
        "detail",
        "entry",
        "extends",
        "extra",
        "file_id",
        "id",
        "item_id",
        "made_by",
        "media_type",
        "name",
        "role",
        "source",
        "tool_call_id",
        "tool_name",
        "tools",
        "type",
    }
)
"""Fields that are no content: names, ids, kinds, and bytes in base64."""


class Redactor:
    """Runs the hook over texts, items and entries."""

    def __init__(self, hook: Redact) -> None:
        self._hook = hook

    def text(self, text: str) -> str:
        """Return what may be kept of a text.

        Raises:
            InvalidItemError: If the hook does not return text.
        """
        kept: object = self._hook(text)
        if not isinstance(kept, str):
            message = f"redact must return text, not {type(kept).__name__}"
            raise InvalidItemError(message, field="redact")
        return kept

    def item(self, item: ContextItem) -> ContextItem:
        """Return what may be kept of an item."""
        redacted = self.entry(item)
        return redacted if isinstance(redacted, ContextItem) else item

    def entry(self, entry: LogEntry) -> LogEntry:
        """Return what may be kept of an entry; the same one if that is all of it."""
        data = entry_to_dict(entry)
        kept = self._walk(data)
        return entry if kept == data else entry_from_dict(kept)

    def _walk(self, value: Any, field: str = "") -> Any:
        match value:
            case str():
                return (
                    self._arguments(value) if field == "arguments" else self.text(value)
                )
            case list() | tuple():
                return [self._walk(part) for part in value]
            case dict():
                return {name: self._field(name, part) for name, part in value.items()}
            case _:
                return value

    def _field(self, name: str, value: Any) -> Any:
        if name == "metadata" and isinstance(value, dict):
            return {
                key: part if key == "extra" else self._whole(part)
                for key, part in value.items()
            }
        if name == "reasoning":
            return value if self._whole(value) == value else []
        return value if name in _KEPT else self._walk(value, name)

    def _whole(self, value: Any) -> Any:
        """Redact every text in a value, whatever it is called."""
        match value:
            case str():
                return self.text(value)
            case list() | tuple():
                return [self._whole(part) for part in value]
            case dict():
                return {name: self._whole(part) for name, part in value.items()}
            case _:
                return value

    def _arguments(self, arguments: str) -> str:
        """Redact inside the parsed object, so that it stays one."""
        try:
            parsed = json.loads(arguments)
            kept = self._whole(parsed)
        except (ValueError, RecursionError):
            return self.text(arguments)
        return arguments if kept == parsed else json.dumps(kept, ensure_ascii=False)
