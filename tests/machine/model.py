"""What a session is made of, and what must then be in its conversation."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from typing import TYPE_CHECKING, Any

from context_builder import (
    ContextBuilder,
    ContextItem,
    Policy,
    RequestOptions,
    Settings,
)
from context_builder.entries import ItemsAdded, SystemSet
from context_builder.hooks import LADDER, ContextProvider, Hooks
from context_builder.testing import turns
from tests import strategies
from tests.operations import Op, Session
from tests.render.answers import ANSWERS, PIECES
from tests.test_summary_promises import EAGER, Whimsical

if TYPE_CHECKING:
    from collections.abc import Iterator

    from context_builder.items import UnitKind
    from context_builder.summarizers import SummaryRequest

__all__ = [
    "BUDGETS",
    "HOOKS",
    "OPTIONS",
    "PRESETS",
    "Model",
    "Moody",
    "Setup",
    "answers",
    "bystander",
    "spoil",
]

Json = Any
"""A piece of what was handed out."""

BUDGETS = (90, 240, 700, 700, 2_500, 200_000)
"""Tokens: from hardly anything to more than there is."""

PRESETS: tuple[Settings, ...] = (
    Settings(),
    Policy.balanced(),
    Policy.cache_first(),
    Policy.quality_first(),
    Policy.classic(),
    Settings(keep_last_turns=2),
    Settings(keep_last_messages=5, keep_first_messages=1),
    Settings(round_results_max_tokens=40, preview_chars=60),
    Settings(compact_after_turns=3, keep_tool_results=1),
    Settings(decay_per_turn=0, recall_share=0.0, digest_share=0.0),
)

OPTIONS: tuple[RequestOptions, ...] = (
    RequestOptions(),
    RequestOptions(max_output_tokens=500, temperature=0.2),
    RequestOptions(tool_choice="auto", parallel_tool_calls=False),
    RequestOptions(max_output_tokens=4_000, thinking_budget_tokens=1_024),
    RequestOptions(reasoning_effort="low"),
    RequestOptions(
        response_format={
            "type": "json_schema",
            "json_schema": {
                "name": "reply",
                "schema": {
                    "type": "object",
                    "properties": {"said": {"type": "string"}},
                    "required": ["said"],
                    "additionalProperties": False,
                },
            },
        }
    ),
)


# --- hooks ----------------------------------------------------------------------------


def without_memories(items: tuple[ContextItem, ...]) -> Iterator[ContextItem]:
    """Leave memories out of what is said."""
    return (item for item in items if item.source != "memory")


def by_length(item: ContextItem, age: int, kind: UnitKind) -> int | None:
    """Rate by length; fail for some, and leave others to the library.

    Raises:
        RuntimeError: For some.
    """
    del kind
    if len(item.text) % 7 == 0:
        message = "this one is not rated"
        raise RuntimeError(message)
    return None if age > 3 else 40 + len(item.text) % 40


HOOKS: tuple[Hooks, ...] = (
    Hooks(),
    Hooks(
        context_providers=(
            ContextProvider("time", lambda: "It is noon."),
            ContextProvider("profile", lambda: "Likes tea.", is_volatile=False),
        )
    ),
    Hooks(before_build=(without_memories,)),
    Hooks(priority_rule=by_length),
    Hooks(ladder=LADDER[1:4]),
)
"""Each deterministic, as hooks have to be."""


# --- the summariser -------------------------------------------------------------------


class Moody(Whimsical):
    """Summarises, or fails in one of many ways; awaited, it may hang as well."""

    hangs = False

    async def asummarize(self, request: SummaryRequest) -> str:
        """Do what the next whim is; hang where that is wanted."""
        if self.hangs:
            await asyncio.sleep(3_600)
        return self.summarize(request)


# --- the session ----------------------------------------------------------------------


@dataclasses.dataclass
class Setup:
    """How a session is set up now; a fresh one is made in the same way."""

    budget: int
    counter: Any = None
    settings: Settings = PRESETS[0]
    options: RequestOptions = OPTIONS[0]
    hooks: Hooks = HOOKS[0]

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments of a builder."""
        return {
            "max_tokens": self.budget,
            "counter": self.counter,
            "settings": self.settings,
            "options": self.options,
            "hooks": self.hooks,
            "clock": lambda: 0.0,
        }

    def fresh(self, ctx: ContextBuilder) -> ContextBuilder:
        """Return a builder that plays the log of another one, and asks nobody."""
        return self.playing(json.loads(json.dumps(ctx.dump())))

    def playing(self, stored: list[dict[str, Any]]) -> ContextBuilder:
        """Return a builder that plays a log, and asks nobody."""
        return ContextBuilder.load(stored, **self.another().arguments)

    def decides_as(self, other: Setup) -> bool:
        """Say whether the same log gives the same requests; who counts is the same."""
        return dataclasses.replace(self, counter=None) == dataclasses.replace(
            other, counter=None
        )

    def another(self) -> Setup:
        """Return the same setup, with a counter that has counted nothing."""
        counter = None if self.counter is None else type(self.counter)()
        return dataclasses.replace(self, counter=counter)


@dataclasses.dataclass
class Model(Session):
    """Also knows prompts that are callables, and histories that bring a prompt."""

    asked: str | None = None
    """What the callable says that gives the system prompt; None: there is none."""
    number: int = 0
    """Gives each text a mark of its own."""

    def do(self, op: Op) -> None:
        """Take a step whose text gets a mark that no other has."""
        self.number += 1
        self.step(strategies._marked(op, self.number))

    def take_new(self, revision: int) -> None:
        """Take note of what came in since a revision."""
        for entry in self.ctx.log.since(revision):
            if isinstance(entry, SystemSet):
                self.system = None if entry.item is None else entry.item.text
            elif isinstance(entry, ContextItem | ItemsAdded):
                items = entry.items if isinstance(entry, ItemsAdded) else (entry,)
                self.live += [item.id for item in items]
                self.has_begun = True

    def _add(self, op: Op) -> None:
        revision = self.ctx.revision
        try:
            getattr(self.ctx, op.door)(**op.given)
        finally:
            self.take_new(revision)

    def _set_system(self, op: Op) -> None:
        super()._set_system(op)
        prompt = op.given["prompt"]
        if prompt is None or prompt.strip():
            self.asked = None

    def snapshot(self) -> Model:
        """Return what is known now, for a time when it is true again."""
        return dataclasses.replace(self, live=[*self.live])


def bystander(summarizer: Moody) -> ContextBuilder:
    """Return a session that nobody touches: nothing may ever change in it."""
    ctx = ContextBuilder(
        max_tokens=300,
        summarizer=summarizer,
        summary_policy=EAGER,
        clock=lambda: 0.0,
    )
    ctx.extend(list(turns(9, tools=True)))
    return ctx


def spoil(value: Json) -> None:
    """Destroy all that a caller can destroy of what was handed out."""
    if isinstance(value, dict):
        for member in value.values():
            spoil(member)
        value.clear()
    elif isinstance(value, list):
        for member in value:
            spoil(member)
        value.clear()


# --- answers --------------------------------------------------------------------------


def answers() -> list[Json]:
    """Return answers of every kind of endpoint: whole, and in pieces."""
    said: list[Json] = []
    for kind, make in ANSWERS.items():
        said += [make(name, f"some-{kind}") for name in (None, "look")]
    for kind in ("chat", "responses", "anthropic", "gemini"):
        said += [_pieces(kind, name) for name in (None, "look")]
    return said


def _pieces(kind: str, name: str | None) -> list[Json]:
    wire = b"".join(PIECES[kind](name, f"some-{kind}")).decode()
    lines = [line[6:] for line in wire.splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]
