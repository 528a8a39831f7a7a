"""Says what of the evidence a request still holds.

What counts is the text of the messages: their content, and the names and arguments of
calls. Tool definitions do not count: no conversation brought them in. A text may stand
anywhere, in a framed passage too, and inside JSON: text is looked for as it stands and
with JSON's escapes undone.
"""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

from context_builder.replay.transcripts import CallNeeds, Message, Question

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

__all__ = ["Kept", "call_kept", "nothing_kept", "question_kept"]

_ESCAPE = re.compile(
    r'\\(?:u[0-9a-fA-F]{4}(?:\\u[dD][cdefCDEF][0-9a-fA-F]{2})?|["\\/bfnrt])'
)
_DEPTH = 2
"""How deep JSON in JSON is looked into."""


@dataclasses.dataclass(frozen=True, slots=True)
class Kept:
    """How much of one piece of evidence a request holds."""

    kind: str
    where: int
    """The index of the call that needed it; for questions, their number."""
    kept: int
    needed: int
    missing: tuple[str, ...] = ()
    """The values, or the indices of the messages, that are not there."""
    has_answer: bool | None = None
    """Whether the answer's text is there; None: no answer is known."""

    @property
    def is_whole(self) -> bool:
        """Whether all that was needed is there."""
        return self.kept == self.needed


def call_kept(needs: CallNeeds, request: Mapping[str, Any]) -> Kept:
    """Say which argument values of a call the request holds."""
    texts = _readings("\n".join(_texts(request["messages"])))
    missing = tuple(
        value for value in needs.values if not any(value in text for text in texts)
    )
    return _kept(needs.kind, needs.at, len(needs.values), missing)


def question_kept(
    question: Question,
    number: int,
    request: Mapping[str, Any],
    messages: Sequence[Message],
) -> Kept:
    """Say which messages that a question is about the request holds whole.

    White space may differ. The question itself is not looked at. Of a span only the
    messages count whose text stands nowhere else in the conversation: a "Yeah." in the
    request does not say which one it is.
    """
    said = [
        message
        for message in request["messages"]
        if message.get("content") != question.question
    ]
    texts = [_plain(text) for text in _readings("\n".join(_texts(said)))]
    needed = question.message_ids
    if question.kind == "qa_span":
        needed = _telling(needed, messages) or needed
    missing = tuple(
        str(index)
        for index in needed
        if not _stands_in(texts, "\n".join(_texts([messages[index]])))
    )
    return dataclasses.replace(
        _kept(question.kind, number, len(needed), missing),
        has_answer=None
        if question.answer is None
        else _stands_in(texts, question.answer),
    )


def _telling(ids: Sequence[int], messages: Sequence[Message]) -> tuple[int, ...]:
    """Return the messages whose text stands in no other one."""
    said = [_plain("\n".join(_texts([message]))) for message in messages]
    everything = "\n".join(said)
    return tuple(index for index in ids if everything.count(said[index]) == 1)


def nothing_kept(evidence: CallNeeds | Question, number: int) -> Kept:
    """Say that no request could be made, so that nothing was kept."""
    if isinstance(evidence, CallNeeds):
        count = len(evidence.values)
        return _kept(evidence.kind, evidence.at, count, evidence.values)
    missing = tuple(map(str, evidence.message_ids))
    has_answer = None if evidence.answer is None else False
    kept = _kept(evidence.kind, number, len(missing), missing)
    return dataclasses.replace(kept, has_answer=has_answer)


def _kept(kind: str, where: int, needed: int, missing: tuple[str, ...]) -> Kept:
    return Kept(kind, where, needed - len(missing), needed, missing)


def _stands_in(texts: list[str], text: str) -> bool:
    wanted = _plain(text)
    return any(wanted in said for said in texts)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _texts(messages: Sequence[Message]) -> Iterator[str]:
    for message in messages:
        content = message.get("content") or ""
        if isinstance(content, str):
            yield content
        else:
            yield from (str(part.get("text") or "") for part in content)
        for call in message.get("tool_calls") or ():
            said = call.get("function") or call.get("custom") or {}
            yield str(said.get("name") or "")
            yield str(said.get("arguments") or said.get("input") or "")


def _readings(text: str) -> list[str]:
    """Return a text as it stands, and with JSON's escapes undone once and twice."""
    readings = [text]
    for _ in range(_DEPTH):
        undone = _ESCAPE.sub(_unescaped, readings[-1])
        if undone == readings[-1]:
            break
        readings.append(undone)
    return readings


def _unescaped(found: re.Match[str]) -> str:
    return str(json.loads(f'"{found.group()}"'))
