"""All that can be done to a session, in any order: the public face as rules."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from context_builder import (
    AdapterError,
    BudgetExceededError,
    ContextBuilder,
    ContextBuilderError,
    InvalidItemError,
    call_with_recovery,
)
from context_builder.builtin_tools import answer
from context_builder.sessions import load_session, save_session
from context_builder.testing import tool_call
from tests import strategies, texts
from tests.machine.base import TARGETS, Frame
from tests.machine.model import BUDGETS, OPTIONS, PRESETS, Setup, answers, spoil
from tests.machine.promises import _MARK, TALLY, ask, check_same, unchanged
from tests.operations import Op, Session
from tests.render.sdk_types import MODELS
from tests.test_summary_promises import EAGER

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["Face"]

ANSWERS = answers()
PROMPTS = ("You are terse.", "You are kind. " * 4, None)
KEYS = ("price", "menu", None)

vendors = st.sampled_from(TARGETS)
numbers = st.integers(0, 30)


class Talk(Frame):
    """What comes in."""

    @rule(content=texts.user_contents(), key=st.sampled_from(KEYS))
    def user(self, content: Any, key: str | None) -> None:
        """The user says something, perhaps with a picture."""
        self.do(Op("add_user_message", {"content": content, "cache_key": key}))

    @rule(text=texts.texts(), partial=st.booleans())
    def assistant(self, text: str, *, partial: bool) -> None:
        """The model says something, perhaps cut off."""
        self.do(Op("add_assistant_message", {"content": text, "partial": partial}))

    @rule(
        results=st.lists(texts.results(), min_size=1, max_size=3),
        names=st.sampled_from(strategies.NAMES),
        arguments=st.sampled_from(strategies.ARGUMENTS),
        key=st.sampled_from(KEYS),
        answered=st.integers(0, 3),
    )
    def round_of_tools(
        self,
        results: list[Any],
        names: str,
        arguments: str,
        key: str | None,
        answered: int,
    ) -> None:
        """The model calls tools; so many calls are answered, the last one first."""
        start = self.session.number
        ids = [f"call_{start}_{place}" for place in range(len(results))]
        calls = [tool_call(call_id, names, arguments) for call_id in ids]
        self.do(Op("add_assistant_message", {"tool_calls": calls}))
        for call_id, result in [*zip(ids, results, strict=True)][::-1][:answered]:
            given = {"result": result, "tool_call_id": call_id, "cache_key": key}
            self.do(Op("add_tool_result", {"tool_name": names, **given}))

    @rule(op=strategies.odd_ops())
    def anything(self, op: Op) -> None:
        """Something happens beside the talk: memories, notes, edits, removals."""
        self.do(op)

    @rule(op=strategies.mistakes())
    def mistake(self, op: Op) -> None:
        """Something comes in broken, late, twice or for nobody."""
        self.do(op)

    @rule(ops=strategies.conversations(), vendor=vendors, whole=st.booleans())
    def take_over(self, ops: list[Op], vendor: str, *, whole: bool) -> None:
        """A history of another vendor's format is taken over; then it is destroyed."""
        other = Session(ContextBuilder(max_tokens=10**9)).apply(
            strategies._marked(op, self.session.number + 1 + number)
            for number, op in enumerate(ops)
            if op.door not in {"edit", "remove", "rewind", "clear"}
        )
        self.session.number += len(ops)
        try:
            request = other.ctx.request(vendor, model=MODELS[vendor])
        except AdapterError:
            return
        fields = ("messages", "contents", "input")
        field = next(name for name in fields if name in request)
        given = request if whole else request[field]
        self.do_extend({"messages": given, "format": vendor})
        spoil(request)

    def do_extend(self, given: dict[str, Any]) -> None:
        """Take a history over: whole, or not at all."""
        before = self.ctx.revision
        try:
            self.do(Op("extend", given))
        except InvalidItemError:
            assert self.ctx.revision == before
            raise

    @rule(reply=st.sampled_from(ANSWERS), most=st.integers(1, 12), breaks=st.booleans())
    def response(self, reply: Any, most: int, *, breaks: bool) -> None:
        """A vendor answers, whole or in pieces; a stream may end early, or raise."""
        if isinstance(reply, list):
            reply = reply[:most]
            if breaks:
                self.broken_stream(reply)
                return
        revision = self.ctx.revision
        try:
            self.do(Op("add_response", {"response": reply}))
        except InvalidItemError:
            assert isinstance(reply, list)  # nothing that says whose it is came yet
            assert self.ctx.revision == revision

    def broken_stream(self, pieces: list[Any]) -> None:
        """What came until the connection broke is kept; the error is passed on."""

        def stream() -> Iterator[Any]:
            yield from pieces
            raise ConnectionResetError

        with pytest.raises((ConnectionResetError, InvalidItemError)):
            self.do(Op("add_response", {"response": stream()}))

    @rule(prompt=st.sampled_from(PROMPTS))
    def system(self, prompt: str | None) -> None:
        """The system prompt is set, taken away, or set to what it was."""
        self.do(Op("add_system_prompt", {"prompt": prompt}))

    @rule(text=st.sampled_from(("Now A.", "Now B, at length. " * 5)))
    def asked_system(self, text: str) -> None:
        """The system prompt is a callable, which is asked at each user message."""
        self.session.asked = text
        revision = self.ctx.revision
        self.ctx.add_system_prompt(lambda: self.session.asked or text)
        self.session.take_new(revision)

    @precondition(lambda self: self.session.asked is not None)
    @rule(text=st.sampled_from(("Then A.", "Then B.")))
    def says_another(self, text: str) -> None:
        """The callable says something else from now on."""
        self.session.asked = text

    @rule(blank=st.sampled_from(texts.BLANK))
    def nothing(self, blank: str) -> None:
        """Blank messages are no event."""
        revision = self.ctx.revision
        assert self.ctx.add_user_message(blank) is None
        assert self.ctx.add_memory(blank) is None
        assert self.ctx.add_assistant_message(blank) is None
        assert self.ctx.revision == revision

    @rule(
        door=st.sampled_from(("add_user_message", "add_memory", "extend")),
        bad=st.sampled_from((object(), 7.5, [{"type": "hologram"}], [{"role": 3}])),
    )
    def refused(self, door: str, bad: Any) -> None:
        """What is no content is refused, and leaves the session as it was."""
        revision = self.ctx.revision
        with pytest.raises(InvalidItemError):
            getattr(self.ctx, door)(bad)
        assert self.ctx.revision == revision


class Looks(Frame):
    """What is asked of a session, and what a caller does with it."""

    @rule(vendor=vendors, at=numbers, budget=st.sampled_from(BUDGETS))
    def look(self, vendor: str, at: int, budget: int) -> None:
        """Whatever is looked at, nothing changes."""
        ctx, model = self.ctx, MODELS[vendor]
        former = ask(ctx, vendor)
        items = [item.id for item in self.session.items()]
        looks = [
            lambda: ctx.explain(vendor, model=model, max_tokens=budget),
            lambda: ctx.plan(vendor, what_if_max_tokens=budget, model=model),
            lambda: ctx.diff(former.report or {"messages": []}, vendor, model=model),
            lambda: ctx.recall("stone data 3"),
        ]
        if items:
            item_id = items[at % len(items)]
            looks.append(lambda: ctx.explain(vendor, model=model, item_id=item_id))
        for each in looks:
            unchanged(ctx, each)

    @rule(vendor=vendors)
    def destroy(self, vendor: str) -> None:
        """A caller destroys all that it was handed."""
        ctx = self.ctx
        for get in (
            lambda: ctx.request(vendor, model=MODELS[vendor]),
            lambda: ctx.build(vendor, model=MODELS[vendor]),
            lambda: ctx.explain(vendor, model=MODELS[vendor]).to_dict(),
            ctx.dump,
        ):
            with contextlib.suppress(AdapterError, BudgetExceededError):
                spoil(get())

    @rule(budget=st.sampled_from(BUDGETS), vendor=vendors)
    def elsewhere(self, budget: int, vendor: str) -> None:
        """Another budget is asked for, which leaves the session's own alone."""
        with contextlib.suppress(AdapterError, BudgetExceededError):
            request = self.ctx.request(vendor, model=MODELS[vendor], max_tokens=budget)
            report = self.ctx.explain(vendor, model=MODELS[vendor], max_tokens=budget)
            assert report.tokens <= budget
            assert request

    @rule(
        query=st.sampled_from(("stone", "line 3: ok", "你好", "zzz", "")),
        handle=st.one_of(st.none(), st.integers(1, 60).map(lambda n: f"i{n}")),
        lines=st.sampled_from((None, "1-2", "3", "x", "9-1")),
        added=st.booleans(),
    )
    def recall_tool(
        self, query: str, handle: str | None, lines: str | None, *, added: bool
    ) -> None:
        """The model recalls what is there, and nothing that was taken out."""
        asked = {"query": query, "handle": handle, "lines": lines}
        call = tool_call(f"recall_{self.session.number}", "recall", json.dumps(asked))
        revision = self.ctx.revision
        text = answer(self.ctx, call)
        assert text is not None
        assert self.ctx.revision == revision
        held = {mark for i in self.session.items() for mark in _MARK.findall(i.text)}
        held |= set(_MARK.findall(self.session.system or ""))
        assert set(_MARK.findall(text)) <= held
        if added:
            self.do(Op("add_assistant_message", {"tool_calls": [call]}))
            given = {"result": text, "tool_call_id": call["id"]}
            self.do(Op("add_tool_result", {"tool_name": "recall", **given}))

    @rule()
    def compact_tool(self) -> None:
        """The model asks for room."""
        assert answer(self.ctx, tool_call("c", "compact"))

    @rule(vendor=vendors, share=st.sampled_from((0.5, 0.9, 1.1, 2.0)))
    def usage(self, vendor: str, share: float) -> None:
        """A vendor bills a request: only estimates change by it."""
        said = ask(self.ctx, vendor)
        if said.report is None or self.setup.counter is None:
            return
        bill = int(said.report.tokens * share) + 1
        self.ctx.record_usage(bill, target=vendor, model=MODELS[vendor])

    @rule(vendor=vendors, fails=st.integers(0, 2))
    def overflow(self, vendor: str, fails: int) -> None:
        """A vendor refuses so many times for the size: smaller requests follow."""
        sizes: list[int] = []

        def call(**request: Any) -> Any:
            sizes.append(len(json.dumps(request, default=repr)))
            if len(sizes) <= fails:
                message = "This model's maximum context length is exceeded"
                raise ValueError(message)
            return {"choices": []}

        with contextlib.suppress(ContextBuilderError, ValueError):
            call_with_recovery(self.ctx, call, target=vendor, model=MODELS[vendor])
        assert len(sizes) <= 3
        self.forget_growth()


class Changes(Frame):
    """Settings, compactions, copies."""

    @rule(budget=st.sampled_from(BUDGETS))
    def change_the_budget(self, budget: int) -> None:
        """Another budget: everything is decided anew from the log."""
        self.setup.budget = budget
        self.ctx.configure(max_tokens=budget)
        self.forget_growth()

    @rule(preset=st.sampled_from(PRESETS))
    def change_the_settings(self, preset: Any) -> None:
        """Another policy."""
        self.setup.settings = preset
        self.ctx.configure(settings=preset)
        self.forget_growth()

    @rule(options=st.sampled_from(OPTIONS))
    def change_the_options(self, options: Any) -> None:
        """Other settings of the request."""
        self.setup.options = options
        self.ctx.configure(options=options)
        self.forget_growth()

    @rule(vendor=vendors, tokens=st.sampled_from((150, 900, 50_000)))
    def learn(self, vendor: str, tokens: int) -> None:
        """A vendor said how much its model really takes."""
        self.ctx.learn_limit(MODELS[vendor], tokens)
        self.forget_growth()

    @rule(vendor=vendors)
    def compact(self, vendor: str) -> None:
        """A compaction is asked for; the summariser may fail in any way."""
        with contextlib.suppress(AdapterError, BudgetExceededError):
            self.ctx.compact(vendor, model=MODELS[vendor])
        TALLY["compactions asked for"] += 1

    @rule(vendor=vendors, awaited=st.booleans())
    def prepare(self, vendor: str, *, awaited: bool) -> None:
        """A summary is made ahead: nothing enters the log before a build takes it."""
        revision = self.ctx.revision
        if awaited:
            asyncio.run(self.ctx.aprepare_summary(vendor, model=MODELS[vendor]))
        else:
            self.ctx.prepare_summary(vendor, model=MODELS[vendor])
        assert self.ctx.revision == revision

    @rule(
        vendor=vendors, does=st.sampled_from(("acompact", "abuild", "aprepare_summary"))
    )
    def cancel(self, vendor: str, does: str) -> None:
        """A task is cancelled while the summariser hangs: nothing of it is left."""
        self.moody.hangs = True
        known = len(self.ctx.log.summaries)

        async def cancelled() -> None:
            work = getattr(self.ctx, does)(vendor, model=MODELS[vendor])
            task = asyncio.ensure_future(work)
            for _ in range(5):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(
                asyncio.CancelledError, AdapterError, BudgetExceededError
            ):
                await task
            TALLY["tasks cancelled"] += task.cancelled()

        try:
            asyncio.run(cancelled())
        finally:
            self.moody.hangs = False
        assert len(self.ctx.log.summaries) == known

    @rule(vendor=vendors, number=numbers)
    def fork(self, vendor: str, number: int) -> None:
        """A copy goes its own way: neither sees what happens to the other."""
        copy = self.setup.fresh(self.ctx)
        before = ask(self.ctx, vendor).bytes
        copy.add_user_message(f"elsewhere {number}")
        ask(copy, vendor)
        copy.clear()
        assert ask(self.ctx, vendor).bytes == before
        TALLY["forks"] += 1


class Face(Talk, Looks, Changes):
    """A builder alone: it is dumped, loaded and saved now and then."""

    @rule(vendor=vendors)
    def load(self, vendor: str) -> None:
        """What was dumped is loaded, and goes on in its place."""
        stored = json.loads(json.dumps(self.ctx.dump()))
        again = ContextBuilder.load(stored, **self.renew().arguments, **self.asking())
        self.check_restored(again, vendor)
        self.go_on_with(again)

    @rule(vendor=vendors)
    def save(self, vendor: str) -> None:
        """What was saved to a file is loaded, and goes on in its place."""
        with tempfile.TemporaryDirectory() as folder:
            path = save_session(self.ctx, Path(folder) / "s.jsonl")
            again = load_session(path, **self.renew().arguments, **self.asking())
        assert again.damage == ()
        self.check_restored(again, vendor)
        self.go_on_with(again)

    def check_restored(self, again: ContextBuilder, vendor: str) -> None:
        """It holds the same log, and says the same of it as whoever asks nobody.

        A request for a vendor that was not asked for before may want a summary of its
        own, which enters the log, so the log is compared first.
        """
        assert again.dump() == self.ctx.dump()
        ask(again, vendor)
        check_same(again, self.setup.fresh(again), vendor)

    def renew(self) -> Setup:
        """Start counting anew: another builder knows nothing of what was counted."""
        self.setup = self.setup.another()
        return self.setup

    def asking(self) -> dict[str, Any]:
        """Return the arguments that say who summarises."""
        return {"summarizer": self.moody, "summary_policy": EAGER}

    def go_on_with(self, again: ContextBuilder) -> None:
        """Take another builder with the same log; callables are not stored."""
        assert again.items == self.ctx.items
        self.session.ctx = again
        self.session.asked = None
        TALLY["reloads"] += 1
