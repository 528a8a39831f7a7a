"""Gemini's limits: for each rule a body just within it, and one just beyond."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

NEW, OLD = "gemini-3-pro-preview", "gemini-2.5-flash"
SKIP = b"skip_thought_signature_validator"
SKIP_TEXT = base64.b64encode(SKIP).decode()
HI: dict[str, Any] = {"role": "user", "parts": [{"text": "Hi."}]}
_OWN: dict[str, Any] = {
    "executable_code": {"code": "1"},
    "code_execution_result": {"output": "1"},
    "tool_call": {"id": "a"},
    "tool_response": {"id": "a"},
}


def _call(name: Any = "f", *, signed: Any = None, **fields: Any) -> dict[str, Any]:
    part: dict[str, Any] = {"function_call": {"name": name, **fields}}
    return part if signed is None else {**part, "thought_signature": signed}


def _answer(name: Any = "f", response: Any = None, **fields: Any) -> dict[str, Any]:
    said = {} if response is None else response
    return {"function_response": {"name": name, "response": said, **fields}}


def _model(*parts: Any) -> dict[str, Any]:
    return {"role": "model", "parts": [*parts]}


def _user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "parts": [*parts]}


def _talk(*contents: Any, model: str = OLD, **fields: Any) -> dict[str, Any]:
    return {"model": model, "contents": [*contents], **fields}


def _step(call: Any, answer: Any, model: str = OLD) -> dict[str, Any]:
    return _talk(HI, _model(call), _user(answer), model=model)


def _named(name: str) -> dict[str, Any]:
    return _step(_call(name), _answer(name))


def _says(part: Any) -> dict[str, Any]:
    """Return a body in which the model said one part."""
    return _talk(HI, _model({"text": "a"}, part), HI)


def _config(**config: Any) -> dict[str, Any]:
    return _talk(HI, config=config)


def _tools(*tools: dict[str, Any], **config: Any) -> dict[str, Any]:
    return _config(tools=[{"function_declarations": [*tools]}], **config)


def _schema(schema: Any) -> dict[str, Any]:
    return _tools({"name": "f", "parameters": schema})


def _choice(mode: Any, *names: str) -> dict[str, Any]:
    said = {"mode": mode, **({"allowed_function_names": names} if names else {})}
    return _tools({"name": "f"}, tool_config={"function_calling_config": said})


def _steps(*signatures: Any) -> dict[str, Any]:
    """Return a turn of several steps, each with a call that is signed so."""
    said = [
        content
        for signed in signatures
        for content in (_model(_call(signed=signed)), _user(_answer()))
    ]
    return _talk(HI, *said, model=NEW)


_OLDER_TURN = (HI, _model(_call()), _user(_answer()), _model({"text": "a"}))

LIMITS: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    "contents are text": ({"contents": "Hi."}, {"contents": ""}),
    "contents are one": (_talk(HI), {"contents": ({})}),
    "contents are a number": (None, {"contents": 7}),
    "a part alone": (
        _talk({"role": "user", "parts": {"text": "Hi."}}),
        _talk({"role": "user", "parts": "Hi."}),
    ),
    "a part is no object": (None, _talk(_user("Hi."))),
    "a content is no object": (None, _talk("Hi.")),
    "the last role": (_talk(HI, _model({"text": "a"}), HI), _talk(HI, _model({}))),
    "the first role": (None, _talk(_model({"text": "a"}), HI)),
    "one model's content alone": (None, _talk(_model({"text": "a"}))),
    "neighbours": (
        _talk(HI, _model(_call()), _user(_answer()), HI),
        _talk(HI, _model({"text": "a"}), _model({"text": "b"}), HI),
    ),
    "blank text": (
        _says({"text": "", "thought_signature": "YQ=="}),
        _says({"text": " "}),
    ),
    "no text": (_says({"thought_signature": "YQ=="}), _says({"thought": True})),
    "text is a number": (None, _says({"text": 7})),
    "two things in a part": (None, _says({"text": "a", "inline_data": {}})),
    "signed, but two things": (
        None,
        _says({"text": "a", "inline_data": {}, "thought_signature": "YQ=="}),
    ),
    "NUL": (_says({"text": "a\n"}), _says({"text": "a\0"})),
    "data": (
        _talk(_user({"inline_data": {"mime_type": "audio/wav", "data": "AAAA"}})),
        _talk(_user({"inline_data": {"mime_type": "audio/wav", "data": ""}})),
    ),
    "a type of data": (
        _talk(_user({"inlineData": {"mimeType": "image/png", "data": "AAAA"}})),
        _talk(_user({"inline_data": {"mime_type": "", "data": "AAAA"}})),
    ),
    "an address": (
        _talk(_user({"fileData": {"fileUri": "https://a.test/b.mp4"}})),
        _talk(_user({"file_data": {"file_uri": ""}})),
    ),
    **{
        f"{kind} of the vendor's own": (_says({kind: said}), _talk(_user({kind: said})))
        for kind, said in _OWN.items()
    },
    "who calls": (None, _talk(_user(_call()), _user(_answer()))),
    "who answers": (None, _talk(HI, _model(_call()), _model(_answer()), HI)),
    "chars of a name": (_named("f" * 64), _named("f" * 65)),
    "signs in a name": (_named("_a.b:c-9"), _named("a/b")),
    "a name begins": (_named("F"), _named("-f")),
    "a name is empty": (None, _named("")),
    "a name is a number": (None, _step(_call(7), _answer(7))),
    "a line break behind a name": (None, _named("f\n")),
    "arguments": (
        _step(_call(args=None), _answer()),
        _step(_call(args=[1]), _answer()),
    ),
    "inside of arguments": (
        _step(_call(args={"a": [1.5, {"b": "c"}]}), _answer()),
        _step(_call(args={"a": [1, {"b": "c\0"}]}), _answer()),
    ),
    "numbers in arguments": (
        None,
        _step(_call(args={"a": (1, float("nan"))}), _answer()),
    ),
    "a response": (None, _step(_call(), _answer(response=["a"]))),
    "inside of a response": (
        _step(_call(), _answer(response={"output": "a"})),
        _step(_call(), _answer(response={"output": ["a\ud800"]})),
    ),
    "responses beside text": (
        None,
        _talk(HI, _model(_call()), _user({"text": "a"}, _answer())),
    ),
    "as many responses": (
        _talk(HI, _model(_call(), _call("g")), _user(_answer(), _answer("g"))),
        _talk(HI, _model(_call()), _user(_answer(), _answer())),
    ),
    "calls at the end": (None, _talk(HI, _model(_call()))),
    "the order of responses": (
        None,
        _talk(HI, _model(_call(), _call("g")), _user(_answer("g"), _answer())),
    ),
    "responses behind text": (None, _talk(HI, _model({"text": "a"}), _user(_answer()))),
    "responses first": (None, _talk(_user(_answer()))),
    "ids": (
        _step(_call(id="1"), _answer(id="1")),
        _step(_call(id="1"), _answer(id="2")),
    ),
    "an id of a response alone": (_step(_call(), _answer(id="1")), None),
    "ids of the second": (
        None,
        _talk(
            HI,
            _model(_call(id="1"), _call(id="2")),
            _user(_answer(id="1"), _answer(id="1")),
        ),
    ),
    "signatures of a newer model": (
        _step(_call(signed="YQ=="), _answer(), NEW),
        _step(_call(), _answer(), NEW),
    ),
    "signatures of the tenth": (None, _step(_call(), _answer(), "Gemini-10-pro")),
    "signatures of a name of a model": (
        _step(_call(), _answer(), "models/gemini-2.5-pro"),
        _step(_call(), _answer(), "models/gemini-3.1-pro-preview"),
    ),
    "signatures of the first call only": (
        _talk(
            HI,
            _model(_call(signed="YQ=="), _call()),
            _user(_answer(), _answer()),
            model=NEW,
        ),
        _talk(
            HI,
            _model(_call(), _call(signed="YQ==")),
            _user(_answer(), _answer()),
            model=NEW,
        ),
    ),
    "signatures of each step": (_steps("YQ==", "Yg=="), _steps("YQ==", None)),
    "signatures of a turn that is over": (
        _talk(
            *_OLDER_TURN, HI, _model(_call(signed="YQ==")), _user(_answer()), model=NEW
        ),
        _talk(*_OLDER_TURN, HI, _model(_call()), _user(_answer()), model=NEW),
    ),
    "a signature twice": (_steps(SKIP_TEXT, SKIP_TEXT), _steps("YQ==", "YQ==")),
    "a signature twice, in bytes": (_steps(SKIP, SKIP), _steps(b"a", b"a")),
    "a signature twice in one content": (
        None,
        _talk(
            HI,
            _model(_call(signed="YQ=="), _call(signed="YQ==")),
            _user(_answer(), _answer()),
            model=NEW,
        ),
    ),
    "a signature like the one that skips": (None, _steps("xc2tpcF", "xc2tpcF")),
    "system": (
        _config(system_instruction="Be brief."),
        _config(system_instruction=""),
    ),
    "system of Gemma": (
        _talk(HI, model="Gemma-3-27b-it"),
        _talk(HI, model="models/Gemma-3-27b-it", systemInstruction={"parts": []}),
    ),
    **{
        f"{name} beside what is cached": (
            _config(cached_content="c"),
            _config(cached_content="c", **{name: value}),
        )
        for name, value in (
            ("system_instruction", "s"),
            ("tools", {"google_search": {}}),
            ("tool_config", {"function_calling_config": {"mode": "AUTO"}}),
        )
    },
    "names of tools": (_tools({"name": "f"}, {"name": "g"}), _tools({"name": "f g"})),
    "a tool alone": (
        _config(tools={"functionDeclarations": [{"name": "f"}]}),
        _config(tools={"functionDeclarations": [{"name": ""}]}),
    ),
    "the second tool": (None, _tools({"name": "f"}, {})),
    "a tool in two lists": (
        None,
        _config(tools=[{"function_declarations": [{"name": "f"}]}] * 2),
    ),
    "one schema": (
        _tools({"name": "f", "parametersJsonSchema": {"$ref": "#"}}),
        _tools({"name": "f", "parameters": {}, "parametersJsonSchema": {}}),
    ),
    **{
        f"{word} in a schema": (
            _schema({"properties": {word: {"type": "STRING"}}}),
            _schema({"items": [{"type": "STRING", word: 1}]}),
        )
        for word in ("$ref", "additionalProperties", "additional_properties", "const")
    },
    "an argument called properties": (
        _schema({"properties": {"properties": {"properties": {"const": {}}}}}),
        _schema({"properties": {"properties": {"const": {}}}}),
    ),
    "two unknown words": (None, _schema({"anyOf": [{"const": 1, "$ref": "#"}]})),
    **{
        f"the choice {mode}": (_choice(mode), _choice(f"{mode}X"))
        for mode in ("AUTO", "ANY", "NONE", "VALIDATED")
    },
    "a choice in small letters": (_choice("any", "f"), _choice("auto", "f")),
    "a choice by names": (_choice("VALIDATED", "f"), _choice("NONE", "f")),
    "a choice of a stranger": (_choice(None), _choice("ANY", "f", "g")),
    "a choice that is a number": (None, _choice(7)),
    "a budget": (
        _config(thinking_config={"thinking_budget": 0}),
        _config(thinking_config={"thinking_budget": 0, "thinking_level": "LOW"}),
    ),
    "a level": (
        _config(generation_config={"thinking_config": {"thinkingLevel": "LOW"}}),
        _talk(
            HI,
            generationConfig={
                "thinkingConfig": {"thinkingLevel": "", "thinkingBudget": 1}
            },
        ),
    ),
}
