"""What was said of a conversation, item by item, so that it can be gone on with.

Between two compactions a request begins with the one before it. Who knows where two
prompts part need not say again what stands before that place.
"""

from __future__ import annotations

import operator
from array import array
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from context_builder.items import Mark
from context_builder.render.adapter import Rendering
from context_builder.render.kept import KeptMessages, KeptRendering
from context_builder.render.left_out import naming_losses

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from context_builder.items import ContextItem
    from context_builder.render.adapter import Count, Prompt

__all__ = ["Script", "ScriptWriter", "Spoken", "unchanged_items"]

_FIELD = "messages"


class Spoken:
    """The messages of a conversation while it is being said."""

    __slots__ = ("counts", "kept", "losses", "opening", "repairs", "sizes")

    def __init__(self) -> None:
        self.kept = KeptMessages()
        self.opening: dict[str, Any] | None = None
        """What stands before all items."""
        self.sizes = array("q")
        """Tokens of the first messages, as far as somebody counted them."""
        self.counts = array("I")
        """How many messages there are of each item."""
        self.repairs: list[tuple[int, Mark]] = []
        """What was repaired, and of which item, by its place."""
        self.losses: list[tuple[int, Mark]] = []
        """What a message does not carry of its item, by its place."""

    @classmethod
    def after(cls, former: Script, items: int) -> Spoken:
        """Return what was said of the first items."""
        spoken, known = cls(), former.spoken
        spoken.counts = known.counts[:items]
        spoken.opening = known.opening
        messages = (known.opening is not None) + sum(spoken.counts)
        spoken.kept = known.kept.first(messages)
        spoken.sizes = known.sizes[:messages]
        spoken.repairs = [one for one in known.repairs if one[0] < items]
        spoken.losses = [one for one in known.losses if one[0] < items]
        return spoken

    def open(self, message: dict[str, Any]) -> None:
        """Say what stands before all items."""
        self.opening = message
        self.kept.append(message)

    def add(
        self, item: ContextItem, said: list[dict[str, Any]], repairs: Iterable[str]
    ) -> None:
        """Say the next item, and what was repaired of it."""
        place = len(self.counts)
        marks = tuple(Mark(item.id, "repaired", reason) for reason in repairs)
        self.repairs += [(place, mark) for mark in marks]
        if item.reasoning or item.name is not None:
            spans = tuple((item.id, number) for number in range(len(said)))
            alone = Rendering(said, {}, repairs=marks, spans=spans)
            lost = naming_losses(alone, [item]).repairs[len(marks) :]
            self.losses += [(place, mark) for mark in lost]
        self.counts.append(len(said))
        text = item.content if isinstance(item.content, str) else ""
        for message in said:
            self.kept.append(message, text)


class Script(KeptRendering):
    """A conversation as it was said, which the next one may go on with."""

    __slots__ = ("_system", "is_plain", "items", "spoken")

    def __init__(
        self,
        system: ContextItem | None,
        items: tuple[ContextItem, ...],
        spoken: Spoken,
        frame: Mapping[str, Any],
        *,
        is_plain: bool,
        notes: Iterable[str] = (),
    ) -> None:
        marks = (*spoken.repairs, *spoken.losses)
        unsaid = (Mark("request", "repaired", note) for note in notes)
        repairs = (*(mark for _, mark in marks), *unsaid)
        super().__init__(spoken.kept, frame, _FIELD, repairs=repairs)
        self._system = system
        self.items = items
        """What was said, in order."""
        self.spoken = spoken
        """The messages of it."""
        self.is_plain = is_plain
        """Whether each call goes by its own id."""

    def goes_on(self, system: ContextItem | None) -> bool:
        """Say whether what was said still holds under a system prompt."""
        return self.is_plain and self._system is system

    @property
    def spans(self) -> Sequence[tuple[str, int]]:
        """Which message (index in `messages`) holds which item (its id)."""
        system = [] if self._system is None else [(self._system.id, 0)]
        spans, place = list(system), len(system)
        for item, count in zip(self.items, self.spoken.counts, strict=True):
            spans += [(item.id, place + number) for number in range(count)]
            place += count
        return spans


@runtime_checkable
class ScriptWriter(Protocol):
    """An adapter that can go on with what it said before."""

    def script(self, prompt: Prompt, former: Script | None = None) -> Script:
        """Say a prompt, from where it parts from the former one."""

    def script_tokens(self, script: Script, count: Count) -> int:
        """Count the finished request, and each of its messages once."""


def unchanged_items(
    former: tuple[ContextItem, ...], items: tuple[ContextItem, ...]
) -> int:
    """Return how many items two conversations begin with alike, whole rounds only.

    Calls and their results are said together: a round that may still grow does not
    count.
    """
    same = [*map(operator.is_, former, items)]
    alike = len(same) if all(same) else same.index(False)
    while alike and (
        items[alike - 1].role == "tool"
        or items[alike - 1].tool_calls
        or (alike < len(items) and items[alike].role == "tool")
    ):
        alike -= 1
    return alike
