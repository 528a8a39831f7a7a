"""Reads a finished request of any vendor into one neutral shape.

Nothing here comes from the library: what an assertion sees must not depend on the code
that it checks.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

__all__ = ["Call", "Result", "Said", "View", "leaves", "read"]

Json = Any
"""A piece of a vendor's body."""


@dataclasses.dataclass(frozen=True)
class Call:
    """A tool call."""

    id: str | None
    name: str
    arguments: str | Mapping[str, Any]
    """As it stands in the body: JSON text, or the object."""

    @property
    def object(self) -> object:
        """The arguments parsed; None if they do not parse."""
        if not isinstance(self.arguments, str):
            return self.arguments
        try:
            return json.loads(self.arguments)
        except ValueError:
            return None


@dataclasses.dataclass(frozen=True)
class Result:
    """A tool's result."""

    id: str | None
    name: str | None
    text: str


@dataclasses.dataclass(frozen=True)
class Said:
    """One message, in the vendor's cut."""

    role: str
    """`user`, `assistant`, or `tool` where it carries nothing but results."""
    texts: tuple[str, ...] = ()
    """The text parts; those of results are in `results`."""
    calls: tuple[Call, ...] = ()
    results: tuple[Result, ...] = ()
    media: tuple[Mapping[str, Any], ...] = ()
    """Parts that are no text, call or result, as they stand in the body."""
    order: tuple[str, ...] = ()
    """The kinds of its parts, in order: text, call, result, media, thinking."""

    @property
    def text(self) -> str:
        """All its text."""
        return "\n".join(self.texts)


@dataclasses.dataclass(frozen=True)
class View:
    """A request as a reader sees it."""

    target: str
    request: Mapping[str, Any]
    system: tuple[str, ...]
    """The system texts: one for each system message, or for the one field."""
    said: tuple[Said, ...]

    @property
    def conversation(self) -> list[Json]:
        """The messages as they stand in the body."""
        key = "contents" if self.target == "gemini" else "messages"
        return list(self.request[key])

    def texts(self) -> list[str]:
        """Return every text that the model reads, tool definitions left out."""
        has_field = self.target in {"anthropic", "gemini"}
        return [*(self.system if has_field else ()), *leaves(self.conversation)]

    def parts(self) -> Iterator[Mapping[str, Any]]:
        """Yield every object of the conversation, however deep it lies."""
        return _objects(self.conversation)


def leaves(value: Json) -> Iterator[str]:
    """Yield every string in a piece of a body, but the names of roles and kinds."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in {"role", "type"}:
                yield from leaves(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from leaves(inner)


def _objects(value: Json) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        yield value
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from _objects(inner)


def read(target: str, request: Mapping[str, Any]) -> View:
    """Read a request in the format of its target."""
    reader = {"anthropic": _anthropic, "gemini": _gemini}.get(target, _openai)
    return reader(target, request)


def _text_of(content: Json) -> str:
    """Return the text of a content: a string, or the text parts of a list."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        part["text"] for part in parts if isinstance(part.get("text"), str)
    )


def _system_of(field: Json) -> tuple[str, ...]:
    text = _text_of(field.get("parts") if isinstance(field, Mapping) else field)
    return (text,) if text else ()


# --- OpenAI-shaped: openai, strict, mistral -------------------------------------------


def _openai(target: str, request: Mapping[str, Any]) -> View:
    messages = request["messages"]
    systems = [each for each in messages if each["role"] in {"system", "developer"}]
    return View(
        target=target,
        request=request,
        system=tuple(_text_of(each["content"]) for each in systems),
        said=tuple(_openai_said(each) for each in messages if each not in systems),
    )


def _openai_said(message: Mapping[str, Any]) -> Said:
    content = message.get("content")
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    calls = [
        Call(call.get("id"), _openai_name(call), _openai_arguments(call))
        for call in message.get("tool_calls") or ()
    ]
    if message["role"] == "tool":
        result = Result(
            message.get("tool_call_id"), message.get("name"), _text_of(content)
        )
        return Said(role="tool", results=(result,), order=("result",))
    texts, media = _split(parts or (), lambda part: part.get("type") == "text")
    return Said(
        role=message["role"],
        texts=tuple(part["text"] for part in texts),
        calls=tuple(calls),
        media=tuple(media),
        order=(*("text",) * len(texts), *("call",) * len(calls)),
    )


def _openai_name(call: Mapping[str, Any]) -> str:
    return str(call.get("function", call.get("custom", {})).get("name"))


def _openai_arguments(call: Mapping[str, Any]) -> Json:
    return call["function"].get("arguments") if "function" in call else {}


def _split(
    parts: Sequence[Mapping[str, Any]], test: Callable[[Mapping[str, Any]], bool]
) -> tuple[list[Mapping[str, Any]], list[Mapping[str, Any]]]:
    return [p for p in parts if test(p)], [p for p in parts if not test(p)]


# --- Anthropic ------------------------------------------------------------------------


def _anthropic(target: str, request: Mapping[str, Any]) -> View:
    return View(
        target=target,
        request=request,
        system=_system_of(request.get("system")),
        said=tuple(_anthropic_said(message) for message in request["messages"]),
    )


def _anthropic_said(message: Mapping[str, Any]) -> Said:
    content = message["content"]
    blocks = (
        [{"type": "text", "text": content}] if isinstance(content, str) else content
    )
    kinds = {
        "text": "text",
        "tool_use": "call",
        "tool_result": "result",
        "thinking": "thinking",
        "redacted_thinking": "thinking",
    }
    order = tuple(kinds.get(block["type"], "media") for block in blocks)
    by_kind = {
        kind: [b for b, found in zip(blocks, order, strict=True) if found == kind]
        for kind in ("text", "call", "result", "media")
    }
    only_results = set(order) == {"result"}
    return Said(
        role="tool" if only_results else message["role"],
        texts=tuple(block["text"] for block in by_kind["text"]),
        calls=tuple(Call(b["id"], b["name"], b["input"]) for b in by_kind["call"]),
        results=tuple(
            Result(b["tool_use_id"], None, _text_of(b.get("content")))
            for b in by_kind["result"]
        ),
        media=tuple(by_kind["media"]),
        order=order,
    )


# --- Gemini: REST or SDK spelling -----------------------------------------------------


def _get(part: Mapping[str, Any], camel: str) -> Json:
    snake = "".join(f"_{char.lower()}" if char.isupper() else char for char in camel)
    return part.get(camel, part.get(snake))


def _gemini(target: str, request: Mapping[str, Any]) -> View:
    field = _get(request, "systemInstruction")
    if field is None:
        field = _get(request.get("config") or {}, "systemInstruction")
    return View(
        target=target,
        request=request,
        system=_system_of(field),
        said=tuple(_gemini_said(content) for content in request["contents"]),
    )


def _gemini_said(content: Mapping[str, Any]) -> Said:
    parts = content["parts"]
    order = tuple(_gemini_kind(part) for part in parts)
    calls = [call for part in parts if (call := _get(part, "functionCall"))]
    results = [said for part in parts if (said := _get(part, "functionResponse"))]
    role = "assistant" if content["role"] == "model" else content["role"]
    return Said(
        role="tool" if set(order) == {"result"} else role,
        texts=tuple(
            part["text"]
            for part, kind in zip(parts, order, strict=True)
            if kind == "text"
        ),
        calls=tuple(Call(c.get("id"), c["name"], c.get("args") or {}) for c in calls),
        results=tuple(
            Result(said.get("id"), said["name"], "\n".join(leaves(said["response"])))
            for said in results
        ),
        media=tuple(
            part for part, kind in zip(parts, order, strict=True) if kind == "media"
        ),
        order=order,
    )


def _gemini_kind(part: Mapping[str, Any]) -> str:
    if _get(part, "functionCall"):
        return "call"
    if _get(part, "functionResponse"):
        return "result"
    if part.get("thought"):
        return "thinking"
    return "text" if isinstance(part.get("text"), str) else "media"
