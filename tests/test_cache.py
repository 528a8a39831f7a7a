"""The cache of what was decided is never stale: cached equals fresh, at every step."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from context_builder import AdapterError, BudgetExceededError, ContextBuilder
from context_builder.testing import tool_call
from tests import strategies, texts
from tests.operations import Op, Session

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "gpt-4o"
BUDGETS = (90, 240, 700)
SYSTEMS = ("You are terse.", "You are kind. " * 4)


def result_of(build: Callable[[], Any]) -> str:
    """Return what comes of a build, byte for byte."""
    try:
        return json.dumps(build())
    except (BudgetExceededError, AdapterError) as error:
        return repr(error)


class CachedEqualsFresh(RuleBasedStateMachine):
    """A session that is used in any order, beside ones made anew from its log."""

    def __init__(self) -> None:
        super().__init__()
        self.budget = BUDGETS[1]
        self.session = Session(ContextBuilder(max_tokens=self.budget))
        self.number = 0

    @property
    def ctx(self) -> ContextBuilder:
        """The builder that keeps its cache."""
        return self.session.ctx

    def fresh(self) -> ContextBuilder:
        """Return a builder with the same log that never built anything."""
        stored = json.loads(json.dumps(self.ctx.dump()))
        return ContextBuilder.load(stored, max_tokens=self.budget)

    # --- what may happen ------------------------------------------------------------

    @rule(op=strategies.odd_ops())
    def anything(self, op: Op) -> None:
        """Something happens beside the talk."""
        self.session.step(op)

    @rule(text=texts.texts())
    def user(self, text: str) -> None:
        """The user says something."""
        self.session.step(Op("add_user_message", {"content": text}))

    @rule(text=texts.texts())
    def assistant(self, text: str) -> None:
        """The model says something."""
        self.session.step(Op("add_assistant_message", {"content": text}))

    @rule(calls=st.integers(1, 2), result=texts.results())
    def round_of_tools(self, calls: int, result: Any) -> None:
        """The model calls tools, and all but the last call are answered."""
        self.number += 1
        ids = [f"call_{self.number}_{place}" for place in range(calls)]
        said = [tool_call(call_id) for call_id in ids]
        self.session.step(Op("add_assistant_message", {"tool_calls": said}))
        for call_id in ids[:-1]:
            self.answer(call_id, result)

    @precondition(lambda self: self.number)
    @rule(result=texts.results(), number=st.integers(1, 5))
    def late_result(self, result: Any, number: int) -> None:
        """A result comes in late, or again."""
        self.answer(f"call_{min(number, self.number)}_0", result)

    def answer(self, call_id: str, result: Any) -> None:
        """Add a tool's result."""
        given = {"tool_name": "search", "result": result, "tool_call_id": call_id}
        self.session.step(Op("add_tool_result", given))

    @rule(prompt=st.sampled_from(SYSTEMS))
    def system(self, prompt: str) -> None:
        """The system prompt is set, maybe to what it was."""
        self.session.step(Op("add_system_prompt", {"prompt": prompt}))

    @rule(budget=st.sampled_from(BUDGETS))
    def look_elsewhere(self, budget: int) -> None:
        """Another target is asked for, which leaves the session's own alone."""
        result_of(lambda: self.ctx.build(max_tokens=budget))

    @rule(budget=st.sampled_from(BUDGETS))
    def change_the_budget(self, budget: int) -> None:
        """The settings change, and everything is decided anew from the log."""
        self.budget = budget
        self.ctx.configure(max_tokens=budget)

    @rule()
    def spoil_what_was_handed_out(self) -> None:
        """A caller changes what it got."""
        try:
            messages = self.ctx.build()
        except BudgetExceededError:
            return
        for message in messages:
            message.clear()

    # --- what must hold -------------------------------------------------------------

    @invariant()
    def cached_equals_fresh(self) -> None:
        """The request and the report are those of a session made anew."""
        fresh = self.fresh()
        assert self.all_of(self.ctx) == self.all_of(fresh)

    def all_of(self, ctx: ContextBuilder) -> list[str]:
        """Return all that a builder says, byte for byte."""
        return [
            result_of(lambda: ctx.build(model=MODEL)),
            result_of(lambda: ctx.request(model=MODEL)),
            result_of(lambda: ctx.explain(model=MODEL).to_dict()),
        ]

    @invariant()
    def a_build_is_clean_until_something_changes(self) -> None:
        """After a build nothing is dirty; a blank message changes that as little."""
        try:
            self.ctx.build(model=MODEL)
        except BudgetExceededError:
            return
        assert not self.ctx.is_dirty
        assert self.ctx.add_user_message(" ") is None
        assert not self.ctx.is_dirty


TestCachedEqualsFresh = CachedEqualsFresh.TestCase
TestCachedEqualsFresh.settings = settings(stateful_step_count=30)
