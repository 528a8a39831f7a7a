"""Answers in each vendor's own form, whole and in pieces: a text, perhaps a call."""

from __future__ import annotations

import json
import struct
import zlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

__all__ = ["ANSWERS", "COUNTED", "PIECES", "TEXT", "bedrock_frame", "sse"]

Json = dict[str, Any]

TEXT = "Done, as you asked."
COUNTED = 42
"""What every endpoint that counts returns."""
_HALVES = (TEXT[:7], TEXT[7:])
_ARGUMENTS = {"at": "sea"}
_INPUT, _OUTPUT = 11, 7


# --- whole answers --------------------------------------------------------------------


def _chat(name: str | None, model: str) -> Json:
    message: Json = {"role": "assistant", "content": TEXT}
    if name:
        said = {"name": name, "arguments": json.dumps(_ARGUMENTS)}
        message["tool_calls"] = [
            {"id": "call00001", "type": "function", "function": said}
        ]
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {
                "index": 0,
                "finish_reason": "tool_calls" if name else "stop",
                "message": message,
            }
        ],
        "usage": {
            "prompt_tokens": _INPUT,
            "completion_tokens": _OUTPUT,
            "total_tokens": _INPUT + _OUTPUT,
        },
    }


def _responses(name: str | None, model: str) -> Json:
    text = {"type": "output_text", "text": TEXT, "annotations": []}
    output: list[Json] = [
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [text],
        }
    ]
    if name:
        call = {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call00001",
            "name": name,
            "arguments": json.dumps(_ARGUMENTS),
            "status": "completed",
        }
        output.append(call)
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": model,
        "status": "completed",
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": _INPUT,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": _OUTPUT,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": _INPUT + _OUTPUT,
        },
    }


def _anthropic(name: str | None, model: str) -> Json:
    content: list[Json] = [{"type": "text", "text": TEXT}]
    if name:
        call = {"type": "tool_use", "id": "toolu_1", "name": name, "input": _ARGUMENTS}
        content.append(call)
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": "tool_use" if name else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": _INPUT, "output_tokens": _OUTPUT},
    }


def _gemini(name: str | None, model: str) -> Json:
    parts: list[Json] = [{"text": TEXT}]
    if name:
        parts.append({"functionCall": {"name": name, "args": _ARGUMENTS}})
    return _candidate(parts, model, "STOP")


def _candidate(parts: list[Json], model: str, reason: str | None) -> Json:
    candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
    if reason:
        candidate["finishReason"] = reason
    return {
        "candidates": [candidate],
        "modelVersion": model,
        "usageMetadata": {
            "promptTokenCount": _INPUT,
            "candidatesTokenCount": _OUTPUT,
            "totalTokenCount": _INPUT + _OUTPUT,
        },
    }


def _bedrock(name: str | None, _model: str) -> Json:
    content: list[Json] = [{"text": TEXT}]
    if name:
        call = {"toolUseId": "tooluse_1", "name": name, "input": _ARGUMENTS}
        content.append({"toolUse": call})
    return {
        "output": {"message": {"role": "assistant", "content": content}},
        "stopReason": "tool_use" if name else "end_turn",
        "usage": _bedrock_usage(),
        "metrics": {"latencyMs": 1},
    }


def _bedrock_usage() -> Json:
    total = _INPUT + _OUTPUT
    return {"inputTokens": _INPUT, "outputTokens": _OUTPUT, "totalTokens": total}


def _cohere(name: str | None, _model: str) -> Json:
    message: Json = {"role": "assistant"}
    if name:
        said = {"name": name, "arguments": json.dumps(_ARGUMENTS)}
        message["tool_plan"] = TEXT
        message["tool_calls"] = [
            {"id": "call00001", "type": "function", "function": said}
        ]
    else:
        message["content"] = [{"type": "text", "text": TEXT}]
    return {
        "id": "1",
        "finish_reason": "TOOL_CALL" if name else "COMPLETE",
        "message": message,
        "usage": _cohere_usage(),
    }


def _cohere_usage() -> Json:
    figures = {"input_tokens": _INPUT, "output_tokens": _OUTPUT}
    return {"billed_units": figures, "tokens": figures}


def _ollama(name: str | None, model: str) -> Json:
    message: Json = {"role": "assistant", "content": TEXT}
    if name:
        message["tool_calls"] = [{"function": {"name": name, "arguments": _ARGUMENTS}}]
    return {**_ollama_piece(message, model), **_OLLAMA_END}


def _ollama_piece(message: Json, model: str) -> Json:
    return {
        "model": model,
        "created_at": "2026-11-01T00:00:00Z",
        "message": message,
        "done": False,
    }


_OLLAMA_END: Json = {
    "done": True,
    "done_reason": "stop",
    "prompt_eval_count": _INPUT,
    "eval_count": _OUTPUT,
}

ANSWERS: Mapping[str, Callable[[str | None, str], Json]] = {
    "chat": _chat,
    "responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "bedrock": _bedrock,
    "cohere": _cohere,
    "ollama": _ollama,
}
"""By the kind of endpoint: what is said, calling a tool of that name if given."""


# --- in pieces ------------------------------------------------------------------------


def sse(data: Json, event: str | None = None) -> bytes:
    """Write a server-sent event."""
    named = f"event: {event}\n" if event else ""
    return f"{named}data: {json.dumps(data)}\n\n".encode()


def _chat_pieces(name: str | None, model: str) -> Iterator[bytes]:
    def piece(delta: Json, finish: str | None = None, **more: Any) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse(
            {
                "id": "1",
                "object": "chat.completion.chunk",
                "created": 1,
                "model": model,
                "choices": [choice],
                **more,
            }
        )

    yield piece({"role": "assistant", "content": _HALVES[0]})
    yield piece({"content": _HALVES[1]})
    if name:
        said = {"name": name, "arguments": json.dumps(_ARGUMENTS)}
        call = {"index": 0, "id": "call00001", "type": "function", "function": said}
        yield piece({"tool_calls": [call]})
    usage = {"prompt_tokens": _INPUT, "completion_tokens": _OUTPUT}
    usage["total_tokens"] = _INPUT + _OUTPUT
    yield piece({}, "tool_calls" if name else "stop", usage=usage)
    yield b"data: [DONE]\n\n"


def _responses_pieces(name: str | None, model: str) -> Iterator[bytes]:
    whole = _responses(name, model)
    begun = {**whole, "status": "in_progress", "output": [], "usage": None}
    events: list[Json] = [{"type": "response.created", "response": begun}]
    for number, item in enumerate(whole["output"]):
        at = {"output_index": number}
        empty: Json = (
            {"content": []} if item["type"] == "message" else {"arguments": ""}
        )
        added = {**item, "status": "in_progress", **empty}
        events.append({"type": "response.output_item.added", **at, "item": added})
        events += _item_events(item, at)
        events.append({"type": "response.output_item.done", **at, "item": item})
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        yield sse({**event, "sequence_number": number}, event["type"])


def _item_events(item: Json, at: Json) -> Iterator[Json]:
    if item["type"] == "function_call":
        kind = "response.function_call_arguments.delta"
        yield {"type": kind, **at, "item_id": item["id"], "delta": item["arguments"]}
        return
    inside = {**at, "item_id": item["id"], "content_index": 0}
    (part,) = item["content"]
    begun = {**part, "text": ""}
    yield {"type": "response.content_part.added", **inside, "part": begun}
    for half in _HALVES:
        delta = {"delta": half, "logprobs": []}
        yield {"type": "response.output_text.delta", **inside, **delta}
    done = {"text": TEXT, "logprobs": []}
    yield {"type": "response.output_text.done", **inside, **done}
    yield {"type": "response.content_part.done", **inside, "part": part}


def _anthropic_pieces(name: str | None, model: str) -> Iterator[bytes]:
    whole = _anthropic(name, model)
    begun = {**whole, "content": [], "stop_reason": None}
    yield sse({"type": "message_start", "message": begun}, "message_start")
    for number, block in enumerate(whole["content"]):
        is_text = block["type"] == "text"
        empty: Json = {"text": ""} if is_text else {"input": {}}
        deltas = (
            [{"type": "text_delta", "text": half} for half in _HALVES]
            if is_text
            else [{"type": "input_json_delta", "partial_json": json.dumps(_ARGUMENTS)}]
        )
        at = {"index": number}
        start = {"type": "content_block_start", **at, "content_block": block | empty}
        yield sse(start, "content_block_start")
        for delta in deltas:
            said = {"type": "content_block_delta", **at, "delta": delta}
            yield sse(said, "content_block_delta")
        yield sse({"type": "content_block_stop", **at}, "content_block_stop")
    ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": _OUTPUT}
    end = {"type": "message_delta", "delta": ended, "usage": usage}
    yield sse(end, "message_delta")
    yield sse({"type": "message_stop"}, "message_stop")


def _gemini_pieces(name: str | None, model: str) -> Iterator[bytes]:
    for half in _HALVES:
        yield sse(_candidate([{"text": half}], model, None))
    last: list[Json] = [{"text": ""}]
    if name:
        last = [{"functionCall": {"name": name, "args": _ARGUMENTS}}]
    yield sse(_candidate(last, model, "STOP"))


def bedrock_frame(kind: str, payload: Json, *, message: str = "event") -> bytes:
    """Write an event in the binary form of AWS's event streams."""
    headers = b"".join(
        bytes([len(key)]) + key + b"\x07" + struct.pack(">H", len(value)) + value
        for key, value in (
            (b":event-type", kind.encode()),
            (b":content-type", b"application/json"),
            (b":message-type", message.encode()),
        )
    )
    said = json.dumps(payload).encode()
    prelude = struct.pack(">II", 16 + len(headers) + len(said), len(headers))
    prelude += struct.pack(">I", zlib.crc32(prelude))
    frame = prelude + headers + said
    return frame + struct.pack(">I", zlib.crc32(frame))


def _bedrock_pieces(name: str | None, model: str) -> Iterator[bytes]:
    whole = _bedrock(name, model)
    yield bedrock_frame("messageStart", {"role": "assistant"})
    for half in _HALVES:
        said = {"contentBlockIndex": 0, "delta": {"text": half}}
        yield bedrock_frame("contentBlockDelta", said)
    yield bedrock_frame("contentBlockStop", {"contentBlockIndex": 0})
    if name:
        at = {"contentBlockIndex": 1}
        start = {"toolUse": {"toolUseId": "tooluse_1", "name": name}}
        delta = {"toolUse": {"input": json.dumps(_ARGUMENTS)}}
        yield bedrock_frame("contentBlockStart", {**at, "start": start})
        yield bedrock_frame("contentBlockDelta", {**at, "delta": delta})
        yield bedrock_frame("contentBlockStop", at)
    yield bedrock_frame("messageStop", {"stopReason": whole["stopReason"]})
    metadata = {"usage": whole["usage"], "metrics": {"latencyMs": 1}}
    yield bedrock_frame("metadata", metadata)


def _cohere_pieces(name: str | None, model: str) -> Iterator[bytes]:
    whole = _cohere(name, model)

    def event(kind: str, **more: Any) -> bytes:
        return sse({"type": kind, **more}, kind)

    def said(**message: Any) -> Json:
        return {"message": message}

    yield event("message-start", id="1", delta=said(role="assistant"))
    if name:
        for half in _HALVES:
            yield event("tool-plan-delta", delta=said(tool_plan=half))
        (call,) = whole["message"]["tool_calls"]
        begun = {**call, "function": {"name": name, "arguments": ""}}
        yield event("tool-call-start", index=0, delta=said(tool_calls=begun))
        rest = {"function": {"arguments": json.dumps(_ARGUMENTS)}}
        yield event("tool-call-delta", index=0, delta=said(tool_calls=rest))
        yield event("tool-call-end", index=0)
    else:
        empty = {"type": "text", "text": ""}
        yield event("content-start", index=0, delta=said(content=empty))
        for half in _HALVES:
            yield event("content-delta", index=0, delta=said(content={"text": half}))
        yield event("content-end", index=0)
    ended = {"finish_reason": whole["finish_reason"], "usage": _cohere_usage()}
    yield event("message-end", id="1", delta=ended)


def _ollama_pieces(name: str | None, model: str) -> Iterator[bytes]:
    def line(message: Json, **more: Any) -> bytes:
        piece = {**_ollama_piece({"role": "assistant", **message}, model), **more}
        return json.dumps(piece).encode() + b"\n"

    for half in _HALVES:
        yield line({"content": half})
    if name:
        call = {"function": {"name": name, "arguments": _ARGUMENTS}}
        yield line({"content": "", "tool_calls": [call]})
    yield line({"content": ""}, **_OLLAMA_END)


PIECES: Mapping[str, Callable[[str | None, str], Iterator[bytes]]] = {
    "chat": _chat_pieces,
    "responses": _responses_pieces,
    "anthropic": _anthropic_pieces,
    "gemini": _gemini_pieces,
    "bedrock": _bedrock_pieces,
    "cohere": _cohere_pieces,
    "ollama": _ollama_pieces,
}
"""The same answers as they stream, as bytes on the wire."""
