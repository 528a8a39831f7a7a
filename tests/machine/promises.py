"""What is checked after every step: the promises, for each vendor."""

from __future__ import annotations

import dataclasses
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from context_builder import AdapterError, BudgetExceededError, Report
from context_builder.render import adapter_for, validate
from tests.cases.rules import RULES, wrong
from tests.cases.view import leaves, read
from tests.checks import (
    check_chronological,
    check_essentials,
    check_no_inversion,
    check_report,
    check_within,
    plain,
    said_by,
)
from tests.recount import o200k
from tests.render.sdk_types import MODELS, sdk_refusals
from tests.test_summary_promises import _as_evicted, without_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from context_builder import ContextBuilder
    from tests.machine.model import Model

__all__ = [
    "TALLY",
    "Said",
    "ask",
    "check_all",
    "check_growth",
    "check_order_of_loss",
    "check_types",
    "difference",
]

Json = Any
"""A piece of a request."""

TALLY: Counter[str] = Counter()
"""How much was done and checked in this process, by kind."""

_MARK = re.compile(r"#\d+#")
_NO_USER = "there is no user message"
_TEXTS = {"text", "input_text", "output_text"}
_MARKS_OF_CACHES = ("cache_control", "cachePoint")


@dataclasses.dataclass(frozen=True)
class Said:
    """A request and its report; or the error that stands in for both."""

    target: str
    request: Json = None
    report: Report | None = None
    error: str = ""

    @property
    def bytes(self) -> str:
        """All of it, byte for byte."""
        if self.report is None:
            return self.error
        return json.dumps([self.request, self.report.to_dict()], default=repr)


def ask(ctx: ContextBuilder, target: str) -> Said:
    """Ask a session for the request of a vendor."""
    model = MODELS[target]
    try:
        request = ctx.request(target, model=model)
        return Said(target, request, ctx.explain(target, model=model))
    except (BudgetExceededError, AdapterError) as error:
        return Said(target, error=repr(error))


def check_all(session: Model, said: Said, budget: int, counter: Json) -> None:
    """Check what can be seen of one request alone.

    Args:
        session: What must be in the conversation.
        said: The request.
        budget: Tokens.
        counter: Counts in place of the model's own counter; None: that one does.
    """
    request, report = said.request, said.report
    if report is None:
        TALLY[f"refused: {said.error[:48]}"] += 1
        return
    TALLY["requests checked"] += 1
    check_valid(said)
    assert report.tokens <= report.budget_tokens <= budget
    check_recount(said, counter)
    ids = {one.item_id for one in without_summary(report).outcomes}
    try:
        check_report(session, without_summary(report))
    except AssertionError as error:
        live = set(session.live)
        error.add_note(f"{said.target}: {ids - live} {live - ids} {session.system!r}")
        raise
    check_words(session, request)
    if said.target == "openai":
        count = counter.count if counter else o200k
        check_within(request, report, budget, count)
        check_essentials(session, request)
        told = [m for m in request["messages"] if "<summary" not in said_by(m)]
        check_chronological(session, {"messages": told})


def check_types(said: Said) -> None:
    """The vendor's SDK takes it, by its own types."""
    if said.report is None:
        return
    refusals = [
        refusal
        for refusal in sdk_refusals(said.target, said.request)
        if "'images'" not in refusal  # Ollama's client wraps them before it checks
    ]
    assert not refusals, (said.target, refusals, said.request)


def check_valid(said: Said) -> None:
    """The vendor takes it: by its validator, and by the rules of the cases."""
    problems = validate(said.request, said.target)
    assert not problems, (said.target, problems, said.request)
    if said.target in RULES:
        broken = wrong(said.target, read(said.target, said.request))
        assert not [rule for rule in broken if rule != _NO_USER], (broken, said.request)
    json.dumps(said.request, ensure_ascii=False, default=repr).encode("utf-8")


def check_recount(said: Said, counter: Json) -> None:
    """A recount of the finished request is at most what was counted for it."""
    assert said.report is not None
    adapter = adapter_for(said.target)
    count = (counter or adapter.counter(MODELS[said.target])).count
    tokens = adapter.request_tokens(said.request, count)
    assert tokens <= said.report.tokens, (said.target, tokens, said.report.tokens)


def check_words(session: Model, request: Json) -> None:
    """The latest user message is there; what was taken out is said by nobody."""
    texts = [*leaves(request)]
    latest = session.latest_user
    if latest is not None:
        head = plain(latest.text)[:4]
        assert any(head in text for text in texts), (head, request)
    now = {mark for item in session.items() for mark in _MARK.findall(item.text)}
    now |= set(_MARK.findall(session.system or ""))
    told = {mark for text in texts for mark in _MARK.findall(text)}
    assert told <= now, (told - now, request)


def difference(one: Said, other: Said) -> str:
    """Say where two of them part."""
    pairs = zip(one.bytes, other.bytes, strict=False)
    at = next((n for n, (a, b) in enumerate(pairs) if a != b), 0)
    near = slice(max(0, at - 200), at + 200)
    return f"{one.target}: {one.bytes[near]}\n--- anew: {other.bytes[near]}"


# --- from request to request ----------------------------------------------------------


def check_growth(before: Said, now: Said, *, or_ends_early: bool) -> None:
    """A request begins with the one before, unless a move of the prefix is reported."""
    if before.report is None or now.report is None or before.report.pending_calls:
        return
    if len(now.report.prefix_moves) != len(before.report.prefix_moves):
        TALLY["reported moves of the prefix"] += 1
        return
    begin, later = [*_parts(before.request)], [*_parts(now.request)]
    if or_ends_early:
        begin = _ended_with(begin, later)
    assert _begins_with(later, begin), (before.target, begin, later)
    TALLY["requests that began with the one before"] += 1


def _parts(request: Json) -> Iterator[Json]:
    """Yield what is said, part by part, without marks for caches."""
    field = next(name for name in ("messages", "contents", "input") if name in request)
    for message in request[field]:
        who = message.get("role") or message.get("type")
        inner = "parts" if "parts" in message else "content"
        parts = message.get(inner)
        for part in parts if isinstance(parts, list) else [parts]:
            if bare := _bare(part):
                yield who, bare
        for name, said in message.items():
            for one in said if isinstance(said, list) else [said]:
                if name not in {inner, "role"}:
                    yield who, name, one


def _ended_with(begin: list[Json], later: list[Json]) -> list[Json]:
    """Return a beginning as it is when things were taken back: no longer than later.

    Where neighbours are merged, what was taken back was the end of a text.
    """
    if not later or len(later) > len(begin):
        return begin[: len(later)]
    *whole, last = begin[: len(later)]
    now = later[-1]
    is_cut = isinstance(last[-1], str) and isinstance(now[-1], str)
    if is_cut and last[:-1] == now[:-1] and last[-1].startswith(now[-1]):
        last = now
    return [*whole, last]


def _begins_with(later: list[Json], begin: list[Json]) -> bool:
    """Say whether parts begin with others; the last text may have been gone on with."""
    if not begin:
        return True
    *whole, last = begin
    if len(later) < len(begin) or later[: len(whole)] != whole:
        return False
    now = later[len(whole)]
    if isinstance(last[-1], str) and isinstance(now[-1], str):
        return bool(now[:-1] == last[:-1] and now[-1].startswith(last[-1]))
    return bool(now == last)


def _bare(part: Json) -> Json:
    """Return a part without marks for caches; one that is only text: the text.

    What is said in words alone may be sent as a text or as a list of one, and becomes
    such a list when the next message, with a picture, is merged into it.
    """
    if not isinstance(part, dict):
        return part
    bare = {name: said for name, said in part.items() if name not in _MARKS_OF_CACHES}
    is_text = bare.keys() <= {"type", "text"} and bare.get("type", "text") in _TEXTS
    return bare.get("text", bare) if is_text else bare


def check_order_of_loss(session: Model, before: Said, now: Said) -> None:
    """What one compaction took out was not more important than what stays whole."""
    if before.report is None or now.report is None:
        return
    if now.report.compactions != before.report.compactions + 1:
        return
    items = session.ctx.items
    pinned = [item.id for item in items if item.pinned]
    # The newest round stays longest, whatever somebody's own rule says of it.
    calling = [number for number, item in enumerate(items) if item.tool_calls]
    pinned += [item.id for item in items[calling[-1] :]] if calling else []
    check_no_inversion(_as_evicted(before.report), _as_evicted(now.report), pinned)
    TALLY["compactions checked for their order"] += 1


def check_same(one: ContextBuilder, other: ContextBuilder, target: str) -> None:
    """Two sessions give the same bytes."""
    assert ask(one, target).bytes == ask(other, target).bytes


def unchanged(ctx: ContextBuilder, look: Callable[[], object]) -> None:
    """Looking changes nothing, whatever comes of it."""
    revision = ctx.revision
    try:
        look()
    except (BudgetExceededError, AdapterError):
        TALLY["looks refused"] += 1
    assert ctx.revision == revision
