"""Runs a case file: each step becomes a call of the library's public face.

A step that the library cannot do yet raises `NotYet`: it is never passed over. A run is
for one vendor; builds for others are left out, unless an assertion wants this vendor's
rendering of them. That is no loss: when or how often is built changes nothing.
"""

from __future__ import annotations

import copy
import fnmatch
import json
import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from context_builder import (
    ContextBuilder,
    ContextBuilderError,
    ReasoningPart,
    count,
    count_messages,
)
from context_builder.summarizers import SummaryPolicy
from context_builder.testing import FakeSummarizer
from tests.cases.expand import expand, filled_in
from tests.cases.keeping import Keeping
from tests.cases.results import Built, Counted, NotYet, Run, stored_form
from tests.cases.sending import send

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["run_case"]

Json = Any
"""A piece of a case file, or of a request."""


def _with_reasoning(message: Json) -> Json:
    """Put signed thinking where the library reads a message's reasoning."""
    blocks = message.get("thinking", ())
    if not blocks:
        return message
    text = "".join(block.get("thinking", "") for block in blocks)
    kept = {key: value for key, value in message.items() if key != "thinking"}
    return {**kept, "reasoning_content": text}


class _Capture(logging.Handler):
    def __init__(self, records: list[logging.LogRecord]) -> None:
        super().__init__(logging.DEBUG)
        self._records = records

    def emit(self, record: logging.LogRecord) -> None:
        self._records.append(record)


def run_case(
    case: Mapping[str, Any],
    vendor: str,
    *,
    wanted: Sequence[str] = (),
    summarizer: bool = False,
) -> Run:
    """Run a case for one vendor.

    Args:
        case: The file, parsed.
        vendor: Builds for it are made.
        wanted: Names or patterns of builds for others that this vendor renders too.
        summarizer: Whether the stub summariser takes part; without it, its steps only
            say what an assertion that depends on it will want.

    Raises:
        NotYet: If the library has no door for a step.
    """
    runner = _Runner(expand(case), vendor, wanted, summarizer=summarizer)
    logger = logging.getLogger()
    library = logging.getLogger("context_builder")
    handler, level = _Capture(runner.run.logged), library.level
    logger.addHandler(handler)
    library.setLevel(logging.DEBUG)
    try:
        with runner.start_keeping():
            for op in runner.input.get("ops", [{"op": "build", "as": "build"}]):
                runner.step(op)
    finally:
        runner.stub.release()
        runner.run.prompts[:] = runner.stub.prompts
        library.setLevel(level)
        logger.removeHandler(handler)
    return runner.run


class _Runner(Keeping):
    def __init__(
        self, case: Json, vendor: str, wanted: Sequence[str], *, summarizer: bool
    ) -> None:
        self.input = case["input"]
        self.vendor = vendor
        self.wanted = wanted
        self.uses_summarizer = summarizer
        self.stub = FakeSummarizer()
        self.provider = self.input["provider"]
        self.window = self.input["window"]
        self.lock = threading.Lock()
        self.handed_out: dict[str, Json] = {}
        ctx = ContextBuilder(tools=self.input.get("tools"), **self.settings())
        self.run = Run(case, vendor, ctx)
        self.history(self.input.get("messages", ()))

    def settings(self, **changes: Json) -> dict[str, Json]:
        """Return the settings of a builder in the present situation."""
        known = {
            "model": self.input.get("model"),
            "context_window": self.window,
            "max_tokens": self.input.get("budget"),
            **changes,
        }
        if self.uses_summarizer:
            seconds = self.input.get("summarizer_timeout", 30)
            known["summarizer"] = self.stub
            known["summary_policy"] = SummaryPolicy(timeout_seconds=seconds)
        return {key: value for key, value in known.items() if value is not None}

    def history(self, messages: Sequence[Json]) -> None:
        """Take over the history that the case begins with."""
        if any("thinking" in message for message in messages):
            raise NotYet(door="a history with thinking")
        self.run.ctx.extend(messages)
        for message in messages:
            self.remember(message)

    def remember(self, item: Json) -> None:
        """Note what must be stored from now on."""
        form = stored_form(item)
        is_blank = not form[1].strip() and not form[2] and item["role"] != "tool"
        is_known = item["role"] == "system" and form in self.run.added
        if not is_blank and not is_known:
            self.run.added.append(form)

    def step(self, op: Json) -> None:
        """Do one step."""
        do = getattr(self, f"do_{op['op']}", None)
        if do is None:
            raise NotYet(door=f"the step {op['op']}")
        do(op)

    # --- what comes in ------------------------------------------------------------

    def do_set_system(self, op: Json) -> None:
        self.run.ctx.add_system_prompt(op["content"])
        self.remember({"role": "system", **op})

    def do_add_user(self, op: Json) -> None:
        self.run.ctx.add_user_message(op["content"])
        self.remember({"role": "user", **op})

    def do_add_assistant(self, op: Json) -> None:
        self.run.ctx.add_assistant_message(
            op.get("content") or "",
            tool_calls=op.get("tool_calls"),
            reasoning=[self.thought(block) for block in op.get("thinking", ())],
            partial=op.get("partial", False),
        )
        self.remember({"role": "assistant", **op})

    def thought(self, block: Json) -> ReasoningPart:
        """Return a signed block of the vendor that it says, or of the present one."""
        data = {key: value for key, value in block.items() if key != "vendor"}
        return ReasoningPart(
            provider=block.get("vendor", self.provider),
            text=block.get("thinking", ""),
            signature=block.get("signature"),
            data=data,
        )

    def do_add_tool_result(self, op: Json) -> None:
        self.run.ctx.add_tool_result(
            op.get("name"),
            op["content"],
            tool_call_id=op["tool_call_id"],
            cache_key=op.get("cache_key"),
            is_error=op.get("is_error", False),
        )
        self.remember({"role": "tool", **op})

    def do_add_background(self, op: Json) -> None:
        given = {key: op[key] for key in ("cache_key", "source") if key in op}
        self.run.ctx.add_memory(op["content"], **given)
        self.remember({"role": "user", **op})

    def do_add_turn(self, op: Json) -> None:
        self.run.ctx.extend(op["items"])
        with self.lock:
            for item in op["items"]:
                self.remember(item)

    def do_cancel(self, op: Json) -> None:
        """End the running request: nothing runs inside the library."""

    def do_set_tools(self, op: Json) -> None:
        self.run.ctx.set_tools(op["tools"])

    def do_summarizer(self, op: Json) -> None:
        """Note the stub's behaviour: without the stub taking part, nothing calls it."""
        for name in ("behaviour", "returns", "error", "seconds"):
            setattr(self.stub, name, op.get(name, getattr(self.stub, name)))

    # --- what goes round it ---------------------------------------------------------

    def do_switch(self, op: Json) -> None:
        self.provider = op["provider"]
        self.window = op["window"]
        self.anew()

    def anew(self, *, unbuilt: bool = False, **changes: Json) -> None:
        """Go on with the same stored items.

        Args:
            unbuilt: As if nothing had been built before: what builds got from the
                summariser is no stored item.
            **changes: Settings that are other than before.
        """
        stored = json.loads(json.dumps(self.run.ctx.dump()))
        if unbuilt:
            made = {"summary", "summary_refused"}
            stored = [entry for entry in stored if entry.get("entry") not in made]
        self.run.ctx = ContextBuilder.load(stored, **self.settings(**changes))

    def do_repeat(self, op: Json) -> None:
        for number in range(op["times"]):
            for inner in filled_in(op["ops"], "{i}", number):
                self.step(inner)

    def do_parallel(self, op: Json) -> None:
        failed: list[BaseException] = []
        threads = [
            threading.Thread(target=self.thread, args=(op["ops"], number, failed))
            for number in range(op["threads"])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if failed:
            raise failed[0]

    def thread(self, ops: Json, number: int, failed: list[BaseException]) -> None:
        """Do the steps of one thread."""
        try:
            for inner in filled_in(ops, "{t}", number):
                self.step(inner)
        except BaseException as error:  # raised again by who waits
            failed.append(error)

    def do_mutate_result(self, op: Json) -> None:
        request = self.handed_out[op["of"]]
        for message in request["messages"]:
            message["content"] = "changed by a careless caller"
        request["messages"].clear()

    # --- what goes out --------------------------------------------------------------

    def do_count(self, op: Json) -> None:
        started = time.perf_counter()
        tokens = count(op["text"], model=self.input.get("model"))
        self.counted(op, tokens, started)

    def do_count_messages(self, op: Json) -> None:
        started = time.perf_counter()
        messages = [_with_reasoning(message) for message in op["messages"]]
        tokens = count_messages(messages, model=self.input.get("model"))
        self.counted(op, tokens, started)

    def counted(self, op: Json, tokens: int, started: float) -> None:
        """Keep a count under its name."""
        seconds = time.perf_counter() - started
        self.run.counted[op["as"]] = Counted(op["as"], tokens, seconds)

    def do_send(self, op: Json) -> None:
        if self.provider != self.vendor:
            return
        ctx, model = self.run.ctx, self.run.model
        sent, error = send(ctx, self.vendor, model, self.run.case, op["responses"])
        self.run.built.append(
            Built(
                op["as"],
                self.vendor,
                own=True,
                budget_tokens=ctx.budget_tokens,
                seconds=0,
                request=sent[-1],
                error=error,
                sent=tuple(sent),
            )
        )

    def do_build_sweep(self, op: Json) -> None:
        for budget in op["budgets"]:
            name = f"{op['as']}:{budget}"
            self.do_build({**op, "as": name, "budget": budget})

    def do_build(self, op: Json) -> None:
        name = op.get("as", "build")
        provider = op.get("provider", self.provider)
        if provider != self.vendor and not self.is_wanted(name):
            return
        if op.get("fresh"):
            self.anew(unbuilt=True)
        if "reserve_output" in op:
            self.anew(max_output_tokens=op["reserve_output"])
        self.build(op, name, own=provider == self.vendor)
        if "reserve_output" in op:
            self.anew()

    def is_wanted(self, name: str) -> bool:
        """Say whether an assertion wants this vendor's rendering of a build."""
        return any(
            fnmatch.fnmatchcase(name, pattern)
            for asked in self.wanted
            for pattern in (asked, f"{asked}:*")
        )

    def build(self, op: Json, name: str, *, own: bool) -> None:
        """Build for the vendor of this run, and keep what came of it."""
        ctx = self.run.ctx
        asked: dict[str, Json] = {
            "model": self.run.model,
            "max_tokens": op.get("budget"),
        }
        started, calls = time.perf_counter(), self.stub.calls
        found: dict[str, Json] = {}
        try:
            request = ctx.request(self.vendor, **asked)
            found = {"request": copy.deepcopy(request)}
            self.handed_out[name] = request
        except ContextBuilderError as error:
            found = {"error": error}
        seconds = time.perf_counter() - started
        found["summarizer_calls"] = self.stub.calls - calls
        if "request" in found and not threading.active_count() > 1:
            found["report"] = ctx.explain(self.vendor, **asked)
        reserved = op.get("reserve_output", 0)
        given = op.get("budget", self.input.get("budget"))
        budget = given or min(self.window * 7 // 10, self.window - reserved)
        with self.lock:
            self.run.built.append(
                Built(name, self.vendor, own, budget, seconds, **found)
            )
