"""Responses bodies brought to one form, to be compared for what they say."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["meaning"]

_DROPPED = frozenset({"id", "status", "annotations", "logprobs"})
_TOLD = frozenset({"system", "developer"})


def meaning(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a body says: ids of items, nulls and spellings left out."""
    said = request["input"]
    items = [{"role": "user", "content": said}] if isinstance(said, str) else said
    told = request.get("instructions") or None
    if told is None and items and items[0].get("role") in _TOLD:
        told = _text(items[0]["content"])
        items = items[1:]
    shown = [_item(item) for item in items]
    return {
        "system": told,
        "said": [item for item in shown if item != ("assistant", [])],
        "tools": [
            _tool(tool)
            for tool in request.get("tools") or ()
            if tool["type"] in {"function", "custom"}
        ],
    }


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part["text"] for part in content)


def _item(item: Mapping[str, Any]) -> Any:
    kind = item.get("type") or "message"
    if kind == "message":
        role = "developer" if item["role"] in _TOLD else item["role"]
        parts = _parts(item["content"])
        if role != "user":
            texts = [part["text"] for part in parts]
            parts = ["".join(texts)] if any(texts) else []
        return role, parts
    if kind.endswith("_output"):
        return kind, item.get("call_id"), _parts(item.get("output") or "")
    said = {key: item[key] for key in item if key not in _DROPPED and item[key]}
    if kind == "function_call":
        said["arguments"] = json.loads(item["arguments"])
    return kind, said


def _parts(content: Any) -> list[Any]:
    if isinstance(content, str):
        return [{"text": content}]
    return [
        {"text": part.get("text", part.get("refusal"))}
        if "text" in part or "refusal" in part
        else {key: part[key] for key in part if key != "detail" or part[key] != "auto"}
        for part in content
    ]


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("type", "name", "description", "parameters", "format", "strict")
    return {key: tool[key] for key in kept if tool.get(key)}
