"""Plays a transcript turn by turn, as an agent would, and writes down each call.

The model is called before each of its messages. What it is sent comes from a strategy;
it then hears what was really said. Nothing here calls a model.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.errors import BudgetExceededError
from context_builder.render import validate
from context_builder.replay.judge import (
    Kept,
    call_kept,
    nothing_kept,
    question_kept,
)
from context_builder.replay.ruler import Ruler
from context_builder.replay.transcripts import CallNeeds, Question, Transcript

if TYPE_CHECKING:
    from context_builder.replay.strategies import Player, Strategy

__all__ = ["CACHED_PRICE", "Budget", "Call", "Played", "play"]

CACHED_PRICE = 0.10
"""What a cached input token costs, as a share of the price of one that is not."""


@dataclasses.dataclass(frozen=True, slots=True)
class Budget:
    """What a request may take: so many tokens, or the head and a share of the rest."""

    max_tokens: int | None = None
    share: float | None = None
    """Of the tokens of everything but the system prompt and the tools."""

    def __post_init__(self) -> None:
        if (self.max_tokens is None) == (self.share is None):
            message = "a budget is either max_tokens or a share"
            raise ValueError(message)

    def tokens(
        self, transcript: Transcript, ruler: Ruler, *, upto: int | None = None
    ) -> int:
        """Return the budget; a share counts only the messages before `upto`."""
        if self.max_tokens is not None:
            return self.max_tokens
        return ruler.budget(transcript, self.share or 0.0, upto=upto)


@dataclasses.dataclass(frozen=True, slots=True)
class Call:
    """One call of the model."""

    at: int
    """The index of the message that the model answered with."""
    tokens: int = 0
    """Input tokens, tools and framing included; cached ones, too."""
    cached_tokens: int = 0
    """How many of them stand in the prefix shared with the request before."""
    is_break: bool = False
    """Whether the request before is not wholly the beginning of this one."""
    problems: tuple[str, ...] = ()
    """The rules that the request breaks."""
    is_over: bool = False
    """Whether it is larger than the budget."""
    is_failed: bool = False
    """Whether nothing was sent, as nothing fitted."""

    @property
    def billed_tokens(self) -> float:
        """The price, in tokens that are not cached."""
        return self.tokens - (1 - CACHED_PRICE) * self.cached_tokens


@dataclasses.dataclass(frozen=True, slots=True)
class Played:
    """A transcript that was played with one strategy at one budget."""

    transcript: str
    source: str
    strategy: str
    share: float | None
    max_tokens: int
    messages: int
    calls: tuple[Call, ...]
    compactions: int
    evidence: tuple[Kept, ...]
    """Of questions, at the end; of calls, with the budget a share of what was said
    before the call."""
    session_evidence: tuple[Kept, ...]
    """Of calls, with the one budget of the whole session."""


def play(
    transcript: Transcript,
    strategy: Strategy,
    budget: Budget,
    ruler: Ruler | None = None,
) -> Played:
    """Play a transcript to its end, and then ask the questions about it."""
    ruler = ruler or Ruler()
    max_tokens = budget.tokens(transcript, ruler)
    player = strategy.start(transcript, max_tokens, ruler)
    calls: list[Call] = []
    in_session: list[Kept] = []
    needed = _needs_by_call(transcript)
    before: _Sent | None = None
    for at, request in _requests(player, transcript):
        sent = None if request is None else _Sent.count(request, ruler)
        calls.append(_call(at, sent, before, max_tokens))
        before = sent or before
        in_session += _judged(needed.get(at, ()), request)
    asked = _ask(player, transcript)
    if budget.share is None:
        at_calls = in_session
    else:
        at_calls = _at_each_call(transcript, strategy, budget, ruler)
    return Played(
        transcript=transcript.id,
        source=transcript.source,
        strategy=strategy.name,
        share=budget.share,
        max_tokens=max_tokens,
        messages=len(transcript.messages),
        calls=tuple(calls),
        compactions=player.compactions,
        evidence=(*at_calls, *asked),
        session_evidence=tuple(in_session),
    )


def _requests(
    player: Player, transcript: Transcript, upto: int | None = None
) -> Iterator[tuple[int, Mapping[str, Any] | None]]:
    """Yield the request of each call; None: nothing fitted. All is heard at the end."""
    calls = set(transcript.calls)
    for index, message in enumerate(transcript.messages[:upto]):
        if index in calls:
            yield index, _request(player)
        player.hear(message)


def _request(player: Player) -> Mapping[str, Any] | None:
    try:
        return player.request()
    except BudgetExceededError:
        return None


@dataclasses.dataclass(frozen=True, slots=True)
class _Sent:
    """A request, and what its pieces take."""

    request: Mapping[str, Any]
    tools_tokens: int
    tokens: tuple[int, ...]
    overhead_tokens: int

    @classmethod
    def count(cls, request: Mapping[str, Any], ruler: Ruler) -> _Sent:
        messages = request["messages"]
        tools = ruler.tools(request.get("tools") or (), messages)
        return cls(request, tools, ruler.messages(messages), ruler.overhead)

    @property
    def total(self) -> int:
        return self.overhead_tokens + self.tools_tokens + sum(self.tokens)

    def shared_messages(self, before: _Sent) -> int:
        """Return how many messages at the beginning are those of the request before."""
        if self.request.get("tools") != before.request.get("tools"):
            return 0
        pairs = zip(self.request["messages"], before.request["messages"], strict=False)
        for number, (now, then) in enumerate(pairs):
            if now != then:
                return number
        return min(len(self.tokens), len(before.tokens))


def _call(at: int, sent: _Sent | None, before: _Sent | None, max_tokens: int) -> Call:
    if sent is None:
        return Call(at, is_failed=True)
    shared = 0 if before is None else sent.shared_messages(before)
    cached = 0
    if before is not None and sent.request.get("tools") == before.request.get("tools"):
        cached = sent.tools_tokens + sum(sent.tokens[:shared])
    return Call(
        at=at,
        tokens=sent.total,
        cached_tokens=cached,
        is_break=before is not None and shared < len(before.tokens),
        problems=tuple(map(str, validate(sent.request))),
        is_over=sent.total > max_tokens,
    )


def _needs_by_call(transcript: Transcript) -> dict[int, list[CallNeeds]]:
    needed: dict[int, list[CallNeeds]] = {}
    for evidence in transcript.evidence:
        if isinstance(evidence, CallNeeds):
            needed.setdefault(evidence.at, []).append(evidence)
    return needed


def _judged(
    needs: Sequence[CallNeeds], request: Mapping[str, Any] | None
) -> list[Kept]:
    return [
        nothing_kept(one, one.at) if request is None else call_kept(one, request)
        for one in needs
    ]


def _at_each_call(
    transcript: Transcript, strategy: Strategy, budget: Budget, ruler: Ruler
) -> list[Kept]:
    """Judge each call in a session of its own, played up to it at its own budget."""
    judged: list[Kept] = []
    for at, needs in _needs_by_call(transcript).items():
        max_tokens = budget.tokens(transcript, ruler, upto=at)
        player = strategy.start(transcript, max_tokens, ruler)
        for _ in _requests(player, transcript, at):
            pass
        judged += _judged(needs, _request(player))
    return judged


def _ask(player: Player, transcript: Transcript) -> list[Kept]:
    questions = [one for one in transcript.evidence if isinstance(one, Question)]
    judged = []
    for number, one in enumerate(questions):
        try:
            request = player.asked(one.question)
        except BudgetExceededError:
            judged.append(nothing_kept(one, number))
        else:
            judged.append(question_kept(one, number, request, transcript.messages))
    return judged
