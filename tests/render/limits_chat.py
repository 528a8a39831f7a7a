"""Limits of Mistral and Cohere: for each rule a body just within it, and one beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.render.test_cohere import GOOD as COHERE_GOOD
from tests.render.test_mistral import GOOD as MISTRAL_GOOD

if TYPE_CHECKING:
    from collections.abc import Mapping

Body = dict[str, Any]

HI: Body = {"role": "user", "content": "Hi."}
SAID: Body = {"role": "assistant", "content": "a"}


def _function(name: Any = "f", **fields: Any) -> Body:
    said = {"name": name, "parameters": {"type": "object"}, **fields}
    return {"type": "function", "function": said}


def _call(call_id: Any = "abcdefghi", arguments: Any = "{}", name: Any = "f") -> Body:
    said = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": said}


# --- Mistral --------------------------------------------------------------------------


def _mistral(*messages: Any, **fields: Any) -> Body:
    return {"model": "mistral-large-latest", "messages": [*messages], **fields}


def _answer(call_id: Any = "abcdefghi", content: Any = "1", **fields: Any) -> Body:
    said = {"tool_call_id": call_id, "name": "f", "content": content}
    return {"role": "tool", **said, **fields}


def _asking(*calls: Any, **fields: Any) -> Body:
    return {"role": "assistant", "content": "", "tool_calls": [*calls], **fields}


def _loop(call: Any = None, answer: Any = None, **fields: Any) -> Body:
    return _mistral(HI, _asking(call or _call()), answer or _answer(), **fields)


def _joined(call_id: Any) -> Body:
    return _loop(_call(call_id), _answer(call_id))


_CHUNKS: Mapping[str, Any] = {
    "text": {"text": "a"},
    "thinking": {"thinking": [{"type": "text", "text": "a"}]},
    "image_url": {"image_url": "https://a.test/b.png"},
    "document_url": {"document_url": "https://a.test/b.pdf"},
    "file": {"file_id": "1"},
    "input_audio": {"input_audio": "AAAA"},
}
_STANDS: Mapping[str, tuple[str, ...]] = {
    "system": ("text", "thinking"),
    "user": ("text", "image_url", "document_url", "file", "input_audio"),
    "assistant": ("text", "thinking"),
    "tool": ("text",),
}


def _spoken(role: str, *chunks: Any) -> Body:
    content = [*chunks]
    if role == "system":
        return _mistral({"role": role, "content": content}, HI)
    if role == "tool":
        return _loop(answer=_answer(content=content))
    if role == "assistant":
        return _mistral(HI, {"role": role, "content": content}, HI)
    return _mistral({"role": role, "content": content})


def _chunks() -> dict[str, tuple[Any, Any]]:
    """Return each kind of chunk in each place: taken there, or refused."""
    found: dict[str, tuple[Any, Any]] = {}
    for role, kinds in _STANDS.items():
        for kind, said in _CHUNKS.items():
            one = _spoken(role, {"type": kind, **said})
            empty = _spoken(role, {"type": kind, **dict.fromkeys(said, "")})
            taken = kind in kinds
            found[f"{kind} of {role}"] = (one, empty) if taken else (None, one)
    return found


MISTRAL: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    **_chunks(),
    "the example": (MISTRAL_GOOD, None),
    "messages": (_mistral(HI), _mistral()),
    "chars of an id": (_joined("aZ0aZ0aZ0"), _joined("aZ0aZ0aZ")),
    "too many chars of an id": (None, _joined("aZ0aZ0aZ0a")),
    "signs in an id": (None, _joined("abc_efghi")),
    "a line break behind an id": (None, _joined("abcdefgh\n")),
    "an id of a number": (None, _joined(123_456_789)),
    "roles": (
        _mistral({"role": "system", "content": "a"}, HI),
        _mistral(HI, {"role": "developer", "content": "a"}),
    ),
    "a name": (None, _mistral({**HI, "name": "Ann"})),
    "the prefix": (
        _mistral(HI, {**SAID, "prefix": True}),
        _mistral(HI, {**SAID, "prefix": False}),
    ),
    "a prefix in the middle": (None, _mistral(HI, {**SAID, "prefix": True}, HI)),
    "the system's place": (
        _mistral({"role": "system", "content": "a"}, HI),
        _mistral(HI, {"role": "system", "content": "a"}),
    ),
    "two system messages": (
        None,
        _mistral(*[{"role": "system", "content": "a"}] * 2, HI),
    ),
    "the first is the user's": (None, _mistral(SAID, HI)),
    "somebody asks": (None, _mistral({"role": "system", "content": "a"})),
    "users in a row": (None, _mistral(HI, HI)),
    "assistants in a row": (None, _mistral(HI, SAID, SAID, HI)),
    "behind a result": (
        _mistral(*_loop()["messages"], SAID, HI),
        _mistral(*_loop()["messages"], HI),
    ),
    "the last is the user's": (_loop(), _mistral(HI, SAID)),
    "an answer to each": (
        _mistral(HI, _asking(_call(), _call("b" * 9)), _answer("b" * 9), _answer()),
        _mistral(HI, _asking(_call(), _call("b" * 9)), _answer()),
    ),
    "answers of another": (None, _loop(answer=_answer("b" * 9))),
    "answers twice": (None, _mistral(*_loop()["messages"], _answer())),
    "two calls of an id": (
        None,
        _mistral(HI, _asking(_call(), _call()), _answer(), _answer()),
    ),
    "no calls": (None, _mistral(HI, {**SAID, "tool_calls": []}, HI)),
    "arguments": (_loop(_call(arguments={})), _loop(_call(arguments="[1]"))),
    "arguments of a second call": (
        None,
        _mistral(
            HI,
            _asking(_call(), _call("b" * 9, arguments="{")),
            _answer(),
            _answer("b" * 9),
        ),
    ),
    "arguments are a number": (None, _loop(_call(arguments=7))),
    "arguments too deep": (None, _loop(_call(arguments="[" * 99_999))),
    "chars of a name": (_loop(_call(name="f" * 64)), _loop(_call(name="f" * 65))),
    "signs in a name": (_loop(_call(name="_f-9")), _loop(_call(name="f.g"))),
    "no name": (None, _loop(_call(name=None))),
    "a result's name": (_loop(), _loop(answer=_answer(name=""))),
    "a blank result": (None, _loop(answer=_answer(content=" "))),
    "a blank user": (None, _mistral({"role": "user", "content": ""})),
    "a blank system": (None, _mistral({"role": "system", "content": "\n"}, HI)),
    "a blank assistant": (
        None,
        _mistral(HI, {"role": "assistant", "content": " "}, HI),
    ),
    "content and calls": (_mistral(HI, _asking(_call(), content="a"), _answer()), None),
    "thinking first": (
        _spoken(
            "assistant",
            {"type": "thinking", **_CHUNKS["thinking"]},
            {"type": "thinking", **_CHUNKS["thinking"]},
            {"type": "text", "text": "a"},
        ),
        _spoken(
            "assistant",
            {"type": "text", "text": "a"},
            {"type": "thinking", **_CHUNKS["thinking"]},
        ),
    ),
    "tools": (
        _mistral(HI, tools=[_function(strict=True, description="a"), _function("g")]),
        _mistral(HI, tools=[_function(), {"type": "web_search"}]),
    ),
    "fields of a tool": (None, _mistral(HI, tools=[_function(examples=[])])),
    "names of tools": (
        None,
        _mistral(HI, tools=[_function(), _function("g"), _function()]),
    ),
    "chars of a tool's name": (
        _mistral(HI, tools=[_function("f" * 64)]),
        _mistral(HI, tools=[_function("f" * 65)]),
    ),
    "parameters": (
        _mistral(HI, tools=[_function(parameters={})]),
        _mistral(HI, tools=[_function(), _function("g", parameters=None)]),
    ),
    **{
        f"the choice {choice}": (
            _mistral(HI, tools=[_function()], tool_choice=choice),
            _mistral(HI, tools=[_function()], tool_choice=f"{choice}X"),
        )
        for choice in ("auto", "none", "any", "required")
    },
    "a chosen tool": (_mistral(HI, tools=[_function()], tool_choice=_function()), None),
    "the cache key": (
        _mistral(HI, prompt_cache_key="~key"),
        _mistral(HI, prompt_cache_key="clé"),
    ),
    "arguments of the request": (
        _mistral(HI, random_seed=1, max_tokens=1, prompt_mode="reasoning"),
        _mistral(HI, max_completion_tokens=1, seed=1),
    ),
}


# --- Cohere ---------------------------------------------------------------------------


def _cohere(*messages: Any, **fields: Any) -> Body:
    return {"model": "command-a-03-2025", "messages": [*messages], **fields}


def _given(call_id: Any = "a", content: Any = "1") -> Body:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def _planned(call_id: Any = "a", arguments: Any = "{}", **fields: Any) -> Body:
    asking = {"role": "assistant", "tool_calls": [_call(call_id, arguments)], **fields}
    return _cohere(HI, asking, _given(call_id))


def _block(role: str, **block: Any) -> Body:
    content = [block]
    if role == "tool":
        return _cohere(*_planned()["messages"][:2], _given(content=content))
    said = {"role": role, "content": content}
    return _cohere(HI, said, HI) if role == "assistant" else _cohere(said, HI)


_BLOCKS: Mapping[str, Any] = {
    "text": {"text": "a"},
    "image_url": {"image_url": {"url": "https://a.test/b"}},
    "thinking": {"thinking": "a"},
    "document": {"document": {"data": "a"}},
}
_HOLDS: Mapping[str, tuple[str, ...]] = {
    "system": ("text",),
    "user": ("text", "image_url"),
    "assistant": ("text", "thinking"),
    "tool": ("text", "document"),
}


def _blocks() -> dict[str, tuple[Any, Any]]:
    """Return each kind of block in each place: taken there, or refused."""
    found: dict[str, tuple[Any, Any]] = {}
    for role, kinds in _HOLDS.items():
        for kind, said in _BLOCKS.items():
            one = _block(role, type=kind, **said)
            empty = _block(role, type=kind, **dict.fromkeys(said, ""))
            taken = kind in kinds
            found[f"{kind} of {role}"] = (one, empty) if taken else (None, one)
    return found


COHERE: Mapping[str, tuple[Any, Any]] = {
    **_blocks(),
    "the example": (COHERE_GOOD, None),
    "several system messages": (
        _cohere(*[{"role": "system", "content": "a"}] * 2, HI),
        _cohere(HI, {"role": "system", "content": "a"}),
    ),
    "an id": (_planned("any id: 1|2"), _planned("")),
    "a blank id": (None, _planned(" ")),
    "spaces around an id": (None, _planned("a ")),
    "arguments": (_planned(arguments='{"a": 1}'), _planned(arguments="null")),
    "the plan": (_planned(tool_plan="a"), _planned(tool_plan="")),
    "a plan without calls": (None, _cohere(HI, {**SAID, "tool_plan": "a"}, HI)),
    "text beside calls": (_planned(content=" "), _planned(content="a")),
    "thinking beside calls": (
        _planned(content=[{"type": "thinking", "thinking": "a"}]),
        _planned(content=[{"type": "text", "text": "a"}]),
    ),
    "null content": (None, _planned(content=None)),
    "content or calls": (
        _cohere(HI, {**SAID, "citations": []}, HI),
        _cohere(HI, {"role": "assistant"}, HI),
    ),
    "the last message": (_planned(), _cohere(HI, SAID)),
    "a blank user": (
        None,
        _cohere({"role": "user", "content": [{"type": "text", "text": " "}]}),
    ),
    "parameters": (
        _cohere(HI, tools=[_function()]),
        _cohere(HI, tools=[_function(), _function("g", parameters=None)]),
    ),
    "strictness of a tool": (
        _cohere(HI, tools=[_function()], strict_tools=True),
        _cohere(HI, tools=[_function(strict=True)]),
    ),
    **{
        f"the choice {choice}": (
            _cohere(HI, tools=[_function()], tool_choice=choice),
            _cohere(HI, tools=[_function()], tool_choice=choice.lower()),
        )
        for choice in ("REQUIRED", "NONE")
    },
    "no choice": (_cohere(HI, tool_choice=None), _cohere(HI, tool_choice="AUTO")),
    **{
        f"the format {kind}": (
            _cohere(HI, response_format={"type": kind}),
            _cohere(HI, response_format={"type": f"{kind}X"}),
        )
        for kind in ("text", "json_object")
    },
    **{
        f"a format beside {field}": (
            _cohere(HI, response_format={"type": "text"}, **{field: []}),
            _cohere(HI, response_format={"type": "text"}, **{field: [_function()]}),
        )
        for field in ("tools", "documents")
    },
    "arguments of the request": (
        _cohere(HI, max_tokens=1, thinking={"type": "enabled"}, k=1, p=0.5),
        _cohere(HI, top_p=1, stop="a"),
    ),
}
