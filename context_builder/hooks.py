"""Your own code in a session: what runs, when, and what it may do.

Hooks are code, so that no store keeps them: give them again when a session is loaded.
What a context provider says enters the log, so that a replay asks nobody.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from context_builder.collect.plain import need_list, wrong
from context_builder.decide.own_rungs import Refusal, held, name_of
from context_builder.decide.plan import LADDER, Rung
from context_builder.decide.rules import PriorityRule, Rules, Step
from context_builder.errors import InvalidItemError
from context_builder.items import ContextItem, Plan, Unit, UnitKind
from context_builder.passing import CONTEXT_PREFIX
from context_builder.transforms import Transform

if TYPE_CHECKING:
    from context_builder.recalling import SessionIndex
    from context_builder.targets import TargetKey

__all__ = [
    "LADDER",
    "Compaction",
    "ContextProvider",
    "HookFailure",
    "HookState",
    "Hooks",
    "ModelSwitch",
    "Moved",
    "Plan",
    "PriorityRule",
    "Rules",
    "Rung",
    "Step",
    "Transform",
    "Unit",
    "checked_hooks",
    "checked_provider",
]

_NAME = re.compile(r"[\w.-]{1,64}")
_MOST_FAILURES = 32
_MOST_BUILT = 64
_HIGHEST = 100


@dataclasses.dataclass(frozen=True, slots=True)
class ContextProvider:
    """Says something about the moment or the user, once for each user message."""

    name: str
    """Letters, digits, `_`, `.` and `-`; the model sees it as the source."""
    function: Callable[[], str | None]
    """Returns text; None or blank text: there is nothing to say."""
    is_volatile: bool = True
    """Whether it is true for one message only, such as the time. It then stands just
    before that message. Otherwise it enters again only when it has changed, takes the
    place of what was said before, and stays."""

    @property
    def source(self) -> str:
        """The source of the items that it gives."""
        return f"{CONTEXT_PREFIX}{self.name}"

    def item(self, text: str) -> ContextItem:
        """Return what it said as an item."""
        return ContextItem(
            role="user",
            content=text,
            source=self.source,
            optional=self.is_volatile,
            pinned=not self.is_volatile,
            cache_key=None if self.is_volatile else self.source,
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Moved:
    """What a compaction did to one item."""

    item_id: str
    rendition: str
    """How it is shown now: `shortened`, `reference`, `summary` or `absent`."""
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Compaction:
    """A compaction of one target. All tokens are input tokens of the whole request."""

    target: str
    model: str | None
    revision: int
    """The session's revision at which it happened."""
    reason: str
    budget_tokens: int
    tokens_before: int
    tokens_after: int
    moved: tuple[Moved, ...]
    """The items that are shown in another way since then, in order."""

    @property
    def freed_tokens(self) -> int:
        """What it freed."""
        return self.tokens_before - self.tokens_after

    @property
    def item_ids(self) -> tuple[str, ...]:
        """The items that are shown in another way since then."""
        return tuple(one.item_id for one in self.moved)

    @property
    def counts(self) -> Mapping[str, int]:
        """How many items are shown in which way since then."""
        return dict(Counter(one.rendition for one in self.moved))

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, ready for JSON."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True, slots=True)
class ModelSwitch:
    """A request for another model or vendor than the one before."""

    former_target: str
    former_model: str | None
    target: str
    model: str | None
    revision: int


@dataclasses.dataclass(frozen=True, slots=True)
class HookFailure:
    """A hook that raised; the session went on without it."""

    hook: str
    """`context_provider`, `ladder`, `priority_rule`, `on_compaction` or
    `on_model_switch`."""
    name: str
    """Of the provider or the function."""
    error: Exception
    revision: int


@dataclasses.dataclass(frozen=True, slots=True)
class Hooks:
    """Your own code in a session. Every field may be left out."""

    context_providers: tuple[ContextProvider, ...] = ()
    """Asked once for each user message; what they say enters the log."""
    before_build: tuple[Transform, ...] = ()
    """Take the items decided on and return those to be said, one after another."""
    on_compaction: tuple[Callable[[Compaction], object], ...] = ()
    """Called after a build in which the session was compacted, once each."""
    on_model_switch: tuple[Callable[[ModelSwitch], object], ...] = ()
    """Called after a build for another model or vendor than the one before."""
    ladder: tuple[Rung, ...] | None = None
    """The rungs of a compaction in their order; None: `LADDER`."""
    priority_rule: PriorityRule | None = None
    """Rates what nobody gave a priority; None: by kind and age."""


class HookState:
    """What a session knows of its hooks."""

    def __init__(self, hooks: Hooks) -> None:
        self.hooks = hooks
        self.providers = {one.name: one for one in hooks.context_providers}
        self.said: dict[str, str] = {}
        """The newest item of each provider, by source."""
        self.failures: deque[HookFailure] = deque(maxlen=_MOST_FAILURES)
        self.told: dict[TargetKey, int] = {}
        """Up to which revision of each target compactions were told."""
        self.loaded = 0
        """Compactions up to this revision happened before the session was loaded."""
        self.last_key: TargetKey | None = None
        self.is_asking = False
        self._refused: set[tuple[str, str, type[Exception]]] = set()
        self.built: deque[tuple[TargetKey, int, int]] = deque(maxlen=_MOST_BUILT)
        """What was built lately: for whom, at which revision, of how many messages."""
        self.index: SessionIndex | None = None
        """What the session holds, once somebody searched it."""

    def with_hooks(self, hooks: Hooks) -> HookState:
        """Return the same session's state with other hooks.

        Providers that were added to the session later stay.
        """
        former = {one.name: one for one in self.hooks.context_providers}
        added = {n: one for n, one in self.providers.items() if former.get(n) != one}
        state = HookState(hooks)
        state.providers |= added
        state.said, state.failures = self.said, self.failures
        state.told, state.loaded = self.told, self.loaded
        state.last_key, state.is_asking = self.last_key, self.is_asking
        state.built, state.index = self.built, self.index
        return state

    def rules(
        self, refuse: Callable[[str, str, Exception], None]
    ) -> tuple[tuple[Rung, ...] | None, PriorityRule | None]:
        """Return ladder and rule, such that no failure of theirs does harm.

        Args:
            refuse: Is told of the hook, of the function's name, and of what it raised.
        """

        def refuse_once(hook: str, name: str, error: Exception) -> None:
            kind = (hook, name, type(error))
            if kind not in self._refused:  # a rule is asked a thousand times
                self._refused.add(kind)
                refuse(hook, name, error)

        ladder, rule = self.hooks.ladder, self.hooks.priority_rule
        if ladder is not None:
            ladder = held(ladder, partial(refuse_once, "ladder"))
        if rule is None:
            return ladder, None
        return ladder, _held_rule(rule, partial(refuse_once, "priority_rule"))


def _held_rule(rule: PriorityRule, refuse: Refusal) -> PriorityRule:
    def rate(item: ContextItem, age: int, kind: UnitKind) -> int | None:
        try:
            return _checked_priority(rule(item, age, kind))
        except Exception as error:
            refuse(name_of(rule), error)
            return None

    return rate


def _checked_priority(rated: object) -> int | None:
    """Return what a rule gave, if it is a priority or None.

    Raises:
        ValueError: If it is neither.
    """
    if rated is None or (type(rated) is int and 0 <= rated <= _HIGHEST):
        return rated
    message = f"a priority is a whole number from 0 to {_HIGHEST}, or None"
    raise ValueError(message)


def checked_hooks(hooks: object) -> Hooks:
    """Return hooks; None: there are none.

    Raises:
        InvalidItemError: If they are something else, or one of them cannot be called.
    """
    if hooks is None:
        return Hooks()
    if not isinstance(hooks, Hooks):
        raise wrong(hooks, "hooks", "Hooks")
    return Hooks(
        context_providers=_checked_providers(hooks.context_providers),
        before_build=_callables(hooks.before_build, "before_build"),
        on_compaction=_callables(hooks.on_compaction, "on_compaction"),
        on_model_switch=_callables(hooks.on_model_switch, "on_model_switch"),
        ladder=_checked_ladder(hooks.ladder),
        priority_rule=_callable(hooks.priority_rule, "priority_rule"),
    )


def _callable(function: Any, field: str) -> Any:
    if function is not None and not callable(function):
        raise wrong(function, field, "a function")
    return function


def _callables(functions: Iterable[Any], field: str) -> tuple[Any, ...]:
    given = tuple(need_list(functions, field))
    if not all(map(callable, given)):
        raise wrong(functions, field, "functions")
    return given


def _checked_ladder(ladder: object) -> tuple[Rung, ...] | None:
    if ladder is None:
        return None
    rungs = tuple(need_list(ladder, "ladder"))
    if not rungs or not all(isinstance(rung, Rung) for rung in rungs):
        raise wrong(ladder, "ladder", "one or more Rungs")
    return rungs


def _checked_providers(providers: object) -> tuple[ContextProvider, ...]:
    given = tuple(need_list(providers, "context_providers"))
    for one in given:
        if not isinstance(one, ContextProvider):
            raise wrong(one, "context_providers", "ContextProviders")
        checked_provider(one)
    names = [one.name for one in given]
    if len(set(names)) < len(names):
        message = "context_providers: each needs a name of its own"
        raise InvalidItemError(message, field="context_providers")
    return given


def checked_provider(provider: ContextProvider) -> ContextProvider:
    """Return a provider that has a name and can be called.

    Raises:
        InvalidItemError: If it is not so.
    """
    name: object = provider.name
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise wrong(name, "name", "1 to 64 letters, digits, `_`, `.` or `-`")
    _callable(provider.function, "function")
    if not callable(provider.function):
        raise wrong(provider.function, "function", "a function")
    return provider
