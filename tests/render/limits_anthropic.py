"""Anthropic's limits: for each rule a body just within it, and one just beyond."""

from __future__ import annotations

import base64
import struct
from typing import TYPE_CHECKING, Any

from tests.render.bodies_anthropic import (
    ANSWER,
    ASKED,
    CALL,
    TEXT,
    THOUGHT,
    body,
    picture,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

OLDER, NOTES, BOUND = "claude-sonnet-4-5", "claude-opus-5", "claude-opus-5-5"
BLANK = {"type": "text", "text": " "}
HIDDEN = {"type": "redacted_thinking", "data": "x"}
SERVER = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "s", "input": {}}

Body = dict[str, Any]


def wide(width: int, height: int = 2) -> dict[str, Any]:
    """Return a picture of a size."""
    head = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + struct.pack(">II", width, height)
    return picture(base64.b64encode(head + b"\x08\x02" * 9).decode())


def fetched() -> dict[str, Any]:
    """Return a picture by its address."""
    return {"type": "image", "source": {"type": "url", "url": "https://a.test/b"}}


def _calls(**changes: Any) -> Body:
    result = {**ANSWER, "tool_use_id": changes.get("id", "a")}
    return body(
        ("user", "Go."), ("assistant", [{**CALL, **changes}]), ("user", [result])
    )


def _answers(*blocks: Any) -> Body:
    return body(*ASKED[:2], ("user", [*blocks]))


def _result(*parts: Any) -> Body:
    return _answers({**ANSWER, "content": [*parts]})


def says(*blocks: Any, **fields: Any) -> Body:
    """Return a body in whose middle the assistant says blocks."""
    return body(("user", "Go."), ("assistant", [*blocks]), ("user", "On."), **fields)


def last(*blocks: Any, model: str = OLDER, **fields: Any) -> Body:
    """Return a body in which the assistant has the last word."""
    return body(("user", "Go."), ("assistant", [*blocks]), model=model, **fields)


def _document(**source: Any) -> Body:
    return body(("user", [{"type": "document", "source": source}]))


_KINDS = {
    "text": TEXT,
    "image": picture(),
    "document": {"type": "document", "source": {"type": "url", "url": "u"}},
    "search_result": {"type": "search_result"},
    "tool_result": ANSWER,
    "container_upload": {"type": "container_upload"},
    "tool_reference": {"type": "tool_reference"},
    "browser_state": {"type": "browser_state"},
    "tool_addition": {"type": "tool_addition"},
    "tool_removal": {"type": "tool_removal"},
    "thinking": THOUGHT,
    "redacted_thinking": HIDDEN,
    "server_tool_use": SERVER,
    "compaction": {"type": "compaction"},
}
_SPOKEN = ("text", "thinking", "redacted_thinking", "server_tool_use", "compaction")
_STANDS: Mapping[str, tuple[str, ...]] = {
    "user": ("text", "image", "document", "search_result", "container_upload"),
    "assistant": (*_SPOKEN, *[k for k in _KINDS if k.startswith(("tool_a", "tool_r"))]),
    "system": ("text", "tool_addition", "tool_removal"),
    "result": (
        "text",
        "image",
        "document",
        "search_result",
        "tool_reference",
        "browser_state",
    ),
}


_ELSEWHERE = {
    ("user", "tool_result"),
    ("assistant", "tool_result"),
    ("assistant", "browser_state"),
}
"""Results have rows of their own; what the assistant may say is not known in full."""


def _placed(place: str, block: Any) -> Body:
    if place == "result":
        return _result(block)
    if place == "user":
        return body(("user", [block, TEXT]))
    model = NOTES if place == "system" else OLDER
    said = [block, TEXT] if place == "assistant" else [block]
    return body(
        ("user", "a"), (place, said), ("assistant", "b"), ("user", "c"), model=model
    )


def _standing() -> dict[str, tuple[Any, Any]]:
    """Return each kind of block in each place: taken there, or refused."""
    found = {}
    for place, kinds in _STANDS.items():
        for kind, block in _KINDS.items():
            if (place, kind) in _ELSEWHERE:
                continue
            one = _placed(place, block)
            found[f"{kind} in {place}"] = (one, None) if kind in kinds else (None, one)
    return found


LIMITS: Mapping[str, tuple[Any, Any]] = {
    # rule: (just within it, just beyond it); None: the other side stands elsewhere
    **_standing(),
    "messages are text": (body(), {**body(), "messages": "a"}),
    "a body of the client's own": (
        body(extra_body={"thinking": {"type": "disabled"}}),
        body(extra_body={"n": 1}),
    ),
    "tokens of the answer": (body(max_tokens=64_000), body(max_tokens=64_001)),
    "no tokens": (body(max_tokens=1), body(max_tokens=0)),
    "tokens of a stranger": (body(model="claude-x", max_tokens=9_999_999), None),
    "the temperature": (body(temperature=1), body(temperature=1.01)),
    "the least temperature": (body(temperature=0), body(temperature=-0.01)),
    "roles": (None, body(("user", "a"), ("developer", "b"), ("user", "c"))),
    "a note": (
        body(
            ("user", "a"),
            ("system", "b"),
            ("assistant", "c"),
            ("user", "d"),
            model=NOTES,
        ),
        body(
            ("user", "a"),
            ("assistant", "c"),
            ("system", "b"),
            ("user", "d"),
            model=NOTES,
        ),
    ),
    "a note at the end": (
        body(("user", "a"), ("system", "b"), model=NOTES),
        body(("user", "a"), ("system", "b"), ("system", "c"), model=NOTES),
    ),
    "a note of a neighbour": (
        None,
        body(("user", "a"), ("system", "b"), model="claude-sonnet-5"),
    ),
    **{
        f"the last word with {model}": (
            last(TEXT, model=OLDER),
            last(TEXT, model=model),
        )
        for model in ("claude-opus-4-6", "claude-sonnet-4-6", "claude-haiku-5-5")
    },
    **{
        f"the last word with {model}": (last(TEXT, model=model), None)
        for model in (
            "claude-opus-4-5",
            "claude-haiku-4-5",
            "claude-3-5-haiku-20241022",
        )
    },
    "the last word waits": (
        last(TEXT, SERVER, model=BOUND),
        last(SERVER | {"type": "text", "text": "b"}, model=BOUND),
    ),
    "a space at the end": (
        last({"type": "text", "text": " a"}),
        last({"type": "text", "text": "a\n"}),
    ),
    "an empty last word": (body(("user", "a"), ("assistant", [])), None),
    "no content of the assistant's": (
        body(("user", "a"), ("assistant", ""), ("user", "b")),
        body(("user", "a"), ("assistant", None), ("user", "b")),
    ),
    "blank text of the assistant's": (says(BLANK, TEXT), says(BLANK, BLANK)),
    "blank text of the user's": (
        body(("user", [BLANK, TEXT])),
        body(("user", [BLANK])),
    ),
    "blank text beside a picture": (body(("user", [picture(), BLANK])), None),
    "blank text beside a call": (
        body(("user", "a"), ("assistant", [BLANK, CALL]), ("user", [ANSWER])),
        body(
            ("user", "a"),
            ("assistant", [TEXT | {"text": ""}, CALL]),
            ("user", [ANSWER]),
        ),
    ),
    "blank results": (_answers({**ANSWER, "content": " "}), None),
    "no results": (_answers({"type": "tool_result", "tool_use_id": "a"}), None),
    "system": (body(system=""), body(system="\n")),
    "system in blocks": (body(system=[TEXT]), body(system=[TEXT, BLANK])),
    "signs in an id": (_calls(id="A_z-9"), _calls(id="a.b")),
    "no id": (None, _calls(id="")),
    "a line break behind an id": (None, _calls(id="a\n")),
    "a name": (_calls(name="any name"), _calls(name=None)),
    "input": (_calls(input={}), _calls(input=[])),
    "an answer to each": (
        body(
            ("user", "a"),
            ("assistant", [CALL, {**CALL, "id": "b"}]),
            ("user", [{**ANSWER, "tool_use_id": "b"}, ANSWER, TEXT]),
        ),
        body(
            ("user", "a"),
            ("assistant", [CALL, {**CALL, "id": "b"}]),
            ("user", [ANSWER, TEXT, {**ANSWER, "tool_use_id": "b"}]),
        ),
    ),
    "answers of another": (None, _answers({**ANSWER, "tool_use_id": "b"})),
    "answers in two messages": (
        body(
            ("user", "a"),
            ("assistant", [CALL]),
            ("assistant", [{**CALL, "id": "b"}]),
            ("user", [ANSWER]),
            ("user", [{**ANSWER, "tool_use_id": "b"}]),
        ),
        body(("user", "a"), ("assistant", [CALL]), ("assistant", "b"), ("user", "c")),
    ),
    "answers later on": (
        None,
        body(
            *ASKED[:2],
            ("user", "a"),
            ("assistant", "b"),
            ("user", [ANSWER]),
        ),
    ),
    "ids that differ": (
        body(
            *ASKED,
            ("assistant", [{**CALL, "id": "b"}]),
            ("user", [{**ANSWER, "tool_use_id": "b"}]),
        ),
        body(*ASKED, ("assistant", [TEXT, CALL]), ("user", [ANSWER])),
    ),
    **{
        f"a picture of the kind {kind}": (
            body(("user", [picture(media_type=f"image/{kind}")])),
            body(("user", [picture(media_type=f"image/x{kind}")])),
        )
        for kind in ("jpeg", "png", "gif", "webp")
    },
    **{
        f"a picture by {kind}": (
            body(("user", [{"type": "image", "source": {"type": kind, kind: "x"}}])),
            body(
                ("user", [{"type": "image", "source": {"type": f"{kind}X", kind: "x"}}])
            ),
        )
        for kind in ("url", "file")
    },
    "a picture by nothing": (None, body(("user", [{"type": "image"}]))),
    **{
        f"a document by {source['type']}": (
            _document(**source),
            _document(**{**source, "type": f"{source['type']}X"}),
        )
        for source in (
            {"type": "base64", "media_type": "application/pdf", "data": "x"},
            {"type": "text", "media_type": "text/plain", "data": "x"},
            {"type": "content", "content": "x"},
            {"type": "url", "url": "x"},
            {"type": "file", "file_id": "x"},
        )
    },
    "a document of text": (None, _document(type="text", media_type="text/html")),
    "a strange document in a result": (
        None,
        _result({"type": "document", "source": {"type": "base64"}}),
    ),
    "the sides of a picture": (
        body(("user", [wide(8_000), wide(2, 8_000)])),
        body(("user", [wide(2, 8_001), wide(8_001)])),
    ),
    "the sides of many": (
        body(("user", [wide(2_001), *[picture()] * 19])),
        body(("user", [wide(2_001), *[picture()] * 20])),
    ),
    "the sides of many, within": (
        body(("user", [wide(2_000), *[picture()] * 20])),
        None,
    ),
    "pictures in results count": (None, _result(wide(2_001), *[picture()] * 20)),
    "how many pictures": (
        body(("user", [fetched()] * 600), model="claude-opus-4-6"),
        body(
            ("user", [picture()] * 300), ("assistant", "a"), ("user", [picture()] * 301)
        ),
    ),
    "how many pictures in a smaller window": (
        body(("user", [fetched()] * 100)),
        body(("user", [fetched()] * 101)),
    ),
    "how many pictures of a stranger": (
        body(("user", [fetched()] * 600), model="claude-x"),
        body(("user", [fetched()] * 601), model="claude-x"),
    ),
    "text of every kind": (
        body(metadata={"user_id": "a"}),
        body(metadata={"user_id": ["a", ("b\0",)]}),
    ),
}
