"""Ollama's limits: for each rule a body just within it, and one just beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.render.conversations_chat import PIXEL
from tests.render.test_ollama import GOOD

if TYPE_CHECKING:
    from collections.abc import Mapping

Body = dict[str, Any]

HI: Body = {"role": "user", "content": "Hi."}
SAID: Body = {"role": "assistant", "content": "a"}


def _function(**fields: Any) -> Body:
    said = {"name": "f", "parameters": {"type": "object"}, **fields}
    return {"type": "function", "function": said}


def _call(call_id: str, arguments: Any, name: str) -> Body:
    said = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": said}


def _ollama(*messages: Any, **fields: Any) -> Body:
    settings = {"options": {"num_ctx": 4_096}, **fields}
    return {"model": "llama3.1", "messages": [*messages], **settings}


def _ran(name: Any = "f", content: Any = "1", **fields: Any) -> Body:
    return {"role": "tool", "tool_name": name, "content": content, **fields}


def _runs(*names: str, arguments: Any = None) -> Body:
    said = {} if arguments is None else arguments
    calls = [_call(f"c{n}", said, name) for n, name in enumerate(names)]
    return {"role": "assistant", "content": "", "tool_calls": calls}


LIMITS: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    "the example": (GOOD, None),
    "arguments": (
        _ollama(HI, _runs("f", arguments={"a": 1}), _ran()),
        _ollama(HI, _runs("f", arguments="{}"), _ran()),
    ),
    "arguments are a list": (None, _ollama(HI, _runs("f", arguments=[1]), _ran())),
    "the order of results": (
        _ollama(HI, _runs("f", "g"), _ran(), _ran("g"), SAID),
        _ollama(HI, _runs("f", "g"), _ran("g"), _ran()),
    ),
    "results of nobody": (None, _ollama(HI, _ran())),
    "one result too many": (None, _ollama(HI, _runs("f"), _ran(), _ran())),
    "a call without result": (None, _ollama(HI, _runs("f", "g"), _ran(), HI)),
    "calls at the end": (None, _ollama(HI, _runs("f", "g"))),
    "the last role": (_ollama(HI, SAID), None),
    "says something": (
        _ollama({"role": "user", "content": "", "images": [PIXEL]}),
        _ollama({"role": "user", "content": " ", "images": []}),
    ),
    "content": (
        None,
        _ollama({"role": "user", "content": [{"type": "text", "text": "a"}]}),
    ),
    "no content": (None, _ollama({"role": "user"})),
    "null content beside calls": (
        None,
        _ollama(HI, {**_runs("f"), "content": None}, _ran()),
    ),
    "pictures": (
        _ollama(HI, _runs("f"), _ran(images=[PIXEL])),
        _ollama(HI, _runs("f"), _ran(images=[PIXEL, "https://a.test/b.png"])),
    ),
    "an empty picture": (None, _ollama({**HI, "images": [""]})),
    "pictures of the assistant's": (None, _ollama(HI, {**SAID, "images": [PIXEL]})),
    "thinking": (
        _ollama(HI, {**SAID, "thinking": "a"}),
        _ollama({**HI, "thinking": "a"}),
    ),
    "the system's place": (
        _ollama({"role": "system", "content": "a"}, HI),
        _ollama(HI, {"role": "system", "content": "a"}),
    ),
    "fields of a tool": (
        _ollama(HI, tools=[_function(description="a")]),
        _ollama(HI, tools=[_function(strict=True)]),
    ),
    "the window": (
        _ollama(HI, options={"num_ctx": 1}),
        _ollama(HI, options={"num_ctx": 0}),
    ),
    "the window is text": (None, _ollama(HI, options={"num_ctx": "4096"})),
    "no options": (None, _ollama(HI, options=None)),
    **{
        f"to think {effort}": (
            _ollama(HI, think=effort),
            _ollama(HI, think=f"{effort}X"),
        )
        for effort in (True, False, "low", "medium", "high", "max")
    },
    "not said whether to think": (_ollama(HI, think=None), _ollama(HI, think="")),
    **{
        f"the format {form!r}": (_ollama(HI, format=form), _ollama(HI, format=[form]))
        for form in (None, "", "json", {"type": "object"})
    },
    "arguments of the request": (
        _ollama(HI, keep_alive="5m", stream=False, logprobs=True, top_logprobs=1),
        _ollama(HI, temperature=1, tool_choice="auto"),
    ),
}
