"""Says a prompt as Mistral's chat completions (`client.chat.complete`).

Ids have exactly nine letters or digits, the system prompt stands only at the front, and
behind a tool's result no user may speak: the assistant says a word in between.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from context_builder.render.adapter import Capabilities, Problem, Prompt
from context_builder.render.described import has_no_data
from context_builder.render.dialect import Dialect, asked_of
from context_builder.render.estimated_tokens import ChatFraming
from context_builder.render.ids import IdMap, clean_name
from context_builder.render.openai_compatible import CompatAdapter, Messages
from context_builder.render.validate_mistral import validate_mistral

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from context_builder.items import ContextItem
    from context_builder.messages import FilePart, ImagePart, Part, ReasoningPart

__all__ = ["MISTRAL", "MistralAdapter"]

_NEVER_REASON = ("ministral", "codestral", "devstral", "open-", "pixtral")
# How the ids of files begin that were uploaded to OpenAI or to Anthropic.
_OTHERS_FILES = ("file-", "file_")
# Behind a model's name: its date, or that it is the latest.
_VERSION = re.compile(r"-(latest|\d{4})$")

MISTRAL = Dialect(
    name="mistral",
    capabilities=Capabilities(
        providers=("mistral",),
        notes="user",
        merges_neighbours=True,
        user_first=True,
        assistant_last=False,
        id_pattern=r"^[a-zA-Z0-9]{9}$",
        id_exact_chars=9,
        reasoning="mistral",
    ),
    framing=ChatFraming(call=18, result=10, image_family="mistral"),
    bridge="OK",
    function_keys=frozenset({"name", "description", "parameters", "strict"}),
    needs_parameters=True,
)


class MistralAdapter(CompatAdapter):
    """Mistral's own API.

    Args:
        drop_text_with_calls: Leave out what the assistant says beside its calls: some
            models refuse both in one message.
    """

    def __init__(self, *, drop_text_with_calls: bool = False) -> None:
        super().__init__(MISTRAL)
        self._drops_text = drop_text_with_calls

    def _asked(self, prompt: Prompt) -> tuple[dict[str, Any], list[str]]:
        asked, notes = asked_of(prompt, self.dialect)
        key = prompt.options.prompt_cache_key
        if key is not None and key.isascii():
            asked.setdefault("prompt_cache_key", key)
        elif key is not None:
            notes.append("prompt_cache_key is left out: it may hold ASCII only")
        return asked, notes

    # --- parts ----------------------------------------------------------------------

    def _takes(self, part: Part) -> bool:
        # Every kind, by address, data or file id; but no film, and nobody else's files.
        if has_no_data(part) or part.type not in {"image", "file"}:
            return not has_no_data(part)
        kind = part.media_type or ""
        return (
            (part.url is None or part.url.startswith(("http://", "https://")))
            and not (part.file_id or "").startswith(_OTHERS_FILES)
            and not kind.startswith(("audio/", "video/"))
        )

    def _shown(self, part: Part) -> dict[str, Any]:
        match part.type:
            case "image":
                return _image(part)
            case "file":
                return _file(part)
            case "audio":
                return {"type": "input_audio", "input_audio": part.data}
            case _:
                return {"type": "text", "text": part.text}

    # --- the assistant ----------------------------------------------------------------

    def _say_assistant(
        self, item: ContextItem, ids: IdMap | None, model: str | None
    ) -> Messages:
        shown = item
        if self._drops_text and item.tool_calls:
            shown = item.with_content("")
        said = super()._say_assistant(shown, ids, model)
        chunks = [*_own_reasoning(item.reasoning, model)]
        if said and chunks:
            text = said[0]["content"]
            texts = [{"type": "text", "text": text}] if text else []
            said[0]["content"] = [*chunks, *texts]
        return said

    def _say_result(self, item: ContextItem, call_id: str) -> dict[str, Any]:
        said = super()._say_result(item, call_id)
        return {**said, "name": clean_name(item.tool_name or "tool")}

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules of Mistral that the request breaks."""
        return validate_mistral(request)


def _own_reasoning(
    parts: Sequence[ReasoningPart], model: str | None
) -> Iterator[dict[str, Any]]:
    """Say Mistral's own reasoning to a model that reasons, byte for byte."""
    for part in parts:
        if part.provider == "mistral" and _may_read(part.model, model):
            yield dict(part.data) if part.data else _thinking(part)


def _thinking(part: ReasoningPart) -> dict[str, Any]:
    said = {"type": "thinking", "thinking": [{"type": "text", "text": part.text}]}
    return said if part.signature is None else {**said, "signature": part.signature}


def _may_read(author: str | None, model: str | None) -> bool:
    reader = (model or "").rpartition("/")[2]
    if reader.startswith(_NEVER_REASON):
        return False
    if not author or not reader or reader.startswith("magistral"):
        return True
    return _VERSION.sub("", author) == _VERSION.sub("", reader)


def _image(part: ImagePart) -> dict[str, Any]:
    if part.file_id is not None:
        return {"type": "file", "file_id": part.file_id}
    url = part.url or f"data:{part.media_type or 'image/png'};base64,{part.data}"
    if part.detail is None:
        return {"type": "image_url", "image_url": {"url": url}}
    detail = "high" if part.detail == "original" else part.detail
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


def _file(part: FilePart) -> dict[str, Any]:
    if part.text is not None:
        return {"type": "text", "text": part.text}
    if part.file_id is not None:
        return {"type": "file", "file_id": part.file_id}
    media_type = part.media_type or "application/pdf"
    url = part.url or f"data:{media_type};base64,{part.data}"
    named = {"document_name": part.filename} if part.filename else {}
    return {"type": "document_url", "document_url": url, **named}
