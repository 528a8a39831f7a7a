"""Keeps a request that was said: small, and fast to hand out again.

A message of Chat Completions is a role and a text, a result, or calls. Of these only
the texts are kept. The dictionaries around them, which take more memory than many a
text, are made anew for whoever asks: that takes no longer than to copy them would. What
is of another form is kept as it is, and copied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.copies import copy_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from context_builder.items import Mark
    from context_builder.render.adapter import Rendering

__all__ = ["Columns", "KeptMessages", "KeptRendering"]

_Rest = str | tuple[str, ...] | list[str] | dict[str, Any] | None
"""What a message is besides role and content: the id of the call that it answers; its
calls, each as id, name and arguments; what stands before and behind its text; or None:
nothing. Or the whole message, where it is of another form."""
Columns = tuple[list[str], list[str | None], list[_Rest]]
"""Of each message its role, its text and its rest."""
_LEAST_FRAMED_CHARS = 1_000
"""A longer text is not kept once more for the frame around it."""

_TEXT = ("role", "content")
_RESULT = ("role", "tool_call_id", "content")
_CALLS = ("role", "content", "tool_calls")
_CALL = ("id", "type", "function")
_FUNCTION = ("name", "arguments")


class KeptMessages:
    """A list of messages that is only added to, or cut short."""

    __slots__ = ("_contents", "_rests", "_roles")

    def __init__(self, messages: Iterable[dict[str, Any]] = ()) -> None:
        self._roles: list[str] = []
        self._contents: list[str | None] = []
        self._rests: list[_Rest] = []
        for message in messages:
            self.append(message)

    def __len__(self) -> int:
        return len(self._rests)

    @property
    def columns(self) -> Columns:
        """What is kept, for `of_columns`: read it, change nothing."""
        return self._roles, self._contents, self._rests

    @classmethod
    def of_columns(cls, columns: Columns) -> KeptMessages:
        """Return the messages that have these columns, which are theirs now."""
        kept = cls()
        kept._roles, kept._contents, kept._rests = columns
        return kept

    def append(self, message: dict[str, Any], text: str = "") -> None:
        """Keep a message; it must not be changed any more.

        Args:
            message: The message.
            text: What is kept anyway, and may be all of it but for a frame.
        """
        rest = _rest_of(message)
        is_other = rest is message
        content: Any = None if is_other else message["content"]
        if rest is None and len(text) >= _LEAST_FRAMED_CHARS and content is not text:
            before, found, behind = content.partition(text)
            if found:
                content, rest = text, [before, behind]
        self._roles.append("" if is_other else message["role"])
        self._contents.append(content)
        self._rests.append(rest)

    def first(self, count: int) -> KeptMessages:
        """Return the first messages, to be added to without changing these."""
        other = KeptMessages()
        other._roles = self._roles[:count]
        other._contents = self._contents[:count]
        other._rests = self._rests[:count]
        return other

    def copied(self, start: int = 0) -> list[dict[str, Any]]:
        """Return the messages, from one on; they belong to the caller."""
        columns = (self._roles, self._contents, self._rests)
        if start:
            columns = (columns[0][start:], columns[1][start:], columns[2][start:])
        kept = zip(*columns, strict=True)
        return [
            {"role": role, "content": content}
            if rest is None
            else _message(role, content, rest)
            for role, content, rest in kept
        ]


def _rest_of(message: dict[str, Any]) -> _Rest:
    keys = tuple(message)
    if keys not in {_TEXT, _RESULT, _CALLS}:
        return message
    content = message["content"]
    if keys == _CALLS:
        is_plain = content is None or type(content) is str
        calls = _flat(message["tool_calls"]) if is_plain else None
        return message if calls is None else calls
    if type(content) is not str:
        return message
    if keys == _TEXT:
        return None
    call_id = message["tool_call_id"]
    return call_id if type(call_id) is str else message


def _flat(calls: Any) -> tuple[str, ...] | None:
    """Return id, name and arguments of each call in turn; None: there is more to it."""
    if type(calls) is not list or not calls:
        return None
    flat: list[str] = []
    for call in calls:
        if tuple(call) != _CALL or call["type"] != "function":
            return None
        function = call["function"]
        if type(function) is not dict or tuple(function) != _FUNCTION:
            return None
        texts = (call["id"], function["name"], function["arguments"])
        if not all(type(text) is str for text in texts):
            return None
        flat += texts
    return tuple(flat)


def _message(role: str, content: str | None, rest: _Rest) -> dict[str, Any]:
    if type(rest) is str:
        return {"role": role, "tool_call_id": rest, "content": content}
    if type(rest) is list:
        return {"role": role, "content": f"{rest[0]}{content}{rest[1]}"}
    if type(rest) is not tuple:
        copied: dict[str, Any] = copy_json(rest)
        return copied
    calls = [
        {"id": rest[n], "type": "function", "function": _function(rest, n)}
        for n in range(0, len(rest), 3)
    ]
    return {"role": role, "content": content, "tool_calls": calls}


def _function(flat: tuple[str, ...], at: int) -> dict[str, str]:
    return {"name": flat[at + 1], "arguments": flat[at + 2]}


class KeptRendering:
    """A prompt in a vendor's words, as a session keeps it until something changes."""

    __slots__ = ("_field", "_kept", "_spans", "frame", "repairs")

    def __init__(
        self,
        kept: KeptMessages,
        frame: Mapping[str, Any],
        field: str | None,
        *,
        repairs: tuple[Mark, ...] = (),
        spans: Sequence[tuple[str, int]] = (),
    ) -> None:
        """Keep a rendering.

        Args:
            kept: The messages.
            frame: The request; its messages may be anything.
            field: Under which name the request has its messages; None: under none.
            repairs: What had to be put in, moved or left out because of the vendor.
            spans: Which message holds which item.
        """
        self._kept = kept
        self.frame = frame
        """The request without its messages: read it, change nothing."""
        self._field = field
        self._spans = spans
        self.repairs = repairs
        """What had to be put in, moved or left out because of the vendor."""

    @classmethod
    def of(cls, rendering: Rendering) -> KeptRendering:
        """Keep what an adapter has said; nobody else must change it any more."""
        names = (n for n, v in rendering.request.items() if v is rendering.messages)
        field = next(names, None)
        frame = {n: v for n, v in rendering.request.items() if n != field}
        if field is not None:  # in its place: the order of the names stays
            frame = dict.fromkeys(rendering.request) | frame
        return cls(
            KeptMessages(rendering.messages),
            frame,
            field,
            repairs=rendering.repairs,
            spans=rendering.spans,
        )

    @property
    def count(self) -> int:
        """How many messages there are."""
        return len(self._kept)

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The conversation: what `build()` gives. It belongs to who asks."""
        return self._kept.copied()

    @property
    def request(self) -> dict[str, Any]:
        """Keyword arguments of the SDK call. They belong to who asks."""
        return {
            name: self._kept.copied() if name == self._field else copy_json(value)
            for name, value in self.frame.items()
        }

    @property
    def spans(self) -> Sequence[tuple[str, int]]:
        """Which message (index in `messages`) holds which item (its id)."""
        return self._spans
