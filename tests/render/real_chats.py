"""Real conversations said to every vendor, request by request, and who refuses what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder import AdapterError, ContextBuilder
from context_builder.render import adapter_for, validate
from tests.render.sdk_types import MODELS, sdk_refusals

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["TRANSCRIPTS", "failures_in", "requests_of", "wrong_endings"]

Json = dict[str, Any]

ROOM = 10**9
"""A budget, in tokens, that no conversation exceeds: everything is said."""

_FILE = Path(__file__).parents[1] / "data" / "transcripts.jsonl"
TRANSCRIPTS: list[Json] = [
    json.loads(line) for line in _FILE.read_text("utf-8").splitlines()
]


def _ends(message: Mapping[str, Any]) -> bool:
    """Say whether the assistant has the last word with a message."""
    return (
        message.get("role") == "assistant"
        and bool(message.get("content"))
        and not message.get("tool_calls")
    )


def requests_of(
    record: Mapping[str, Any], target: str
) -> Iterator[tuple[int, Json, ContextBuilder]]:
    """Yield the requests before each of the assistant's messages, and their session.

    Where the assistant spoke last as well, some vendors have no such request.
    """
    ctx = ContextBuilder(max_tokens=ROOM, tools=record.get("tools"))
    model = MODELS.get(target)
    takes_any = adapter_for(target).capabilities.assistant_last
    former: Mapping[str, Any] = {}
    for number, message in enumerate(record["messages"]):
        if message["role"] == "assistant" and ctx.items:
            try:
                request = ctx.request(target, model=model)
            except AdapterError:
                if takes_any or not _ends(former):
                    raise
            else:
                yield number, request, ctx
        ctx.extend([message])
        former = message


def failures_in(
    request: Json, ctx: ContextBuilder, target: str
) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a request: its kind, and what exactly."""
    for problem in validate(request, target):
        yield "rules", str(problem)
    for refusal in sdk_refusals(target, request):
        yield "SDK types", refusal
    adapter, model = adapter_for(target), MODELS.get(target)
    real = adapter.request_tokens(request, adapter.counter(model).count)
    bound = ctx.explain(target, model=model).tokens
    if real > bound:
        yield "undercounted", f"{real} tokens, counted {bound}"


def wrong_endings(record: Mapping[str, Any], target: str) -> Iterator[str]:
    """Yield what is wrong with how a history that ends with the assistant is said."""
    spoken = [number for number, one in enumerate(record["messages"]) if _ends(one)]
    if not spoken:
        return
    ctx = ContextBuilder(max_tokens=ROOM, tools=record.get("tools"))
    ctx.extend(record["messages"][: spoken[-1] + 1])
    is_taken = adapter_for(target).capabilities.assistant_last
    try:
        request = ctx.request(target, model=MODELS.get(target))
    except AdapterError:
        if is_taken:
            yield "refused, although the vendor takes it"
        return
    if not is_taken:
        yield "not refused"
    yield from map(str, validate(request, target))
