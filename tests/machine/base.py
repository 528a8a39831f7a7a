"""The machine's frame: how it begins, and what is checked after every step."""

from __future__ import annotations

import contextlib
import dataclasses
import json
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant

from context_builder import BudgetExceededError, ContextBuilder
from context_builder.render import adapter_names
from context_builder.testing import WordCounter
from tests import strategies
from tests.checks import TAKING_BACK
from tests.machine.followers import Anew, Followers
from tests.machine.model import BUDGETS, HOOKS, Model, Moody, Setup, bystander
from tests.machine.promises import (
    TALLY,
    Said,
    ask,
    check_all,
    check_growth,
    check_order_of_loss,
    check_types,
    difference,
)
from tests.test_summary_promises import EAGER, whims
from tests.trials import Recorder, outcome_of

if TYPE_CHECKING:
    from tests.machine.followers import Stored
    from tests.operations import Op

__all__ = ["TARGETS", "Frame"]

TARGETS = adapter_names()
MOST_KEPT = 4
"""Vendors that one session is asked for at every step; it keeps 8 decisions."""
MOST_ROUNDS = 20
"""Within so many rounds of builds every wanted summary is there or refused."""


class Frame(RuleBasedStateMachine):
    """A session, and what is known of it; what can be done stands in subclasses."""

    setup: Setup
    session: Model
    moody: Moody

    def __init__(self) -> None:
        super().__init__()
        self.before: dict[str, Said] = {}
        self.former_live = 0
        self.takes_back = False
        self.is_new_start = False
        self.steps = 0
        self.anew: Anew | None = None

    @property
    def ctx(self) -> ContextBuilder:
        """The builder that keeps its decisions."""
        return self.session.ctx

    @initialize(
        budget=st.sampled_from(BUDGETS),
        hooks=st.sampled_from(HOOKS),
        moods=whims(),
        counts_words=st.booleans(),
        ops=st.one_of(st.just([]), strategies.logs()),
        others=st.sets(
            st.sampled_from([name for name in TARGETS if name != "openai"]),
            max_size=MOST_KEPT - 1,
        ),
    )
    def begin(
        self,
        budget: int,
        hooks: Any,
        moods: list[str],
        others: set[str],
        ops: list[Op],
        *,
        counts_words: bool,
    ) -> None:
        """Start a session, with a bystander that shares its summariser."""
        counter = Recorder() if counts_words else None
        self.setup = Setup(budget, counter, hooks=hooks)
        self.moody = Moody(moods)
        self.targets = ["openai", *sorted(others)]
        self.followers = Followers([n for n in TARGETS if n not in self.targets])
        self.other = bystander(self.moody)
        self.untouched = self._settled_outcome()
        self.session = Model(self.make())
        TALLY["sessions"] += 1
        for op in ops:
            self.do(op)

    def make(self) -> ContextBuilder:
        """Return a new session."""
        return ContextBuilder(
            **self.setup.arguments, summarizer=self.moody, summary_policy=EAGER
        )

    def _settled_outcome(self) -> str:
        for _ in range(MOST_ROUNDS):
            revision = self.other.revision
            outcome = outcome_of(self.other)
            if self.other.revision == revision:
                return outcome
        message = "the bystander never comes to rest"
        raise AssertionError(message)

    # --- for rules ------------------------------------------------------------------

    def do(self, op: Op) -> None:
        """Take a step."""
        TALLY[f"door {op.door}"] += 1
        self.takes_back |= op.door in TAKING_BACK
        self.session.do(op)

    def forget_growth(self) -> None:
        """Let the next requests be other ones: the settings have changed."""
        self.before.clear()

    def quietly(self, work: Any) -> Any:
        """Do something that may find the budget too small; return what came of it."""
        with contextlib.suppress(BudgetExceededError):
            return work()
        return None

    # --- what must hold -------------------------------------------------------------

    @invariant()
    def every_promise_holds(self) -> None:
        """For each vendor: in this session, or in one that follows its log."""
        if not hasattr(self, "session"):
            return
        TALLY["steps"] += 1
        self.steps += 1
        now = self.come_to_rest()
        stored = json.loads(json.dumps(self.ctx.dump()))
        followed = self.followers.ask(self.setup, stored)
        self.compare_with_fresh(now, followed, self.made_anew(stored))
        everything = now | followed
        for said in everything.values():
            check_all(self.session, said, self.setup.budget, self.plain_counter())
        self.compare_with_before(everything)
        self.count_nothing_twice()

    def compare_with_fresh(
        self, now: dict[str, Said], followed: dict[str, Said], fresh: ContextBuilder
    ) -> None:
        """A session made anew from the log says the same; one follower, in turn."""
        turn = [*followed][self.steps % len(followed)]  # not asked: it plays the log
        for target, said in (now | {turn: followed[turn]}).items():
            anew = ask(fresh, target)
            assert said.bytes == anew.bytes, difference(said, anew)
            check_types(anew)
            TALLY["cached equals fresh"] += 1

    def made_anew(self, stored: Stored) -> ContextBuilder:
        """Return a session made from the log; the former, if nothing has changed."""
        setup = dataclasses.replace(self.setup)
        if self.anew is None or not self.anew.is_of(setup, stored):
            self.anew = Anew(setup, stored, setup.playing(stored))
        return self.anew.ctx

    def plain_counter(self) -> WordCounter | None:
        """Return what counts as the session does, and is not watched."""
        return WordCounter() if self.setup.counter else None

    def come_to_rest(self) -> dict[str, Said]:
        """Build until no summary is wanted any more; then twice the same."""
        for _ in range(MOST_ROUNDS):
            revision = self.ctx.revision
            now = {target: ask(self.ctx, target) for target in self.targets}
            if self.ctx.revision == revision:
                break
        else:
            message = "builds never come to rest"
            raise AssertionError(message)
        for target in self.targets[:2]:
            assert ask(self.ctx, target).bytes == now[target].bytes
        assert self.ctx.revision == revision
        return now

    def compare_with_before(self, now: dict[str, Said]) -> None:
        """Requests grow at their end, and the least important left first."""
        for target, said in now.items():
            if target in self.before:
                former = self.before[target]
                check_growth(former, said, or_ends_early=self.takes_back)
                if not self.setup.settings.has_standing_rules:
                    check_order_of_loss(self.session, former, said)
        self.before = now
        self.takes_back = False

    def count_nothing_twice(self) -> None:
        """However much was built, the text of an item was counted once."""
        if self.setup.counter is None:
            return
        texts = {item.text for item in self.ctx.items if item.text}
        asked = self.setup.counter.asked
        twice = {text: asked[text] for text in texts if asked[text] > 1}
        assert not twice, twice

    def teardown(self) -> None:
        """The bystander is as it was."""
        if hasattr(self, "session"):
            assert self._settled_outcome() == self.untouched
