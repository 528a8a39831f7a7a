"""Says a prompt as a call of Bedrock's Converse API, for any model that it hosts.

The rules are in the API reference: user and assistant alternate strictly, results stand
in the next user turn, calls and results need a tool configuration, no text is blank.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.errors import UnknownModelError
from context_builder.items import ContextItem, Mark
from context_builder.render.adapter import (
    Capabilities,
    Count,
    Problem,
    Prompt,
    Rendering,
)
from context_builder.render.anthropic_cache import SLOTS, choose_ends
from context_builder.render.bedrock_blocks import (
    PROVIDER,
    Names,
    assistant_blocks,
    call_frames,
    flat_result,
    result_block,
    said_parts,
    text_block,
)
from context_builder.render.bedrock_hosts import host_of
from context_builder.render.bedrock_request import said_settings
from context_builder.render.bedrock_tokens import (
    MESSAGE,
    REQUEST,
    blocks_tokens,
    config_tokens,
    format_tokens,
    request_tokens,
    thinking_tokens,
)
from context_builder.render.claude import claude_of
from context_builder.render.claude_turns import (
    BRIDGE,
    MOVED,
    NOT_TAKEN,
    OPENING,
    Turns,
)
from context_builder.render.described import framed_result
from context_builder.render.frames import framed_content, note_text
from context_builder.render.ids import IdMap
from context_builder.render.left_out import naming_losses
from context_builder.render.validate_bedrock import validate_bedrock
from context_builder.tokens import TokenCounter, counter_for, resolve_model

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["BEDROCK", "BedrockAdapter"]

BEDROCK = Capabilities(
    providers=(
        "bedrock",
        *("anthropic", "cohere", "dashscope", "deepseek", "mistral", "moonshot", "zai"),
    ),
    system="field",
    merges_neighbours=True,
    user_first=True,
    assistant_last=False,
    tool_role="user_block",
    arguments="object",
    id_pattern=r"^[a-zA-Z0-9_.:-]+\Z",
    id_chars=64,
    ids_are_unique=True,
    images_in_results=True,
    audio=False,
    error_flag=True,
    reasoning=PROVIDER,
)

_REQUEST_MARK = "request"
_POINT = {"cachePoint": {"type": "default"}}


class BedrockAdapter:
    """AWS Bedrock's Converse API."""

    name = "bedrock"
    capabilities = BEDROCK

    def render(self, prompt: Prompt) -> Rendering:
        """Say the prompt; the result belongs to the caller."""
        claude = claude_of(prompt.model)
        takes_notes = claude.takes_notes and claude.major >= 5  # noqa: PLR2004  5.x
        turns = Turns(text_block, takes_notes=takes_notes)
        ids = IdMap(prompt.items, self.capabilities)
        names = Names()
        for number, item in enumerate(prompt.items):
            if item.role == "assistant":
                is_stale = claude.binds_thinking and number < prompt.moved_items
                self._add_answer(turns, item, ids, prompt, is_stale=is_stale)
            else:
                self._add(turns, item, ids, names, prompt)
        turns.require_end(
            adapter=self.name, may_end_with_assistant=claude.takes_prefill
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
        self, turns: Turns, item: ContextItem, ids: IdMap, names: Names, prompt: Prompt
    ) -> None:
        flat = not prompt.tools
        host = host_of(prompt.model)
        role = "user" if item.role != "system" else turns.note_role()
        if item.role == "tool":
            call_id = ids.result(item.tool_call_id or "")
            blocks = (
                flat_result(item, names)
                if flat
                else [result_block(item, call_id, host, names)]
            )
        else:
            blocks = _spoken(item, role, names)
            if blocks and host.results_alone and _ends_with_results(turns):
                turns.bridge(item, "the model wants results in a turn of their own")
        turns.add(item, role, blocks)

    def _add_answer(
        self,
        turns: Turns,
        item: ContextItem,
        ids: IdMap,
        prompt: Prompt,
        *,
        is_stale: bool,
    ) -> None:
        flat = not prompt.tools
        called = [ids.call(item, call.id) for call in item.tool_calls]
        blocks = assistant_blocks(
            item, called, prompt.model, flat=flat, with_reasoning=not is_stale
        )
        kept = sum("reasoningContent" in block for block in blocks)
        if kept < len(item.reasoning):
            turns.repair(item, MOVED if is_stale else NOT_TAKEN)
        if flat and item.tool_calls:
            turns.repair(item, "calls are said in words: the request has no tools")
        turns.add(item, "assistant", blocks)

    def _request(self, prompt: Prompt, turns: Turns) -> dict[str, Any]:
        messages = turns.messages

        def report(reason: str) -> None:
            turns.repairs.append(Mark(_REQUEST_MARK, "repaired", reason))

        if (
            messages[-1]["role"] == "assistant"
            and "text" in messages[-1]["content"][-1]
        ):
            last = messages[-1]["content"][-1]
            messages[-1]["content"][-1] = text_block(last["text"].rstrip())
        settings = said_settings(prompt, messages, report)
        system = _system_blocks(prompt, settings.pop("system", ""))
        extra = dict(prompt.options.extra or {})
        request: dict[str, Any] = {
            **({"modelId": prompt.model} if prompt.model else {}),
            **({"system": system} if system else {}),
            "messages": messages,
            **settings,
            **extra,
        }
        if not {"messages", "system", "toolConfig"} & set(extra):
            _put_points(request, prompt, turns)
        return request

    def counter(self, model: str | None) -> TokenCounter:
        """Return the counter of the hosted model; most are estimated."""
        claude = claude_of(model)
        if claude.is_known or model is None:
            finer = claude.counts_finer
            return counter_for("estimate:claude-new" if finer else "estimate:claude")
        try:
            return counter_for(resolve_model(model).encoding)
        except UnknownModelError:
            return counter_for(None)

    def item_tokens(
        self, item: ContextItem, count: Count, *, model: str | None, calls: int = 1
    ) -> int:
        """Return what the item's blocks cost, with a message and a possible bridge."""
        del calls
        host = host_of(model)
        tokens = MESSAGE
        if item.role == "assistant":
            ids = [call.id for call in item.tool_calls]
            blocks = assistant_blocks(item, ids, model)
            tokens += sum(
                _frame_tokens(framed, arguments, count)
                for framed, arguments in call_frames(item)
            )
        elif item.role == "tool":
            return tokens + _result_tokens(item, count, model)
        else:
            blocks = _spoken(item, "user", Names())
            if host.results_alone or item.role == "system":
                tokens += MESSAGE + count(BRIDGE)
        return tokens + blocks_tokens(blocks, count, model) if blocks else 0

    def fixed_tokens(self, prompt: Prompt, count: Count) -> Mapping[str, int]:
        """Return the cost of the system prompt, the tools and the framing."""
        settings = said_settings(prompt, (), lambda _: None)
        system = _system_blocks(prompt, settings.pop("system", ""))
        return {
            "system": blocks_tokens(system, count, prompt.model),
            "tools": config_tokens(settings.get("toolConfig"), count, prompt.model),
            "overhead": REQUEST
            + MESSAGE
            + count(OPENING)
            + thinking_tokens(settings.get("additionalModelRequestFields"))
            + format_tokens(settings.get("outputConfig"), count),
        }

    def request_tokens(self, request: Mapping[str, Any], count: Count) -> int:
        """Count a finished request from its body."""
        return request_tokens(request, count)

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of Converse that the request breaks."""
        return validate_bedrock(request)


_FRAME_PRICE = 22
"""What a block for a call or a result is counted with, besides its text."""


def _frame_tokens(framed: str, text: str, count: Count) -> int:
    """Return what a frame costs more than the block that it stands for.

    The text itself is not counted again: the frame alone is, once for each tool.
    """
    bare = framed.replace(text, "", 1) if text else framed
    return max(0, count(bare) + 8 - _FRAME_PRICE)


def _result_tokens(item: ContextItem, count: Count, model: str | None) -> int:
    """Count a result in the dearer of its two forms, as a block and in words."""
    block = result_block(item, "x", host_of(model), Names())
    as_block = blocks_tokens([block], count, model)
    if isinstance(item.content, str):
        framed = framed_result(item, item.content)
        return as_block + _frame_tokens(framed, item.content, count)
    in_words = flat_result(item, Names())
    return max(as_block, blocks_tokens(in_words, count, model))


def _ends_with_results(turns: Turns) -> bool:
    return bool(turns.messages) and any(
        "toolResult" in block for block in turns.messages[-1]["content"]
    )


def _spoken(item: ContextItem, role: str, names: Names) -> list[dict[str, Any]]:
    """Say what a user said, or a note in either of its forms."""
    if item.role != "system":
        return said_parts(framed_content(item), names)
    if role == "system":
        return said_parts(item.text, names, place="system")
    return [text_block(note_text(item.text))] if item.text.strip() else []


def _system_blocks(prompt: Prompt, more: str) -> list[dict[str, Any]]:
    text = prompt.system.text if prompt.system is not None else ""
    return [text_block(said) for said in (text, more) if said.strip()]


def _put_points(request: dict[str, Any], prompt: Prompt, turns: Turns) -> None:
    """Put cache points behind the blocks where a prefix ends, in place."""
    host = host_of(prompt.model)
    if not host.caches:
        return
    stable = min(prompt.stable_items, len(turns.ends))
    tools = request.get("toolConfig", {}).get("tools", [])
    system = request.get("system", [])
    chosen = choose_ends(
        tools if host.caches_tools else [],
        system,
        request["messages"],
        stable_end=turns.ends[stable - 1] if stable else None,
        minimum_tokens=claude_of(prompt.model).cache_minimum_tokens,
        slots=SLOTS,
        may_be_marked=lambda block: "reasoningContent" not in block,
    )
    contents = (message["content"] for message in request["messages"])
    for blocks in (tools, system, *contents):
        for place in range(len(blocks) - 1, -1, -1):
            if any(blocks[place] is block for block in chosen):
                blocks.insert(place + 1, {"cachePoint": dict(_POINT["cachePoint"])})
