"""Marks where a prompt-cache prefix ends: at most four places, put in last.

The prefix is tools, then system, then messages. Marked are the ends of what stays: the
tools, the system prompt, the items that stay until the next compaction, and the last
turn, where the next request goes on from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from typing import Any

__all__ = ["LOOK_BACK_BLOCKS", "SLOTS", "choose_ends", "mark_cache"]

SLOTS = 4
LOOK_BACK_BLOCKS = 20
"""How far behind a mark the vendor looks for what it has cached."""

_MARK = {"type": "ephemeral"}
_UNMARKABLE = frozenset({"thinking", "redacted_thinking"})
_CHARS_PER_TOKEN = 3
"""Fewer than any real text has: a prefix counts as long rather than as short."""
_MEDIA_CHARS = 4_800

Block = dict[str, Any]


def mark_cache(
    request: Mapping[str, Any],
    *,
    stable_end: tuple[int, int] | None,
    minimum_tokens: int,
    slots: int = SLOTS,
) -> None:
    """Put cache marks on the blocks of a finished request, in place.

    Args:
        request: The request; its blocks are changed.
        stable_end: The message and block where the items that stay end.
        minimum_tokens: The shortest prefix that is cached.
        slots: How many marks there may be.
    """
    system = request.get("system")
    chosen = choose_ends(
        [tool for tool in request.get("tools") or () if not tool.get("defer_loading")],
        system if isinstance(system, list) else [],
        request["messages"],
        stable_end=stable_end,
        minimum_tokens=minimum_tokens,
        slots=slots,
        may_be_marked=lambda block: block["type"] not in _UNMARKABLE,
    )
    for block in chosen:
        block["cache_control"] = dict(_MARK)


def choose_ends(
    tools: Sequence[Block],
    system: Sequence[Block],
    messages: Sequence[Mapping[str, Any]],
    *,
    stable_end: tuple[int, int] | None,
    minimum_tokens: int,
    slots: int,
    may_be_marked: Callable[[Block], bool],
) -> list[Block]:
    """Choose the blocks behind which a prefix ends, the most useful first."""
    last = len(messages) - 1

    def end(at: int, block: int | None = None) -> Block | None:
        blocks: list[Block] = messages[at]["content"]
        candidates = blocks if block is None else blocks[: block + 1]
        return next(filter(may_be_marked, reversed(candidates)), None)

    former = _former_end(messages, stable_end)
    wanted = [
        end(last),
        end(*stable_end) if stable_end else None,
        system[-1] if system else None,
        end(former) if former is not None else None,
        tools[-1] if tools else None,
    ]
    lengths = _lengths(tools, system, messages)
    chosen: list[Block] = []
    for block in wanted:
        if block is None or any(block is known for known in chosen):
            continue
        if len(chosen) < slots and lengths[id(block)] >= minimum_tokens:
            chosen.append(block)
    return chosen


def _former_end(
    messages: Sequence[Mapping[str, Any]], stable_end: tuple[int, int] | None
) -> int | None:
    """Return the former request's last message, where no mark would find it."""
    asked = [at for at, said in enumerate(messages) if said["role"] == "assistant"]
    if not asked or asked[-1] == 0:
        return None
    since = sum(len(said["content"]) for said in messages[asked[-1] :])
    former = asked[-1] - 1
    is_near = since <= LOOK_BACK_BLOCKS
    is_marked = stable_end is not None and stable_end[0] >= former
    return None if is_near or is_marked else former


def _lengths(
    tools: Sequence[Block],
    system: Sequence[Block],
    messages: Sequence[Mapping[str, Any]],
) -> dict[int, int]:
    """Estimate, for each block, the tokens of the prefix that ends with it."""
    chars = 0
    lengths: dict[int, int] = {}
    said = (block for message in messages for block in message["content"])
    for block in chain(tools, system, said):
        chars += _chars(block)
        lengths[id(block)] = chars // _CHARS_PER_TOKEN
    return lengths


def _chars(value: object) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, bytes):
        return _MEDIA_CHARS
    if isinstance(value, Mapping):
        if value.get("type") == "base64":
            return _MEDIA_CHARS
        return sum(len(key) + _chars(member) for key, member in value.items())
    if isinstance(value, list | tuple):
        return sum(map(_chars, value))
    return 4
