"""Says a prompt as a request to Anthropic's Messages API.

The rules are in the API reference: user and assistant alternate and the user begins,
all results of a turn come first in the next message, thinking goes back byte for byte
or not at all, no text block is blank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.items import ContextItem, Mark
from context_builder.render.adapter import (
    Capabilities,
    Count,
    Problem,
    Prompt,
    Rendering,
)
from context_builder.render.anthropic_blocks import (
    NAME_CHARS,
    PROVIDER,
    assistant_blocks,
    result_block,
    said_parts,
    settle_server_tools,
    text_block,
)
from context_builder.render.anthropic_cache import SLOTS, mark_cache
from context_builder.render.anthropic_request import said_settings, said_tool
from context_builder.render.anthropic_tokens import (
    MESSAGE,
    REQUEST,
    blocks_tokens,
    format_tokens,
    request_tokens,
    system_tokens,
    thinking_tokens,
    tools_tokens,
)
from context_builder.render.claude import claude_of
from context_builder.render.claude_turns import (
    BRIDGE,
    MOVED,
    NOT_TAKEN,
    OPENING,
    Turns,
)
from context_builder.render.frames import framed_content, note_text
from context_builder.render.ids import IdMap
from context_builder.render.left_out import naming_losses
from context_builder.render.validate_anthropic import validate_anthropic
from context_builder.tokens import TokenCounter, counter_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ANTHROPIC", "AnthropicAdapter"]

ANTHROPIC = Capabilities(
    providers=("anthropic", "bedrock"),  # the SDK has clients for other hosts
    system="field",
    merges_neighbours=True,
    user_first=True,
    assistant_last=False,
    tool_role="user_block",
    arguments="object",
    id_pattern=r"^[a-zA-Z0-9_-]+\Z",
    id_chars=64,
    ids_are_unique=True,
    name_chars=NAME_CHARS,
    images_in_results=True,
    audio=False,
    error_flag=True,
    reasoning=PROVIDER,
)

_REQUEST_MARK = "request"
"""Stands for the id of an item where a setting of the request was left out."""


class AnthropicAdapter:
    """Anthropic's Messages API."""

    name = "anthropic"
    capabilities = ANTHROPIC

    def render(self, prompt: Prompt) -> Rendering:
        """Say the prompt; the result belongs to the caller."""
        claude = claude_of(prompt.model)
        turns = Turns(text_block, takes_notes=claude.takes_notes)
        ids = IdMap(prompt.items, self.capabilities)
        for number, item in enumerate(prompt.items):
            is_stale = claude.binds_thinking and number < prompt.moved_items
            self._add(turns, item, ids, prompt.model, is_stale=is_stale)
        turns.require_end(
            adapter=self.name,
            may_end_with_assistant=claude.takes_prefill or _is_paused(turns.messages),
        )
        request = self._request(prompt, turns)
        rendering = Rendering(
            messages=turns.messages,
            request=request,
            repairs=tuple(turns.repairs),
            spans=tuple(turns.spans),
        )
        return naming_losses(rendering, prompt.items)

    def _add(
        self,
        turns: Turns,
        item: ContextItem,
        ids: IdMap,
        model: str | None,
        *,
        is_stale: bool,
    ) -> None:
        role = _role(item) if item.role != "system" else turns.note_role()
        if item.role == "assistant":
            called = [ids.call(item, call.id) for call in item.tool_calls]
            blocks = assistant_blocks(item, called, model, with_reasoning=not is_stale)
            kept = sum(block["type"].endswith("thinking") for block in blocks)
            if kept < len(item.reasoning):
                turns.repair(item, MOVED if is_stale else NOT_TAKEN)
        elif item.role == "tool":
            blocks = [result_block(item, ids.result(item.tool_call_id or ""))]
        else:
            blocks = _spoken(item, role)
        turns.add(item, role, blocks)

    def _request(self, prompt: Prompt, turns: Turns) -> dict[str, Any]:
        messages = turns.messages
        extra = dict(prompt.options.extra or {})

        def report(reason: str) -> None:
            turns.repairs.append(Mark(_REQUEST_MARK, "repaired", reason))

        settings = said_settings(prompt, messages, report)
        body = settings.pop("extra_body", {}) | (extra.pop("extra_body", None) or {})
        if body:
            extra["extra_body"] = body
        settle_server_tools(messages)
        if (
            messages[-1]["role"] == "assistant"
            and claude_of(prompt.model).takes_prefill
        ):
            _tidy_prefill(messages, settings)
        system = _system_blocks(prompt)
        request: dict[str, Any] = {
            **({"model": prompt.model} if prompt.model else {}),
            **({"system": system} if system else {}),
            "messages": messages,
            **settings,
            **extra,
        }
        if "messages" not in extra:
            stable = min(prompt.stable_items, len(turns.ends))
            mark_cache(
                request,
                stable_end=turns.ends[stable - 1] if stable else None,
                minimum_tokens=claude_of(prompt.model).cache_minimum_tokens,
                slots=SLOTS - ("cache_control" in extra),
            )
        return request

    def counter(self, model: str | None) -> TokenCounter:
        """Return the estimate that is fitted to the model's tokenizer."""
        finer = claude_of(model).counts_finer
        return counter_for("estimate:claude-new" if finer else "estimate:claude")

    def item_tokens(
        self, item: ContextItem, count: Count, *, model: str | None, calls: int = 1
    ) -> int:
        """Return what the item's blocks cost, with a message of their own."""
        del calls
        tokens = MESSAGE
        if item.role == "assistant":
            ids = [call.id for call in item.tool_calls]
            blocks = assistant_blocks(item, ids, model, with_reasoning=True)
        elif item.role == "tool":
            blocks = [result_block(item, "")]
        else:
            blocks = _spoken(item, "user")
            if item.role == "system":
                tokens += MESSAGE + count(BRIDGE)
        return tokens + blocks_tokens(blocks, count, model) if blocks else 0

    def fixed_tokens(self, prompt: Prompt, count: Count) -> Mapping[str, int]:
        """Return the cost of the system prompt, the tools and the framing."""
        settings = said_settings(prompt, (), lambda _: None)
        model = prompt.model
        tools = [said_tool(tool) for tool in prompt.tools]
        opening = MESSAGE + count(OPENING)
        return {
            "system": system_tokens(_system_blocks(prompt), count, model),
            "tools": tools_tokens(tools, count, model, settings.get("tool_choice")),
            "overhead": REQUEST
            + opening
            + thinking_tokens(settings.get("thinking"))
            + format_tokens(settings.get("output_config"), count),
        }

    def request_tokens(self, request: Mapping[str, Any], count: Count) -> int:
        """Count a finished request from its body."""
        return request_tokens(request, count)

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of the Messages API that the request breaks."""
        return validate_anthropic(request)


def _role(item: ContextItem) -> str:
    return "assistant" if item.role == "assistant" else "user"


def _spoken(item: ContextItem, role: str) -> list[dict[str, Any]]:
    """Say what a user said, or a note in either of its forms."""
    if item.role != "system":
        return said_parts(framed_content(item))
    if role == "system":
        return said_parts(item.content, place="system")
    return [text_block(note_text(item.text))] if item.text.strip() else []


def _system_blocks(prompt: Prompt) -> list[dict[str, Any]]:
    text = prompt.system.text if prompt.system is not None else ""
    return [text_block(text)] if text.strip() else []


def _is_paused(messages: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether the assistant's last turn waits for the vendor's own tools."""
    return bool(messages) and any(
        block["type"] == "server_tool_use" for block in messages[-1]["content"]
    )


def _tidy_prefill(messages: list[dict[str, Any]], settings: Mapping[str, Any]) -> None:
    """Make the assistant's last message one that can be continued."""
    blocks = messages[-1]["content"]
    if "thinking" not in settings:
        spoken = [block for block in blocks if not block["type"].endswith("thinking")]
        messages[-1]["content"] = blocks = spoken
    if blocks[-1]["type"] == "text":
        blocks[-1] = {**blocks[-1], "text": blocks[-1]["text"].rstrip()}
