"""Runs a session's hooks at their moments, and keeps their failures from doing harm."""

from __future__ import annotations

import inspect
import logging
from typing import TYPE_CHECKING, Any

from context_builder.collect import is_blank
from context_builder.decide.own_rungs import name_of
from context_builder.engine import Engine
from context_builder.entries import ItemsAdded
from context_builder.hooks import (
    Compaction,
    ContextProvider,
    HookFailure,
    ModelSwitch,
    Moved,
    checked_provider,
)
from context_builder.items import ContextItem
from context_builder.passing import CONTEXT_PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from context_builder.decide.lowered import Lowered
    from context_builder.items import LogEntry
    from context_builder.targets import Target

__all__ = ["Hooked"]

_MADE_HERE = frozenset({"repair", "recall"})


class Hooked(Engine):
    """Asks context providers, and tells of compactions and of another model."""

    def add_context_provider(
        self,
        name: str,
        function: Callable[[], str | None],
        *,
        is_volatile: bool = True,
    ) -> None:
        """Have a function asked at each user message; what it says enters the log.

        One of the same name takes the place of the former. A provider that raises is
        left out for that message, and reported in `hook_failures`.

        Args:
            name: Letters, digits, `_`, `.` and `-`.
            function: Returns text; None or blank text: there is nothing to say.
            is_volatile: Whether it is true for one message only, such as the time.
                Otherwise, as with a profile, it enters again only when it has changed.

        Raises:
            InvalidItemError: If the name is none, or the function cannot be called.
        """
        provider = checked_provider(
            ContextProvider(name, function, is_volatile=is_volatile)
        )
        with self._lock:
            self._hook_state.providers[name] = provider

    @property
    def hook_failures(self) -> tuple[HookFailure, ...]:
        """The latest failures of hooks that the session went on without."""
        return tuple(self._hook_state.failures)

    # --- what providers say ---------------------------------------------------------

    def _context_for(self, waiting: Sequence[ContextItem]) -> list[ContextItem]:
        """Ask the providers, once, for a user message that is about to be logged."""
        state = self._hook_state
        if state.is_asking or not state.providers:
            return super()._context_for(waiting)
        state.is_asking = True
        try:
            asked = sorted(state.providers.values(), key=lambda one: one.is_volatile)
            return [item for one in asked if (item := self._said_by_provider(one))]
        finally:
            state.is_asking = False

    def _said_by_provider(self, provider: ContextProvider) -> ContextItem | None:
        """Return what a provider has to say that is not said already."""
        try:
            text = _text_of(provider.function())
        except Exception as error:
            self._hook_failed("context_provider", provider.name, error)
            return None
        if text is None:
            return None
        item = self._stamped(provider.item(text))
        known = self._hook_state.said.get(provider.source)
        if provider.is_volatile or known is None or not self._log.holds(known):
            return item
        return None if self._log.find(known).text == item.text else item

    def _append(self, entry: LogEntry) -> None:
        super()._append(entry)
        for item in _added(entry):
            if item.source.startswith(CONTEXT_PREFIX):
                self._hook_state.said[item.source] = item.id

    # --- what is told of builds -----------------------------------------------------

    def _built_for(self, asked: Target) -> None:
        """Tell of a build; outside of the lock, so that a hook may take its time."""
        with self._lock:
            state = self._hook_state
            former, state.last_key = state.last_key, asked.key
            revision = self._log.revision
        if former is not None and (former.name, former.model) != (
            asked.key.name,
            asked.key.model,
        ):
            self._tell_switch(
                ModelSwitch(
                    former_target=former.name,
                    former_model=former.model,
                    target=asked.key.name,
                    model=asked.key.model,
                    revision=revision,
                )
            )
        self._tell_compactions(asked)

    def _tell_switch(self, switch: ModelSwitch) -> None:
        self._event(
            "model_switched",
            former_target=switch.former_target,
            former_model=switch.former_model,
            target=switch.target,
            model=switch.model,
            revision=switch.revision,
        )
        for hook in self._hook_state.hooks.on_model_switch:
            self._call("on_model_switch", hook, switch)

    def _tell_compactions(self, asked: Target) -> None:
        """Tell of each compaction that was not told of, whoever asks first."""
        state = self._hook_state
        with self._lock:
            told = max(state.told.get(asked.key, 0), state.loaded)
            taken = asked.take_lowered()
            news = [
                _compaction(asked, revision, lowered)
                for revision, lowered in taken
                if revision > told and state.hooks.on_compaction
            ]
            state.told[asked.key] = max(told, asked.position)
        for compaction in news:
            for hook in state.hooks.on_compaction:
                self._call("on_compaction", hook, compaction)

    def _call(self, kind: str, hook: Callable[[Any], object], value: object) -> None:
        try:
            hook(value)
        except Exception as error:
            self._hook_failed(kind, name_of(hook), error)

    def _hook_failed(self, hook: str, name: str, error: Exception) -> None:
        failure = HookFailure(hook, name, error, self._log.revision)
        self._hook_state.failures.append(failure)
        self._event(
            "hook_failed",
            level=logging.WARNING,
            hook=hook,
            hook_name=name,
            error=type(error).__name__,
        )


def _text_of(said: object) -> str | None:
    """Return what a provider said; None if it was nothing.

    Raises:
        TypeError: If it is something else than text.
    """
    if inspect.iscoroutine(said):
        said.close()
        message = "a context provider is a plain function: await before, not in it"
        raise TypeError(message)
    if said is not None and not isinstance(said, str):
        message = f"a context provider returns text, not {type(said).__name__}"
        raise TypeError(message)
    return None if said is None or is_blank(said) else said


def _added(entry: LogEntry) -> tuple[ContextItem, ...]:
    if isinstance(entry, ContextItem):
        return (entry,)
    return entry.items if isinstance(entry, ItemsAdded) else ()


def _compaction(asked: Target, revision: int, lowered: Lowered) -> Compaction:
    moved = tuple(
        Moved(item.id, unit.rendition, unit.reason)
        for unit in lowered.units
        for item in unit.originals
        if item.source not in _MADE_HERE
    )
    return Compaction(
        target=asked.key.name,
        model=asked.key.model,
        revision=revision,
        reason=lowered.reason,
        budget_tokens=lowered.limit_tokens,
        tokens_before=lowered.tokens_before,
        tokens_after=lowered.tokens_after,
        moved=moved,
    )
