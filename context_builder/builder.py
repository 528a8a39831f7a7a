"""The facade: takes everything in, and hands out a request that fits and is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from context_builder.collect import SystemPrompt, log_from_dicts, log_to_dicts
from context_builder.collect.plain import need_list
from context_builder.copies import copy_json
from context_builder.errors import AdapterError
from context_builder.feedback import Feedback

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from context_builder.report import Report

__all__ = ["ContextBuilder", "SystemPrompt"]


class ContextBuilder(Feedback):
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
