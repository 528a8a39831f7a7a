"""Limits of Bedrock's Converse: for each rule a body within it, and one beyond."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

from tests.render.conversations_anthropic import PNG
from tests.render.test_validate_bedrock import (
    ANSWER,
    CALL,
    CLAUDE,
    LLAMA,
    LOOP,
    NEWEST,
    POINT,
    TEXT,
    THOUGHT,
    TOOLS,
    answer,
    body,
    call,
    document,
    picture,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

NOVA = "amazon.nova-pro-v1:0"
HIDDEN = {"reasoningContent": {"redactedContent": b"x"}}

Body = dict[str, Any]


def _wide(width: int, height: int) -> dict[str, Any]:
    data = base64.b64decode(PNG)
    sides = width.to_bytes(4, "big") + height.to_bytes(4, "big")
    return picture(source={"bytes": data[:16] + sides + data[24:]})


def called(call_id: Any = "a", **changes: Any) -> Body:
    """Return a body with one call, some of its fields changed, and its result."""
    said = [call(**{"toolUseId": call_id, **changes})]
    return body(
        LOOP[0],
        ("assistant", said),
        ("user", [answer(toolUseId=call_id)]),
        toolConfig=TOOLS,
    )


def _answers(*blocks: Any, **fields: Any) -> Body:
    return body(*LOOP[:2], ("user", [*blocks]), toolConfig=TOOLS, **fields)


def _result(*parts: Any, status: Any = None, **fields: Any) -> Body:
    flag = {"status": status} if status else {}
    return _answers(answer(content=[*parts], **flag), **fields)


def says(*blocks: Any, **fields: Any) -> Body:
    """Return a body in whose middle the assistant says blocks."""
    return body(("user", [TEXT]), ("assistant", [*blocks]), ("user", [TEXT]), **fields)


def _last(text: str = "a", model: str = CLAUDE) -> Body:
    return body(("user", [TEXT]), ("assistant", [{"text": text}]), modelId=model)


def _asks(**config: Any) -> Body:
    return body(inferenceConfig=config)


def _named(name: str) -> Body:
    return body(("user", [TEXT, document(name)]))


_KINDS: Mapping[str, Any] = {
    "text": TEXT,
    "image": picture(),
    "document": document(),
    "video": {"video": {}},
    "toolUse": CALL,
    "reasoningContent": THOUGHT,
    "json": {"json": {}},
    "searchResult": {"searchResult": {}},
    "cachePoint": POINT,
    "audio": {"audio": {}},
}
_STANDS: Mapping[str, tuple[str, ...]] = {
    "user": ("text", "image", "document", "video", "searchResult", "audio"),
    "assistant": ("text", "reasoningContent", "video", "searchResult", "audio"),
    "result": ("text", "image", "document", "video", "json", "searchResult"),
}
_ELSEWHERE = {("assistant", "toolUse"), ("user", "json"), ("assistant", "json")}


def _placed(place: str, block: Any) -> Body:
    if place == "result":
        return _result(block)
    if place == "user":
        return body(("user", [TEXT, block]))
    return says(block, TEXT) if block is not POINT else says(TEXT, block)


def _standing() -> dict[str, tuple[Any, Any]]:
    """Return each kind of block in each place: taken there, or refused."""
    found = {}
    for place, kinds in _STANDS.items():
        for kind, block in _KINDS.items():
            if (place, kind) in _ELSEWHERE:
                continue
            one = _placed(place, block)
            is_point = kind == "cachePoint" and place != "result"
            taken = kind in kinds or is_point
            found[f"{kind} in {place}"] = (one, None) if taken else (None, one)
    return found


LIMITS: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    **_standing(),
    "system": (body(system=[TEXT, POINT]), body(system=[TEXT, {"text": ""}])),
    **{
        f"{name} at its most": (_asks(**{name: 1}), _asks(**{name: 1.01}))
        for name in ("temperature", "topP")
    },
    **{
        f"{name} at its least": (_asks(**{name: 0}), _asks(**{name: -0.01}))
        for name in ("temperature", "topP")
    },
    "tokens of the answer": (_asks(maxTokens=1), _asks(maxTokens=-1)),
    "roles": (
        body(LOOP[0], ("assistant", [TEXT]), LOOP[0]),
        body(LOOP[0], ("assistant", [TEXT]), ("assistant", [TEXT])),
    ),
    "a note": (
        body(
            LOOP[0], ("system", [TEXT]), ("assistant", [TEXT]), LOOP[0], modelId=NEWEST
        ),
        body(LOOP[0], ("assistant", [TEXT]), ("system", [TEXT]), modelId=NEWEST),
    ),
    "a note first": (None, body(("system", [TEXT]), LOOP[0], modelId=NEWEST)),
    "the last word": (_last(), _last(model="us.anthropic.claude-sonnet-4-6")),
    "the last word of others": (None, _last(model=NOVA)),
    "a space at the end": (_last(" a"), _last("a\n")),
    "content": (None, body(("user", "text"))),  # type: ignore[arg-type]
    "content that is empty later on": (None, body(LOOP[0], ("assistant", []), LOOP[0])),
    "kinds in a block": (None, body(("user", [TEXT, {}]))),
    "blank text": (
        body(("user", [{"text": " a "}])),
        body(("user", [TEXT, {"text": ""}])),
    ),
    "chars of an id": (called("c" * 64), called("c" * 65)),
    "signs in an id": (called("A_z.9:-"), called("a|b")),
    "a line break behind an id": (None, called("a\n")),
    "chars of a name": (called(name="f" * 64), called(name="f" * 65)),
    "signs in a name": (called(name="_f-9"), called(name="f:g")),
    "input": (called(input={}), called(input=[])),
    "no input": (None, called(input=None)),
    "an id of a result": (None, _answers(answer(toolUseId="a b"))),
    **{
        f"a status with {model}": (
            _result(TEXT, status="success", modelId=model),
            _result(TEXT, status="success", modelId=LLAMA),
        )
        for model in (CLAUDE, NOVA)
    },
    "an empty error": (
        _result({"text": " "}, TEXT, status="error"),
        _result({"text": " "}, status="error"),
    ),
    "an error in JSON": (_result({"json": {}}, status="error"), None),
    "an empty success": (_result(), None),
    "JSON": (_result({"json": {"a": [1]}}), _result({"json": "a"})),
    "pictures in results": (
        _result(picture(), modelId=NOVA),
        _result(picture(), modelId="cohere.command-r-v1:0"),
    ),
    "a strange document in a result": (None, _result(document(format="exe"))),
    "thoughts": (says(HIDDEN, TEXT), says({"reasoningContent": {}}, TEXT)),
    "a signature": (
        None,
        says(
            {"reasoningContent": {"reasoningText": {"text": "a", "signature": ""}}},
            TEXT,
        ),
    ),
    **{
        f"a picture of the kind {kind}": (
            body(("user", [picture(format=kind)])),
            body(("user", [picture(format=f"x{kind}")])),
        )
        for kind in ("png", "jpeg", "gif", "webp")
    },
    **{
        f"a document of the kind {kind}": (
            body(("user", [TEXT, document(format=kind)])),
            body(("user", [TEXT, document(format=f"x{kind}")])),
        )
        for kind in ("pdf", "csv", "doc", "docx", "xls", "xlsx", "html", "txt", "md")
    },
    "a picture's place": (
        body(("user", [picture(source={"s3Location": {"uri": "s3://a/b"}})])),
        body(("user", [picture(source={"bytes": b""})])),
    ),
    "no source": (None, body(("user", [{"image": {"source": {"bytes": None}}}]))),
    "a picture's bytes": (
        body(("user", [picture(source={"bytes": b"x" * 3_750_000})])),
        body(("user", [picture(source={"bytes": b"x" * 3_750_001})])),
    ),
    "a document's bytes": (
        body(("user", [TEXT, document(source={"bytes": b"x" * 4_500_000})])),
        body(("user", [TEXT, document(source={"bytes": b"x" * 4_500_001})])),
    ),
    "a picture's width": (
        body(("user", [_wide(8_000, 2)])),
        body(("user", [_wide(8_001, 2)])),
    ),
    "a picture's height": (
        body(("user", [_wide(2, 8_000)])),
        body(("user", [_wide(2, 8_001)])),
    ),
    "signs in a document's name": (_named("A-z 0 (9) [a]"), _named("a.pdf")),
    "chars of a document's name": (_named("a" * 200), _named("a" * 201)),
    "no name of a document": (None, _named("")),
    "a space around a document's name": (None, _named("a ")),
    "text beside a document": (
        body(("user", [document(), TEXT])),
        body(("user", [document(), picture()])),
    ),
    "names of documents": (
        body(("user", [TEXT, document("a"), document("b")])),
        body(
            ("user", [TEXT, document("b")]),
            ("assistant", [TEXT]),
            ("user", [TEXT, document("b")]),
        ),
    ),
    "names of documents in results": (
        _answers(answer(content=[document("a"), TEXT]), TEXT, document("b")),
        _answers(answer(content=[document("a"), TEXT]), TEXT, document("a")),
    ),
    "how many pictures": (
        body(("user", [picture()] * 20)),
        _answers(answer(content=[picture()] * 20), picture()),
    ),
    "how many documents": (
        body(("user", [TEXT, *(document(str(n)) for n in range(5))])),
        _answers(
            answer(content=[document(str(n)) for n in range(5)]), TEXT, document("a")
        ),
    ),
    "an answer to each": (
        body(
            LOOP[0],
            ("assistant", [CALL, call(toolUseId="b")]),
            ("user", [answer(toolUseId="b"), ANSWER]),
            toolConfig=TOOLS,
        ),
        body(
            LOOP[0],
            ("assistant", [CALL, call(toolUseId="b"), call(toolUseId="c")]),
            ("user", [answer(toolUseId="b")]),
            toolConfig=TOOLS,
        ),
    ),
    "answers of another": (None, _answers(ANSWER, answer(toolUseId="b"))),
    "two calls of an id": (
        None,
        body(LOOP[0], ("assistant", [CALL, CALL]), LOOP[2], toolConfig=TOOLS),
    ),
    **{
        f"results alone with {model}": (
            _answers(ANSWER, modelId=model),
            _answers(TEXT, ANSWER, modelId=model),
        )
        for model in (
            LLAMA,
            "mistral.mistral-large-3-675b-instruct",
            "mistral.pixtral-large",
        )
    },
    "results beside text": (_answers(ANSWER, TEXT), None),
}
