"""Limits of OpenAI Responses: for each rule a body within it, and one beyond."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

HI: dict[str, Any] = {"role": "user", "content": "Hi."}
SAID: dict[str, Any] = {"role": "assistant", "content": "a"}
THOUGHT: dict[str, Any] = {"type": "reasoning", "summary": [], "encrypted_content": "x"}
PDF = "data:application/pdf;base64,JVBERi0="
TOOL: dict[str, Any] = {
    "type": "function",
    "name": "f",
    "parameters": {"type": "object"},
}


def _input(*items: Any, **fields: Any) -> dict[str, Any]:
    return {"input": [*items], **fields}


def _call(**fields: Any) -> dict[str, Any]:
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    return {**call, **fields}


def _custom(**fields: Any) -> dict[str, Any]:
    call = {"type": "custom_tool_call", "call_id": "a", "name": "f", "input": ""}
    return {**call, **fields}


def _output(output: Any = "1", call_id: Any = "a", kind: str = "function_call") -> Any:
    return {"type": f"{kind}_output", "call_id": call_id, "output": output}


def _loop(call: Any = None, output: Any = None, **fields: Any) -> dict[str, Any]:
    return _input(HI, call or _call(), output or _output(), **fields)


def _joined(call_id: Any) -> dict[str, Any]:
    return _loop(_call(call_id=call_id), _output(call_id=call_id))


def _part(kind: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    part = {"type": kind, **fields}
    if role == "result":
        return _loop(output=_output([part]))
    return _input({"role": role, "content": [part]}, HI)


def _tools(*tools: Any, **fields: Any) -> dict[str, Any]:
    return _input(HI, tools=[*tools], **fields)


def _strict(required: list[str], *, strict: bool = True) -> dict[str, Any]:
    schema = {"properties": {"a": {}, "b": {}}, "required": required}
    return _tools({**TOOL, "parameters": schema, "strict": strict})


def _asks(**schema: Any) -> dict[str, Any]:
    return _input(HI, text={"format": {"type": "json_schema", **schema}})


_PARTS: Mapping[str, dict[str, Any]] = {
    "input_text": {"text": ""},
    "input_image": {"file_id": "file-1"},
    "input_file": {"file_id": "file-1"},
    "input_audio": {"input_audio": {"data": "AAAA", "format": "wav"}},
    "output_text": {"text": "a"},
    "refusal": {"refusal": "No."},
}
_INPUT = ("input_text", "input_image", "input_file", "input_audio")
_STANDS: Mapping[str, tuple[str, ...]] = {
    "user": _INPUT,
    "system": _INPUT,
    "developer": _INPUT,
    "assistant": ("output_text", "refusal"),
    "result": _INPUT[:3],
}


def _standing() -> dict[str, tuple[Any, Any]]:
    """Return each kind of part in each place: taken there, or refused."""
    found = {}
    for role, kinds in _STANDS.items():
        for kind, said in _PARTS.items():
            body = _part(kind, role, **said)
            is_taken = kind in kinds
            found[f"{kind} of {role}"] = (body, None) if is_taken else (None, body)
    return found


def _ids() -> dict[str, tuple[Any, Any]]:
    """Return items with an id of their kind, and with one of another."""
    return {
        "id of a call": (_loop(_call(id="fc_1")), _loop(_call(id="msg_1"))),
        "id of a custom call": (
            _loop(_custom(id="ctc_1"), _output(kind="custom_tool_call")),
            _loop(_custom(id="fc_1"), _output(kind="custom_tool_call")),
        ),
        "id of a message": (
            _input(HI, {**SAID, "id": "msg_1"}, HI),
            _input(HI, {**SAID, "id": "rs_1"}, HI),
        ),
        "id of reasoning": (
            _input(HI, {**THOUGHT, "id": "rs_1"}, {**SAID, "id": "msg_1"}),
            _input(HI, {**THOUGHT, "id": "1"}, {**SAID, "id": "msg_1"}),
        ),
        "id of a number": (None, _loop(_call(id=7))),
        "id of an output": (_loop(output={**_output(), "id": "any"}), None),
    }


LIMITS: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    **_standing(),
    **_ids(),
    "text": ({"input": "Hi."}, {"input": ""}),
    "one item": (_input(HI), {"input": 7}),
    "no item, but a state": (_input(previous_response_id="r"), {"input": None}),
    "an item has a role": (_input({"role": "user", "content": "a"}), _input({})),
    "an item of another kind": (_input({"type": "shell_call", "call_id": "a"}), None),
    "a trigger is last": (
        _input(HI, {"type": "compaction_trigger"}),
        _input({"type": "compaction_trigger"}, HI),
    ),
    "stored reasoning": (
        _input(HI, {"type": "reasoning", "summary": []}, SAID),
        _input(HI, {"type": "reasoning", "summary": []}, SAID, store=False),
    ),
    "reasoning that is not stored": (
        _input(HI, THOUGHT, SAID, store=False),
        _input(HI, {**THOUGHT, "encrypted_content": ""}, SAID, store=False),
    ),
    "reasoning in the open": (
        _input(
            HI, {"type": "reasoning", "summary": (), "content": [1]}, SAID, store=False
        ),
        _input(HI, {"type": "reasoning", "summary": "a", "content": [1]}, SAID),
    ),
    "a reference": (
        _input({"type": "item_reference", "id": "any"}, HI),
        _input({"type": "item_reference", "id": "any"}, HI, store=False),
    ),
    "reasoning, then reasoning": (
        _input(HI, THOUGHT, THOUGHT, _call(), _output()),
        _input(HI, THOUGHT, THOUGHT, _output(), previous_response_id="r"),
    ),
    "reasoning, then a custom call": (
        _input(HI, THOUGHT, _custom(), _output(kind="custom_tool_call")),
        _input(THOUGHT, _output(kind="custom_tool_call"), conversation="c"),
    ),
    "reasoning, then the user": (_input(HI, THOUGHT, SAID), _input(THOUGHT, HI)),
    "reasoning at the end": (None, _input(HI, THOUGHT)),
    "reasoning before no item": (None, _input(HI, THOUGHT, 7)),
    "ids behind reasoning": (
        _input(HI, {**THOUGHT, "id": "rs_1"}, _call(id="fc_1"), _output()),
        _input(HI, {**THOUGHT, "id": "rs_1"}, _call(), _output()),
    ),
    "ids behind reasoning without": (
        _input(HI, THOUGHT, _call(id="fc_1"), _output()),
        None,
    ),
    **{
        f"the phase {phase}": (
            _input({**SAID, "phase": phase}, HI),
            _input({**SAID, "phase": f"{phase}X"}, HI),
        )
        for phase in ("commentary", "final_answer")
    },
    "no phase": (_input({**SAID, "phase": None}), _input({**SAID, "phase": ""})),
    **{
        f"the field {field}": (None, _input({**HI, field: None}))
        for field in ("name", "tool_calls", "tool_call_id")
    },
    "content": (_input({"role": "user", "content": ""}), _input({"role": "user"})),
    "parts": (None, _input({"role": "user", "content": []})),
    "a part is text": (None, _input({"role": "user", "content": ["a"]})),
    "text of a part": (None, _part("output_text", "assistant", refusal="a")),
    "text of a refusal": (None, _part("refusal", "assistant", text="a")),
    "sound": (None, _part("input_audio", input_audio="AAAA")),
    "one picture": (
        _part("input_image", image_url="http://a.test/b"),
        _part("input_image", image_url="http://a.test/b", file_id="file-1"),
    ),
    **{
        f"a picture of the kind {kind}": (
            _part("input_image", image_url=f"data:image/{kind};base64,AAAA"),
            _part("input_image", image_url=f"data:image/x{kind};base64,AAAA"),
        )
        for kind in ("png", "jpg", "jpeg", "gif", "webp", "PNG")
    },
    "a picture in base64": (
        None,
        _part("input_image", image_url="data:image/png;base64,"),
    ),
    "a picture by an address": (
        _part("input_image", image_url="https://a.test/b"),
        _part("input_image", image_url="https://a.test/b c"),
    ),
    "a picture by a number": (None, _part("input_image", image_url=7)),
    **{
        f"the detail {detail}": (
            _part("input_image", file_id="file-1", detail=detail),
            _part("input_image", file_id="file-1", detail=f"{detail}X"),
        )
        for detail in ("auto", "low", "high", "original")
    },
    "a file by its address": (
        _part("input_file", file_url="http://a.test/b"),
        _part("input_file", file_url="a.test/b"),
    ),
    "a file by its data": (
        _part("input_file", file_data=PDF, filename="a"),
        _part("input_file", file_data=PDF, filename=""),
    ),
    "a file by its bare data": (
        _part(
            "input_file",
            file_data="data:text/plain;charset=utf-8;base64,YQ==",
            filename="a",
        ),
        _part("input_file", file_data="data:text/plain,a", filename="a"),
    ),
    "one file": (
        None,
        _part("input_file", file_url="http://a.test/b", file_id="file-1"),
    ),
    "two sources of a file": (
        None,
        _part("input_file", file_data=PDF, file_id="file-1"),
    ),
    "no file": (None, _part("input_file", file_id="")),
    "chars of a call_id": (_joined("c" * 64), _joined("c" * 65)),
    "no chars of a call_id": (_joined("c"), _joined("")),
    "a call_id of a number": (None, _joined(7)),
    "a bar in a call_id": (_joined("a:b"), _joined("|b")),
    "chars of a name": (_loop(_call(name="f" * 64)), _loop(_call(name="f" * 65))),
    "signs in a name": (_loop(_call(name="_f-9")), _loop(_call(name="f.g"))),
    "no name": (None, _loop(_call(name=None))),
    "a custom name": (None, _loop(_custom(name=""), _output(kind="custom_tool_call"))),
    "custom input": (
        _loop(_custom(input=""), _output(kind="custom_tool_call")),
        _loop(_custom(input={}), _output(kind="custom_tool_call")),
    ),
    "arguments": (_loop(_call(arguments='{"a": 1}')), _loop(_call(arguments={}))),
    "arguments are a list": (None, _loop(_call(arguments="[]"))),
    "arguments are cut off": (None, _loop(_call(arguments='{"a'))),
    "arguments are too deep": (None, _loop(_call(arguments="[" * 99_999))),
    "hidden in arguments": (
        _loop(_call(arguments='{"a": ["\\u00e9"]}')),
        _loop(_call(arguments='{"a": ["\\u0000"]}')),
    ),
    "output": (_loop(output=_output("")), _loop(output=_output([]))),
    "output of the other kind": (None, _loop(output=_output(kind="custom_tool_call"))),
    "output before its call": (None, _input(HI, _output(), _call())),
    "output of a call before": (
        _input(_output(), HI, conversation="c"),
        _input(_output(), HI),
    ),
    "output later on": (_input(HI, _call(), HI, _output()), _input(HI, _call(), HI)),
    "two outputs": (
        _input(HI, _call(), _output(), _call(), _output()),
        _input(HI, _call(), _output(), _output()),
    ),
    "two calls": (
        _input(HI, _call(), _call(call_id="b"), _output(call_id="b"), _output()),
        _input(HI, _call(), _call(), _output()),
    ),
    "one state": (
        _input(HI, previous_response_id="r", conversation=None),
        _input(HI, previous_response_id="r", conversation="c"),
    ),
    "messages": (None, {**_input(HI), "messages": []}),
    "instructions": (_input(HI, instructions=None), _input(HI, instructions=["a"])),
    "the answer's tokens": (
        _input(HI, max_output_tokens=16),
        _input(HI, max_output_tokens=15),
    ),
    "the answer's tokens are text": (None, _input(HI, max_output_tokens="16")),
    "metadata": (
        _input(HI, metadata={str(n): "" for n in range(16)}),
        _input(HI, metadata={str(n): "" for n in range(17)}),
    ),
    "a schema": (_asks(name="a", schema={}), _asks(name="a")),
    "a schema's name": (
        _asks(name="a" * 64, schema={}),
        _asks(name="a" * 65, schema={}),
    ),
    "no name of a schema": (None, _asks(schema={})),
    "another format": (_input(HI, text={"format": {"type": "text"}}), None),
    "names of tools": (_tools(TOOL, {**TOOL, "name": "g"}), _tools(TOOL, TOOL)),
    "names of all kinds of tools": (
        _tools({"type": "web_search"}, {"type": "web_search"}),
        _tools(TOOL, {"type": "custom", "name": "f"}),
    ),
    "a name of a tool": (
        _tools({**TOOL, "name": "f" * 64}),
        _tools({**TOOL, "name": "f" * 65}),
    ),
    "a custom tool": (
        _tools({"type": "custom", "name": "f"}),
        _tools({"type": "custom", "custom": {"name": "f"}}),
    ),
    "a nested tool": (None, _tools({"type": "function", "function": {"name": "f"}})),
    "parameters": (
        _tools({**TOOL, "parameters": {}}),
        _tools({**TOOL, "parameters": None}),
    ),
    "parameters are a list": (None, _tools({**TOOL, "parameters": {"type": "array"}})),
    "strict": (_strict(["a", "b"]), _strict(["a"])),
    "strict is off": (_strict([], strict=False), _strict([])),
    **{
        f"the choice {choice}": (
            _tools(TOOL, tool_choice=choice),
            _tools(TOOL, tool_choice=f"{choice}X"),
        )
        for choice in ("none", "auto", "required")
    },
    "a chosen function": (
        _tools(TOOL, tool_choice={"type": "function", "name": "f"}),
        _tools(TOOL, tool_choice={"type": "function", "function": {"name": "f"}}),
    ),
    "a chosen custom tool": (
        _tools(
            {"type": "custom", "name": "f"}, tool_choice={"type": "custom", "name": "f"}
        ),
        _tools(TOOL, tool_choice={"type": "custom", "name": "g"}),
    ),
    "another choice": (_tools(TOOL, tool_choice={"type": "web_search"}), None),
    "text of every kind": (
        _input(HI, metadata={"a": ["b", 1]}),
        _input(HI, metadata={"a": ["b", "c\0"]}),
    ),
}
