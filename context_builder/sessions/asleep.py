"""Puts a session aside that nobody uses, and takes it up again as it was."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pickle import PicklingError
from typing import TYPE_CHECKING

from context_builder.builder import ContextBuilder
from context_builder.packing import Texts, decided, outside_of, pack, take_up, unpack
from context_builder.targets import TargetKey

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.targets import Target

__all__ = ["PackedSession", "Sleeper"]

_STATE = ("_log", "_system", "_tools", "_has_items")


@dataclasses.dataclass(frozen=True, slots=True)
class PackedSession:
    """A session that nobody uses at the moment, small."""

    keys: tuple[TargetKey, ...]
    """What requests were decided for."""
    data: bytes
    """Log and decisions, as `pack` returned them."""
    texts: tuple[bytes, ...]
    """Their long texts, as `Texts.packed` returned them."""
    system_callable: Callable[[], str] | None
    """What is asked for the system prompt, if it is a function."""


class Sleeper(ContextBuilder):
    """A builder that can be put aside between two turns, in little memory."""

    _texts = Texts()
    """What was packed of its texts when it slept the last time."""

    def packed(self) -> PackedSession:
        """Return its log, and all that was decided.

        Raises:
            PicklingError: If there is somebody else's object in the log.
        """
        with self._lock:
            state = [getattr(self, name) for name in _STATE]
            said, targets = self._hook_state.said, self._targets
            decisions = [decided(target) for target in targets.values()]
            whole = (state, said, self._counted, decisions)
            keys, texts = tuple(targets), self._texts.to_add_to()
            try:
                data = pack(whole, _outside(targets.values()), texts)
            except PicklingError:  # somebody's own object: it is decided anew
                keys, data = (), pack((state, said, {}, []), {}, texts)
            return PackedSession(keys, data, texts.packed(), self._system_callable)

    def unpack(self, packed: PackedSession) -> None:
        """Become the session that was packed. Only an empty one can."""
        with self._lock:
            targets = [
                self._target(key.name, key.model, key.max_tokens) for key in packed.keys
            ]
            self._texts = Texts.of(packed.texts)
            whole = unpack(packed.data, _outside(targets), self._texts)
            state, self._hook_state.said, counted, decisions = whole
            for name, value in zip(_STATE, state, strict=True):
                setattr(self, name, value)
            self._system_callable = packed.system_callable
            self._hook_state.loaded = self._log.revision
            for name, known in counted.items():
                self._counted.setdefault(name, known).take_up(known)
            for target, decision in zip(targets, decisions, strict=True):
                take_up(target, decision)


def _outside(targets: Iterable[Target]) -> dict[str, object]:
    """Return what decisions work with, by names that tell whose it is."""
    return {
        f"{number}.{name}": value
        for number, target in enumerate(targets)
        for name, value in outside_of(target).items()
    }
