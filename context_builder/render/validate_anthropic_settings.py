"""Checks the settings of a request to Claude: tools, thinking, prompt-cache marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.render.adapter import Problem
from context_builder.render.validate_anthropic_blocks import blocks_of, role_at

if TYPE_CHECKING:
    from context_builder.render.claude import Claude

__all__ = ["mark_problems", "thinking_problems", "tool_problems"]

MAX_MARKS = 4
MIN_BUDGET = 1_024

_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_SAMPLING = ("temperature", "top_k", "top_p")


# --- tools ---------------------------------------------------------------------------


def tool_problems(request: Mapping[str, Any], claude: Claude) -> Iterator[Problem]:
    """Yield what is wrong with the tools and the choice between them."""
    names: list[str] = []
    for number, tool in enumerate(request.get("tools") or ()):
        where = f"tools[{number}]"
        name = tool.get("name")
        if name is not None and name in names:
            yield Problem(f"{where}.name", "tool names must be unique", "Rename one")
        names.append(name)
        if tool.get("type") in {None, "custom"}:
            yield from _definition_problems(tool, where)
    choice = request.get("tool_choice")
    if choice is not None:
        yield from _choice_problems(choice, names, claude)


def _definition_problems(tool: Mapping[str, Any], where: str) -> Iterator[Problem]:
    name = tool.get("name")
    if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
        rule = f"a name matches {_TOOL_NAME.pattern}"
        yield Problem(f"{where}.name", rule, "Rename the tool")
    schema = tool.get("input_schema")
    if not isinstance(schema, Mapping) or schema.get("type") != "object":
        rule = "input_schema is a schema of type object"
        yield Problem(f"{where}.input_schema", rule, "Set type to object")
        return
    for kind in ("oneOf", "allOf", "anyOf"):
        if kind in schema:
            rule = f"input_schema does not support {kind} at the top level"
            yield Problem(f"{where}.input_schema", rule, "Join the alternatives")


def _choice_problems(
    choice: Mapping[str, Any], names: Sequence[str], claude: Claude
) -> Iterator[Problem]:
    kind = choice.get("type")
    if kind not in {"auto", "any", "tool", "none"}:
        rule = f"tool_choice.type {kind!r} is none of auto, any, tool, none"
        yield Problem("tool_choice", rule, "Use one of them")
    if not names:
        yield Problem("tool_choice", "there are no tools to choose", "Leave it out")
    if kind == "tool" and choice.get("name") not in names:
        rule = f"there is no tool {choice.get('name')!r}"
        yield Problem("tool_choice.name", rule, "Name one of the tools")
    if kind in {"any", "tool"} and not claude.takes_forced_tool:
        rule = "the model does not take a forced tool choice"
        yield Problem("tool_choice", rule, "Use auto")


# --- thinking ------------------------------------------------------------------------


def thinking_problems(
    request: Mapping[str, Any], messages: Sequence[Any], claude: Claude
) -> Iterator[Problem]:
    """Yield what is wrong with thinking, and with what does not go with it."""
    thinking = request.get("thinking") or {}
    kind = thinking.get("type")
    if kind == "enabled":
        yield from _budget_problems(request, thinking, claude)
        yield from _loop_problems(messages)
    if kind == "adaptive" and claude.is_known and not claude.takes_adaptive_thinking:
        rule = "adaptive thinking is not supported on this model"
        yield Problem("thinking.type", rule, "Set a budget")
    if kind == "disabled" and claude.is_known and not _can_be_disabled(claude):
        yield Problem("thinking", "thinking can't be disabled", "Leave thinking out")
    for name in _SAMPLING:
        if request.get(name) is not None and not claude.takes_sampling:
            rule = "the model takes no sampling parameters"
            yield Problem(name, rule, "Leave it out")
    if kind == "enabled" and request.get("temperature") not in {None, 1}:
        rule = "temperature may only be 1 when thinking is enabled"
        yield Problem("temperature", rule, "Leave it out")
    yield from _last_thought_problems(messages)
    yield from _prefill_thought_problems(messages, kind, claude)


def _can_be_disabled(claude: Claude) -> bool:
    return claude.thinking_can_be_disabled or claude.takes_sampling


def _budget_problems(
    request: Mapping[str, Any], thinking: Mapping[str, Any], claude: Claude
) -> Iterator[Problem]:
    where = "thinking.budget_tokens"
    budget = thinking.get("budget_tokens") or 0
    if claude.is_known and not claude.takes_thinking_budget:
        rule = "a thinking budget is not supported on this model"
        yield Problem(where, rule, "Use adaptive thinking")
    if budget < MIN_BUDGET:
        yield Problem(where, f"it is at least {MIN_BUDGET:,}", "Raise the budget")
    if budget >= (request.get("max_tokens") or budget + 1):
        yield Problem(where, "it is less than max_tokens", "Raise max_tokens")
    if (request.get("tool_choice") or {}).get("type") in {"any", "tool"}:
        rule = "thinking may not be enabled when tool_choice forces tool use"
        yield Problem("tool_choice", rule, "Use auto")


def _loop_problems(messages: Sequence[Any]) -> Iterator[Problem]:
    """Yield it where a running tool loop does not start with a thought."""
    for number in range(len(messages) - 1, -1, -1):
        kinds = [block.get("type") for block in blocks_of(messages[number])]
        if role_at(messages, number) == "assistant":
            if kinds and kinds[0] not in _THOUGHTS and "tool_use" in kinds:
                rule = "a final assistant message must start with a thinking block"
                fix = "Leave thinking out of the request, or send the block"
                yield Problem(f"messages[{number}].content[0]", rule, fix)
            return
        if any(kind != "tool_result" for kind in kinds):
            return


def _last_thought_problems(messages: Sequence[Any]) -> Iterator[Problem]:
    for number in range(len(messages)):
        if role_at(messages, number) != "assistant":
            continue
        kinds = [block.get("type") for block in blocks_of(messages[number])]
        is_joined = role_at(messages, number + 1) == "assistant"
        if kinds and kinds[-1] in _THOUGHTS and not is_joined:
            rule = "the final block in an assistant message cannot be thinking"
            yield Problem(f"messages[{number}]", rule, "Leave the message out")


def _prefill_thought_problems(
    messages: Sequence[Any], kind: str | None, claude: Claude
) -> Iterator[Problem]:
    last = len(messages) - 1
    is_off = kind == "disabled" or (kind is None and claude.takes_prefill)
    if not is_off or role_at(messages, last) != "assistant":
        return
    if any(block.get("type") in _THOUGHTS for block in blocks_of(messages[last])):
        rule = "with thinking disabled, the final message cannot contain thinking"
        yield Problem(f"messages[{last}]", rule, "Leave the thinking blocks out")


# --- cache marks ---------------------------------------------------------------------


def mark_problems(
    request: Mapping[str, Any], messages: Sequence[Any]
) -> Iterator[Problem]:
    """Yield what is wrong with the prompt-cache marks."""
    marked = list(_marked(request, messages))
    total = len(marked) + (request.get("cache_control") is not None)
    if total > MAX_MARKS:
        rule = (
            f"a maximum of 4 blocks with cache_control may be provided; found {total}"
        )
        yield Problem("messages", rule, "Leave some out")
    has_short = False
    for where, block in marked:
        lifetime = block["cache_control"].get("ttl", "5m")
        if lifetime == "1h" and has_short:
            yield Problem(where, "a mark of 1h comes before those of 5m", "Swap them")
        has_short = has_short or lifetime == "5m"
        yield from _marked_block_problems(where, block)


def _marked_block_problems(where: str, block: Mapping[str, Any]) -> Iterator[Problem]:
    if block.get("type") in _THOUGHTS:
        yield Problem(where, "thinking cannot carry cache_control", "Move the mark")
    if block.get("type") == "text" and not block.get("text", "").strip():
        yield Problem(where, "empty text cannot carry cache_control", "Move the mark")
    if block.get("defer_loading"):
        rule = "a deferred tool cannot carry cache_control"
        yield Problem(where, rule, "Move the mark")


def _marked(
    request: Mapping[str, Any], messages: Sequence[Any]
) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every block with a mark, in the order of the prefix."""
    system = request.get("system")
    heads = {"tools": request.get("tools") or (), "system": system or ()}
    for name, blocks in heads.items():
        for number, block in enumerate(blocks if isinstance(blocks, list) else ()):
            if block.get("cache_control"):
                yield f"{name}[{number}]", block
    for number, message in enumerate(messages):
        for place, block in enumerate(blocks_of(message)):
            if block.get("cache_control"):
                yield f"messages[{number}].content[{place}]", block
