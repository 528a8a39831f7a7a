"""The assertions of the case files about what must not be damaged inside a build.

Arguments that stay JSON, characters that stay whole, thinking that stays as it came.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import regex  # type: ignore[import-untyped]

from tests.cases.results import Built, Run, need
from tests.cases.view import View, leaves

__all__ = [
    "arguments_keep_keys",
    "no_nul",
    "no_split_emoji",
    "thinking_unchanged",
    "thinking_whole_or_absent",
    "valid_json_arguments",
    "well_formed_unicode",
]

Json = Any
"""A value that a case gives."""


def valid_json_arguments(built: Built, _: Json, run: Run) -> None:
    """All arguments parse as an object."""
    for said in built.view.said:
        for call in said.calls:
            need(isinstance(call.object, Mapping), built.name, call)


def arguments_keep_keys(built: Built, value: Json, run: Run) -> None:
    """The keys are still there, if the call is."""
    calls = [call for said in built.view.said for call in said.calls]
    found = [call for call in calls if call.id == value["call"]]
    need(found or value.get("if_present"), built.name, value)
    for call in found:
        keys = call.object if isinstance(call.object, Mapping) else {}
        need(set(value["keys"]) <= set(keys), built.name, call)


def _inner_texts(view: View) -> list[str]:
    """Return the texts, those inside the arguments of calls included."""
    calls = [call for said in view.said for call in said.calls]
    return [*view.texts(), *(text for call in calls for text in leaves(call.object))]


def well_formed_unicode(built: Built, _: Json, run: Run) -> None:
    """The body is strict UTF-8, also where an escape hides what it holds."""
    json.dumps(built.view.request, ensure_ascii=False).encode("utf-8")
    for text in _inner_texts(built.view):
        text.encode("utf-8")


def no_nul(built: Built, _: Json, run: Run) -> None:
    """There is no U+0000."""
    need(not any("\0" in text for text in _inner_texts(built.view)), built.name)


def _emoji(texts: Sequence[str]) -> set[str]:
    marked = regex.compile(r"[\p{Extended_Pictographic}\p{Regional_Indicator}\u200d]")
    return {
        cluster
        for text in texts
        for cluster in set(regex.findall(r"\X", text))
        if marked.search(cluster)
    }


def no_split_emoji(built: Built, _: Json, run: Run) -> None:
    """Every emoji sequence is one that came in, as it came in."""
    came_in = list(leaves(run.case["input"]))
    parsed = [text for said in came_in if said[:1] == "{" for text in _parsed(said)]
    split = _emoji(_inner_texts(built.view)) - _emoji([*came_in, *parsed])
    need(not split, built.name, split)


def _parsed(text: str) -> list[str]:
    try:
        return list(leaves(json.loads(text)))
    except ValueError:
        return []


def _thoughts(case: Json) -> list[list[Json]]:
    """Return the thinking that came in, message by message."""
    found = [
        [{key: block[key] for key in block if key != "vendor"} for block in said]
        for said in _all_thinking(case["input"])
    ]
    return [blocks for blocks in found if blocks]


def _all_thinking(value: Json) -> list[Json]:
    if isinstance(value, list):
        return [found for inner in value for found in _all_thinking(inner)]
    if not isinstance(value, dict):
        return []
    deeper = [found for inner in value.values() for found in _all_thinking(inner)]
    said = value.get("thinking")
    return [*([said] if isinstance(said, list) else []), *deeper]


def _shown_thinking(view: View) -> list[list[Json]]:
    shown = [
        [part for part in content if part["type"].endswith("thinking")]
        for message in view.conversation
        if isinstance(content := message["content"], list)
    ]
    return [blocks for blocks in shown if blocks]


def thinking_unchanged(built: Built, marks: Json, run: Run) -> None:
    """Blocks with these signatures or data are there, byte for byte, in order."""
    came_in = [block for blocks in _thoughts(run.case) for block in blocks]
    asked = [b for b in came_in if b.get("signature", b.get("data")) in marks]
    shown = [block for blocks in _shown_thinking(built.view) for block in blocks]
    found = [b for b in shown if b.get("signature", b.get("data")) in marks]
    need(found == asked, built.name, found, asked)


def thinking_whole_or_absent(built: Built, _: Json, run: Run) -> None:
    """The blocks of one message are all there as they came, or none of them is."""
    came_in = _thoughts(run.case)
    for blocks in _shown_thinking(built.view):
        need(blocks in came_in, built.name, blocks)
