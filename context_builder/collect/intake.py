"""The doors of a session: what a caller hands in becomes items, and enters the log.

A door takes what it is given whole, or raises and leaves the log as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sized
from typing import TYPE_CHECKING, Any, TypeGuard

from context_builder.collect.bounds import bounded_list, refuse
from context_builder.collect.content import as_mapping
from context_builder.collect.doors import (
    assistant_item,
    is_void,
    message_item,
    result_item,
)
from context_builder.collect.imports import (
    Imported,
    read_messages,
    read_request,
    read_response,
    stream_in,
)
from context_builder.collect.recorder import Recorder
from context_builder.errors import InvalidItemError
from context_builder.items import PRIORITY_BACKGROUND, ContextItem

if TYPE_CHECKING:
    from context_builder.collect.imports import Reply
    from context_builder.messages import ReasoningPart

__all__ = ["Intake"]


class Intake(Recorder):
    """Takes in what happens in one session."""

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
            message = "a tool's result comes in through add_tool_result()"
            raise InvalidItemError(message, field="role")
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
            priority: 0 to 100; None: by kind and age.
            cache_key: A newer item with this key stands in for this one.
            pinned: It is never shortened, never left out.
            name: A participant's name, for vendors that take one.
            metadata: Yours; kept with the item, never sent.

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

        It is shown right behind its call, wherever it comes in. Without an id it
        answers the newest open call of that tool.

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
        return self.add_turn([item])[0]

    def add_memory(
        self,
        content: object,
        *,
        priority: int | None = None,
        source: str = "memory",
        optional: bool = True,
        cache_key: str | None = None,
        pinned: bool = False,
        metadata: Mapping[str, Any] | None = None,
    ) -> ContextItem | None:
        """Add background: shown as framed data, and the first to go.

        What is not optional and has a priority stays as long as that says. Without one
        it has that of background (20).

        Returns:
            The item as logged; None if it was blank, and ignored.

        Raises:
            InvalidItemError: If a field is not what it has to be.
        """
        if priority is None and source != "memory":
            priority = PRIORITY_BACKGROUND
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
        if type(messages) is not list and isinstance(messages, Mapping):
            return self._extend_whole(read_request(messages, format=format))
        listed = bounded_list(messages, "messages", self._item_limits)
        read = read_messages(listed, format=format)
        return self.add_turn([item for item in read if not is_void(item)])

    def _extend_whole(self, request: Imported) -> tuple[ContextItem, ...]:
        with self._lock:
            if request.system is not None:
                self.add_system_prompt(request.system)
            if request.tools:
                self.set_tools(request.tools)
            return self.add_turn([i for i in request.items if not is_void(i)])

    def add_response(
        self, response: object, *, model: str | None = None
    ) -> ContextItem | None:
        """Add a vendor's answer, or its stream, whole: text, reasoning, calls, usage.

        What was billed counts as by `record_usage`, where the request that was built
        last is the one that this answers.

        A stream may be the pieces collected, or an iterator, which is then read to its
        end. One that broke off is kept and marked as partial.

        Args:
            response: What the vendor's SDK returned.
            model: Who answered, where the answer does not say so (Converse); None: the
                model that a request was last built for.

        Returns:
            The item as logged; None if the model said nothing.

        A stream that raises raises here as well, once what came is logged.

        Raises:
            InvalidItemError: If no known vendor answers in this shape.
        """
        response = stream_in(response)
        if as_mapping(response) is not None or not _is_read_once(response):
            return self._add_reply(response, model)
        pieces: list[object] = []
        limits = self._item_limits
        try:
            for piece in response:
                if len(pieces) >= limits.max_stream_pieces:
                    refuse("response", "pieces", limits, "max_stream_pieces")
                pieces.append(piece)
        except BaseException:
            if pieces:
                self._add_reply(pieces, model)
            raise
        return self._add_reply(pieces, model)

    def _add_reply(self, response: object, model: str | None) -> ContextItem | None:
        reply = read_response(response)
        with self._lock:
            logged = self.add_turn(self._by_whom(item, model) for item in reply.items)
            self._take_bill(reply)
        return logged[-1] if logged else None

    def _take_bill(self, reply: Reply) -> None:
        """Take in what an answer cost; who builds no requests has no use for it."""

    def _by_whom(self, item: ContextItem, model: str | None) -> ContextItem:
        """Say of reasoning whose it is: it goes back to no other model."""
        said = tuple(
            part
            if part.model is not None
            else dataclasses.replace(
                part, model=model or self._asked_model(part.provider)
            )
            for part in item.reasoning
        )
        same = said == item.reasoning
        return item if same else dataclasses.replace(item, reasoning=said)

    def _asked_model(self, provider: str) -> str | None:
        """Return the model of a provider that was asked last; None: not known."""
        del provider
        return None

    def _enter(self, item: ContextItem) -> ContextItem | None:
        with self._lock:
            logged = self.add_turn([item])
            return logged[-1] if logged else self._system  # set to what it is already


def _is_read_once(response: object) -> TypeGuard[Iterable[object]]:
    """Say whether something is a stream: read piece by piece, and only once."""
    return isinstance(response, Iterator) or (
        isinstance(response, Iterable) and not isinstance(response, Sized)
    )
