"""Sessions to measure promises on: of generated steps, and of real conversations."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder import (
    AdapterError,
    BudgetExceededError,
    ContextBuilder,
)
from context_builder.render import adapter_for
from context_builder.testing import WordCounter
from tests.checks import MODEL
from tests.operations import Op, Session
from tests.recount import o200k

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder import TokenCounter

__all__ = [
    "MODEL",
    "TRANSCRIPT_IDS",
    "Recorder",
    "outcome_of",
    "refusal_of",
    "reloaded",
    "session_of",
    "transcript",
]


class Recorder(WordCounter):
    """Counts words, and remembers what it was asked."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def count(self, text: str) -> int:
        """Count the words of a text."""
        self.asked[text] += 1
        return super().count(text)


def session_of(
    ops: Sequence[Op], budget: int, counter: TokenCounter | None = None
) -> Session:
    """Return a session in which all this happened."""
    return Session(ContextBuilder(max_tokens=budget, counter=counter)).apply(ops)


def outcome_of(ctx: ContextBuilder) -> str:
    """Return what comes of a build, byte for byte: the request, or the error."""
    try:
        request = ctx.request(model=MODEL)
        return json.dumps([request, ctx.explain(model=MODEL).to_dict()])
    except (BudgetExceededError, AdapterError) as error:
        return repr(error)


def reloaded(ctx: ContextBuilder, **settings: Any) -> ContextBuilder:
    """Return a builder made of what another one wrote down as JSON."""
    return ContextBuilder.load(json.loads(json.dumps(ctx.dump())), **settings)


def refusal_of(ctx: ContextBuilder) -> BudgetExceededError | None:
    """Return the error of a build that does not fit; None if it does."""
    try:
        ctx.build()
    except BudgetExceededError as error:
        return error
    return None


@dataclasses.dataclass(frozen=True)
class Transcript:
    """A real conversation, and what it costs whole."""

    id: str
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    tokens: int

    def budget(self, share: int) -> int:
        """Return a budget in percent of what the whole request costs."""
        return self.tokens * share // 100

    def session(self, budget: int) -> Session:
        """Return a session that took it over in one step."""
        tools = Op("set_tools", {"tools": self.tools})
        return session_of([tools, Op("extend", {"messages": self.messages})], budget)

    def built(self, share: int) -> str:
        """Return what comes of it, message by message, in a session of its own."""
        session = Session(ContextBuilder(max_tokens=self.budget(share)))
        for message in self.messages:
            session.step(Op("extend", {"messages": [message]}))
        return outcome_of(session.ctx)


FILE = Path(__file__).parent / "data" / "transcripts.jsonl"
RECORDS = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]
TRANSCRIPT_IDS = [record["id"] for record in RECORDS]


@functools.cache
def transcript(transcript_id: str) -> Transcript:
    """Return one of the shipped conversations, counted whole."""
    record = next(each for each in RECORDS if each["id"] == transcript_id)
    tools = record.get("tools") or []
    ctx = ContextBuilder(max_tokens=10**9, tools=tools)
    ctx.extend(record["messages"])
    whole = ctx.request(model=MODEL)
    tokens = adapter_for("openai").request_tokens(whole, o200k)
    return Transcript(transcript_id, record["messages"], tools, tokens)
