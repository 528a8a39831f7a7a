"""The facade: takes everything in, and hands out a request that fits and is valid.

It joins the three tiers and holds the cache of what was decided. A session's builder
may be used from several threads; everything that it hands out belongs to the caller.
"""

from __future__ import annotations

import logging
import time
from collections import OrderedDict
from typing import TYPE_CHECKING, Any, Self

from context_builder.collect import (
    Intake,
    SystemPrompt,
    Usage,
    log_from_dicts,
    log_to_dicts,
    read_response,
)
from context_builder.collect.plain import need_list, need_text, need_tokens, wrong
from context_builder.copies import copy_json
from context_builder.errors import AdapterError, InvalidItemError
from context_builder.items import LimitLearned, UsageRecorded
from context_builder.limits import Limits, check_limits, limits_for
from context_builder.logs import log_event
from context_builder.options import checked_options, checked_settings
from context_builder.render import Rendering, adapter_for
from context_builder.targets import SessionRuler, Target, TargetKey

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from context_builder.report import Report
    from context_builder.settings import RequestOptions, Settings
    from context_builder.tokens import TokenCounter

__all__ = ["ContextBuilder", "SystemPrompt"]

_MOST_TARGETS = 8
"""Decisions kept at a time; one that was let go is worked out again from the log."""


class ContextBuilder(Intake):
    """Decides what a model sees before each call, for one session.

    Args:
        model: The model that the requests are for; its window gives the budget.
        max_tokens: An explicit input budget in tokens, tools and framing included.
        context_window: The model's window in tokens, where the model is not known.
        system_prompt: Text, or a callable that is asked at each user message.
        tools: Tool definitions in OpenAI's format. They count in every budget.
        max_output_tokens: The reply's limit. It is sent, and kept free.
        response_format: The shape of the answer, as OpenAI's `response_format`.
        tool_choice: `auto`, `none`, `required`, or an object that names a function.
        thinking_budget_tokens: Tokens for thinking, where the vendor takes a number.
        settings: How decisions are made; None: the defaults.
        options: Further settings of the request; the named arguments above win.
        counter: Counts tokens in place of the model's own counter.
        clock: Gives the time for timestamps, in seconds; None: the system's.

    Raises:
        InvalidItemError: If nothing says how large the budget is.
        UnknownModelError: If the model's window is not known and no budget is given.
    """

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
        self._counter = counter
        self._targets: OrderedDict[TargetKey, Target] = OrderedDict()
        self._counts: dict[str, dict[int, int]] = {}
        self._built: TargetKey | None = None
        self._limits_of(TargetKey("openai", model, None))  # fails now, not later
        if system_prompt is not None:
            self.add_system_prompt(system_prompt)
        if tools is not None:
            self.set_tools(tools)

    # --- what goes out --------------------------------------------------------------

    def build(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the messages that the model shall see, in the target's format.

        Args:
            target: The vendor, such as `"openai"`.
            model: For another model than the session's.
            max_tokens: For another input budget than the session's.

        Raises:
            BudgetExceededError: If what may not be left out is larger than the budget.
            AdapterError: If the vendor cannot express it.
            UnknownModelError: If the model's window would have to be guessed.
        """
        messages: list[dict[str, Any]] = copy_json(
            self._rendering(target, model, max_tokens).messages
        )
        return messages

    def request(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Return the keyword arguments of the vendor's SDK call, tools included.

        Raises:
            BudgetExceededError: As `build`.
            AdapterError: As `build`; or if no model is named, or there is nothing to
            say.
            UnknownModelError: As `build`.
        """
        rendering = self._rendering(target, self._model_for(target, model), max_tokens)
        if not rendering.messages:
            message = "there is nothing to send yet"
            raise AdapterError(message, adapter=target)
        request: dict[str, Any] = copy_json(rendering.request)
        return request

    def explain(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> Report:
        """Return what became of every item in the request, and why.

        Raises:
            BudgetExceededError: As `build`.
            AdapterError: As `build`.
            UnknownModelError: As `build`.
        """
        with self._lock:
            asked = self._target(target, model, max_tokens)
            self._rendered(asked)
            return asked.report(self._log)

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
    def budget_tokens(self) -> int:
        """The input budget, tools and framing included."""
        return self._limits_of(TargetKey("openai", self._model, None)).budget_tokens

    def configure(self, **changes: Any) -> None:
        """Change settings of the session; what is decided is decided anew.

        They are `model`, `max_tokens`, `context_window`, `settings` and `options`.
        What was decided under the former settings is decided anew from the log.

        Raises:
            InvalidItemError: If a name is none of these, or no budget is left.
            UnknownModelError: If the model's window is not known.
        """
        known = ("model", "max_tokens", "context_window", "settings", "options")
        for name in changes:
            if name not in known:
                message = f"{name} is no setting; settings are {', '.join(known)}"
                raise InvalidItemError(message, field=name)
        if "settings" in changes:
            changes["settings"] = checked_settings(changes["settings"])
        if "options" in changes:
            changes["options"] = checked_options(changes["options"])
        with self._lock:
            former = {name: getattr(self, f"_{name}") for name in changes}
            self._assign(changes)
            try:
                self._limits_of(TargetKey("openai", self._model, None))
            except Exception:
                self._assign(former)
                raise
            self._targets.clear()
            self._built = None

    def dump(self) -> list[dict[str, Any]]:
        """Return the session's log as plain data, ready for JSON."""
        with self._lock:
            dumped: list[dict[str, Any]] = copy_json(log_to_dicts(self._log))
            return dumped

    @classmethod
    def load(cls, entries: Iterable[Mapping[str, Any]], **settings: Any) -> Self:
        """Return a builder with a log that `dump` wrote; its requests are the same.

        Args:
            entries: What `dump` returned.
            **settings: As for the class itself. A system prompt and tools are set after
                what was logged; the same ones again change nothing.

        Raises:
            InvalidItemError: If it is no such log, or of a later version.
        """
        prompt = settings.pop("system_prompt", None)
        tools = settings.pop("tools", None)
        builder = cls(**settings)
        for entry in log_from_dicts(copy_json(need_list(entries, "entries"))):
            builder._append(entry)
        if prompt is not None:
            builder.add_system_prompt(prompt)
        if tools is not None:
            builder.set_tools(tools)
        return builder

    # --- inside
    # -------------------------------------------------------------------------

    def _assign(self, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            setattr(self, f"_{name}", value)

    def _model_for(self, target: str, model: str | None) -> str | None:
        """Return the model that a request names.

        Raises:
            AdapterError: If there is none that this vendor could have.
        """
        chosen = model or self._model
        if chosen is None:
            message = (
                "a request names its model: pass model=, here or to ContextBuilder"
            )
            raise AdapterError(message, adapter=target)
        return chosen

    def _rendering(
        self, target: str, model: str | None, max_tokens: int | None
    ) -> Rendering:
        with self._lock:
            asked = self._target(target, model, max_tokens)
            self._built = asked.key
            return self._rendered(asked)

    def _rendered(self, asked: Target) -> Rendering:
        """Return a target's request; the first time, it is an event."""
        if asked.is_current(self._log):
            return asked.rendering(self._log)
        started = time.perf_counter()
        compactions = asked.compactions
        rendering = asked.rendering(self._log)
        self._event(
            "context_built",
            target=asked.key.name,
            model=asked.key.model,
            revision=self._log.revision,
            tokens=asked.tokens,
            budget_tokens=asked.limits.budget_tokens,
            messages=len(rendering.messages),
            compactions=asked.compactions - compactions,
            duration_seconds=round(time.perf_counter() - started, 6),
        )
        return rendering

    def record_usage(
        self, usage: object, *, target: str | None = None, model: str | None = None
    ) -> None:
        """Take in what a vendor billed for the last request; it corrects the estimate.

        It is an event of the session, and counts from there. Where tokens are counted
        exactly, nothing changes.

        Args:
            usage: The answer, its `Usage`, or the number of input tokens that were
                billed, cached ones included.
            target: The vendor that was asked; None: the one that was built for last.
            model: The model that was asked; None: the one that was built for last.

        Raises:
            InvalidItemError: If it holds no number of tokens, or nothing was built yet.
        """
        billed_tokens = need_tokens(_billed(usage), "usage")
        with self._lock:
            key = self._built
            if target is not None:
                key = self._target_key(target, model, None)
            asked = None if key is None else self._targets.get(key)
            estimated_tokens = None if asked is None else asked.rendered_tokens
            if asked is None or estimated_tokens is None:
                message = "no request was built that this could be the bill of"
                raise InvalidItemError(message, field="usage")
            if asked.key.model is None:
                message = "a bill belongs to a model: pass model= when building"
                raise InvalidItemError(message, field="model")
            self._append(
                UsageRecorded(asked.key.model, billed_tokens, estimated_tokens)
            )

    def learn_limit(self, model: str, limit_tokens: int) -> None:
        """Remember how much a model really takes, as its vendor's error said.

        Raises:
            InvalidItemError: If it is no model's name, or no number of tokens.
        """
        with self._lock:
            self._append(
                LimitLearned(
                    need_text(model, "model"), need_tokens(limit_tokens, "limit_tokens")
                )
            )

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
        adapter = adapter_for(target)
        counter = self._counter or adapter.counter(key.model)
        counts = self._counts.setdefault(counter.name, {})
        made = Target(
            key,
            adapter=adapter,
            ruler=SessionRuler(adapter, key.model, counter.count, counts),
            limits=self._limits_of(key),
            settings=self._settings,
            options=self._options,
            is_exact=counter.is_exact,
        )
        self._targets[key] = made
        if len(self._targets) > _MOST_TARGETS:
            self._targets.popitem(last=False)
        return made

    def _limits_of(self, key: TargetKey) -> Limits:
        return limits_for(
            model=key.model,
            max_tokens=self._max_tokens if key.max_tokens is None else key.max_tokens,
            context_window=self._context_window,
            options=self._options,
            settings=self._settings,
        )


def _billed(usage: object) -> object:
    """Return the input tokens that an answer or its usage names."""
    if isinstance(usage, int):
        return usage
    found = usage if isinstance(usage, Usage) else read_response(usage).usage
    return None if found is None else found.input_tokens
