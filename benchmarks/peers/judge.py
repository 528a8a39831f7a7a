"""Says what holds for the requests that a peer made, from their bodies alone.

Counted is with `tests.recount`, which knows nothing of any library's own counts, and
counts the least that is billed: a request that does not fit by it does not fit.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tests.recount import o200k, recount_message

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.peers.session import Message

__all__ = ["COLUMNS", "Verdict", "judge"]

_REPLY_TOKENS = 3


@dataclass(frozen=True, slots=True)
class Verdict:
    """What held, over all the requests of a peer."""

    requests: int
    """How many were looked at."""
    held: dict[str, float]
    """Share of the requests for which each of `COLUMNS` held, from 0 to 1."""
    fill_share: float
    """Tokens of the request over the budget, median."""
    cached_share: float
    """Share of all tokens that stood in the same place in the request before: what a
    vendor's prompt cache can serve."""

    @property
    def is_correct(self) -> bool:
        """Whether everything held for every request."""
        return all(share == 1.0 for share in self.held.values())


def judge(
    requests: Sequence[dict[str, Any]],
    history: Sequence[Message],
    budget_tokens: int,
    count: Callable[[str], int] = o200k,
) -> Verdict:
    """Judge consecutive requests of one session.

    Args:
        requests: Each with its `messages`, and the `length` of the history then.
        history: The whole conversation that was fed in.
        budget_tokens: What each of them may take.
        count: Counts the tokens of a text.
    """
    known = _Sizes(count)
    held: dict[str, list[bool]] = {name: [] for name in COLUMNS}
    fills, total, cached = [], 0, 0
    before: Sequence[Message] = ()
    for request in requests:
        messages = request["messages"]
        sizes = [known.size(message) for message in messages]
        tokens = _REPLY_TOKENS + sum(sizes)
        seen = history[: request["length"]]
        held["fits"].append(tokens <= budget_tokens)
        for name, check in CHECKS.items():
            held[name].append(check(messages, seen))
        fills.append(tokens / budget_tokens)
        if before:
            total += tokens
            cached += sum(sizes[: _common(before, messages)])
        before = messages
    return Verdict(
        requests=len(requests),
        held={name: sum(found) / len(found) for name, found in held.items()},
        fill_share=statistics.median(fills),
        cached_share=cached / total if total else 0.0,
    )


class _Sizes:
    """Counts each message once: one request is nearly the same as the next."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count
        self._known: dict[str, int] = {}

    def size(self, message: Message) -> int:
        key = repr(message)
        if key not in self._known:
            self._known[key] = recount_message(message, self._count)
        return self._known[key]


def _common(before: Sequence[Message], now: Sequence[Message]) -> int:
    """Return with how many messages both begin."""
    number = 0
    for old, new in zip(before, now, strict=False):
        if old != new:
            break
        number += 1
    return number


def _pairs(messages: Sequence[Message], seen: Sequence[Message]) -> bool:  # noqa: ARG001 - one form for all checks
    """Every result follows its call, and every call is answered."""
    open_ids: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_ids:
                return False
            open_ids.remove(message["tool_call_id"])
        elif open_ids:
            return False
        else:
            open_ids = {call["id"] for call in message.get("tool_calls") or ()}
    return not open_ids


def _system(messages: Sequence[Message], seen: Sequence[Message]) -> bool:
    """The system prompt comes first, whole."""
    wanted = next((each["content"] for each in seen if each["role"] == "system"), None)
    if wanted is None:
        return True
    first = messages[0] if messages else {"role": ""}
    return first["role"] == "system" and wanted in (first["content"] or "")


def _user(messages: Sequence[Message], seen: Sequence[Message]) -> bool:
    """The latest user message is there, whole."""
    asked = [each["content"] for each in seen if each["role"] == "user"]
    if not asked:
        return True
    return any(
        each["role"] == "user" and asked[-1] in (each["content"] or "")
        for each in messages
    )


def _order(messages: Sequence[Message], seen: Sequence[Message]) -> bool:
    """What is there from the history stands in its order, and only once."""
    places = {_mark(message): place for place, message in enumerate(seen)}
    shown = [places[mark] for message in messages if (mark := _mark(message)) in places]
    return shown == sorted(set(shown))


def _mark(message: Message) -> tuple[str, str]:
    """Return what a message is known by: its calls, its id, or its text."""
    calls = message.get("tool_calls")
    if calls:
        return "call", calls[0]["id"]
    if message["role"] == "tool":
        return "tool", message["tool_call_id"]
    return message["role"], message.get("content") or ""


CHECKS: dict[str, Callable[[Sequence[Message], Sequence[Message]], bool]] = {
    "pairs": _pairs,
    "system": _system,
    "latest user": _user,
    "order": _order,
}
"""What must hold for every request besides its size, by the name of its column."""

COLUMNS = ("fits", *CHECKS)
