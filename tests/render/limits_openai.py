"""Limits of Chat Completions: for each rule a body just within it, and one beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HI: dict[str, Any] = {"role": "user", "content": "Hi."}
FUNCTION: dict[str, Any] = {"name": "f"}
PDF = "data:application/pdf;base64,JVBERi0="


def _chat(*messages: Any, **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [*messages], **fields}


def _call(call_id: Any = "a", kind: str = "function", **fields: Any) -> dict[str, Any]:
    said = {"name": "f", "arguments": "{}"} if kind == "function" else FUNCTION
    return {"id": call_id, "type": kind, kind: {**said, **fields}}


def _loop(*calls: Any, answers: tuple[Any, ...] = ("a",)) -> dict[str, Any]:
    asking = {"role": "assistant", "content": None, "tool_calls": [*calls]}
    said = ({"role": "tool", "tool_call_id": one, "content": "1"} for one in answers)
    return _chat(HI, asking, *said)


def _joined(call_id: str) -> dict[str, Any]:
    return _loop(_call(call_id), answers=(call_id,))


def _says(role: str, content: Any, **fields: Any) -> dict[str, Any]:
    said = {"role": role, "content": content, **fields}
    if role != "tool":
        return _chat(said)
    body = _loop(_call())
    return {**body, "messages": [*body["messages"][:2], {**said, "tool_call_id": "a"}]}


def _part(kind: str, said: Any, role: str = "user") -> dict[str, Any]:
    return _says(role, [{"type": kind, kind: said}])


def _tool(**fields: Any) -> dict[str, Any]:
    return {"type": "function", "function": {**FUNCTION, **fields}}


def _custom(name: str = "f") -> dict[str, Any]:
    return {"type": "custom", "custom": {"name": name}}


def _tools(*tools: Any, **fields: Any) -> dict[str, Any]:
    return _chat(HI, tools=[*tools], **fields)


def _strict(*, strict: bool = True, **schema: Any) -> dict[str, Any]:
    said = {"type": "object", "properties": {"a": {}, "b": {}}, **schema}
    return _tools(_tool(strict=strict, parameters=said))


def _asks(form: Any, said: str = "Hi.") -> dict[str, Any]:
    return _chat({"role": "user", "content": said}, response_format=form)


_KINDS: Mapping[str, Any] = {
    "text": "a",
    "image_url": {"url": "http://a.test/b"},
    "input_audio": {"data": "AAAA", "format": "mp3"},
    "file": {"file_id": "file-1"},
    "refusal": "No.",
}
_STANDS: Mapping[str, tuple[str, ...]] = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}
_FIELDS: Mapping[str, Any] = {
    "name": "Ann",
    "refusal": "No.",
    "audio": {"id": "a"},
    "annotations": [],
    "function_call": {},
    "cache_control": {},
}
_TAKES: Mapping[str, tuple[str, ...]] = {
    "assistant": ("name", "refusal", "audio", "annotations")
}


def _standing() -> dict[str, tuple[Any, Any]]:
    """Return each kind of part, and each field, of each role: taken, or refused."""
    found = {}
    for role, kinds in _STANDS.items():
        for kind, said in _KINDS.items():
            body = _part(kind, said, role)
            taken = (body, None) if kind in kinds else (None, body)
            found[f"a part {kind} of {role}"] = taken
        for field, value in _FIELDS.items():
            body = _says(role, "a", **{field: value})
            is_taken = field in _TAKES.get(role, ("name",))
            found[f"the field {field} of {role}"] = (
                (body, None) if is_taken else (None, body)
            )
    return found


LIMITS: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    **_standing(),
    "messages": (_chat(HI), {"messages": "Hi."}),
    **{
        f"null for {field}": (None, _says("assistant", "a", **{field: None}))
        for field in ("name", "tool_calls", "annotations")
    },
    "null for a refusal": (_says("assistant", "a", refusal=None), None),
    **{
        f"the sign {sign!r} in a person's name": (
            _says("user", "a", name="Ann-B.é"),
            _says("user", "a", name=f"Ann{sign}B"),
        )
        for sign in " \n<|\\/>"
    },
    "chars of a person's name": (
        _says("user", "a", name="n" * 64),
        _says("user", "a", name="n" * 65),
    ),
    "no chars of a person's name": (
        _says("user", "a", name="n"),
        _says("user", "a", name=""),
    ),
    **{
        f"null content beside {field}": (
            _says("assistant", None, **{field: value}),
            _says("assistant", None, **{field: ""}),
        )
        for field, value in (("refusal", "No."), ("audio", {"id": "a"}))
    },
    "null content beside calls": (_loop(_call()), _says("user", None)),
    "no content": (_says("system", ""), _says("developer", None)),
    "parts": (_says("assistant", ""), _says("assistant", [])),
    "content is a number": (None, _says("assistant", 7)),
    "blank": (_says("assistant", " "), _says("user", " ")),
    "blank parts of a user": (_part("text", " "), None),
    "blank parts of a result": (
        _says("tool", [{"type": "text", "text": " "}, {"type": "text", "text": "a"}]),
        _says("tool", [{"type": "text", "text": " "}, {"type": "text", "text": ""}]),
    ),
    "text of a part": (None, _part("text", ["a"])),
    **{
        f"a picture of the kind {kind}": (
            _part("image_url", {"url": f"data:image/{kind};base64,AAAA"}),
            _part("image_url", {"url": f"data:image/x{kind};base64,AAAA"}),
        )
        for kind in ("png", "jpg", "jpeg", "gif", "webp", "PNG")
    },
    "a picture's address": (
        _part("image_url", {"url": "https://a.test/b"}),
        _part("image_url", {"url": "https://"}),
    ),
    **{
        f"the detail {detail}": (
            _part("image_url", {"url": "http://a.test", "detail": detail}),
            _part("image_url", {"url": "http://a.test", "detail": f"{detail}X"}),
        )
        for detail in ("auto", "low", "high", "original")
    },
    **{
        f"sound of the kind {kind}": (
            _part("input_audio", {"data": "AAAA", "format": kind}),
            _part("input_audio", {"data": " ", "format": kind}),
        )
        for kind in ("wav", "mp3")
    },
    "no kind of sound": (None, _part("input_audio", {"data": "AAAA"})),
    "a file": (
        _part("file", {"file_data": PDF, "filename": "a.pdf"}),
        _part("file", {"file_data": PDF, "file_id": "file-1"}),
    ),
    "a file's type": (
        _part("file", {"file_data": "data:text/x.y+z-1;charset=utf-8;base64,YQ=="}),
        _part("file", {"file_data": "data:text;base64,YQ=="}),
    ),
    "no file": (None, _part("file", {"filename": "a.pdf"})),
    "calls": (None, _says("assistant", "a", tool_calls=[])),
    "calls are text": (None, _says("assistant", "a", tool_calls="f")),
    "a call is text": (None, _loop("f", answers=())),
    "calls with one id": (
        _loop(_call("a"), _call("b"), answers=("b", "a")),
        _loop(_call("a"), _call("a"), answers=("a", "a")),
    ),
    "custom calls": (
        _loop(_call(kind="custom", input="")),
        _loop(_call(kind="custom")),
    ),
    "a kind of a call": (None, _loop({**_call(), "type": "tool"})),
    "a call of the other kind": (None, _loop({**_call(), "type": "custom"})),
    "chars of an id": (_joined("c" * 40), _joined("c" * 41)),
    "one char of an id": (_joined("c"), _joined("")),
    "an id of a number": (None, _loop(_call(7), answers=(7,))),
    "chars of a name": (_loop(_call(name="f" * 64)), _loop(_call(name="f" * 65))),
    "one char of a name": (_loop(_call(name="f")), _loop(_call(name=""))),
    "signs in a name": (_loop(_call(name="_f-9")), _loop(_call(name="f:g"))),
    "arguments": (_loop(_call(arguments="{}")), _loop(_call(arguments="null"))),
    "arguments too deep": (None, _loop(_call(arguments="[" * 99_999))),
    "NUL in arguments": (None, _loop(_call(arguments='{"a": ["\\u0000"]}'))),
    "an answer to each": (
        _loop(_call("a"), _call("b"), answers=("a", "b")),
        _loop(_call("a"), _call("b"), answers=("a",)),
    ),
    "one answer": (_loop(_call("a")), _loop(_call("a"), answers=("a", "a"))),
    "two open calls": (None, _loop(_call("a"), _call("b"), answers=())),
    "an open call in mid-conversation": (
        _chat(*_loop(_call())["messages"], *_loop(_call())["messages"]),
        _chat(*_loop(_call(), answers=())["messages"], HI),
    ),
    "tools": (_tools(_tool(), *(_custom(f"f{n}") for n in range(127))), _tools()),
    "too many tools": (None, _tools(*(_custom(f"f{n}") for n in range(129)))),
    "names of tools": (_tools(_tool(), _custom("g")), _tools(_tool(), _custom("f"))),
    "chars of a tool's name": (
        _tools(_tool(name="f" * 64)),
        _tools(_tool(name="f" * 65)),
    ),
    "a custom tool's name": (_tools(_custom("f-9_")), _tools(_custom("f g"))),
    "a tool is text": (None, _tools("f")),
    "a description": (_tools(_tool(description="")), _tools(_tool(description=["a"]))),
    "parameters": (
        _tools(_tool(parameters={"type": "object"})),
        _tools(_tool(parameters={"properties": {}})),
    ),
    "parameters are null": (None, _tools(_tool(parameters=None))),
    "strict": (
        _strict(required=["b", "a"], additionalProperties=False),
        _strict(required=["a"], additionalProperties=False),
    ),
    "strict, without more": (
        _strict(strict=False),
        _strict(required=["a", "b"], additionalProperties=True),
    ),
    "strict, of a stranger": (
        None,
        _strict(required=["a", "b", "c"], additionalProperties=False),
    ),
    "strict, required of nothing": (None, _strict(additionalProperties=False)),
    **{
        f"the choice {choice}": (
            _tools(_tool(), tool_choice=choice),
            _tools(_tool(), tool_choice=f"{choice}X"),
        )
        for choice in ("none", "auto", "required")
    },
    "a chosen function": (
        _tools(_tool(), tool_choice=_tool()),
        _tools(_tool(), tool_choice=_tool(name="g")),
    ),
    "a chosen custom tool": (
        _tools(_tool(), _custom("g"), tool_choice=_custom("g")),
        _tools(_tool(), tool_choice={"type": "custom"}),
    ),
    "allowed tools": (
        _tools(_tool(), tool_choice={"type": "allowed_tools", "allowed_tools": {}}),
        _tools(_tool(), tool_choice={"type": "allowed"}),
    ),
    "a choice without tools": (None, _chat(HI, tool_choice="auto")),
    "several at once without tools": (
        _tools(_tool(), parallel_tool_calls=False),
        _chat(HI, parallel_tool_calls=False),
    ),
    "the model": ({"messages": [HI]}, {"messages": [HI], "model": " "}),
    **{
        f"the answer's tokens in {field}": (
            _chat(HI, **{field: 1}),
            _chat(HI, **{field: 0}),
        )
        for field in ("max_completion_tokens", "max_tokens")
    },
    "the answer's tokens are text": (None, _chat(HI, max_tokens="1")),
    "no format": (_asks(None), _asks(7)),
    "an unknown format": (_asks({"type": "text"}), _asks({"type": "json"})),
    "JSON": (
        _asks({"type": "json_object"}, "As Json."),
        _asks({"type": "json_object"}),
    ),
    "a schema": (
        _asks({"type": "json_schema", "json_schema": {"name": "a" * 64}}),
        _asks({"type": "json_schema", "json_schema": {"name": "a" * 65}}),
    ),
    "no schema": (None, _asks({"type": "json_schema"})),
    "numbers": (_chat(HI, top_p=0.5, n=(1, None)), _chat(HI, n=(1, float("inf")))),
    "NUL in a list": (None, _chat(HI, stop=["a", ("b\0",)])),
    "a key is no text": (None, _chat(HI, metadata={b"a": 1})),
}
