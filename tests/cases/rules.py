"""The vendor rules that the case files mean by `valid_for`, written from their README.

Each rule set takes a view of a request and yields what is wrong with it. The library's
own validators play no part here.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping

from tests.cases.view import Call, Result, Said, View

__all__ = ["RULES", "broken_pairs", "wrong"]

_OPENAI_ROLES = {"system", "developer", "user", "assistant", "tool"}
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_ANTHROPIC_ID = re.compile(r"[A-Za-z0-9_-]+")
_MISTRAL_ID = re.compile(r"[A-Za-z0-9]{9}")

Wrongs = Iterator[str]


def wrong(vendor: str, view: View) -> list[str]:
    """Return every rule of a vendor that a request breaks."""
    return list(RULES[vendor](view))


def _key(said: Call | Result) -> str:
    return said.id if said.id is not None else f"name {said.name}"


def broken_pairs(view: View) -> Wrongs:
    """Yield calls without exactly one result right behind them, and stray results."""
    waiting: Counter[str] = Counter()
    for number, said in enumerate(view.said):
        if not said.results:
            yield from _unanswered(waiting, number)
            waiting = Counter()
        for result in said.results:
            if waiting[_key(result)] < 1:
                yield f"message {number}: nothing asked for {_key(result)!r}"
            waiting[_key(result)] -= 1
        if said.calls or (said.results and said.role != "tool"):
            yield from _unanswered(waiting, number)
            waiting = Counter(_key(call) for call in said.calls)
    yield from _unanswered(waiting, len(view.said))


def _unanswered(waiting: Counter[str], number: int) -> Wrongs:
    for key in +waiting:
        yield f"message {number}: the call {key!r} has no result behind it"


def _blank_texts(said: Said, number: int) -> Wrongs:
    if any(not text.strip() for text in said.texts):
        yield f"message {number}: a {said.role} text is blank"


# --- OpenAI and its likes -------------------------------------------------------------


def _openai(view: View) -> Wrongs:
    for number, message in enumerate(view.conversation):
        if message.get("role") not in _OPENAI_ROLES:
            yield f"message {number}: role {message.get('role')!r}"
    if not any(said.role == "user" for said in view.said):
        yield "there is no user message"
    for number, said in enumerate(view.said):
        yield from _openai_message(said, number)
    yield from broken_pairs(view)


def _openai_message(said: Said, number: int) -> Wrongs:
    if said.role == "user" and not said.media and not said.text.strip():
        yield f"message {number}: blank user content"
    if any(not result.text.strip() for result in said.results):
        yield f"message {number}: blank tool content"
    if said.role == "assistant" and not said.calls and not said.text.strip():
        yield f"message {number}: an assistant message without text and calls"
    yield from _openai_ids(said, number)


def _openai_ids(said: Said, number: int) -> Wrongs:
    ids = [call.id for call in said.calls] + [result.id for result in said.results]
    for each in ids:
        if not each or len(each) > 40:
            yield f"message {number}: id {each!r}"
    for call in said.calls:
        if not _NAME.fullmatch(call.name):
            yield f"message {number}: name {call.name!r}"


def _strict(view: View) -> Wrongs:
    yield from _openai(view)
    roles = [message["role"] for message in view.conversation]
    if any(role in {"system", "developer"} for role in roles[1:]):
        yield "a system message that is not the very first"
    yield from _not_alternating(_without_tool_steps(view), first="user")


def _without_tool_steps(view: View) -> list[str]:
    """Return who talks, one entry for an assistant with its tool rounds.

    Tool messages stand behind the assistant that called; the assistant that goes on
    after them is still the same speaker.
    """
    roles: list[str] = []
    after_tools = False
    for said in view.said:
        if said.role == "tool":
            after_tools = True
            continue
        if not (
            said.role == "assistant" and after_tools and roles[-1:] == ["assistant"]
        ):
            roles.append(said.role)
        after_tools = False
    return roles


def _not_alternating(roles: list[str], *, first: str) -> Wrongs:
    if roles[:1] != [first]:
        yield f"the first speaks as {roles[:1]}, not as {first}"
    for number, (one, other) in enumerate(itertools.pairwise(roles)):
        if one == other:
            yield f"speaker {number} and the next are both {one}"


def _mistral(view: View) -> Wrongs:
    yield from _strict(view)
    for number, said in enumerate(view.said):
        ids = [call.id for call in said.calls] + [result.id for result in said.results]
        for each in ids:
            if not _MISTRAL_ID.fullmatch(each or ""):
                yield f"message {number}: id {each!r} is not nine letters or digits"
    for one, other in itertools.pairwise(view.said):
        if one.role == "tool" and other.role == "user":
            yield "a user message stands directly behind a tool message"


# --- Anthropic ------------------------------------------------------------------------


def _anthropic(view: View) -> Wrongs:
    roles = [message["role"] for message in view.conversation]
    yield from _not_alternating(roles, first="user")
    if roles[-1:] != ["user"]:
        yield "the user does not speak last"
    ids = Counter(call.id for said in view.said for call in said.calls)
    for each, times in ids.items():
        if times > 1 or not _ANTHROPIC_ID.fullmatch(each or ""):
            yield f"id {each!r} stands {times} times, or has other characters"
    for number, said in enumerate(view.said):
        yield from _blank_texts(said, number)
        yield from _anthropic_message(said, number)
    yield from _foreign_thinking(view)
    yield from broken_pairs(view)
    yield from _answers_elsewhere(view)


def _anthropic_message(said: Said, number: int) -> Wrongs:
    if not said.order:
        yield f"message {number}: no content"
    others = [kind for kind in said.order if kind != "result"]
    if said.results and said.order[: len(said.results)] != ("result",) * len(
        said.results
    ):
        yield f"message {number}: {others[0]} stands before a result"
    for call in said.calls:
        if not isinstance(call.arguments, Mapping):
            yield f"message {number}: the input of {call.name} is no object"


def _foreign_thinking(view: View) -> Wrongs:
    for part in view.parts():
        signed = part.get("signature") or part.get("data")
        if part.get("type") in {"thinking", "redacted_thinking"} and not signed:
            yield "a thinking block without signature or data"


def _answers_elsewhere(view: View) -> Wrongs:
    """Yield the turns whose calls are not all answered in the very next one."""
    for number, (said, answer) in enumerate(
        zip(view.said, view.said[1:], strict=False)
    ):
        asked = Counter(_key(call) for call in said.calls)
        answered = Counter(_key(result) for result in answer.results)
        if asked != answered:
            yield f"message {number + 1} does not answer exactly the calls before it"


# --- Gemini ---------------------------------------------------------------------------


def _gemini(view: View) -> Wrongs:
    roles = [content["role"] for content in view.conversation]
    if not set(roles) <= {"user", "model"}:
        yield f"roles {sorted(set(roles))}"
    yield from _not_alternating(_merged_answers(view), first="user")
    for number, content in enumerate(view.conversation):
        if not content.get("parts"):
            yield f"content {number}: no parts"
    for number, said in enumerate(view.said):
        if any(not text for text in said.texts):
            yield f"content {number}: an empty part"
        before = view.said[number - 1] if number else None
        if said.calls and (before is None or before.role == "assistant"):
            yield f"content {number}: a call turn after {before and before.role}"
    yield from _gemini_answers(view)


def _merged_answers(view: View) -> list[str]:
    """Return who talks; a user turn right behind responses may stand apart."""
    roles: list[str] = []
    previous = ""
    for said in view.said:
        role = "user" if said.role == "tool" else said.role
        if not (previous == "tool" and said.role == "user"):
            roles.append(role)
        previous = said.role
    return roles


def _gemini_answers(view: View) -> Wrongs:
    followers = [*view.said[1:], Said(role="nobody")]
    for number, (said, answer) in enumerate(zip(view.said, followers, strict=True)):
        asked = [call.name for call in said.calls]
        answered = [result.name for result in answer.results]
        if asked != answered:
            yield f"content {number}: calls {asked}, answered by {answered}"
    if view.said and view.said[0].results:
        yield "the first content holds responses"


RULES: Mapping[str, Callable[[View], Wrongs]] = {
    "openai": _openai,
    "strict": _strict,
    "mistral": _mistral,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
