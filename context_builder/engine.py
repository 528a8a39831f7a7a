"""What every face of a session stands on: its settings, and one decision per target.

It joins the three tiers and holds the cache of what was decided. A session's builder
may be used from several threads; everything that it hands out belongs to the caller.
"""

from __future__ import annotations

import importlib
import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from context_builder.building import Built
from context_builder.collect import Intake, SystemPrompt
from context_builder.collect.plain import wrong
from context_builder.errors import AdapterError, InvalidItemError
from context_builder.hooks import Hooks, HookState, checked_hooks
from context_builder.limits import Limits, check_limits, limits_for, provider_of
from context_builder.logs import log_event
from context_builder.measuring import Counted, SessionRuler
from context_builder.options import (
    BUDGETS,
    CONFIGURABLE,
    NAMED_OPTIONS,
    changed_options,
    checked_options,
    checked_settings,
)
from context_builder.render import KeptRendering, adapter_for
from context_builder.targets import Target, TargetKey
from context_builder.transforms import TargetHooks

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from context_builder.embeddings import AnyEmbedder, EmbeddingPolicy
    from context_builder.embeddings.desk import EmbeddingDesk
    from context_builder.settings import ItemLimits, RequestOptions, Settings
    from context_builder.summarizers import AnySummarizer, SummaryPolicy
    from context_builder.summarizers.desk import SummaryDesk
    from context_builder.tokens import TokenCounter

__all__ = ["Engine"]

_MOST_TARGETS = 8
"""Decisions kept at a time; one that was let go is worked out again from the log."""


class Engine(Intake):
    """Keeps the decisions of one session up to date; its faces are subclasses."""

    def __init__(
        self,
        *,
        model: str | None = None,
        max_tokens: int | None = None,
        context_window: int | None = None,
        system_prompt: SystemPrompt | None = None,
        tools: Iterable[object] | None = None,
        max_output_tokens: int | None = None,
        response_format: Mapping[str, Any] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        thinking_budget_tokens: int | None = None,
        settings: Settings | None = None,
        options: RequestOptions | None = None,
        summarizer: AnySummarizer | None = None,
        summary_policy: SummaryPolicy | None = None,
        embedder: AnyEmbedder | None = None,
        embedding_policy: EmbeddingPolicy | None = None,
        hooks: Hooks | None = None,
        counter: TokenCounter | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        super().__init__(clock=clock or time.time)
        self._model = model
        self._max_tokens = max_tokens
        self._context_window = context_window
        self._settings = checked_settings(settings)
        self._options = checked_options(
            options,
            max_output_tokens=max_output_tokens,
            response_format=response_format,
            tool_choice=tool_choice,
            thinking_budget_tokens=thinking_budget_tokens,
        )
        self._desk = _desk_of(summarizer, summary_policy)
        self._summary_policy = summary_policy
        self._embeddings = _embeddings_of(embedder, embedding_policy)
        self._embedding_policy = embedding_policy
        self._hook_state = HookState(checked_hooks(hooks))
        self._counter = counter
        self._targets: OrderedDict[TargetKey, Target] = OrderedDict()
        self._counted: dict[str, Counted] = {}
        self._built: TargetKey | None = None
        self._unanswered: tuple[TargetKey, int] | None = None
        """What was built last, and at which revision, until its answer comes in."""
        self._last: Built | None = None
        self._limits_of(TargetKey("openai", model, None))  # fails now, not later
        if system_prompt is not None:
            self.add_system_prompt(system_prompt)
        if tools is not None:
            self.set_tools(tools)

    # --- the session ----------------------------------------------------------------

    @property
    def is_dirty(self) -> bool:
        """Whether something changed since the last build."""
        with self._lock:
            target = self._targets.get(self._built) if self._built else None
            return target is None or not target.is_current(self._log)

    @property
    def model(self) -> str | None:
        """The model that requests are for, unless they name another."""
        return self._model

    @property
    def _item_limits(self) -> ItemLimits:
        return self._settings.item_limits

    @property
    def settings(self) -> Settings:
        """How decisions are made."""
        return self._settings

    @property
    def budget_tokens(self) -> int:
        """The input budget, tools and framing included."""
        return self._limits_of(TargetKey("openai", self._model, None)).budget_tokens

    def configure(self, **changes: Any) -> None:
        """Change settings of the session; what is decided is decided anew.

        They are those of the class, but for what has doors of its own (system prompt
        and tools) and for `counter` and `clock`. What was decided under the former
        settings is decided anew from the log. None is the default of a setting; the
        named options of requests (`max_output_tokens`, ...) stay beside the others.
        Providers that were added with `add_context_provider` stay beside other hooks.

        Raises:
            InvalidItemError: If a name is none of these, or no budget is left.
            UnknownModelError: If the model's window is not known.
        """
        for name in changes:
            if name not in CONFIGURABLE:
                known = ", ".join(CONFIGURABLE)
                message = f"{name} is no setting; settings are {known}"
                raise InvalidItemError(message, field=name)
        with self._lock:
            new = self._checked(changes)
            former = {name: getattr(self, name) for name in new}
            vars(self).update(new)
            try:
                self._limits_of(TargetKey("openai", self._model, None))
            except Exception:
                vars(self).update(former)
                raise
            self._targets.clear()
            self._built = self._unanswered = None
            if self._desk is not None:
                self._desk.forget()
            if self._embeddings is not None:
                self._embeddings.forget()

    # --- inside ---------------------------------------------------------------------

    def _checked(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return what a change of settings sets, by attribute; nothing is set yet.

        Raises:
            InvalidItemError: If a value is not what it has to be.
        """
        new = {f"_{name}": changes[name] for name in changes if name in BUDGETS}
        if "settings" in changes:
            new["_settings"] = checked_settings(changes["settings"])
        named = {name: changes[name] for name in changes if name in NAMED_OPTIONS}
        if named or "options" in changes:
            options = changed_options(changes.get("options", self._options), named)
            new["_options"] = options
        if "summarizer" in changes or "summary_policy" in changes:
            desk = self._desk
            summarizer = changes.get("summarizer", desk and desk.summarizer)
            policy = changes.get("summary_policy", self._summary_policy)
            new["_desk"] = made = _desk_of(summarizer, policy)
            if made is not None and desk is not None:
                made.guard = desk.guard  # one at a time, whoever is asked
            new["_summary_policy"] = policy
        if "embedder" in changes or "embedding_policy" in changes:
            former = self._embeddings and self._embeddings.embedder
            embedder = changes.get("embedder", former)
            policy = changes.get("embedding_policy", self._embedding_policy)
            new["_embeddings"] = _embeddings_of(embedder, policy)
            new["_embedding_policy"] = policy
        if "hooks" in changes:
            state = self._hook_state
            new["_hook_state"] = state.with_hooks(checked_hooks(changes["hooks"]))
        return new

    def _model_for(self, target: str, model: str | None) -> str | None:
        """Return the model that a request names.

        Raises:
            AdapterError: If there is none that this vendor could have.
        """
        if model:
            return model
        if self._model is None:
            message = (
                "a request names its model: pass model=, here or to ContextBuilder"
            )
            raise AdapterError(message, adapter=target)
        provider = provider_of(self._model)
        served = adapter_for(target).capabilities.providers
        if served and provider is not None and provider not in served:
            message = (
                f"the session's model {self._model!r} is one of {provider}, which "
                f"{target} does not serve: pass model= with one that it does"
            )
            raise AdapterError(message, adapter=target)
        return self._model

    def _rendering(
        self, target: str, model: str | None, max_tokens: int | None
    ) -> KeptRendering:
        with self._lock:
            asked = self._target(target, model, max_tokens)
            self._built = asked.key
            rendering = self._rendered(asked)
            self._unanswered = unanswered = (asked.key, self._log.revision)
        self._built_for(asked)
        self._last = Built((target, model, max_tokens), unanswered, rendering)
        return rendering

    def _built_for(self, asked: Target) -> None:
        """Take note of a build that somebody asked for; the lock is not held."""

    def _tell_compactions(self, asked: Target) -> None:
        """Tell of what a target's decision compacted; the lock is not held."""

    def _hook_failed(self, hook: str, name: str, error: Exception) -> None:
        """Take note of a hook that raised; the session goes on without it."""

    def _rendered(self, asked: Target) -> KeptRendering:
        """Return a target's request; the first time, it is an event."""
        if asked.is_current(self._log):
            return asked.rendering(self._log)
        started = time.perf_counter()
        self._catch_up(asked)
        rendering = asked.rendering(self._log)
        compactions, asked.told_compactions = asked.told_compactions, asked.compactions
        self._event(
            "context_built",
            target=asked.key.name,
            model=asked.key.model,
            revision=self._log.revision,
            tokens=asked.tokens,
            budget_tokens=asked.limits.budget_tokens,
            messages=rendering.count,
            compactions=asked.compactions - compactions,
            duration_seconds=round(time.perf_counter() - started, 6),
        )
        return rendering

    def _catch_up(self, asked: Target) -> None:
        """Decide what was logged since the last time; a compaction is an event.

        What was loaded was told of by whoever decided it first.
        """
        started = time.perf_counter()
        if asked.position < self._hook_state.loaded:
            asked.catch_up(self._log, until=self._hook_state.loaded)
            asked.told_compactions = asked.compactions
        fold = asked.fold
        compactions, left_out_items = fold.compactions, fold.telling.evicted_items
        asked.catch_up(self._log)
        if fold.compactions > compactions:
            self._event(
                "compacted",
                target=asked.key.name,
                model=asked.key.model,
                revision=self._log.revision,
                compactions=fold.compactions - compactions,
                left_out_items=fold.telling.evicted_items - left_out_items,
                tokens=fold.tokens,
                budget_tokens=fold.limit_tokens,
                duration_seconds=round(time.perf_counter() - started, 6),
            )

    @property
    def _is_writable(self) -> bool:
        """Whether something can be added to the log now."""
        return True

    @property
    def _session_name(self) -> str | None:
        """What the session is called, if it has a name."""
        return None

    def _event(self, event: str, *, level: int = logging.DEBUG, **facts: Any) -> None:
        """Log an event; a session adds its name."""
        log_event(event, level=level, **facts)

    def _target_key(
        self, target: object, model: str | None, max_tokens: int | None
    ) -> TargetKey:
        """Name what a request is for.

        Raises:
            InvalidItemError: If the vendor, the model or the budget is none.
        """
        if not isinstance(target, str):
            raise wrong(target, "target", "the name of a vendor")
        check_limits(model, max_tokens=max_tokens)
        return TargetKey(target, model or self._model, max_tokens)

    def _target(self, target: str, model: str | None, max_tokens: int | None) -> Target:
        key = self._target_key(target, model, max_tokens)
        known = self._targets.get(key)
        if known is not None:
            self._targets.move_to_end(key)
            return known
        made = self._made_target(key)
        self._targets[key] = made
        if len(self._targets) > _MOST_TARGETS:
            gone, _ = self._targets.popitem(last=False)
            if self._last is not None and self._last.unanswered[0] == gone:
                self._last = None
        return made

    def _made_target(self, key: TargetKey) -> Target:
        """Make what decides for a request; it has taken in nothing yet."""
        adapter = adapter_for(key.name)
        counter = self._counter or adapter.counter(key.model)
        counted = self._counted.setdefault(counter.name, Counted())
        return Target(
            key,
            adapter=adapter,
            ruler=SessionRuler(
                adapter,
                key.model,
                counter.count,
                counted,
                count_many=getattr(counter, "count_many", None),
                adds_up=getattr(counter, "adds_up", False),
            ),
            limits=self._limits_of(key),
            settings=self._settings,
            options=self._options,
            is_exact=counter.is_exact,
            hooks=self._target_hooks(),
        )

    def _target_hooks(self) -> TargetHooks:
        ladder, rule = self._hook_state.rules(self._hook_failed)
        return TargetHooks(ladder, rule, self._hook_state.hooks.before_build)

    def _limits_of(self, key: TargetKey) -> Limits:
        return limits_for(
            model=key.model,
            max_tokens=self._max_tokens if key.max_tokens is None else key.max_tokens,
            context_window=self._context_window,
            options=self._options,
            settings=self._settings,
        )


def _desk_of(summarizer: object, policy: object) -> SummaryDesk | None:
    """Return what asks a summariser; None: there is none to ask.

    Raises:
        InvalidItemError: If it is no summariser, or the policy is none.
    """
    if summarizer is None and policy is None:
        return None
    # Who needs none pays nothing for it: the package is loaded now.
    module = importlib.import_module("context_builder.summarizers.desk")
    checked = module.checked_policy(policy)
    return None if summarizer is None else module.SummaryDesk(summarizer, checked)


def _embeddings_of(embedder: object, policy: object) -> EmbeddingDesk | None:
    """Return what asks an embedder; None: there is none to ask.

    Raises:
        InvalidItemError: If it is no embedder, or the policy is none.
    """
    if embedder is None and policy is None:
        return None
    module = importlib.import_module("context_builder.embeddings.desk")
    checked = module.checked_embedding_policy(policy)
    return None if embedder is None else module.EmbeddingDesk(embedder, checked)
