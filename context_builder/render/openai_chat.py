"""Says a prompt as OpenAI Chat Completions.

The rules are in the API reference: calls are answered directly behind the message that
made them, ids have at most 40 characters, a tool message holds no pictures.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from context_builder.errors import UnknownModelError
from context_builder.render.adapter import (
    Capabilities,
    Count,
    Problem,
    Prompt,
    Rendering,
)
from context_builder.render.frames import framed_content
from context_builder.render.ids import IdMap, clean_name
from context_builder.render.left_out import NO_BUDGET
from context_builder.render.openai_chat_parts import obstacle, say_content, say_part
from context_builder.render.script import Script, Spoken, unchanged_items
from context_builder.render.tool_schemas import with_object_schema
from context_builder.render.validate_openai import validate_openai
from context_builder.tokens import (
    TokenCounter,
    counter_for,
    framing_for,
    message_tokens,
    messages_tokens,
    request_overhead,
    request_tokens,
    resolve_model,
    response_format_tokens,
    tools_tokens,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from context_builder.items import ContextItem
    from context_builder.messages import ToolCall

__all__ = ["OPENAI", "OpenAIChatAdapter"]

OPENAI = Capabilities()
PLACEHOLDER_RESULT = "(no text)"
_FITS = re.compile(OPENAI.id_pattern).fullmatch
_DEFAULT_MODEL = "gpt-4o"
"""Whose framing counts while no model is named."""


class OpenAIChatAdapter:
    """OpenAI Chat Completions."""

    name = "openai"
    capabilities = OPENAI

    def render(self, prompt: Prompt) -> Rendering:
        """Say the prompt; the result belongs to the caller."""
        script = self.script(prompt)
        messages = script.messages
        return Rendering(
            messages=messages,
            request=self._request(prompt, messages),
            repairs=script.repairs,
            spans=tuple(script.spans),
        )

    def script(self, prompt: Prompt, former: Script | None = None) -> Script:
        """Say the prompt, and go on from what was said before as far as that holds.

        What an item says hangs on the items of its round alone, and on their ids. So
        where two prompts begin with the same items, both begin with the same messages.
        """
        items = prompt.items
        start = 0
        if former is not None and former.goes_on(prompt.system):
            start = unchanged_items(former.items, items)
        fit = _fitting(items[start:])
        if not fit:
            start = 0
        ids = None if fit else IdMap(items, self.capabilities)
        spoken = Spoken.after(former, start) if former and start else Spoken()
        if not start and prompt.system is not None:
            spoken.open({"role": "system", "content": prompt.system.text})
        for item, said in self._said(items, start, ids):
            repairs = [*_obstacles(item)]
            if not said:
                repairs.insert(0, "nothing this vendor can show")
            spoken.add(item, said, repairs)
        frame = self._request(prompt, [])
        is_lost = prompt.options.thinking_budget_tokens is not None
        notes = [NO_BUDGET] * is_lost
        return Script(prompt.system, items, spoken, frame, is_plain=fit, notes=notes)

    def script_tokens(self, script: Script, count: Count) -> int:
        """Count the finished request, as `request_tokens`, and each message once."""
        spoken = script.spoken
        if spoken.opening is None:
            return self.request_tokens(script.request, count)
        framing = framing_for(script.frame.get("model") or _DEFAULT_MODEL)
        waiting = spoken.kept.copied(len(spoken.sizes))
        # Whole rounds are said at once: calls stand among these if their results do.
        spoken.sizes.extend(messages_tokens(waiting, count, framing))
        bare = {**script.frame, "messages": [spoken.opening]}
        return request_tokens(bare, count, framing) + sum(spoken.sizes[1:])

    def _request(
        self, prompt: Prompt, messages: list[dict[str, Any]]
    ) -> dict[str, Any]:
        options = prompt.options
        asked = {
            "model": prompt.model,
            "messages": messages,
            "tools": [_said_tool(tool) for tool in prompt.tools] or None,
            "tool_choice": _said_choice(options.tool_choice) if prompt.tools else None,
            "parallel_tool_calls": options.parallel_tool_calls
            if prompt.tools
            else None,
            "max_completion_tokens": options.max_output_tokens,
            "response_format": options.response_format,
            "reasoning_effort": options.reasoning_effort,
            "temperature": options.temperature,
            "prompt_cache_key": options.prompt_cache_key,
        }
        request = {key: value for key, value in asked.items() if value is not None}
        return request | dict(options.extra or {})

    def _said(
        self, items: Sequence[ContextItem], start: int, ids: IdMap | None
    ) -> Iterator[tuple[ContextItem, list[dict[str, Any]]]]:
        """Say item after item; pictures of results wait for the last result."""
        waiting: list[dict[str, Any]] = []
        for number in range(start, len(items)):
            item = items[number]
            message = self._say(item, ids)
            said = [message] if message else []
            if item.role == "tool":
                waiting += _result_pictures(item)
                follower = items[number + 1] if number + 1 < len(items) else None
                if follower is None or follower.role != "tool":
                    said += waiting
                    waiting = []
            yield item, said

    def _say(self, item: ContextItem, ids: IdMap | None) -> dict[str, Any] | None:
        match item.role:
            case "system":
                return {"role": "system", "content": item.text}
            case "user":
                return _named(
                    item, {"role": "user", "content": say_content(framed_content(item))}
                )
            case "assistant":
                return self._say_assistant(item, ids)
            case "tool":
                call_id = item.tool_call_id or ""
                return {
                    "role": "tool",
                    "tool_call_id": ids.result(call_id) if ids else call_id,
                    "content": result_text(item),
                }

    def _say_assistant(
        self, item: ContextItem, ids: IdMap | None
    ) -> dict[str, Any] | None:
        content = item.text or None
        if content is None and not item.tool_calls:
            return None
        message: dict[str, Any] = {"role": "assistant", "content": content}
        if item.tool_calls:
            message["tool_calls"] = [
                _said_call(call, ids.call(item, call.id) if ids else call.id)
                for call in item.tool_calls
            ]
        return _named(item, message)

    def counter(self, model: str | None) -> TokenCounter:
        """Return the exact counter of the model's encoding; o200k_base without one."""
        return counter_for(encoding_of(model))

    def item_tokens(
        self, item: ContextItem, count: Count, *, model: str | None, calls: int = 1
    ) -> int:
        """Return what the item's messages cost."""
        framing = framing_for(model or _DEFAULT_MODEL)
        said = self._say(item, None)
        messages = [said] if said else []
        if item.role == "tool":
            messages += _result_pictures(item)
        tokens = 0
        for message in messages:
            tokens += message_tokens(
                message, count, framing, is_parallel_result=calls > 1
            )
        return tokens

    def fixed_tokens(self, prompt: Prompt, count: Count) -> Mapping[str, int]:
        """Return the cost of the system prompt, the tools and the framing."""
        framing = framing_for(prompt.model or _DEFAULT_MODEL)
        system = prompt.system
        options = prompt.options
        text = None if system is None else system.text
        return {
            "system": 0
            if system is None
            else message_tokens({"role": "system", "content": text}, count, framing),
            "tools": tools_tokens(
                [_said_tool(tool) for tool in prompt.tools],
                count,
                framing,
                has_system=system is not None,
                tool_choice=_said_choice(options.tool_choice),
                system_text=text,
            )
            if prompt.tools
            else 0,
            "overhead": request_overhead(framing)
            + response_format_tokens(
                options.response_format,
                count,
                framing,
                has_system=system is not None,
                has_tools=bool(prompt.tools),
                system_text=text,
            ),
        }

    def request_tokens(self, request: Mapping[str, Any], count: Count) -> int:
        """Count a finished request from its body."""
        return request_tokens(
            request, count, framing_for(request.get("model") or _DEFAULT_MODEL)
        )

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of Chat Completions that the request breaks."""
        return validate_openai(request)


def _fitting(items: Sequence[ContextItem]) -> bool:
    """Say whether each id of a call can go out as it is.

    If all do, none is chosen for another: a map of ids would change nothing.
    """
    return all(
        0 < len(call.id) <= OPENAI.id_chars and _FITS(call.id)
        for item in items
        for call in item.tool_calls
    )


def encoding_of(model: str | None) -> str | None:
    """Return a model's encoding; o200k_base without a model; None: there is none."""
    if model is None:
        return "o200k_base"
    try:
        return resolve_model(model).encoding
    except UnknownModelError:
        return "o200k_base"


def result_text(item: ContextItem) -> str:
    """Return a result as text; without an error flag, the text says what failed."""
    text = item.text
    if not text:
        return PLACEHOLDER_RESULT
    if item.is_error and item.source != "repair" and "error" not in text[:200].lower():
        return f"Error: {text}"
    return text


def _result_pictures(item: ContextItem) -> list[dict[str, Any]]:
    if isinstance(item.content, str):
        return []
    pictures = [say_part(part) for part in item.content if part.type != "text"]
    if not pictures:
        return []
    note = {"type": "text", "text": f"[returned by {item.tool_name or 'the tool'}]"}
    return [{"role": "user", "content": [note, *pictures]}]


def _obstacles(item: ContextItem) -> list[str]:
    if isinstance(item.content, str):
        return []
    return [found for part in item.content if (found := obstacle(part))]


def _said_call(call: ToolCall, call_id: str) -> dict[str, Any]:
    name = clean_name(call.name)
    if call.type == "custom":
        said = {"name": name, "input": call.arguments}
        return {"id": call_id, "type": "custom", "custom": said}
    said = {"name": name, "arguments": call.arguments}
    return {"id": call_id, "type": "function", "function": said}


def _said_tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    kind = "custom" if "custom" in tool else "function"
    said = tool[kind] if kind == "custom" else with_object_schema(tool[kind])
    name = clean_name(said["name"])
    if said is tool[kind] and name == said["name"]:
        return dict(tool)
    return {**tool, kind: {**said, "name": name}}


def _said_choice(choice: Any) -> Any:
    """Return a choice that calls tools by the names under which they are sent."""
    if not isinstance(choice, Mapping):
        return choice
    kind = choice.get("type")
    said = choice.get(kind) if isinstance(kind, str) else None
    if not isinstance(said, Mapping):
        return choice
    if kind == "allowed_tools":
        named = [_said_choice(tool) for tool in said.get("tools") or ()]
        return {**choice, kind: {**said, "tools": named}}
    if not isinstance(said.get("name"), str):
        return choice
    return {**choice, kind: {**said, "name": clean_name(said["name"])}}


def _named(item: ContextItem, message: dict[str, Any]) -> dict[str, Any]:
    return (
        message if item.name is None else {**message, "name": _clean_person(item.name)}
    )


def _clean_person(name: str) -> str:
    """Return a participant's name without the characters that the API refuses."""
    cleaned = "".join(
        "_" if char.isspace() or char in "<|\\/>" else char for char in name
    )
    return cleaned[:64]
