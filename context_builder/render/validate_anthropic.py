"""Checks a request against the rules of Anthropic's Messages API.

Written from the vendor's rules, not from what the adapter does: it finds the adapter's
mistakes, and those of requests that were made elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.errors import UnknownModelError
from context_builder.render.adapter import Problem
from context_builder.render.claude import Claude, claude_of
from context_builder.render.validate_anthropic_blocks import (
    MAX_PICTURES,
    MAX_PICTURES_OF_SMALL,
    blank_problems,
    block_problems,
    blocks_of,
    found_until_misshapen,
    image_problems,
    role_at,
    text_problems,
)
from context_builder.render.validate_anthropic_settings import (
    mark_problems,
    thinking_problems,
    tool_problems,
)
from context_builder.tokens import resolve_model

if TYPE_CHECKING:
    from context_builder.tokens import ModelInfo

__all__ = ["pair_problems", "validate_anthropic"]

MAX_MESSAGES = 100_000
SMALL_WINDOW_TOKENS = 200_000

_FIELDS = frozenset(
    {
        "model",
        "max_tokens",
        "messages",
        "system",
        "tools",
        "tool_choice",
        "thinking",
        "output_config",
        "output_format",
        "stop_sequences",
        "stream",
        "temperature",
        "top_k",
        "top_p",
        "cache_control",
        "metadata",
        "service_tier",
        "container",
        "context_management",
        "mcp_servers",
        "betas",
        "diagnostics",
        "inference_geo",
        "speed",
        "compaction",
        "user_profile_id",
        "extra_headers",
        "extra_query",
        "extra_body",
        "timeout",
    }
)


def validate_anthropic(request: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    messages = request.get("messages")
    if not isinstance(messages, Sequence) or isinstance(messages, str) or not messages:
        rule = "there has to be at least one message"
        return [Problem("messages", rule, "Add a user message")]
    body = request.get("extra_body")
    sent = {**request, **body} if isinstance(body, Mapping) else request
    return found_until_misshapen(_problems(sent, messages))


def _problems(request: Mapping[str, Any], messages: Sequence[Any]) -> Iterator[Problem]:
    claude = claude_of(request.get("model"))
    yield from _field_problems(request, messages)
    yield from _role_problems(messages, claude)
    yield from _content_problems(request, messages)
    yield from pair_problems(messages)
    yield from tool_problems(request, claude)
    yield from thinking_problems(request, messages, claude)
    yield from mark_problems(request, messages)
    yield from image_problems(messages, _most_pictures(request.get("model")))
    yield from text_problems(request)


# --- the fields ----------------------------------------------------------------------


def _field_problems(
    request: Mapping[str, Any], messages: Sequence[Any]
) -> Iterator[Problem]:
    for name in sorted(set(request) - _FIELDS):
        yield Problem(name, "extra inputs are not permitted", "Leave the field out")
    for name in ("model", "max_tokens"):
        if not request.get(name):
            yield Problem(name, "the field is required", f"Set {name}")
    if len(messages) > MAX_MESSAGES:
        rule = f"there are at most {MAX_MESSAGES:,} messages"
        yield Problem("messages", rule, "Compact the conversation")
    yield from _limit_problems(request)
    temperature = request.get("temperature")
    if temperature is not None and not 0 <= temperature <= 1:
        yield Problem("temperature", "it lies between 0 and 1", "Lower it")


def _limit_problems(request: Mapping[str, Any]) -> Iterator[Problem]:
    asked, info = request.get("max_tokens"), _known_model(request.get("model"))
    if not isinstance(asked, int) or info is None or info.is_guess:
        return
    most = info.max_output_tokens
    if most is not None and asked > most:
        rule = f"the model writes at most {most:,} tokens"
        yield Problem("max_tokens", rule, "Lower max_tokens")


def _most_pictures(model: Any) -> int:
    info = _known_model(model)
    is_small = info is not None and info.context_window <= SMALL_WINDOW_TOKENS
    return MAX_PICTURES_OF_SMALL if is_small else MAX_PICTURES


def _known_model(model: Any) -> ModelInfo | None:
    try:
        return resolve_model(model) if model else None
    except UnknownModelError:
        return None


# --- roles ---------------------------------------------------------------------------


def _role_problems(messages: Sequence[Any], claude: Claude) -> Iterator[Problem]:
    for number, message in enumerate(messages):
        where = f"messages[{number}]"
        if not isinstance(message, Mapping):
            yield Problem(where, "a message is an object", "Make it one")
            continue
        for name in sorted(set(message) - {"role", "content"}):
            rule = "extra inputs are not permitted"
            yield Problem(f"{where}.{name}", rule, "Leave the field out")
        role = message.get("role")
        if role == "system":
            yield from _note_problems(messages, number, claude)
        elif role not in {"user", "assistant"}:
            rule = f"unexpected role {role!r}"
            yield Problem(f"{where}.role", rule, "Use user or assistant")
    yield from _edge_problems(messages, claude)


def _note_problems(
    messages: Sequence[Any], number: int, claude: Claude
) -> Iterator[Problem]:
    where = f"messages[{number}]"
    if not claude.takes_notes:
        rule = "role 'system' is not supported on this model"
        yield Problem(f"{where}.role", rule, "Say it in the user's turn")
        return
    before = role_at(messages, number - 1) if number else None
    after = role_at(messages, number + 1)
    if before != "user":
        rule = "role 'system' must follow a 'user' message"
        yield Problem(where, rule, "Say it in the user's turn")
    if after not in {None, "assistant"}:
        rule = "role 'system' must precede an 'assistant' message or end the array"
        yield Problem(where, rule, "Say it in the user's turn")


def _edge_problems(messages: Sequence[Any], claude: Claude) -> Iterator[Problem]:
    if role_at(messages, 0) != "user":
        rule = "the first message must have the role 'user'"
        yield Problem("messages[0].role", rule, "Put a user message first")
    last = len(messages) - 1
    if role_at(messages, last) != "assistant":
        return
    blocks = list(blocks_of(messages[last]))
    waits = any(block.get("type") == "server_tool_use" for block in blocks)
    if not claude.takes_prefill and not waits:
        rule = "the conversation must end with a user message"
        yield Problem(f"messages[{last}]", rule, "Add a user message")
    text = blocks[-1].get("text") if blocks else None
    if isinstance(text, str) and text != text.rstrip():
        rule = "final assistant content cannot end with trailing whitespace"
        yield Problem(f"messages[{last}].content", rule, "Strip the text")


# --- content -------------------------------------------------------------------------


def _content_problems(
    request: Mapping[str, Any], messages: Sequence[Any]
) -> Iterator[Problem]:
    yield from _system_problems(request.get("system"))
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping):
            continue
        where = f"messages[{number}]"
        yield from blank_problems(message, where)
        content = message.get("content")
        if isinstance(content, str):
            continue
        for place, block in enumerate(content or ()):
            path = f"{where}.content[{place}]"
            yield from block_problems(block, path, role=message.get("role") or "")


def _system_problems(system: Any) -> Iterator[Problem]:
    if isinstance(system, str) and system and not system.strip():
        rule = "text content blocks must contain non-whitespace text"
        yield Problem("system", rule, "Leave system out")
    for number, block in enumerate(system if isinstance(system, list) else ()):
        where = f"system[{number}]"
        if block.get("type") != "text":
            yield Problem(where, "system holds text blocks only", "Leave it out")
        elif not block.get("text", "").strip():
            rule = "text content blocks must contain non-whitespace text"
            yield Problem(where, rule, "Leave the block out")


# --- calls and results ---------------------------------------------------------------


def pair_problems(messages: Sequence[Any]) -> Iterator[Problem]:
    """Yield what is wrong between calls and their results."""
    open_ids: list[str] = []
    seen: set[str] = set()
    for message in _merged(messages):
        where = f"messages[{message['at']}]"
        blocks = message["blocks"]
        yield from _result_problems(blocks, open_ids, where, message["role"])
        open_ids = []
        for block in blocks if message["role"] == "assistant" else ():
            if block.get("type") == "tool_use":
                call_id = str(block.get("id"))
                if call_id in seen:
                    rule = "`tool_use` ids must be unique"
                    yield Problem(where, rule, f"Rename the later {call_id!r}")
                seen.add(call_id)
                open_ids.append(call_id)
    for call_id in open_ids:
        rule = f"`tool_use` {call_id!r} has no `tool_result` immediately after"
        yield Problem(f"messages[{len(messages) - 1}]", rule, "Add the result")


def _merged(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Join neighbours of one role, as the server does."""
    merged: list[dict[str, Any]] = []
    for number, message in enumerate(messages):
        role = message.get("role") if isinstance(message, Mapping) else None
        if not merged or merged[-1]["role"] != role:
            merged.append({"role": role, "at": number, "blocks": []})
        merged[-1]["blocks"].extend(blocks_of(message))
    return merged


def _result_problems(
    blocks: Sequence[Mapping[str, Any]], open_ids: Iterable[str], where: str, role: str
) -> Iterator[Problem]:
    wanted = list(open_ids)
    answered = [
        str(block.get("tool_use_id"))
        for block in blocks
        if block.get("type") == "tool_result"
    ]
    for call_id in wanted:
        if call_id not in answered:
            rule = f"`tool_use` {call_id!r} has no `tool_result` immediately after"
            yield Problem(where, rule, "Put the result into the next user message")
    for place, call_id in enumerate(answered):
        if call_id not in wanted:
            rule = f"unexpected `tool_use_id` {call_id!r} in a `tool_result` block"
            yield Problem(
                where, rule, "Leave the result out, or put its call before it"
            )
        elif call_id in answered[:place]:
            rule = f"each tool_use must have a single result; {call_id!r} has several"
            yield Problem(where, rule, "Keep one")
    leading = [block.get("type") for block in blocks[: len(answered)]]
    if role == "user" and any(kind != "tool_result" for kind in leading):
        rule = "the tool_result blocks must begin the message"
        yield Problem(where, rule, "Move text and pictures behind them")
