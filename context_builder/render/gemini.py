"""Says a prompt as Gemini's generateContent: arguments of the google-genai client.

There are two roles, the user's and the model's, and they alternate. All results of a
step stand alone in one content of the user's; what the user says next, and media that
a result cannot hold, make a second one. A signature stays on the very part it came on.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import TYPE_CHECKING, Any, Literal

from context_builder.errors import AdapterError
from context_builder.items import ContextItem, Mark
from context_builder.render.adapter import (
    Capabilities,
    Count,
    Problem,
    Prompt,
    Rendering,
)
from context_builder.render.frames import framed_content, note_text
from context_builder.render.gemini_parts import (
    NAME,
    is_own_part,
    marks_of,
    said_arguments,
    said_content,
    said_response,
    signature_of,
)
from context_builder.render.gemini_request import (
    Dialect,
    asked_for,
    dialect_of,
    generation_of,
    said_name,
)
from context_builder.render.gemini_tokens import (
    body_tokens,
    fixed_tokens,
    parts_tokens,
)
from context_builder.render.ids import IdMap
from context_builder.render.left_out import naming_losses, parallel_note, with_notes
from context_builder.render.validate_gemini import validate_gemini
from context_builder.tokens import TokenCounter, counter_for

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from context_builder.messages import ReasoningPart, ToolCall

__all__ = ["GEMINI", "GeminiAdapter"]

GEMINI = Capabilities(
    providers=("gemini",),
    system="field",
    notes="user",
    merges_neighbours=True,
    user_first=True,
    assistant_last=False,
    tool_role="user_block",
    arguments="object",
    id_chars=256,
    images_in_results=True,
    error_flag=True,
    reasoning=NAME,
)
UNSIGNED = "c2tpcF90aG91Z2h0X3NpZ25hdHVyZV92YWxpZGF0b3I="
"""`skip_thought_signature_validator` in base64: what the vendor wants on a call that
none of its models made."""
FIRST = "(the conversation goes on)"
"""Stands for the user's words where the first ones left are the model's."""

_FOREIGN = "reasoning of another model left out"
_UNKNOWN = "a part of a kind that is not known here is left out"

_Said = dict[str, Any]
_Kind = Literal["user", "results", "model"]


class GeminiAdapter:
    """Gemini and Gemma, through the google-genai client."""

    name = NAME
    capabilities = GEMINI

    def render(self, prompt: Prompt) -> Rendering:
        """Say the prompt; the result belongs to the caller.

        Raises:
            AdapterError: If nothing is said, or the model has the last word.
        """
        writer = _Writer(dialect_of(prompt.model), prompt.model)
        writer.ids = IdMap(prompt.items, self.capabilities)
        if prompt.system is not None and not writer.dialect.system_field:
            writer.put("user", [{"text": prompt.system.text}], prompt.system.id)
        for item in prompt.items:
            writer.say(item)
        writer.end_step()
        if not writer.contents:
            msg = "there is no content to send; add a user message"
            raise AdapterError(msg, adapter=self.name)
        if writer.contents[-1]["role"] == "model":
            msg = "the model may not have the last word; add a user message"
            last = prompt.items[-1].id if prompt.items else None
            raise AdapterError(msg, adapter=self.name, item_id=last)
        rendering = Rendering(
            messages=writer.contents,
            request=asked_for(prompt, writer.contents),
            repairs=tuple(writer.repairs),
            spans=tuple(writer.spans),
        )
        rendering = with_notes(rendering, parallel_note(prompt))
        return naming_losses(rendering, prompt.items)

    def counter(self, model: str | None) -> TokenCounter:  # noqa: ARG002  one family
        """Return the estimate that is fitted to the vendor's models."""
        return counter_for("estimate:gemini")

    def item_tokens(
        self, item: ContextItem, count: Count, *, model: str | None, calls: int = 1
    ) -> int:
        """Return what the item's parts cost."""
        del calls
        writer = _Writer(dialect_of(model), model)
        writer.say(item)
        writer.end_step()
        return sum(
            parts_tokens(content["parts"], count, model) for content in writer.said
        )

    def fixed_tokens(self, prompt: Prompt, count: Count) -> Mapping[str, int]:
        """Return the cost of the system prompt, the tools and the framing."""
        parts = [] if dialect_of(prompt.model).system_field else _system_parts(prompt)
        return fixed_tokens(asked_for(prompt, []), parts, FIRST, count)

    def request_tokens(self, request: Mapping[str, Any], count: Count) -> int:
        """Count a finished request from its body."""
        return body_tokens(request, count)

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of generateContent that the request breaks."""
        return validate_gemini(request)


def _system_parts(prompt: Prompt) -> list[_Said]:
    return [{"text": prompt.system.text}] if prompt.system is not None else []


@dataclasses.dataclass(slots=True)
class _Writer:
    """Puts items into contents, one after the other."""

    dialect: Dialect
    model: str | None
    ids: IdMap | None = None
    contents: list[_Said] = dataclasses.field(default_factory=list)
    spans: list[tuple[str, int]] = dataclasses.field(default_factory=list)
    repairs: list[Mark] = dataclasses.field(default_factory=list)
    _last: _Kind | None = None
    _waiting: list[tuple[str, list[_Said]]] = dataclasses.field(default_factory=list)
    """Media of the results of this step, for behind the last of them."""
    _unnamed: set[str] = dataclasses.field(default_factory=set)
    """The calls of this step that came without an id, and go back without one."""

    @property
    def said(self) -> list[_Said]:
        """The contents, without a placeholder in front of them."""
        first = self.contents[0]["parts"] if self.contents else []
        return self.contents[1:] if first == [{"text": FIRST}] else self.contents

    def say(self, item: ContextItem) -> None:
        """Say one item."""
        if item.role != "tool":
            self.end_step()
        match item.role:
            case "system":
                self.put("user", [{"text": note_text(item.text)}], item.id)
            case "user":
                self._say_user(item)
            case "assistant":
                self._say_model(item)
            case "tool":
                self._say_result(item)

    def end_step(self) -> None:
        """Say what had to wait for the last result of a step."""
        for item_id, parts in self._waiting:
            self.put("user", parts, item_id)
        self._waiting = []

    def put(self, kind: _Kind, parts: list[_Said], item_id: str) -> None:
        """Add parts to the last content, or begin another one with them."""
        if not parts:
            self._mark(item_id, ["nothing this vendor can show"])
            return
        if not self.contents and kind == "model":
            self._mark(item_id, ["a user's placeholder stands before it"])
            self.contents.append({"role": "user", "parts": [{"text": FIRST}]})
        if kind == self._last:
            self.contents[-1]["parts"] += parts
        else:
            role = "model" if kind == "model" else "user"
            self.contents.append({"role": role, "parts": parts})
        self._last = kind
        self.spans.append((item_id, len(self.contents) - 1))

    def _mark(self, item_id: str, reasons: Sequence[str]) -> None:
        self.repairs += [Mark(item_id, "repaired", reason) for reason in reasons]

    def _say_user(self, item: ContextItem) -> None:
        parts, marks = said_content(framed_content(item))
        if parts and not any("text" in part for part in parts):
            # A content of media alone is refused by one of the vendor's two hosts.
            parts = [{"text": _attached(parts)}, *parts]
            marks.append("a word put before media that stood alone")
        self._mark(item.id, marks)
        self.put("user", parts, item.id)

    # --- the model's answers ----------------------------------------------------------

    def _say_model(self, item: ContextItem) -> None:
        own = [part.data for part in item.reasoning if _goes_back(part, self.model)]
        blocks = [
            copy.deepcopy(dict(data)) for data in own if data and is_own_part(data)
        ]
        marks = [_FOREIGN] * (len(own) < len(item.reasoning))
        marks += [_UNKNOWN] * (len(blocks) < sum(map(bool, own)))
        spoken, more = said_content(item.content)
        self._unnamed = {
            call.id for call in item.tool_calls if marks_of(call.extra).get("has_no_id")
        }
        calls = [
            self._said_call(item, call, is_first=number == 0)
            for number, call in enumerate(item.tool_calls)
        ]
        self._mark(item.id, [*marks, *more])
        self.put("model", _in_order(item, blocks, spoken, calls), item.id)

    def _said_call(self, item: ContextItem, call: ToolCall, *, is_first: bool) -> _Said:
        marks = marks_of(call.extra)
        is_custom = call.type == "custom"
        function: _Said = {
            "name": said_name(call.name),
            "args": said_arguments(call.arguments, is_free_text=is_custom),
        }
        call_id = self.ids.call(item, call.id) if self.ids else call.id
        if not marks.get("has_no_id"):
            function["id"] = call_id
        signature = signature_of(marks)
        if _is_of_another(marks.get("model"), self.model):
            signature = None
        if signature is None and is_first and self.dialect.needs_signatures:
            signature = UNSIGNED
        signed = {"thought_signature": signature} if signature else {}
        return {"function_call": function, **signed}

    # --- results ----------------------------------------------------------------------

    def _say_result(self, item: ContextItem) -> None:
        inside, behind, marks = self._media(item)
        call_id = item.tool_call_id or ""
        response: _Said = {
            "name": said_name(item.tool_name or "tool"),
            "response": said_response(item, has_media=bool(inside)),
        }
        if inside:
            response["parts"] = inside
        if call_id not in self._unnamed:
            response["id"] = self.ids.result(call_id) if self.ids else call_id
        if behind:
            note = {"text": f"[returned by {item.tool_name or 'the tool'}]"}
            self._waiting.append((item.id, [note, *behind]))
        self._mark(item.id, marks)
        self.put("results", [{"function_response": response}], item.id)

    def _media(self, item: ContextItem) -> tuple[list[_Said], list[_Said], list[str]]:
        """Sort the media of a result: what it may hold, and what stands behind it."""
        if isinstance(item.content, str):
            return [], [], []
        parts = tuple(part for part in item.content if part.type != "text")
        said, marks = said_content(parts)
        fits = [part for part in said if self._fits_in_result(part)]
        return fits, [part for part in said if part not in fits], marks

    def _fits_in_result(self, part: _Said) -> bool:
        media = part.get("inline_data") or part.get("file_data") or {}
        kind = str(media.get("mime_type") or "")
        is_taken = kind.startswith("image/") or kind in {
            "application/pdf",
            "text/plain",
        }
        return self.dialect.media_in_results and is_taken


def _attached(parts: Sequence[_Said]) -> str:
    kinds = [
        (part.get("inline_data") or part.get("file_data") or {}).get("mime_type")
        for part in parts
    ]
    return f"[attached: {', '.join(kind or 'a file' for kind in kinds)}]"


def _in_order(
    item: ContextItem, blocks: list[_Said], spoken: list[_Said], calls: list[_Said]
) -> list[_Said]:
    """Put the pieces of an answer in the order in which they came, where known."""
    order = marks_of((item.metadata or {}).get("extra")).get("order")
    usual = [*blocks, *spoken, *calls]
    if not isinstance(order, str):
        return usual
    pieces = {"r": blocks, "p": spoken, "c": calls}
    if any(order.count(key) != len(found) for key, found in pieces.items()):
        return usual
    waiting = {key: iter(found) for key, found in pieces.items()}
    return [next(waiting[key]) for key in order if key in waiting]


def _goes_back(part: ReasoningPart, model: str | None) -> bool:
    return part.provider == NAME and not _is_of_another(part.model, model)


def _is_of_another(theirs: object, ours: str | None) -> bool:
    """Say whether a signature comes from another generation of models."""
    if not isinstance(theirs, str) or ours is None:
        return False
    return generation_of(theirs) != generation_of(ours)
