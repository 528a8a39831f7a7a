"""Says a prompt as OpenAI Responses: arguments of `client.responses.create`.

The list is ours, not the vendor's: nothing is stored (`store` is false), and reasoning
travels encrypted, byte for byte, in front of what followed it. An answer whose pieces
all have their ids goes back with them; any other goes without a single one, for an id
makes the vendor look for the pieces that stood around it. `call_id` joins a call to its
result either way.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from context_builder.errors import AdapterError, UnknownModelError
from context_builder.items import ContextItem, Mark
from context_builder.render.adapter import (
    Capabilities,
    Count,
    Problem,
    Prompt,
    Rendering,
)
from context_builder.render.frames import framed_content
from context_builder.render.ids import IdMap, clean_name
from context_builder.render.left_out import NO_BUDGET, naming_losses, with_notes
from context_builder.render.openai_responses_parts import said_parts, said_result
from context_builder.render.openai_responses_request import asked_for
from context_builder.render.openai_responses_tokens import (
    body_tokens,
    fixed_tokens,
    said_tokens,
)
from context_builder.render.validate_openai_responses import (
    validate_openai_responses,
)
from context_builder.tokens import TokenCounter, counter_for, resolve_model

if TYPE_CHECKING:
    from context_builder.messages import ReasoningPart, ToolCall

__all__ = ["OPENAI_RESPONSES", "OpenAIResponsesAdapter"]

NAME = "openai-responses"
OPENAI_RESPONSES = Capabilities(
    providers=("openai", "groq", "xai"),
    system="field",
    # Clients that glue a call's id to an item's put a bar between them.
    id_pattern=r"^[^\x00-\x1f|]+$",
    id_chars=64,
    images_in_results=True,
    audio=False,
    reasoning=NAME,
)
_FOREIGN = "reasoning left out: of another model, or not whole"
_SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$|-sol$|-latest$")
"""What may stand behind the name that a model was asked for by."""


class OpenAIResponsesAdapter:
    """OpenAI Responses, with the conversation kept on our side."""

    name = NAME
    capabilities = OPENAI_RESPONSES

    def render(self, prompt: Prompt) -> Rendering:
        """Say the prompt; the result belongs to the caller.

        Raises:
            AdapterError: If there is nothing to say.
        """
        said: list[dict[str, Any]] = []
        spans: list[tuple[str, int]] = []
        repairs: list[Mark] = []
        ids = IdMap(prompt.items, self.capabilities)
        custom: frozenset[str] = frozenset()
        for item in prompt.items:
            if item.tool_calls:
                custom = _custom_calls(item)
            pieces, marks = _say(item, ids, custom, prompt.model)
            spans += [(item.id, len(said) + number) for number in range(len(pieces))]
            said += pieces
            repairs += [Mark(item.id, "repaired", reason) for reason in marks]
        if not said:
            msg = "there is no message to send; add a user message"
            raise AdapterError(msg, adapter=self.name)
        rendering = Rendering(
            messages=said,
            request=asked_for(prompt, said),
            repairs=tuple(repairs),
            spans=tuple(spans),
        )
        is_lost = prompt.options.thinking_budget_tokens is not None
        rendering = with_notes(rendering, [NO_BUDGET] * is_lost)
        return naming_losses(rendering, prompt.items)

    def counter(self, model: str | None) -> TokenCounter:
        """Return the exact counter of the model's encoding; o200k_base without one."""
        return counter_for(_encoding_of(model))

    def item_tokens(
        self, item: ContextItem, count: Count, *, model: str | None, calls: int = 1
    ) -> int:
        """Return what the item's pieces cost."""
        del calls
        pieces, _ = _say(item, None, _custom_calls(item), model)
        return said_tokens(pieces, count, model)

    def fixed_tokens(self, prompt: Prompt, count: Count) -> Mapping[str, int]:
        """Return the cost of the instructions, the tools and the framing."""
        return fixed_tokens(asked_for(prompt, []), count)

    def request_tokens(self, request: Mapping[str, Any], count: Count) -> int:
        """Count a finished request from its body."""
        return body_tokens(request, count)

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of the Responses API that the request breaks."""
        return validate_openai_responses(request)


def _encoding_of(model: str | None) -> str | None:
    if model is None:
        return "o200k_base"
    try:
        return resolve_model(model).encoding
    except UnknownModelError:
        return "o200k_base"


def _custom_calls(item: ContextItem) -> frozenset[str]:
    return frozenset(call.id for call in item.tool_calls if call.type == "custom")


_Said = tuple[list[dict[str, Any]], list[str]]
"""The pieces of an item, and what was done to it because of the vendor."""


def _say(
    item: ContextItem, ids: IdMap | None, custom: frozenset[str], model: str | None
) -> _Said:
    match item.role:
        case "system":
            return [{"role": "developer", "content": item.text}], []
        case "user":
            content, marks = said_parts(framed_content(item))
            if not content:
                return [], ["nothing this vendor can show"]
            return [{"role": "user", "content": content}], marks
        case "assistant":
            return _say_assistant(item, ids, model)
        case "tool":
            call_id = item.tool_call_id or ""
            output, marks = said_result(item)
            kind = "custom_tool_call_output" if call_id in custom else _OUTPUT
            named = ids.result(call_id) if ids else call_id
            return [{"type": kind, "call_id": named, "output": output}], marks


_OUTPUT = "function_call_output"
_SAID_OTHERWISE = frozenset(
    {
        "message",
        "function_call",
        "custom_tool_call",
        "function_call_output",
        "custom_tool_call_output",
    }
)
"""Pieces that stand for what was said, called or answered: as blocks that go back word
for word they would answer no call, or call what nobody answers."""


def _say_assistant(item: ContextItem, ids: IdMap | None, model: str | None) -> _Said:
    own = _blocks_to_send(item, model)
    marks = [_FOREIGN] * (len(own) < len(item.reasoning))
    text, lost = _spoken(item)
    marks += lost
    if not text and not item.tool_calls:
        # Reasoning must be followed by what it led to.
        while own and _is_reasoning(own[-1]):
            own.pop()
        if not own:
            return [], [*marks, "nothing this vendor can show"]
    is_verbatim = bool(own) and _has_all_ids(item, text)
    places = _places(item, len(own)) if len(own) == len(item.reasoning) else ()
    blocks = iter([_said_block(block, keeps_id=is_verbatim) for block in own])
    pieces = _take(blocks, len(own) - sum(places))
    if text:
        pieces.append(_said_message(item, text, keeps_id=is_verbatim))
    for number, call in enumerate(item.tool_calls):
        pieces += _take(blocks, places[number] if places else 0)
        call_id = ids.call(item, call.id) if ids else call.id
        pieces.append(_said_call(call, call_id, keeps_id=is_verbatim))
    return pieces, marks


def _has_all_ids(item: ContextItem, text: str) -> bool:
    """Say whether an answer can go back with the ids that hold its pieces together.

    Reasoning with an id is refused unless what follows has its id as well. An id that
    the vendor did not give, from a server that speaks like it, is refused, too.
    """
    known = [
        ("ctc" if call.type == "custom" else "fc", _marks(call.extra).get("id"))
        for call in item.tool_calls
    ]
    if text:
        known.append(("msg", _answer_marks(item).get("id")))
    return all(_begins(known_id, begin) for begin, known_id in known)


def _begins(known_id: object, begin: str) -> bool:
    return isinstance(known_id, str) and known_id.startswith(begin)


def _said_block(block: Mapping[str, Any], *, keeps_id: bool) -> dict[str, Any]:
    keeps_id = keeps_id and _begins(block.get("id"), "rs")
    is_whole = keeps_id or not _is_reasoning(block)
    said = {key: value for key, value in block.items() if is_whole or key != "id"}
    return copy.deepcopy(said)


def _said_message(item: ContextItem, text: str, *, keeps_id: bool) -> dict[str, Any]:
    marks = _answer_marks(item)
    phase = marks.get("phase")
    said = {"phase": phase} if phase in ("commentary", "final_answer") else {}
    if not keeps_id:
        return {"role": "assistant", "content": text, **said}
    return {
        "type": "message",
        "id": marks["id"],
        "status": "completed",
        "role": "assistant",
        "content": [{"type": "output_text", "text": text, "annotations": []}],
        **said,
    }


def _take(blocks: Iterator[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    return [next(blocks) for _ in range(number)]


def _places(item: ContextItem, blocks: int) -> tuple[int, ...]:
    """Say how many blocks stand directly before each call, where they came so."""
    wanted = tuple(
        int(_marks(call.extra).get("reasoning_before") or 0) for call in item.tool_calls
    )
    return wanted if sum(wanted) <= blocks else ()


def _spoken(item: ContextItem) -> tuple[str, list[str]]:
    """Return an assistant's words. There is no place for a picture of its own."""
    content, marks = said_parts(item.content, is_text_only=True)
    if isinstance(content, str):
        return content, marks
    return "\n".join(part["text"] for part in content if part["text"]), marks


def _blocks_to_send(item: ContextItem, model: str | None) -> list[Mapping[str, Any]]:
    """Return the blocks that may be sent: ours, of this model, and whole.

    What is encrypted only the model that wrote it can read. Without its encrypted
    content a block of reasoning means the vendor's store, and there is nothing there;
    what came after it (a search, say) cannot stand without it.
    """
    own = [part for part in item.reasoning if _is_own(part, model)]
    blocks = [part.data for part in own if part.data]
    if all(map(_is_whole, blocks)):
        return blocks
    return [block for block in blocks if block.get("type") == "compaction"]


def _is_own(part: ReasoningPart, model: str | None) -> bool:
    is_known = part.model is not None and model is not None
    is_other = is_known and _base(part.model or "") != _base(model or "")
    is_block = (part.data or {}).get("type") not in _SAID_OTHERWISE
    return part.provider == NAME and is_block and not is_other


def _is_reasoning(block: Mapping[str, Any]) -> bool:
    return block.get("type") == "reasoning"


def _is_whole(block: Mapping[str, Any]) -> bool:
    has_text = block.get("encrypted_content") or block.get("content")
    return not _is_reasoning(block) or bool(has_text)


def _base(model: str) -> str:
    return _SNAPSHOT.sub("", model.lower().rpartition("/")[2])


def _marks(extra: Mapping[str, Any] | None) -> Mapping[str, Any]:
    marks = (extra or {}).get(NAME)
    return marks if isinstance(marks, Mapping) else {}


def _answer_marks(item: ContextItem) -> Mapping[str, Any]:
    return _marks((item.metadata or {}).get("extra"))


def _said_call(call: ToolCall, call_id: str, *, keeps_id: bool) -> dict[str, Any]:
    name = clean_name(call.name)
    marks = _marks(call.extra)
    said: dict[str, Any] = {"type": "function_call", "call_id": call_id, "name": name}
    if call.type == "custom":
        said |= {"type": "custom_tool_call", "input": call.arguments}
    else:
        said["arguments"] = call.arguments
    if keeps_id:
        said["id"] = marks["id"]
    return said | {key: marks[key] for key in ("namespace",) if marks.get(key)}
