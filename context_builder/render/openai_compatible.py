"""Says a prompt as the vendors take it that speak Chat Completions with an accent.

One adapter for all of them: what they differ in is a `Dialect`. Which messages there
are is decided here, item by item; how they follow one another, in `chat_turns`.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from context_builder.errors import AdapterError, UnknownModelError
from context_builder.render.adapter import (
    Capabilities,
    Count,
    Problem,
    Prompt,
    Rendering,
)
from context_builder.render.chat_turns import FIRST_USER, Turns, in_turn
from context_builder.render.described import (
    call_text,
    described,
    described_part,
    framed_result,
    function_arguments,
    is_text,
    person_name,
)
from context_builder.render.dialect import Dialect, asked_of, said_tools
from context_builder.render.estimated_tokens import (
    json_tokens,
    message_tokens,
    tools_tokens,
)
from context_builder.render.frames import framed_content, note_text
from context_builder.render.ids import IdMap, clean_name
from context_builder.render.left_out import naming_losses
from context_builder.render.openai_chat import result_text
from context_builder.render.openai_chat_parts import obstacle, say_part
from context_builder.render.validate_openai_compatible import (
    validate_openai_compatible,
)
from context_builder.tokens import TokenCounter, counter_for, resolve_model

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from context_builder.items import ContextItem
    from context_builder.messages import Content, Part, ToolCall

__all__ = ["OPENAI_COMPATIBLE", "CompatAdapter", "Messages"]

OPENAI_COMPATIBLE = Dialect(name="openai-compatible")

Messages = list[dict[str, Any]]


class CompatAdapter:
    """Any vendor that a `Dialect` describes; by itself, any base URL."""

    format_key = "response_format"
    """The argument that says the shape of the answer."""

    def __init__(self, dialect: Dialect = OPENAI_COMPATIBLE) -> None:
        self.dialect = dialect

    @property
    def name(self) -> str:
        """The name by which the target is asked for."""
        return self.dialect.name

    @property
    def capabilities(self) -> Capabilities:
        """What this vendor takes."""
        return self.dialect.capabilities

    # --- rendering ------------------------------------------------------------------

    def render(self, prompt: Prompt) -> Rendering:
        """Say the prompt; the result belongs to the caller.

        Raises:
            AdapterError: If there is nothing to say, or the assistant has the last word
                where the vendor refuses that.
        """
        turns = Turns(
            merges=self.capabilities.merges_neighbours or self._folds_system,
            user_first=self.capabilities.user_first,
            bridge=self.dialect.bridge,
        )
        if prompt.system is not None:
            turns.add(prompt.system.id, self._say_system(prompt.system.text))
        self._say_items(prompt, turns)
        self._check_edges(prompt, turns)
        return naming_losses(self._rendering(prompt, turns), prompt.items)

    @property
    def _folds_system(self) -> bool:
        return self.capabilities.system == "fold_into_user"

    def _say_system(self, text: str) -> dict[str, Any]:
        role = "user" if self._folds_system else "system"
        return {"role": role, "content": text}

    def _say_items(self, prompt: Prompt, turns: Turns) -> None:
        ids = IdMap(prompt.items, self.capabilities)
        pictures: Messages = []
        later_calls: deque[tuple[str, dict[str, Any]]] = deque()
        for item, follower in in_turn(prompt.items):
            self._report_hidden(item, turns)
            said = deque(self._say(item, ids, prompt.model))
            if item.role == "assistant":
                if not said:
                    turns.repair(item.id, "nothing this vendor can show")
                    continue
                turns.add(item.id, said.popleft())
                later_calls = deque((item.id, message) for message in said)
                continue
            turns.add(item.id, said.popleft())
            # Where calls are split, the next one stands right before its own result.
            if item.role == "tool" and later_calls:
                turns.add(*later_calls.popleft())
            pictures += self._result_pictures(item)
            if pictures and (follower is None or follower.role != "tool"):
                turns.add(item.id, {"role": "user", "content": pictures})
                pictures = []

    def _report_hidden(self, item: ContextItem, turns: Turns) -> None:
        if isinstance(item.content, str):
            return
        hidden = {
            part.type for part in item.content if not self._shows(part, item.role)
        }
        for kind in sorted(hidden):
            turns.repair(item.id, f"{kind} described in words: not taken here")

    def _check_edges(self, prompt: Prompt, turns: Turns) -> None:
        if len(turns.spans) == (prompt.system is not None):
            empty = "there is no message to send; add a user message"
            raise AdapterError(empty, adapter=self.name)
        if (
            self.capabilities.assistant_last
            or turns.messages[-1]["role"] != "assistant"
        ):
            return
        ended = (
            f"{self.name} refuses a conversation that ends with the assistant; add a "
            "user message"
        )
        raise AdapterError(ended, adapter=self.name, item_id=turns.spans[-1][0])

    def _rendering(self, prompt: Prompt, turns: Turns) -> Rendering:
        asked, notes = self._asked(prompt)
        for note in notes:
            turns.repair("request", note)
        model = {"model": asked.pop("model")} if "model" in asked else {}
        return Rendering(
            messages=turns.messages,
            request={**model, "messages": turns.messages, **asked},
            repairs=tuple(turns.repairs),
            spans=tuple(turns.spans),
        )

    def _asked(self, prompt: Prompt) -> tuple[dict[str, Any], list[str]]:
        """Return the arguments besides the messages, and notes on what is not said."""
        return asked_of(prompt, self.dialect)

    # --- one item -------------------------------------------------------------------

    def _say(self, item: ContextItem, ids: IdMap | None, model: str | None) -> Messages:
        """Say one item; of several messages, all but the first wait for a result."""
        match item.role:
            case "system":
                return [self._say_note(item)]
            case "user":
                said = {"role": "user", **self._user_content(framed_content(item))}
                return [self._named(item, said)]
            case "assistant":
                return self._say_assistant(item, ids, model)
            case "tool":
                call_id = item.tool_call_id or ""
                return [self._say_result(item, ids.result(call_id) if ids else call_id)]

    def _say_note(self, item: ContextItem) -> dict[str, Any]:
        if self.capabilities.notes == "message":
            return {"role": "system", "content": item.text}
        return {"role": "user", "content": note_text(item.text)}

    def _user_content(self, content: Content) -> dict[str, Any]:
        """Return the fields of a user message that say the content."""
        if isinstance(content, str):
            return {"content": content}
        return {"content": _flat([self._say_part(part, "user") for part in content])}

    def _say_part(self, part: Part, role: str) -> dict[str, Any]:
        if self._shows(part, role):
            return self._shown(part)
        return {"type": "text", "text": described_part(part)}

    def _shown(self, part: Part) -> dict[str, Any]:
        """Say a part that the vendor takes."""
        said = say_part(part)
        if said["type"] == "image_url":
            image = said["image_url"]
            if image.get("detail") == "original":  # OpenAI's newest alone know it
                image["detail"] = "high"
        return said

    def _shows(self, part: Part, role: str) -> bool:
        """Say whether a part can be shown in a message of this role, or behind it."""
        if is_text(part):
            return True
        if role in {"assistant", "system"}:
            return False
        return self._takes(part)

    def _takes(self, part: Part) -> bool:
        """Say whether the vendor takes such a part from a user."""
        if obstacle(part) is not None:
            return False
        match part.type:
            case "image":
                return self.capabilities.images
            case "file":
                return self.capabilities.files
            case "audio":
                return self.capabilities.audio
            case _:
                return True

    def _named(self, item: ContextItem, message: dict[str, Any]) -> dict[str, Any]:
        if item.name is None or message["role"] not in self.dialect.named_roles:
            return message
        return {**message, "name": person_name(item.name)}

    def _say_assistant(
        self, item: ContextItem, ids: IdMap | None, model: str | None
    ) -> Messages:
        calls = [
            self._said_call(call, ids.call(item, call.id) if ids else call.id)
            for call in item.tool_calls
        ]
        text = described(item)
        if self.capabilities.tool_role == "user_text":
            text = "\n\n".join(filter(None, [text, *map(call_text, item.tool_calls)]))
            calls = []
        if not text and not calls:
            return []
        first, later = (calls, []) if self.dialect.parallel_calls else _split(calls)
        reasoning = self._reasoning(item, model)
        said = [{"role": "assistant", **self._content(text), **reasoning}]
        if first:
            said[0]["tool_calls"] = first
        fill = dict.fromkeys(reasoning, self.dialect.reasoning_fill or " ")
        said += [
            {"role": "assistant", **self._content(""), **fill, "tool_calls": [call]}
            for call in later
        ]
        return [self._named(item, message) for message in said]

    def _content(self, text: str) -> dict[str, Any]:
        if text or self.dialect.null_content == "empty":
            return {"content": text}
        return {} if self.dialect.null_content == "omit" else {"content": None}

    def _said_call(self, call: ToolCall, call_id: str) -> dict[str, Any]:
        said = {"name": clean_name(call.name), "arguments": function_arguments(call)}
        return {"id": call_id, "type": "function", "function": said}

    def _reasoning(self, item: ContextItem, model: str | None) -> dict[str, str]:
        field = self.dialect.reasoning_field
        bare = (model or "").rpartition("/")[2]
        if field is None or bare.startswith(self.dialect.refuses_reasoning):
            return {}
        if self.dialect.reasoning_on == "calls" and not item.tool_calls:
            return {}
        text = "".join(self._own_reasoning(item))
        if not text and item.tool_calls:
            text = self.dialect.reasoning_fill or ""
        return {field: text} if text else {}

    def _own_reasoning(self, item: ContextItem) -> Iterator[str]:
        # Histories read as OpenAI's do not say which compatible vendor wrote them.
        own = {self.capabilities.reasoning, self.name, "openai-compatible"}
        return (part.text for part in item.reasoning if part.provider in own)

    def _say_result(self, item: ContextItem, call_id: str) -> dict[str, Any]:
        text = self._result_text(item)
        if self.capabilities.tool_role == "user_text":
            return {"role": "user", "content": framed_result(item, text)}
        return {"role": "tool", "tool_call_id": call_id, "content": text}

    def _result_text(self, item: ContextItem) -> str:
        """Return a result as text; what is not shown behind it is named in it."""
        if isinstance(item.content, str):
            return result_text(item)
        said = [
            described_part(part)
            for part in item.content
            if is_text(part) or not self._takes(part)
        ]
        return result_text(item.with_content("\n".join(said)))

    def _result_pictures(self, item: ContextItem) -> Messages:
        """Return the parts of a result that a user message behind it has to show."""
        if item.role != "tool" or isinstance(item.content, str):
            return []
        if self.capabilities.images_in_results:
            return []
        shown = [
            self._shown(part)
            for part in item.content
            if not is_text(part) and self._takes(part)
        ]
        note = {"type": "text", "text": f"[returned by {item.tool_name or 'the tool'}]"}
        return [note, *shown] if shown else []

    # --- counting -------------------------------------------------------------------

    def counter(self, model: str | None) -> TokenCounter:
        """Return the model's own counter where it is public, otherwise an estimate."""
        try:
            return counter_for(resolve_model(model).encoding if model else None)
        except UnknownModelError:
            return counter_for(None)

    def item_tokens(
        self, item: ContextItem, count: Count, *, model: str | None, calls: int = 1
    ) -> int:
        """Return what the item's messages cost, and a bridge behind a result."""
        del calls
        said = self._say(item, None, model)
        if pictures := self._result_pictures(item):
            said.append({"role": "user", "content": pictures})
        if self.dialect.bridge is not None and item.role == "tool":
            said.append({"role": "assistant", "content": self.dialect.bridge})
        return sum(self._message_tokens(message, count, model) for message in said)

    def _message_tokens(
        self, message: Mapping[str, Any], count: Count, model: str | None
    ) -> int:
        return message_tokens(message, count, self.dialect.framing, model)

    def fixed_tokens(self, prompt: Prompt, count: Count) -> Mapping[str, int]:
        """Return the cost of the system prompt, the tools and the framing."""
        system = prompt.system
        overhead = self.dialect.framing.request + self._format_tokens(prompt, count)
        if self.capabilities.user_first:
            first = {"role": "user", "content": FIRST_USER}
            overhead += self._message_tokens(first, count, prompt.model)
        return {
            "system": 0
            if system is None
            else self._message_tokens(
                self._say_system(system.text), count, prompt.model
            ),
            "tools": tools_tokens(
                said_tools(prompt, self.dialect), count, self.dialect.framing
            ),
            "overhead": overhead,
        }

    def _format_tokens(self, prompt: Prompt, count: Count) -> int:
        return json_tokens(self._asked(prompt)[0].get(self.format_key), count)

    def request_tokens(self, request: Mapping[str, Any], count: Count) -> int:
        """Count a finished request from its body."""
        model = request.get("model")
        return (
            self.dialect.framing.request
            + sum(
                self._message_tokens(message, count, model)
                for message in request["messages"]
            )
            + tools_tokens(request.get("tools") or (), count, self.dialect.framing)
            + json_tokens(request.get(self.format_key), count)
        )

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of the vendor that the request breaks."""
        return validate_openai_compatible(request, self.dialect.rules)


def _split(calls: Messages) -> tuple[Messages, Messages]:
    return calls[:1], calls[1:]


def _flat(parts: Messages) -> str | Messages:
    """Return parts as text where nothing but text is among them."""
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts
