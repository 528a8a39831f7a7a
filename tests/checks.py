"""What must hold for a request, checked from its body with rules written down here.

Nothing of the library decides here what is right: the session says what came in, the
body what goes out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder import AdapterError, BudgetExceededError
from context_builder.render import validate
from tests.cases.rules import wrong
from tests.cases.view import read
from tests.recount import Count, recount, recount_tools

if TYPE_CHECKING:
    from context_builder import ContextItem, Report
    from tests.operations import Op, Session

__all__ = [
    "cheapest",
    "check_append_stable",
    "check_chronological",
    "check_essentials",
    "check_no_inversion",
    "check_report",
    "check_taken_out",
    "check_valid",
    "check_within",
]

Json = Any
"""A piece of a request."""
Request = Mapping[str, Any]
MODEL = "gpt-4o"
"""What requests name."""

_MARK = re.compile(r"#(\d+)#")
_ABOUT_WHAT_LEFT = ("<recalled", "<notice")
"""Frames whose text speaks of messages that stand elsewhere, or nowhere."""
_WAITING = "did not finish"
"""What stands in for a result that may still come says so."""


def plain(text: str) -> str:
    """Return text as it may go out: surrogates paired or replaced, no NUL."""
    paired = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return paired.replace("\0", "")


def said_by(message: Json) -> str:
    """Return the text of a message."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content if part["type"] == "text")


def check_valid(request: Request) -> None:
    """The vendor takes it: by the library's validator, by the rules of the cases."""
    assert not validate(request, "openai")
    broken = wrong("openai", read("openai", request))
    assert not [rule for rule in broken if rule != "there is no user message"]
    json.dumps(request, ensure_ascii=False).encode("utf-8")


def check_within(request: Request, report: Report, budget: int, count: Count) -> None:
    """A recount is at most the budget, and at most what the library says it takes."""
    tokens = recount(request, count)
    assert tokens <= report.tokens <= budget
    assert sum(report.parts.values()) == report.tokens


def check_chronological(session: Session, request: Request) -> None:
    """Those who stay stand in the order in which they came in."""
    order: dict[str, int] = {}
    for number, item in enumerate(session.items()):
        if item.role != "tool" and (mark := _MARK.search(item.text)):
            order[mark[0]] = number
    shown = [
        order[mark[0]]
        for message in request["messages"]
        if message["role"] != "tool"
        and (session.system is None or said_by(message) != plain(session.system))
        and not said_by(message).startswith(_ABOUT_WHAT_LEFT)
        and (mark := _MARK.search(said_by(message)))
    ]
    assert shown == sorted(set(shown))


def check_essentials(session: Session, request: Request) -> None:
    """System prompt, latest user message and pinned items are there."""
    messages = request["messages"]
    if session.system is not None:
        assert messages[0] == {"role": "system", "content": plain(session.system)}
    latest = session.latest_user
    if latest is not None:
        said = [said_by(each) for each in messages if each["role"] == "user"]
        head = plain(latest.text)[:4]
        assert any(text.startswith(head) for text in said)
    for item in session.items():
        if item.pinned and item.role in {"user", "assistant"} and not item.cache_key:
            assert any(plain(item.text) in said_by(each) for each in messages)


def check_taken_out(session: Session, request: Request) -> None:
    """What its owner took out, or edited, is not said any more by anybody."""
    now = {mark for item in session.items() for mark in _MARK.findall(item.text)}
    now |= set(_MARK.findall(session.system or ""))
    said = json.dumps(request, ensure_ascii=False)
    assert set(_MARK.findall(said)) <= now


def check_report(session: Session, report: Report) -> None:
    """Every item has one outcome, and what is not whole has a reason."""
    ids = [outcome.item_id for outcome in report.outcomes]
    assert len(ids) == len(set(ids))
    assert set(session.live) <= set(ids)
    assert len(set(ids) - set(session.live)) == (session.system is not None)
    for outcome in report.outcomes:
        assert outcome.reason or outcome.action == "kept", outcome


def check_begins_with(
    later: Request, earlier: Request, *, or_ends_early: bool = False
) -> None:
    """The later request says first, part by part, what the earlier one said.

    Where something was taken back at the end it may say less, but nothing else.
    """
    begin = earlier["messages"]
    if or_ends_early:
        begin = begin[: len(later["messages"])]
    assert later["messages"][: len(begin)] == begin


TAKING_BACK = {"remove", "rewind", "clear"}
"""Steps after which a request may end sooner than the one before."""


def check_append_stable(session: Session, ops: Sequence[Op]) -> tuple[int, int]:
    """Check every step.

    Returns:
        How many requests began with the one before, and how many had reason not to.
    """
    stable = moved = 0
    before: tuple[Request, Report] | None = None
    for op in ops:
        session.step(op)
        try:
            request = session.ctx.request(model=MODEL)
            now = (request, session.ctx.explain(model=MODEL))
        except (BudgetExceededError, AdapterError):
            before = None
            continue
        if before is not None and not before[1].pending_calls:
            if len(now[1].prefix_moves) == len(before[1].prefix_moves):
                is_taken_back = op.door in TAKING_BACK
                check_begins_with(now[0], before[0], or_ends_early=is_taken_back)
                stable += 1
            else:
                moved += 1
        before = now
    return stable, moved


def check_no_inversion(before: Report, after: Report, pinned: Sequence[str]) -> None:
    """What one compaction left out was not more important than what stayed whole.

    Both must be of one kind, and must have been there when it happened.
    """
    known = {outcome.item_id: outcome for outcome in before.outcomes}
    both = [each for each in after.outcomes if each.item_id in known]
    for out in both:
        if out.action != "evicted" or known[out.item_id].action == "evicted":
            continue
        for kept in both:
            is_alike = (kept.context_class, kept.role) == (out.context_class, out.role)
            if is_alike and kept.action == "kept" and kept.item_id not in pinned:
                assert kept.priority >= out.priority, (out, kept)


# --- the least that a request can be --------------------------------------------------

_WORDS_OF_THE_USER = 48
_SHORT_RESULT = 64
_SHORT_ARGUMENTS = 64
_NOTICE = 32
_FRAME = 12
_PICTURE = 1_600
"""Rather too much of everything: whoever fails to fit this in has good reason."""


def cheapest(session: Session, tools: Json, count: Count) -> int:
    """Return the tokens of a small request that is surely possible.

    The system prompt, what is pinned, notes, a piece of the latest user message, and
    the newest round of calls with its results cut short. An error that says that not
    even the least fits must not be raised within a budget of so many.
    """
    latest = session.latest_user
    tokens = 3 + _NOTICE + 2 * recount_tools(tools, count)
    if session.system is not None:
        tokens += _FRAME + count(plain(session.system))
    for item in session.items():
        if item.pinned or item.role == "system":
            tokens += _whole(item, count)
        elif item is latest:
            tokens += _cut(item, count)
    return tokens + _newest_round(session, count)


def _newest_round(session: Session, count: Count) -> int:
    items = session.items()
    asking = [number for number, item in enumerate(items) if item.tool_calls]
    stray = [n for n, item in enumerate(items) if item.role == "tool"]
    if not asking:
        return len(stray) * (_SHORT_RESULT + 2 * _FRAME)
    newest = items[asking[-1]]
    calls = sum(
        _SHORT_RESULT + 2 * _FRAME + count(call.name) + _SHORT_ARGUMENTS
        for call in newest.tool_calls
    )
    pinned = any(item.pinned for item in items[asking[-1] :])
    whole = [_whole(item, count) for item in items[asking[-1] :] if pinned]
    return calls + _FRAME + count(newest.text) + sum(whole)


def _whole(item: ContextItem, count: Count) -> int:
    calls = sum(
        _FRAME + count(call.name) + count(call.arguments) for call in item.tool_calls
    )
    return _FRAME + count(plain(item.text)) + calls + _pictures(item)


def _cut(item: ContextItem, count: Count) -> int:
    words = min(count(plain(item.text)), _WORDS_OF_THE_USER)
    return 2 * _FRAME + words + _pictures(item)


def _pictures(item: ContextItem) -> int:
    if isinstance(item.content, str):
        return 0
    return _PICTURE * sum(part.type != "text" for part in item.content)
