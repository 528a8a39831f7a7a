"""Limits of the vendors that speak Chat Completions: who takes what, and who does not.

A row is a request and the families whose rules accept it; all others refuse it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder.render.deepseek import DeepSeekAdapter
from context_builder.render.glm import GlmAdapter
from context_builder.render.groq import GroqAdapter
from context_builder.render.kimi import KimiAdapter
from context_builder.render.openai_compatible import CompatAdapter
from context_builder.render.qwen import QwenAdapter
from context_builder.render.strict import StrictAdapter, strict_dialect
from context_builder.render.xai import XaiAdapter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FAMILIES: Mapping[str, CompatAdapter] = {
    "compatible": CompatAdapter(),
    "deepseek": DeepSeekAdapter(),
    "glm": GlmAdapter(),
    "groq": GroqAdapter(),
    "kimi": KimiAdapter(),
    "qwen": QwenAdapter(),
    "xai": XaiAdapter(),
    "strict": StrictAdapter(),
    "gemma": StrictAdapter(
        strict_dialect(system_role="fold_into_user", tool_role=False)
    ),
    "llama": StrictAdapter(strict_dialect(parallel_calls=False, images=True)),
    "mixtral": StrictAdapter(strict_dialect(nine_char_ids=True, bridge="OK")),
}
ALL = frozenset(FAMILIES)
TEMPLATES = frozenset({"strict", "gemma", "llama", "mixtral"})
REASONERS = frozenset({"deepseek", "glm", "kimi"})
NO_TOOLS = frozenset({"gemma"})

Body = dict[str, Any]
HI: Body = {"role": "user", "content": "Hi."}
SAID: Body = {"role": "assistant", "content": "a"}
SYSTEM: Body = {"role": "system", "content": "Be brief."}
TOOL: Body = {
    "type": "function",
    "function": {"name": "f", "description": "a", "parameters": {}},
}
PICTURE: Body = {"type": "image_url", "image_url": {"url": "https://a.test/b.png"}}


def _chat(*messages: Any, **fields: Any) -> Body:
    return {"model": "m", "messages": [*messages], **fields}


def _call(call_id: Any = "abcdefghi", name: str = "f", arguments: Any = "{}") -> Body:
    said = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": said}


def _answer(call_id: Any = "abcdefghi", content: Any = "1", **fields: Any) -> Body:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


def _asking(*calls: Any, **fields: Any) -> Body:
    return {"role": "assistant", "content": "", "tool_calls": [*calls], **fields}


def _loop(*calls: Any, answers: Any = None, **fields: Any) -> list[Body]:
    made = calls or (_call(),)
    given = answers or [_answer(call["id"]) for call in made]
    return [HI, _asking(*made, **fields), *given]


def _tools(**fields: Any) -> Body:
    return _chat(HI, tools=[TOOL], **fields)


def _asked(**fields: Any) -> Body:
    return _chat(HI, **fields)


CALLERS = ALL - NO_TOOLS - {"deepseek", "kimi"}
"""Who takes calls without reasoning beside them."""
_TWO = (_call(), _call("b" * 9))
_SWAPPED = [_answer("b" * 9), _answer()]
_THOUGHT = {"reasoning_content": "so"}

ROWS: Mapping[str, tuple[Body, frozenset[str]]] = {
    # rule: (request, who takes it)
    "a word": (_chat(SYSTEM, HI), ALL - NO_TOOLS),
    "a word without system": (_chat(HI), ALL),
    "no messages": (_chat(), frozenset()),
    "the assistant first": (
        _chat(SAID, HI),
        frozenset({"deepseek", "groq", "kimi", "xai"}),
    ),
    "the assistant last": (_chat(HI, SAID), ALL),
    "nobody asks": (_chat(SYSTEM), frozenset({"deepseek", "groq", "kimi", "xai"})),
    "users in a row": (_chat(HI, HI), ALL - TEMPLATES),
    "assistants in a row": (_chat(HI, SAID, SAID, HI), ALL - TEMPLATES),
    "a system message later on": (_chat(HI, SAID, SYSTEM, HI), frozenset()),
    "two system messages": (_chat(SYSTEM, SYSTEM, HI), frozenset()),
    "a developer": (_chat({**SYSTEM, "role": "developer"}, HI), frozenset()),
    **{
        f"a name on the {said['role']}'s": (
            _chat(*before, {**said, "name": "Ann"}, *after),
            frozenset({"xai"}) if said is HI else frozenset(),
        )
        for before, said, after in (
            ((), SYSTEM, (HI,)),
            ((), HI, ()),
            ((HI,), SAID, (HI,)),
        )
    },
    **{
        f"{field} of the assistant's": (_chat(HI, {**SAID, field: "a"}, HI), takers)
        for field, takers in (
            ("reasoning_content", REASONERS),
            ("reasoning", frozenset[str]()),
            ("refusal", frozenset[str]()),
            ("annotations", frozenset[str]()),
        )
    },
    "calls": (_chat(*_loop()), CALLERS),
    "calls, then the user": (_chat(*_loop(), HI), CALLERS - {"mixtral"}),
    "calls, then the assistant, then the user": (_chat(*_loop(), SAID, HI), CALLERS),
    "calls with reasoning": (_chat(*_loop(**_THOUGHT)), REASONERS),
    "calls with blank reasoning": (_chat(*_loop(reasoning_content=" ")), REASONERS),
    "calls with empty reasoning": (
        _chat(*_loop(reasoning_content="")),
        frozenset({"glm"}),
    ),
    **{
        f"reasoning back to {model}": (
            {**_chat(HI, {**SAID, **_THOUGHT}, HI), "model": model},
            REASONERS - {"deepseek"},
        )
        for model in ("deepseek-reasoner", "deepseek/deepseek-r1-0528")
    },
    "no reasoning back": (
        {**_chat(*_loop()), "model": "deepseek-reasoner"},
        CALLERS | {"deepseek"},
    ),
    "two calls": (_chat(*_loop(*_TWO)), CALLERS - {"llama"}),
    "two calls, answered the other way": (
        _chat(*_loop(*_TWO, answers=_SWAPPED)),
        CALLERS - {"llama", "xai"},
    ),
    "two calls of an id": (_chat(*_loop(_call(), _call())), frozenset()),
    "a call without answer": (_chat(HI, _asking(_call()), HI), frozenset()),
    "a call without answer at the end": (_chat(HI, _asking(_call())), frozenset()),
    "an answer without call": (_chat(HI, _answer()), frozenset()),
    "an empty list of calls": (_chat(HI, {**SAID, "tool_calls": []}, HI), frozenset()),
    "null content beside calls": (_chat(*_loop(content=None)), frozenset()),
    "no content beside calls": (
        _chat(HI, {"role": "assistant", "tool_calls": [_call()]}, _answer()),
        frozenset({"groq"}),
    ),
    "text beside calls": (_chat(*_loop(content="a")), CALLERS),
    "a null field": (
        _chat(HI, {**SAID, "tool_calls": None}, HI),
        ALL - {"groq", "gemma"},
    ),
    "an id of nine": (_chat(*_loop(_call("aZ0aZ0aZ0"))), CALLERS),
    "an id of ten": (_chat(*_loop(_call("aZ0aZ0aZ0a"))), CALLERS - {"mixtral"}),
    "an id of 40": (_chat(*_loop(_call("c" * 40))), CALLERS - {"mixtral"}),
    "an id of 41": (_chat(*_loop(_call("c" * 41))), frozenset()),
    "an id of 41 with reasoning": (
        _chat(*_loop(_call("c" * 41), **_THOUGHT)),
        frozenset({"kimi"}),
    ),
    "an id of 64": (_chat(*_loop(_call("c" * 64), **_THOUGHT)), frozenset({"kimi"})),
    "an id of 65": (_chat(*_loop(_call("c" * 65), **_THOUGHT)), frozenset()),
    "an id with _ and -": (_chat(*_loop(_call("call_1-a"))), CALLERS - {"mixtral"}),
    "an id of Kimi's": (
        _chat(*_loop(_call("functions.Bash:0"), **_THOUGHT)),
        frozenset({"kimi"}),
    ),
    "an id with a bar": (_chat(*_loop(_call("a|b"), **_THOUGHT)), frozenset()),
    "an empty id": (_chat(*_loop(_call(""), **_THOUGHT)), frozenset()),
    "arguments of nothing": (_chat(*_loop(_call(arguments=""))), frozenset()),
    "arguments as an object": (_chat(*_loop(_call(arguments={}))), frozenset()),
    "a name of 64": (_chat(*_loop(_call(name="f" * 64))), CALLERS),
    "a name of 65": (_chat(*_loop(_call(name="f" * 65))), frozenset()),
    "a blank answer": (_chat(*_loop(answers=[_answer(content=" ")])), frozenset()),
    "an answer in parts": (
        _chat(*_loop(answers=[_answer(content=[{"type": "text", "text": "a"}])])),
        frozenset(),
    ),
    "an answer with a name": (_chat(*_loop(answers=[_answer(name="f")])), frozenset()),
    "a blank user": (_chat({**HI, "content": ""}), frozenset()),
    "a blank system": (_chat({**SYSTEM, "content": "\n"}, HI), frozenset()),
    "a blank assistant": (_chat(HI, {**SAID, "content": " "}, HI), frozenset()),
    "a picture": (
        _chat({**HI, "content": [{"type": "text", "text": "a"}, PICTURE]}),
        ALL - {"deepseek", "strict", "gemma", "mixtral"},
    ),
    "a picture alone": (
        _chat({**HI, "content": [PICTURE]}),
        ALL - {"deepseek", "strict", "gemma", "mixtral"},
    ),
    "text in parts": (
        _chat({**HI, "content": [{"type": "text", "text": "a"}]}),
        frozenset(),
    ),
    "sound": (
        _chat({**HI, "content": [PICTURE, {"type": "input_audio"}]}),
        frozenset(),
    ),
    "tools": (_tools(), ALL),
    "a strict tool": (
        _chat(HI, tools=[{**TOOL, "function": {**TOOL["function"], "strict": True}}]),
        frozenset(),
    ),
    "two tools of a name": (_chat(HI, tools=[TOOL, TOOL]), frozenset()),
    "a tool without a name": (
        _chat(HI, tools=[{"type": "function", "function": {}}]),
        frozenset(),
    ),
    "a tool of another kind": (
        _chat(HI, tools=[{"type": "web_search", "function": {"name": "f"}}]),
        frozenset(),
    ),
    "the choice auto": (_tools(tool_choice="auto"), ALL),
    "the choice none": (_tools(tool_choice="none"), ALL - {"glm"}),
    "the choice required": (_tools(tool_choice="required"), ALL - {"glm", "kimi"}),
    "the choice any": (_tools(tool_choice="any"), frozenset()),
    "a named choice": (
        _tools(tool_choice={"type": "function", "function": {"name": "f"}}),
        ALL - {"glm", "kimi"},
    ),
    "a choice without tools": (_asked(tool_choice="auto"), frozenset()),
    "JSON": (_asked(response_format={"type": "json_object"}), ALL),
    "JSON by a schema": (
        _asked(response_format={"type": "json_schema"}),
        ALL - {"deepseek", "glm"},
    ),
    "tokens of the answer": (_asked(max_tokens=1), ALL),
    "tokens of the answer, OpenAI's way": (
        _asked(max_completion_tokens=1),
        frozenset(),
    ),
    "functions": (_asked(functions=[]), frozenset()),
    "several at once": (_tools(parallel_tool_calls=True), ALL - {"glm", "kimi"}),
    "a temperature": (_asked(temperature=0.5), ALL - {"kimi"}),
    "no temperature": (_asked(temperature=None), ALL),
}


def taken() -> Iterator[tuple[str, CompatAdapter, Body]]:
    """Yield what each family takes."""
    for rule, (body, takers) in ROWS.items():
        for family in sorted(takers):
            yield f"{family}: {rule}", FAMILIES[family], body


def refused() -> Iterator[tuple[str, CompatAdapter, Body]]:
    """Yield what each family refuses."""
    for rule, (body, takers) in ROWS.items():
        for family in sorted(ALL - takers):
            yield f"{family}: {rule}", FAMILIES[family], body
