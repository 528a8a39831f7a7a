"""Records what happens in one session: every entry is checked, named and appended.

Each entry is whole or is not made at all. Several threads may use one session; entries
are made under its lock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from context_builder.collect.bounds import check_entry, check_items, check_tools
from context_builder.collect.checks import check_item, is_time
from context_builder.collect.content import is_blank
from context_builder.collect.doors import edited_item
from context_builder.collect.imports import read_tools
from context_builder.collect.log import SessionLog
from context_builder.collect.plain import need_list, wrong
from context_builder.copies import changed
from context_builder.errors import InvalidItemError
from context_builder.items import (
    Cleared,
    ContextItem,
    ItemEdited,
    ItemRemoved,
    ItemsAdded,
    LogEntry,
    Rewound,
    SystemSet,
    ToolsSet,
)
from context_builder.settings import ItemLimits

__all__ = ["Recorder", "SystemPrompt"]

SystemPrompt = str | Callable[[], str]

_LIMITS = ItemLimits()


class Recorder:
    """Holds a session's log, and adds to it."""

    def __init__(self, *, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._log = SessionLog()
        self._lock = threading.RLock()
        self._system_callable: Callable[[], str] | None = None
        self._system: ContextItem | None = None
        self._tools: tuple[Mapping[str, Any], ...] = ()
        self._has_items = False

    @property
    def items(self) -> tuple[ContextItem, ...]:
        """All items that ever came in, whole, in order; edited ones as edited."""
        with self._lock:
            return self._log.items

    @property
    def log(self) -> SessionLog:
        """All that happened, append-only: what a store keeps. Only doors add to it."""
        return self._log

    @property
    def _item_limits(self) -> ItemLimits:
        """How large and how many the things may be that come in."""
        return _LIMITS

    @property
    def revision(self) -> int:
        """Moves on with every real change."""
        return self._log.revision

    def add_turn(self, items: Iterable[ContextItem]) -> tuple[ContextItem, ...]:
        """Add several items as one entry, which no other thread can split.

        Raises:
            InvalidItemError: If one is not a `ContextItem`, has a field that is not
                what it has to be, or passes a limit; nothing is added.
        """
        waiting = [
            _checked(item, number)
            for number, item in enumerate(need_list(items, "items"))
        ]
        with self._lock:
            present = self._log.item_count
            check_items(waiting, self._item_limits, present=present)
            logged: list[ContextItem] = []
            if waiting and waiting[0].role == "system" and not self._has_items:
                system = self._set_system(waiting[0].text, item=waiting[0])
                logged += [system] if system else []
                del waiting[0]
            if not waiting:
                return tuple(logged)
            at, context = self._latest_spoken(waiting), []
            if at is not None:
                self._ask_system()
                context = self._context_for(waiting)
                waiting[at:at] = context
            named = tuple(
                self._named(item, offset) for offset, item in enumerate(waiting)
            )
            self._append(ItemsAdded(named) if len(named) > 1 else named[0])
            if not context or at is None:
                return (*logged, *named)
            return (*logged, *named[:at], *named[at + len(context) :])

    def _latest_spoken(self, items: Sequence[ContextItem]) -> int | None:
        """Return the place of the latest message of the user's own."""
        for place in range(len(items) - 1, -1, -1):
            if items[place].is_spoken:
                return place
        return None

    def _context_for(self, waiting: Sequence[ContextItem]) -> list[ContextItem]:
        """Return what is to stand just before a user message that is logged now."""
        del waiting
        return []

    def add_system_prompt(self, prompt: SystemPrompt | None) -> ContextItem | None:
        """Set the system prompt: it replaces the former one, and is never cut.

        A callable is run now and whenever a user message is added; its value enters the
        log. None takes the system prompt away; blank text is ignored.

        Returns:
            The item as logged; None if nothing changed.

        Raises:
            InvalidItemError: If it is neither text nor a callable.
        """
        with self._lock:
            if callable(prompt):
                text = _said_by(prompt)
                self._system_callable = prompt
                return self._set_system(text)
            if prompt is not None and not isinstance(prompt, str):
                raise wrong(prompt, "system_prompt", "text or a callable")
            if prompt is not None and is_blank(prompt):
                return None
            self._system_callable = None
            return self._set_system(prompt)

    def set_tools(self, tools: Iterable[object]) -> None:
        """Set the tool definitions; the same ones again change nothing.

        Raises:
            InvalidItemError: If one has no name, or two have the same.
        """
        read = read_tools(tools)
        with self._lock:
            if read == self._tools:
                return
            check_tools(read, self._item_limits)
            self._append(ToolsSet(read))

    # --- what is taken back -------------------------------------------------------

    def edit(self, item_id: str, **changes: Any) -> ContextItem:
        """Change an item: its content, priority, pinned, ... The log keeps the former.

        An item that was taken out of the conversation stays as it was.

        Returns:
            The item as it is now.

        Raises:
            InvalidItemError: If there is no such item, or a change is not allowed.
        """
        with self._lock:
            item = self._log.find(item_id)
            if not self._log.holds(item_id):
                return item
            edited = edited_item(item, changes)
            check_items((edited,), self._item_limits, present=0)
            if edited != item:
                self._append(ItemEdited(edited))
            return edited

    def remove(self, item_id: str) -> None:
        """Take an item out of the conversation. The log keeps it.

        One that is out already changes nothing.

        Raises:
            InvalidItemError: If there is no such item.
        """
        with self._lock:
            if not self._log.holds(item_id):
                return
            if self._system is not None and self._system.id == item_id:
                self.add_system_prompt(None)
            else:
                self._append(ItemRemoved(item_id))

    def rewind(self, item_id: str) -> None:
        """Take out everything after this item: regenerating is rewind and build.

        The system prompt and the tools stay as they are now.

        Raises:
            InvalidItemError: If there is no such item.
        """
        with self._lock:
            if not self._log.ends_with(item_id):
                self._append(Rewound(item_id))

    def clear(self) -> None:
        """Start the conversation anew; the system prompt and the tools stay."""
        with self._lock:
            if self._has_items:
                self._append(Cleared())

    # --- inside -------------------------------------------------------------------

    def _named(self, item: ContextItem, offset: int = 0) -> ContextItem:
        """Return the item under the id that it gets next, and with its time."""
        time = self._time_of(item)
        return changed(item, id=self._log.next_id(offset), timestamp=time)

    def _stamped(self, item: ContextItem) -> ContextItem:
        """Return the item with its time."""
        return changed(item, timestamp=self._time_of(item))

    def _time_of(self, item: ContextItem) -> float:
        if item.timestamp is not None:
            return item.timestamp
        now = self._clock()
        if not is_time(now):
            raise wrong(now, "clock", "a callable that returns seconds")
        return now

    def _admit(self, entry: LogEntry) -> None:
        """Append an entry that was read from somewhere, if it keeps to the limits.

        Raises:
            InvalidItemError: If it passes one, or speaks of what is not there.
        """
        check_entry(entry, self._item_limits, present=self._log.item_count)
        self._append(entry)

    def _append(self, entry: LogEntry) -> None:
        self._log.append(entry)
        match entry:
            case SystemSet():
                self._system = entry.item
            case ToolsSet():
                self._tools = entry.tools
            case ItemEdited() if self._system and entry.item.id == self._system.id:
                self._system = entry.item
            case ContextItem() | ItemsAdded():
                self._has_items = True
            case Cleared():
                self._has_items = False
            case _:
                pass

    def _ask_system(self) -> None:
        if self._system_callable is not None:
            self._set_system(_said_by(self._system_callable))

    def _set_system(
        self, text: str | None, item: ContextItem | None = None
    ) -> ContextItem | None:
        known = None if self._system is None else self._system.text
        if text == known or (text is not None and is_blank(text)):
            return None
        if text is None:
            self._append(SystemSet(None))
            return None
        item = item or ContextItem(role="system", content=text, source="system_prompt")
        check_items((item,), self._item_limits, present=self._log.item_count)
        named = self._named(item)
        self._append(SystemSet(named))
        return named


def _said_by(prompt: Callable[[], str]) -> str:
    text: object = prompt()
    if not isinstance(text, str):
        message = (
            f"the system prompt's callable must return text, not {type(text).__name__}"
        )
        raise InvalidItemError(message, field="system_prompt", value=text)
    return text


def _checked(item: object, number: int) -> ContextItem:
    if not isinstance(item, ContextItem):
        raise wrong(item, f"items[{number}]", "a ContextItem")
    return check_item(item)
