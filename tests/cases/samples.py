"""Sound requests of each vendor, to be broken in one place, and runs made of them."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

from context_builder import ContextBuilder
from tests.cases.results import Built, Run

__all__ = [
    "CASE",
    "FAMILY",
    "PICTURE",
    "SOUND",
    "anthropic",
    "built",
    "call",
    "changed",
    "gemini",
    "openai",
    "run_of",
]

Json = Any
"""A piece of a case, or of a request."""
FAMILY = "👩\u200d👩\u200d👧"
THOUGHT = {"type": "thinking", "thinking": "hm ", "signature": "c2ln"}
HIDDEN = {"type": "redacted_thinking", "data": "cmVk"}
PICTURE = "data:image/png;base64,QUJD"

CASE: Json = {
    "id": "d00-made-up",
    "class": "none",
    "input": {
        "provider": "openai",
        "window": 1_000,
        "messages": [{"role": "user", "content": f"came in {FAMILY}"}],
        "ops": [{"op": "add_assistant", "thinking": [THOUGHT, HIDDEN]}, PICTURE],
    },
}


def call(call_id: str, name: str = "find", arguments: str = '{"q": 1}') -> Json:
    """Return a call in OpenAI's shape."""
    said = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": said}


def openai() -> Json:
    """Return a sound request of OpenAI's."""
    return {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": f"came in {FAMILY}"},
            {"role": "assistant", "content": "Looking.", "tool_calls": [call("c1")]},
            {
                "role": "tool",
                "tool_call_id": "c1",
                "content": "[... 9 lines left out ...]",
            },
            {"role": "assistant", "content": "Found."},
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "Thanks."},
                    {"type": "image_url", "image_url": {"url": PICTURE}},
                ],
            },
        ]
    }


def anthropic() -> Json:
    """Return a sound request of Anthropic's."""
    return {
        "system": "Be brief.",
        "messages": [
            {"role": "user", "content": "Look."},
            {
                "role": "assistant",
                "content": [
                    THOUGHT,
                    HIDDEN,
                    {"type": "tool_use", "id": "c1", "name": "find", "input": {}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "found"},
                    {"type": "text", "text": "And?"},
                ],
            },
        ],
    }


def gemini() -> Json:
    """Return a sound request of Gemini's."""
    return {
        "contents": [
            {"role": "user", "parts": [{"text": "Look."}]},
            {
                "role": "model",
                "parts": [{"functionCall": {"name": "find", "args": {"q": 1}}}],
            },
            {
                "role": "user",
                "parts": [
                    {"functionResponse": {"name": "find", "response": {"output": "1"}}}
                ],
            },
            {"role": "user", "parts": [{"text": "And?"}]},
        ],
        "config": {"system_instruction": "Be brief."},
    }


SOUND = {
    "openai": openai,
    "strict": openai,
    "anthropic": anthropic,
    "gemini": gemini,
}


def built(request: Json = None, target: str = "openai", **facts: Json) -> Built:
    """Return a build of that request."""
    known = {"name": "b", "own": True, "budget_tokens": 500, "seconds": 0.1}
    return Built(target=target, request=request, **{**known, **facts})


def run_of(*builds: Built, **facts: Json) -> Run:
    """Return a run that made these builds."""
    ctx = ContextBuilder(max_tokens=500)
    ctx.add_user_message("came in")
    run = Run(CASE, builds[0].target if builds else "openai", ctx, list(builds))
    run.added = [("user", "came in", (), None)]
    return dataclasses.replace(run, **facts)


def changed(target: str, *path: str | int, value: Json) -> Built:
    """Return a build of the sound request with another value at a path."""
    request = copy.deepcopy(SOUND[target]())
    place = request["contents" if target == "gemini" else "messages"]
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return built(request, target)
