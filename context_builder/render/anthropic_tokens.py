"""What a request to Anthropic costs beyond its texts, and what its blocks cost.

The constants are fitted to billed requests; they err on the side of more.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from context_builder.render.claude import Claude, claude_of
from context_builder.tokens.images import anthropic_image_tokens, image_size

__all__ = [
    "MESSAGE",
    "REQUEST",
    "block_tokens",
    "blocks_tokens",
    "format_tokens",
    "request_tokens",
    "system_tokens",
    "thinking_tokens",
    "tools_tokens",
]

Count = Callable[[str], int]
Block = Mapping[str, Any]

REQUEST = 5
"""Once a request."""
MESSAGE = 2
"""Each message."""
_SYSTEM = 1
_CALL = 24
_RESULT = 22
_IMAGE = 4
_TOOL = 8
_THINKING = {"enabled": 30, "adaptive": 18}
_FORMAT = 135
_CITATIONS = 580
_PDF_PAGE = 2_400
_PDF_PAGE_BYTES = 50_000
"""A page of a PDF, about: its text and its picture are both billed."""
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
_SIGNATURE_CHARS = 6
"""Characters of a signature that stand for one token of hidden thinking."""


def request_tokens(request: Mapping[str, Any], count: Count) -> int:
    """Count a finished request from its body."""
    model = request.get("model")
    return (
        REQUEST
        + system_tokens(request.get("system"), count, model)
        + tools_tokens(
            request.get("tools") or (), count, model, request.get("tool_choice")
        )
        + thinking_tokens(request.get("thinking"))
        + format_tokens(_answer_format(request), count)
        + sum(
            MESSAGE + blocks_tokens(content, count, model)
            for content in _billed(request["messages"], claude_of(model))
        )
    )


def _answer_format(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    older = request.get("output_format")
    return {"format": older} if older else request.get("output_config")


def _billed(
    messages: Sequence[Mapping[str, Any]], claude: Claude
) -> Iterator[str | list[Block]]:
    """Yield what is billed of each message: older models forget finished thoughts."""
    running_from = 0
    if claude.forgets_thinking:
        spoken = [number for number, said in enumerate(messages) if _is_spoken(said)]
        running_from = spoken[-1] if spoken else 0
    for number, said in enumerate(messages):
        content = said["content"]
        if number < running_from and not isinstance(content, str):
            yield [block for block in content if block["type"] not in _THOUGHTS]
        else:
            yield content


def _is_spoken(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return message["role"] == "user" and (
        isinstance(content, str)
        or any(block["type"] != "tool_result" for block in content)
    )


def system_tokens(
    system: str | Iterable[Block] | None, count: Count, model: str | None
) -> int:
    """Count the system prompt."""
    return _SYSTEM + blocks_tokens(system, count, model) if system else 0


def thinking_tokens(thinking: Mapping[str, Any] | None) -> int:
    """Return what it costs to switch thinking on."""
    return _THINKING.get(thinking["type"], 0) if thinking else 0


def format_tokens(output_config: Mapping[str, Any] | None, count: Count) -> int:
    """Count the schema of the answer."""
    wanted = (output_config or {}).get("format")
    return _FORMAT + _json_tokens(wanted.get("schema"), count) if wanted else 0


def tools_tokens(
    tools: Iterable[Block],
    count: Count,
    model: str | None,
    choice: Mapping[str, Any] | None = None,
) -> int:
    """Count tool definitions, and the instructions that come with the first one."""
    defined = [tool for tool in tools if not tool.get("defer_loading")]
    if not defined:
        return 0
    is_forced = choice is not None and choice.get("type") in {"any", "tool"}
    return _tool_instructions(claude_of(model), is_forced=is_forced) + sum(
        _TOOL + _json_tokens(_without_mark(tool), count) for tool in defined
    )


def _tool_instructions(claude: Claude, *, is_forced: bool) -> int:
    """Return what the vendor's own words about tools cost, by the model's age."""
    if claude.counts_finer:
        return 470 if is_forced else 385
    if (claude.major, claude.minor) >= (4, 5) or not claude.is_known:
        return 590 if is_forced else 488
    return 300 if claude.major == 4 else 340  # noqa: PLR2004  the generation 4


def _without_mark(block: Block) -> dict[str, Any]:
    return {key: value for key, value in block.items() if key != "cache_control"}


def blocks_tokens(
    content: str | Iterable[Block] | None, count: Count, model: str | None
) -> int:
    """Count the content of a message."""
    if isinstance(content, str):
        return count(content)
    return sum(block_tokens(block, count, model) for block in content or ())


def block_tokens(block: Block, count: Count, model: str | None) -> int:
    """Count one block."""
    counter = _COUNTERS.get(block["type"])
    if counter is not None:
        return counter(block, count, model)
    return _json_tokens(_without_mark(block), count)


def _text(block: Block, count: Count, model: str | None) -> int:
    del model
    return count(block["text"])


def _thinking(block: Block, count: Count, model: str | None) -> int:
    del model
    said = count(block["thinking"]) if block["thinking"] else 0
    return max(said, len(block["signature"]) // _SIGNATURE_CHARS)


def _redacted(block: Block, count: Count, model: str | None) -> int:
    del count, model
    return len(block["data"]) // _SIGNATURE_CHARS


def _call(block: Block, count: Count, model: str | None) -> int:
    del model
    return _CALL + count(block["name"]) + _json_tokens(block["input"], count)


def _result(block: Block, count: Count, model: str | None) -> int:
    return _RESULT + blocks_tokens(block.get("content"), count, model)


def _image(block: Block, count: Count, model: str | None) -> int:
    del count
    data = block["source"].get("data")
    size = image_size(data) if data else None
    return _IMAGE + anthropic_image_tokens(size, model=model)


def _document(block: Block, count: Count, model: str | None) -> int:
    source = block["source"]
    titles = sum(count(block[key]) for key in ("title", "context") if block.get(key))
    if (block.get("citations") or {}).get("enabled"):
        titles += _CITATIONS
    if source["type"] == "text":
        return _IMAGE + titles + count(source["data"])
    if source["type"] == "content":
        return _IMAGE + titles + blocks_tokens(source["content"], count, model)
    pages = 1 + len(source.get("data") or "") * 3 // 4 // _PDF_PAGE_BYTES
    return titles + pages * _PDF_PAGE


def _json_tokens(value: object, count: Count) -> int:
    return count(json.dumps(value, ensure_ascii=False))


_COUNTERS: Mapping[str, Callable[[Block, Count, str | None], int]] = {
    "text": _text,
    "thinking": _thinking,
    "redacted_thinking": _redacted,
    "tool_use": _call,
    "tool_result": _result,
    "image": _image,
    "document": _document,
}
