"""Steps of a case that keep sessions: in a manager's store, and in files."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder import ContextBuilderError, SessionManager
from context_builder.sessions import Session, load_session, save_session
from tests.cases.results import Built, Loaded, Run, need

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Keeping"]

Json = Any
"""A piece of a case file."""

_CRASHING_SAVE = """
import json, resource, signal, sys
from context_builder import ContextBuilder
from context_builder.sessions import save_session
told = json.load(sys.stdin)
ctx = ContextBuilder.load(told["log"], max_tokens=9_999)
half = told["bytes"] // 2
resource.setrlimit(resource.RLIMIT_FSIZE, (half, half))
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
save_session(ctx, told["path"])
"""
"""Dies in the middle of writing: at half of the file, the system ends the process."""


class Keeping:
    """The steps `session`, `sweep`, `save`, `load` and their like."""

    run: Run
    input: Json
    window: int
    vendor: str

    _sessions: SessionManager | None = None
    _now = 1_800_000_000.0

    def settings(self, **changes: Json) -> dict[str, Json]:
        """Return the settings of a builder in the present situation."""
        raise NotImplementedError

    def start_keeping(self) -> contextlib.ExitStack:
        """Return what closes all that the steps have opened."""
        self._opened = contextlib.ExitStack()
        self._block = self._opened.enter_context(contextlib.ExitStack())
        self._folder = Path(self._opened.enter_context(tempfile.TemporaryDirectory()))
        return self._opened

    # --- a manager --------------------------------------------------------------------

    def do_session(self, op: Json) -> None:
        """Leave the present session, and open that one."""
        self._block.close()
        if self._sessions is None:
            self._sessions = self._opened.enter_context(self._manager())
            self._opened.callback(self._look_back, self._sessions)
        self.run.ctx = self._block.enter_context(self._sessions.open(op["id"]))

    def _manager(self) -> SessionManager:
        asked: Mapping[str, Json] = {
            "store": f"sqlite:///{self._folder}/sessions.db",
            **self.settings(),
            **self.input.get("manager", {}),
        }
        return SessionManager(clock=lambda: self._now, **asked)

    def _look_back(self, sessions: SessionManager) -> None:
        """Note what is left in memory at the end."""
        self._block.close()
        self.run.live_sessions = sessions.live_sessions
        self.run.held_locks = len(sessions._desk.gate) + len(
            sessions._desk.leases._held
        )

    def do_advance_clock(self, op: Json) -> None:
        """Move the manager's clock."""
        self._now += op["seconds"]

    def do_sweep(self, op: Json) -> None:
        """Evict what is idle; whoever is in use stays."""
        ctx = self.run.ctx
        assert isinstance(ctx, Session)
        assert self._sessions is not None
        self._sessions.sweep()
        need(ctx.is_open, "a session in use was evicted", op)

    # --- files ------------------------------------------------------------------------

    def do_save(self, op: Json) -> None:
        """Save the session; `crash` kills the save half-way through writing."""
        path = self._folder / op["as"]
        if op.get("crash") != "midway":
            save_session(self.run.ctx, path)
            return
        whole = save_session(self.run.ctx, self._folder / "whole").stat().st_size
        told = {"log": self.run.ctx.dump(), "path": str(path), "bytes": whole}
        done = subprocess.run(
            [sys.executable, "-c", _CRASHING_SAVE],
            input=json.dumps(told).encode(),
            check=False,
        )
        need(done.returncode < 0, "the save was not killed", done.returncode)

    def do_load(self, op: Json) -> None:
        """Load a session; under a name, only what came of it is kept."""
        path = self._folder / op["from"]
        if "as" not in op:
            self.run.ctx = load_session(path, **self.settings())
            return
        before = path.read_bytes()
        session, request, error = None, None, None
        try:
            session = load_session(path, **self.settings())
            request = session.request(self.vendor, model=self.run.model)
        except ContextBuilderError as raised:
            error = raised
        self.run.loaded[op["as"]] = Loaded(
            session, self.run.ctx, is_unchanged=path.read_bytes() == before
        )
        self.run.built.append(
            Built(
                op["as"],
                self.vendor,
                own=True,
                budget_tokens=self.window * 7 // 10,
                seconds=0,
                request=request,
                error=error,
            )
        )

    def do_load_json(self, op: Json) -> None:
        """Load a file that somebody else has written."""
        (self._folder / "given").write_text(
            json.dumps(op["json"], ensure_ascii=False), encoding="utf-8"
        )
        self.do_load({"from": "given", **op})

    def do_corrupt(self, op: Json) -> None:
        """Damage a file."""
        path = self._folder / op["file"]
        content = path.read_bytes()
        spoilt = {
            "cut_in_half": content[: len(content) // 2],
            "zero_bytes": b"\0" * len(content),
        }
        path.write_bytes(spoilt[op["how"]])
