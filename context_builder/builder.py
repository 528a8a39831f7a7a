"""The facade: takes everything in, and hands out a request that fits and is valid.

It joins the three tiers and holds the cache of what was decided. A session's builder
may be used from several threads; everything that it hands out belongs to the caller.
"""

from __future__ import annotations

import dataclasses
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Self

from context_builder.collect import (
    LOG_VERSION,
    Imported,
    SessionLog,
    entry_from_dict,
    entry_to_dict,
    is_blank,
    read_messages,
    read_request,
    read_response,
    read_tools,
)
from context_builder.collect.doors import (
    assistant_item,
    edited_item,
    message_item,
    result_item,
)
from context_builder.copies import copy_json
from context_builder.errors import AdapterError, InvalidItemError
from context_builder.items import (
    PRIORITY_BACKGROUND,
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
from context_builder.limits import Limits, limits_for
from context_builder.logs import log_event
from context_builder.messages import ReasoningPart
from context_builder.render import Rendering, adapter_for
from context_builder.report import Report
from context_builder.settings import RequestOptions, Settings
from context_builder.targets import SessionRuler, Target, TargetKey
from context_builder.tokens import TokenCounter

__all__ = ["ContextBuilder"]

SystemPrompt = str | Callable[[], str]
_MOST_TARGETS = 8
"""Decisions kept at a time; one that was let go is worked out again from the log."""


class ContextBuilder:
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
        given = {
            "max_output_tokens": max_output_tokens,
            "response_format": response_format,
            "tool_choice": tool_choice,
            "thinking_budget_tokens": thinking_budget_tokens,
        }
        self._model = model
        self._max_tokens = max_tokens
        self._context_window = context_window
        self._settings = settings or Settings()
        self._options = (options or RequestOptions()).model_copy(
            update={name: value for name, value in given.items() if value is not None}
        )
        self._counter = counter
        self._clock = clock or time.time
        self._log = SessionLog()
        self._lock = threading.RLock()
        self._system_callable: Callable[[], str] | None = None
        self._system: ContextItem | None = None
        self._tools: tuple[Mapping[str, Any], ...] = ()
        self._has_items = False
        self._targets: OrderedDict[TargetKey, Target] = OrderedDict()
        self._counts: dict[str, dict[int, int]] = {}
        self._built: TargetKey | None = None
        self._limits_of(TargetKey("openai", model, None))  # fails now, not later
        if system_prompt is not None:
            self.add_system_prompt(system_prompt)
        if tools is not None:
            self.set_tools(tools)

    # --- what comes in ------------------------------------------------------------

    def add_message(
        self,
        role: str,
        content: object,
        *,
        priority: int | None = None,
        source: str = "message",
        optional: bool = False,
        cache_key: str | None = None,
        pinned: bool = False,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ContextItem | None:
        """Add a message of any role: the general door.

        A system message that opens the conversation is the system prompt; a later one
        is a note that keeps its place. User text of another source than `user` or
        `message` is shown as framed data, not as the user's word.

        Returns:
            The item as logged; None if it was blank, and ignored.

        Raises:
            InvalidItemError: If a field is not what it has to be; nothing is added.
        """
        if role == "tool":
            raise InvalidItemError(
                "a tool's result comes in through add_tool_result()", field="role"
            )
        item = message_item(
            role,
            content,
            priority=priority,
            source=source,
            optional=optional,
            cache_key=cache_key,
            pinned=pinned,
            name=name,
            metadata=metadata,
        )
        return None if item is None else self._enter(item)

    def add_user_message(
        self,
        content: object,
        *,
        priority: int | None = None,
        cache_key: str | None = None,
        pinned: bool = False,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ContextItem | None:
        """Add what the user said: text, or a list of parts. It opens a turn.

        Returns:
            The item as logged; None if it was blank, and ignored.

        Raises:
            InvalidItemError: If a part or a field is not what it has to be.
        """
        return self.add_message(
            "user",
            content,
            priority=priority,
            source="user",
            cache_key=cache_key,
            pinned=pinned,
            name=name,
            metadata=metadata,
        )

    def add_assistant_message(
        self,
        content: object = "",
        *,
        tool_calls: Iterable[object] | None = None,
        reasoning: str | Iterable[ReasoningPart] | None = None,
        partial: bool = False,
        priority: int | None = None,
        cache_key: str | None = None,
        pinned: bool = False,
        name: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> ContextItem | None:
        """Add what the model said, thought and called.

        Args:
            content: Text or parts; may be empty beside calls.
            tool_calls: Calls in OpenAI's format, or `ToolCall` values.
            reasoning: The model's reasoning, signed parts as they came.
            partial: The answer was cut off; it is kept and marked as such.

        Returns:
            The item as logged; None if there was nothing in it.

        Raises:
            InvalidItemError: If a call has no name, or a field is not allowed.
        """
        item = assistant_item(
            content,
            tool_calls=tool_calls,
            reasoning=reasoning,
            source="assistant",
            partial=partial,
            priority=priority,
            cache_key=cache_key,
            pinned=pinned,
            name=name,
            metadata=metadata,
        )
        return None if item is None else self._enter(item)

    def add_tool_result(
        self,
        tool_name: str | None,
        result: object,
        *,
        tool_call_id: str | None = None,
        cache_key: str | None = None,
        is_error: bool = False,
        priority: int | None = None,
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> ContextItem:
        """Add what a tool returned: text, parts, or any data that JSON can say.

        It is shown right behind its call, wherever it comes in. Without an id it answers
        the newest open call of that tool.

        Raises:
            InvalidItemError: If the result cannot be written as JSON.
        """
        item = result_item(
            tool_name,
            result,
            tool_call_id=tool_call_id,
            cache_key=cache_key,
            is_error=is_error,
            priority=priority,
            pinned=pinned,
            metadata=metadata,
        )
        return self._enter(item)

    def add_memory(
        self,
        content: object,
        *,
        priority: int = PRIORITY_BACKGROUND,
        source: str = "memory",
        optional: bool = True,
        cache_key: str | None = None,
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> ContextItem | None:
        """Add background: shown as framed data, and the first to go.

        Returns:
            The item as logged; None if it was blank, and ignored.

        Raises:
            InvalidItemError: If a field is not what it has to be.
        """
        return self.add_message(
            "user",
            content,
            priority=priority,
            source=source,
            optional=optional,
            cache_key=cache_key,
            pinned=pinned,
            metadata=metadata,
        )

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
                raise InvalidItemError(
                    f"the system prompt must be text, not {type(prompt).__name__}",
                    field="system_prompt",
                    value=prompt,
                )
            if prompt is not None and is_blank(prompt):
                return None
            self._system_callable = None
            return self._set_system(prompt)

    def extend(
        self,
        messages: Iterable[object] | Mapping[str, Any],
        *,
        format: str = "openai",
    ) -> tuple[ContextItem, ...]:
        """Take over an existing history as one entry: all of it, or nothing.

        A list of messages, or a vendor's whole request with its system prompt and
        tools. System messages that open the conversation become the system prompt (the
        first) and notes (the others). Blank messages are ignored.

        Returns:
            The items as logged, in order.

        Raises:
            InvalidItemError: If a message is not what the format says; `field` is its
                path, such as `messages[3].role`. Nothing is added.
            AdapterError: If the format is not known.
        """
        if isinstance(messages, Mapping):
            return self._extend_whole(read_request(messages, format=format))
        read = read_messages(messages, format=format)
        return self.add_turn([item for item in read if not _is_void(item)])

    def _extend_whole(self, request: Imported) -> tuple[ContextItem, ...]:
        with self._lock:
            if request.system is not None:
                self.add_system_prompt(request.system)
            if request.tools:
                self.set_tools(request.tools)
            return self.add_turn([i for i in request.items if not _is_void(i)])

    def add_turn(self, items: Iterable[ContextItem]) -> tuple[ContextItem, ...]:
        """Add several items as one entry, which no other thread can split.

        Raises:
            InvalidItemError: If one is not a `ContextItem`.
        """
        waiting = list(items)
        for number, item in enumerate(waiting):
            if not isinstance(item, ContextItem):
                raise InvalidItemError(
                    f"items[{number}] must be a ContextItem, not {type(item).__name__}",
                    field=f"items[{number}]",
                    value=item,
                )
        with self._lock:
            logged: list[ContextItem] = []
            if waiting and waiting[0].role == "system" and not self._has_items:
                system = self._set_system(waiting[0].text, item=waiting[0])
                logged += [system] if system else []
                del waiting[0]
            if not waiting:
                return tuple(logged)
            if any(item.is_spoken for item in waiting):
                self._ask_system()
            named = tuple(
                self._log.name(self._stamped(item), offset=offset)
                for offset, item in enumerate(waiting)
            )
            self._append(ItemsAdded(named) if len(named) > 1 else named[0])
            return (*logged, *named)

    def add_response(self, response: object) -> ContextItem | None:
        """Add a vendor's answer, or its stream, whole: text, reasoning, calls.

        A stream may be the pieces collected, or an iterator, which is then read to its
        end. One that broke off is kept and marked as partial.

        Returns:
            The item as logged; None if the model said nothing.

        Raises:
            InvalidItemError: If no known vendor answers in this shape.
        """
        reply = read_response(response)
        logged = self.add_turn(reply.items)
        return logged[-1] if logged else None

    def set_tools(self, tools: Iterable[object]) -> None:
        """Set the tool definitions; the same ones again change nothing.

        Raises:
            InvalidItemError: If one has no name, or two have the same.
        """
        read = read_tools(tools)
        with self._lock:
            if read != self._tools:
                self._append(ToolsSet(read))

    # --- what is taken back -----------------------------------------------------------

    def edit(self, item_id: str, **changes: Any) -> ContextItem:
        """Change an item: its content, priority, pinned, ... The log keeps the former.

        Raises:
            InvalidItemError: If there is no such item, or a change is not allowed.
        """
        with self._lock:
            item = self._log.find(item_id)
            edited = edited_item(item, changes)
            if edited != item:
                self._append(ItemEdited(edited))
            return edited

    def remove(self, item_id: str) -> None:
        """Take an item out of the conversation. The log keeps it.

        Raises:
            InvalidItemError: If there is no such item.
        """
        with self._lock:
            self._log.find(item_id)
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
            self._append(Rewound(self._log.find(item_id).id))

    def clear(self) -> None:
        """Start the conversation anew; the system prompt and the tools stay."""
        with self._lock:
            if self._has_items:
                self._append(Cleared())

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
            AdapterError: As `build`; or if no model is named, or there is nothing to say.
            UnknownModelError: As `build`.
        """
        rendering = self._rendering(target, self._model_for(target, model), max_tokens)
        if not rendering.messages:
            raise AdapterError("there is nothing to send yet", adapter=target)
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
            return self._target(target, model, max_tokens).report(self._log)

    # --- the session ----------------------------------------------------------------

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
    def revision(self) -> int:
        """Moves on with every real change."""
        return self._log.revision

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
        """Change settings: `model`, `max_tokens`, `context_window`, `settings`, `options`.

        What was decided under the former settings is decided anew from the log.

        Raises:
            InvalidItemError: If a name is none of these, or no budget is left.
            UnknownModelError: If the model's window is not known.
        """
        known = ("model", "max_tokens", "context_window", "settings", "options")
        for name in changes:
            if name not in known:
                raise InvalidItemError(
                    f"{name} is no setting; settings are {', '.join(known)}", field=name
                )
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
            head = {"schema": "context_builder.log", "version": LOG_VERSION}
            return [head, *(copy_json(entry_to_dict(entry)) for entry in self._log)]

    @classmethod
    def load(cls, entries: Iterable[Mapping[str, Any]], **settings: Any) -> Self:
        """Return a builder with a log that `dump` wrote; its requests are the same.

        Args:
            entries: What `dump` returned.
            **settings: As for the class itself.

        Raises:
            InvalidItemError: If it is no such log, or of a later version.
        """
        waiting = iter(entries)
        head = next(waiting, None)
        if not isinstance(head, Mapping) or head.get("schema") != "context_builder.log":
            raise InvalidItemError("this is no session log", field="schema")
        if not isinstance(head.get("version"), int) or head["version"] > LOG_VERSION:
            raise InvalidItemError(
                f"the log has version {head.get('version')!r}; this library reads up to "
                f"{LOG_VERSION}",
                field="version",
                value=head.get("version"),
            )
        builder = cls(**settings)
        for entry in waiting:
            builder._append(entry_from_dict(copy_json(entry)))
        return builder

    # --- inside -------------------------------------------------------------------------

    def _enter(self, item: ContextItem) -> ContextItem:
        with self._lock:
            logged = self.add_turn([item])
            if logged or self._system is None:
                return logged[-1]
            return self._system  # it was set to what it is already

    def _stamped(self, item: ContextItem) -> ContextItem:
        if item.timestamp is not None:
            return item
        return dataclasses.replace(item, timestamp=self._clock())

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
        named = self._log.name(self._stamped(item))
        self._append(SystemSet(named))
        return named

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
            raise AdapterError(
                "a request names its model: pass model=, here or to ContextBuilder",
                adapter=target,
            )
        return chosen

    def _rendering(
        self, target: str, model: str | None, max_tokens: int | None
    ) -> Rendering:
        with self._lock:
            asked = self._target(target, model, max_tokens)
            self._built = asked.key
            if asked.is_current(self._log):
                return asked.rendering(self._log)
            started = time.perf_counter()
            compactions = asked.compactions
            rendering = asked.rendering(self._log)
            log_event(
                "context_built",
                target=target,
                model=asked.key.model,
                revision=self._log.revision,
                tokens=asked.tokens,
                budget_tokens=asked.limits.budget_tokens,
                messages=len(rendering.messages),
                compactions=asked.compactions - compactions,
                duration_seconds=round(time.perf_counter() - started, 6),
            )
            return rendering

    def _target(self, target: str, model: str | None, max_tokens: int | None) -> Target:
        key = TargetKey(target, model or self._model, max_tokens)
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
            max_tokens=key.max_tokens or self._max_tokens,
            context_window=self._context_window,
            options=self._options,
            settings=self._settings,
        )


def _said_by(prompt: Callable[[], str]) -> str:
    text = prompt()
    if not isinstance(text, str):
        raise InvalidItemError(
            f"the system prompt's callable must return text, not {type(text).__name__}",
            field="system_prompt",
            value=text,
        )
    return text


def _is_void(item: ContextItem) -> bool:
    """Say whether nothing came in with an item: a door ignores it."""
    return (
        item.role != "tool"
        and is_blank(item.content)
        and not item.tool_calls
        and not item.reasoning
    )

