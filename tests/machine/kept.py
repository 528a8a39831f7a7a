"""The same face within a manager's sessions: kept, reopened, killed, forked, moved."""

from __future__ import annotations

import contextlib
import dataclasses
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from context_builder import SessionManager, StoreError
from context_builder.sessions import MemoryStore, generate_key
from tests.machine.face import Changes, Looks, Talk
from tests.machine.promises import TALLY
from tests.test_summary_promises import EAGER

if TYPE_CHECKING:
    from context_builder import ContextBuilder
    from tests.machine.model import Model

__all__ = ["Kept"]

KEY = generate_key()


class Kept(Talk, Looks, Changes):
    """A session of a store: what is acknowledged is there, whoever opens it next."""

    def make(self) -> ContextBuilder:
        """Open a new session of a new store."""
        self.store = MemoryStore(clock=lambda: 0.0)
        self.id = "s"
        self.forks = 0
        self.manager_setup = dataclasses.replace(self.setup)
        self.kept: Model | None = None
        self.manager = self.worker()
        self.open_block()
        opened: ContextBuilder = self.block_ctx
        return opened

    def worker(self) -> SessionManager:
        """Return a manager that shares nothing with the others but the store."""
        is_sealed = self.setup.counter is not None
        arguments = {**self.manager_setup.arguments}
        return SessionManager(
            store=self.store,
            encryption_key=KEY if is_sealed else None,
            summarizer=self.moody,
            summary_policy=EAGER,
            wait_seconds=0.2,
            **arguments,
        )

    def open_block(self) -> None:
        """Open the session's block."""
        self.block = self.manager.open(self.id)
        self.block_ctx: Any = self.block.__enter__()

    # --- what a store is for --------------------------------------------------------

    @rule()
    def commit(self) -> None:
        """What came in is acknowledged."""
        self.block_ctx.commit()
        self.kept = self.session.snapshot()
        TALLY["commits"] += 1

    @rule(moves=st.booleans(), raises=st.booleans())
    def reopen(self, *, moves: bool, raises: bool) -> None:
        """The block ends, perhaps with an error; here or elsewhere it goes on."""
        self.leave(raises=raises)
        stale = self.block_ctx
        if moves:
            self.manager.close()
            self.manager = self.worker()
        self.again(self.session.snapshot())
        with pytest.raises(StoreError):
            stale.add_user_message("too late")
        TALLY["blocks reopened"] += 1

    def leave(self, *, raises: bool = False) -> None:
        """End the block; whatever ends it, what came in is kept."""
        if raises:
            error = RuntimeError("the turn failed")
            self.block.__exit__(RuntimeError, error, None)
        else:
            self.block.__exit__(None, None, None)

    @rule()
    def die(self) -> None:
        """The process is killed: what was acknowledged is there, and nothing else."""
        self.manager._desk.leases.stop()
        self.store = self.disk()
        self.manager = self.worker()
        if self.kept is None:
            self.kept = dataclasses.replace(
                self.session, system=None, live=[], has_begun=False
            )
        self.again(self.kept.snapshot(), is_exact=True)
        self.forget_growth()
        TALLY["processes killed"] += 1

    def disk(self) -> MemoryStore:
        """Return what a store would find on its disk; nobody holds a lease."""
        after = MemoryStore(clock=lambda: 0.0)
        after._kept = {
            key: dataclasses.replace(kept, records=[*kept.records], owner=None)
            for key, kept in self.store._kept.items()
            if kept.records
        }
        return after

    def again(self, known: Model, *, is_exact: bool = False) -> None:
        """Open the session again, and find what is known of it."""
        log = None if is_exact else self.session.ctx.dump()
        number = self.session.number
        counts = self.manager_setup.another()
        self.setup = dataclasses.replace(counts)
        self.manager_setup = counts
        with contextlib.suppress(StoreError):
            self.manager.close()
        self.manager = self.worker()
        self.open_block()
        ctx = self.block_ctx
        known.ctx, known.asked, known.number = ctx, None, number
        held = {item.id for item in ctx.items}
        assert set(known.live) <= held
        if log is not None:
            assert ctx.dump() == log
        self.session = known
        self.kept = known.snapshot() if ctx.items else None
        self.forget_growth()

    @rule()
    def fork_stored(self) -> None:
        """A stored copy under another id is the same session, and goes on as it."""
        if not self.session.ctx.items:
            return
        self.leave()
        self.forks += 1
        self.manager.fork(self.id, f"fork-{self.forks}")
        self.id = f"fork-{self.forks}"
        self.again(self.session.snapshot())

    @rule()
    def carry_over(self) -> None:
        """Exported, deleted and imported, it is the same session."""
        if not self.session.ctx.items:
            return
        self.leave()
        text = self.manager.export(self.id)
        assert self.manager.delete(self.id)
        self.manager.import_(text)
        self.again(self.session.snapshot())
        TALLY["exports and imports"] += 1

    def teardown(self) -> None:
        """The last block ends, and the bystander is as it was."""
        if hasattr(self, "session"):
            self.leave()
            self.manager.close()
        super().teardown()
