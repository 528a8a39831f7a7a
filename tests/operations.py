"""What can be done to a session, as data: each step is one call of the public face.

`Session` applies steps and remembers, by rules of its own, what must then be in the
conversation: which items live, which message of the user's is the latest, what is
pinned. It is the yardstick that the promises are measured with.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from context_builder import ContextBuilder, ContextItem

__all__ = ["Op", "Session"]

Json = Any
"""What a caller may hand in."""


@dataclasses.dataclass(frozen=True)
class Op:
    """One step: a door of the builder, and what is handed in."""

    door: str
    given: Mapping[str, Json] = dataclasses.field(default_factory=dict)
    at: int = 0
    """For `edit`, `remove` and `rewind`: which item, counted round all that came in."""

    def __repr__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.given.items())
        return f"{self.door}({self.at or ''}{said})"


@dataclasses.dataclass
class Session:
    """A builder, and what must be true of its conversation."""

    ctx: ContextBuilder
    system: str | None = None
    live: list[str] = dataclasses.field(default_factory=list)
    """Ids of the items that nobody took out, in order, the system prompt left out."""
    has_begun: bool = False
    """Whether anything was said; until then a system message is the system prompt."""

    def apply(self, ops: Iterable[Op]) -> Session:
        """Take all the steps, and return the session."""
        for op in ops:
            self.step(op)
        return self

    def step(self, op: Op) -> None:
        """Take one step; one about an item does nothing in an empty session."""
        if op.door in {"edit", "remove", "rewind"}:
            items = self.items()
            if items:
                self._take_back(op, items[op.at % len(items)])
        elif op.door == "add_system_prompt":
            self._set_system(op)
        elif op.door == "clear":
            self.ctx.clear()
            self.live.clear()
            self.has_begun = False
        else:
            self._add(op)

    def item(self, item_id: str) -> ContextItem:
        """Return an item that came in, as it is stored."""
        return next(item for item in self.ctx.items if item.id == item_id)

    def items(self) -> list[ContextItem]:
        """Return what must be in the conversation, in order."""
        stored = {item.id: item for item in self.ctx.items}
        return [stored[item_id] for item_id in self.live]

    @property
    def latest_user(self) -> ContextItem | None:
        """The newest message of the user's own."""
        return next((item for item in reversed(self.items()) if item.is_spoken), None)

    # --- the doors ----------------------------------------------------------------

    def _add(self, op: Op) -> None:
        known = len(self.ctx.items)
        getattr(self.ctx, op.door)(**op.given)
        new = [item.id for item in self.ctx.items[known:]]
        if new and not self.has_begun and self.item(new[0]).role == "system":
            self.system = self.item(new.pop(0)).text
        self.live += new
        self.has_begun = self.has_begun or bool(new)

    def _set_system(self, op: Op) -> None:
        self.ctx.add_system_prompt(**op.given)
        prompt = op.given["prompt"]
        if prompt is None or prompt.strip():
            self.system = prompt

    def _take_back(self, op: Op, item: ContextItem) -> None:
        getattr(self.ctx, op.door)(item.id, **op.given)
        if op.door == "remove":
            self.live.remove(item.id)
        elif op.door == "rewind":
            del self.live[self.live.index(item.id) + 1 :]
