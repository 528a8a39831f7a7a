"""Who makes the requests: the library, and the plain windows it is compared with."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from context_builder.builder import ContextBuilder
from context_builder.embeddings import AnyEmbedder
from context_builder.errors import BudgetExceededError
from context_builder.replay.ruler import MODEL, Ruler
from context_builder.replay.transcripts import Message, Transcript, units
from context_builder.settings import Settings

__all__ = ["BuilderStrategy", "Player", "Recency", "Strategy", "Window"]

Request = Mapping[str, Any]
_NOTHING = "(no text)"
"""Stands for an empty result: vendors refuse one."""


class Player(Protocol):
    """Plays one session: it hears messages, and says what the model is sent."""

    @property
    def compactions(self) -> int:
        """How often it has made room so far."""

    def hear(self, message: Message) -> None:
        """Take in the next message."""

    def request(self) -> Request:
        """Return the request of a call that is made now.

        Raises:
            BudgetExceededError: If none fits.
        """

    def asked(self, question: str) -> Request:
        """Return the request after one more user message; the session stays as it is.

        Raises:
            BudgetExceededError: If none fits.
        """


class Strategy(Protocol):
    """A way to choose what the model is sent."""

    @property
    def name(self) -> str:
        """What tables call it."""

    def start(self, transcript: Transcript, max_tokens: int, ruler: Ruler) -> Player:
        """Return a player for a session with this head; it has heard nothing yet."""


@dataclasses.dataclass(frozen=True, slots=True)
class BuilderStrategy:
    """The library, under some settings."""

    settings: Settings = dataclasses.field(default_factory=Settings)
    name: str = "builder"
    embedder: AnyEmbedder | None = None
    """Finds by meaning what to recall; None: words alone do."""

    def start(self, transcript: Transcript, max_tokens: int, ruler: Ruler) -> Player:
        """Return a fresh session with the transcript's tools."""
        return _BuilderPlayer(
            {"model": MODEL, "max_tokens": max_tokens, "settings": self.settings}
            | {"counter": ruler, "embedder": self.embedder},
            transcript.tools,
        )


class _BuilderPlayer:
    def __init__(self, settings: Mapping[str, Any], tools: tuple[Message, ...]) -> None:
        self._settings = settings
        self._session = ContextBuilder(tools=tools or None, **settings)
        self._dumped: tuple[int, list[dict[str, Any]]] | None = None

    @property
    def compactions(self) -> int:
        try:
            return self._session.explain().compactions
        except BudgetExceededError:
            return 0

    def hear(self, message: Message) -> None:
        self._session.extend([message])

    def request(self) -> Request:
        return self._session.request()

    def asked(self, question: str) -> Request:
        revision = self._session.revision
        if self._dumped is None or self._dumped[0] != revision:
            self._dumped = (revision, self._session.dump())
        copy = ContextBuilder.load(self._dumped[1], **self._settings)
        copy.add_user_message(question)
        return copy.request()


@dataclasses.dataclass(frozen=True, slots=True)
class Recency:
    """Plain recency: the head, and the newest that fits, worked out at every call."""

    grain: Literal["unit", "message"] = "unit"
    """`unit` keeps calls and results together; `message` takes single messages, which
    can leave a result without its call."""
    name: str = "recency"

    def start(self, transcript: Transcript, max_tokens: int, ruler: Ruler) -> Player:
        """Return a player that has heard nothing."""
        return _WindowPlayer(transcript, max_tokens, ruler, grain=self.grain, low=None)


@dataclasses.dataclass(frozen=True, slots=True)
class Window:
    """A window with two marks: over the budget it goes down to `low` of its room."""

    low: float = 0.65
    name: str = "window"

    def start(self, transcript: Transcript, max_tokens: int, ruler: Ruler) -> Player:
        """Return a player that has heard nothing."""
        return _WindowPlayer(transcript, max_tokens, ruler, grain="unit", low=self.low)


class _WindowPlayer:
    """Both plain windows: `low` None cuts at every call, as little as it can."""

    def __init__(
        self,
        transcript: Transcript,
        max_tokens: int,
        ruler: Ruler,
        *,
        grain: Literal["unit", "message"],
        low: float | None,
    ) -> None:
        self._ruler = ruler
        self._tools = list(transcript.tools)
        self._room = max_tokens - ruler.head(transcript)
        self._head = transcript.head
        self._grain = grain
        self._low = low
        self._heard: list[Message] = []
        self._tokens: list[int] = []
        self._start = transcript.head
        self.compactions = 0

    def hear(self, message: Message) -> None:
        if message.get("role") == "tool" and not message.get("content"):
            message = {**message, "content": _NOTHING}
        self._heard.append(message)
        behind = self._heard[self._newest_answer() :]
        self._tokens.append(self._ruler.messages(behind)[-1])

    def _newest_answer(self) -> int:
        """Return where the calls stand that the newest message may answer."""
        for index in range(len(self._heard) - 1, -1, -1):
            if self._heard[index].get("role") != "tool":
                return index
        return 0

    def request(self) -> Request:
        return self._said(self._heard, self._from(self._heard, self._tokens))

    def asked(self, question: str) -> Request:
        heard = [*self._heard, {"role": "user", "content": question}]
        tokens = [*self._tokens, *self._ruler.messages(heard[-1:])]
        start, count = self._start, self.compactions
        request = self._said(heard, self._from(heard, tokens))
        self._start, self.compactions = start, count
        return request

    def _said(self, heard: list[Message], start: int) -> Request:
        messages = [*heard[: self._head], *heard[start:]]
        if not messages:
            raise BudgetExceededError(
                needed_tokens=self._tokens[-1] if self._tokens else 0,
                limit_tokens=self._room,
                parts={},
            )
        said = {"model": MODEL, "messages": messages}
        return said | ({"tools": self._tools} if self._tools else {})

    def _from(self, heard: list[Message], tokens: list[int]) -> int:
        if self._low is not None and sum(tokens[self._start :]) <= self._room:
            return self._start
        room = self._room if self._low is None else self._low * self._room
        start = max(self._start, self._cut(heard, tokens, room))
        self.compactions += start != self._start
        self._start = start
        return start

    def _cut(self, heard: list[Message], tokens: list[int], room: float) -> int:
        groups = (
            units(heard)
            if self._grain == "unit"
            else [[index] for index in range(len(heard))]
        )
        start = len(heard)
        for group in reversed(groups):
            room -= sum(tokens[index] for index in group)
            if room < 0 or group[0] < self._head:
                break
            start = group[0]
        if start == len(heard) and self._low is not None:
            return groups[-1][0]
        return start
