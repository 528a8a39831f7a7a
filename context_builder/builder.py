"""The facade: takes everything in, and hands out a request that fits and is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from context_builder.collect import SystemPrompt, log_from_dicts, log_to_dicts
from context_builder.collect.plain import need_list
from context_builder.copies import copy_json
from context_builder.errors import AdapterError, InvalidItemError
from context_builder.feedback import Feedback
from context_builder.matching import Matching
from context_builder.recollection import Recollecting

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from context_builder.render import KeptRendering

__all__ = ["ContextBuilder", "SystemPrompt"]


class ContextBuilder(Matching, Recollecting, Feedback):
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
        summarizer: Writes summaries of what leaves, see `context_builder.summarizers`;
            None: an extractive digest tells of it.
        summary_policy: When it is asked, how large a summary may be, how long it takes.
        embedder: Finds by meaning what to recall, see `context_builder.embeddings`;
            None: words alone do.
        embedding_policy: How it is asked, for how much, and how long it may take.
        hooks: Your own code in the session, see `context_builder.hooks`.
        counter: Counts tokens in place of the model's own counter.
        clock: Gives the time for timestamps, in seconds; None: the system's.

    Raises:
        InvalidItemError: If nothing says how large the budget is.
        UnknownModelError: If the model's window is not known and no budget is given.
    """

    _viewed: tuple[KeptRendering, list[dict[str, Any]]] | None = None

    # --- what goes out --------------------------------------------------------------

    def build(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the messages that the model shall see, in the target's format.

        Where a summary is wanted, the session's summariser is asked for it first.

        Args:
            target: The vendor, such as `"openai"`.
            model: For another model than the session's.
            max_tokens: For another input budget than the session's.

        Raises:
            BudgetExceededError: If what may not be left out is larger than the budget.
            AdapterError: If the vendor cannot express it.
            UnknownModelError: If the model's window would have to be guessed.
        """
        rendering = self._unchanged(target, model, max_tokens)
        if rendering is not None:
            return rendering.messages
        self._ask_first(target, model, max_tokens)
        return self._messages(target, model, max_tokens)

    def view(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> Sequence[Mapping[str, Any]]:
        """Return the messages of `build` without copying them: to be read only.

        They are shared with the session, and every call returns the same ones until
        something changes. Who changes them changes what the next build says: take
        `build` for that.

        Raises:
            BudgetExceededError: As `build`.
            AdapterError: As `build`.
            UnknownModelError: As `build`.
        """
        rendering = self._unchanged(target, model, max_tokens)
        if rendering is None:
            self._ask_first(target, model, max_tokens)
            rendering = self._rendering(target, model, max_tokens)
        viewed = self._viewed
        if viewed is None or viewed[0] is not rendering:
            viewed = self._viewed = (rendering, rendering.messages)
        return viewed[1]

    async def abuild(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> list[dict[str, Any]]:
        """Return the messages, as `build`; a wanted summary is awaited.

        Raises:
            BudgetExceededError: As `build`.
            AdapterError: As `build`.
            UnknownModelError: As `build`.
        """
        await self._asummarize(self._target_key(target, model, max_tokens))
        return self._messages(target, model, max_tokens)

    def request(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Return the keyword arguments of the vendor's SDK call, tools included.

        Where a summary is wanted, the session's summariser is asked for it first.

        Raises:
            BudgetExceededError: As `build`.
            AdapterError: As `build`; or if no model is named, or there is nothing to
                say.
            UnknownModelError: As `build`.
        """
        model = self._model_for(target, model)
        self._ask_first(target, model, max_tokens)
        return self._request(target, model, max_tokens)

    async def arequest(
        self,
        target: str = "openai",
        *,
        model: str | None = None,
        max_tokens: int | None = None,
    ) -> dict[str, Any]:
        """Return the keyword arguments, as `request`; a wanted summary is awaited.

        Raises:
            BudgetExceededError: As `build`.
            AdapterError: As `request`.
            UnknownModelError: As `build`.
        """
        model = self._model_for(target, model)
        await self._asummarize(self._target_key(target, model, max_tokens))
        return self._request(target, model, max_tokens)

    def _unchanged(
        self, target: str, model: str | None, max_tokens: int | None
    ) -> KeptRendering | None:
        """Return the request that was built last, if the same one is wanted again.

        None: it has to be asked for. So it is where anything was logged, configured,
        answered or built for somebody else since, and where a summariser or an embedder
        may have something to say.
        """
        last = self._last
        if (
            last is None
            or last.unanswered is not self._unanswered
            or last.unanswered[1] != self._log.revision
            or last.unanswered[0] is not self._built  # another build failed since
            or last.asked != (target, model, max_tokens)
            or isinstance(max_tokens, bool | float)  # equal to a number, and none
            or self._desk is not None
            or self._embeddings is not None
        ):
            return None
        return last.rendering

    def _ask_first(
        self, target: str, model: str | None, max_tokens: int | None
    ) -> None:
        """Ask summariser and embedder, where there are any to be asked."""
        if self._desk is not None or self._embeddings is not None:
            self._summarize(self._target_key(target, model, max_tokens))

    def _messages(
        self, target: str, model: str | None, max_tokens: int | None
    ) -> list[dict[str, Any]]:
        return self._rendering(target, model, max_tokens).messages

    def _request(
        self, target: str, model: str | None, max_tokens: int | None
    ) -> dict[str, Any]:
        rendering = self._rendering(target, model, max_tokens)
        if not rendering.count:
            message = "there is nothing to send yet"
            raise AdapterError(message, adapter=target)
        return rendering.request

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
            InvalidItemError: If it is no such log, of a later version, or passes a
                limit.
        """
        prompt = settings.pop("system_prompt", None)
        tools = settings.pop("tools", None)
        builder = cls(**settings)
        for entry in log_from_dicts(_own(need_list(entries, "entries"))):
            builder._admit(entry)
        builder._hook_state.loaded = builder.revision
        if prompt is not None:
            builder.add_system_prompt(prompt)
        if tools is not None:
            builder.set_tools(tools)
        return builder


def _own(entries: list[Any]) -> Any:
    """Return entries that nobody else can change.

    Raises:
        InvalidItemError: If they are nested deeper than anything that is logged.
    """
    try:
        return copy_json(entries)
    except RecursionError:
        message = "entries are nested too deep"
        raise InvalidItemError(message, field="entries") from None
