"""The assertions of the case files, each written from their README.

None of them asks the library what is right: they read the finished request. Each gets
what it is about (a build, a count or the whole run) and the value that the case gives.
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import re
from collections import Counter
from typing import TYPE_CHECKING, Any

from context_builder import BudgetExceededError, StoreError
from tests.cases.damage_assertions import (
    arguments_keep_keys,
    no_nul,
    no_split_emoji,
    thinking_unchanged,
    thinking_whole_or_absent,
    valid_json_arguments,
    well_formed_unicode,
)
from tests.cases.results import Built, Counted, NotYet, Run, need
from tests.cases.rules import broken_pairs, wrong
from tests.cases.run_assertions import RUN_ASSERTIONS
from tests.cases.sending import VendorError
from tests.cases.view import View, leaves
from tests.recount import o200k, recount

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["ASSERTIONS", "hold"]

Json = Any
"""A value that a case gives."""


# --- what stands in a build -----------------------------------------------------------


def valid_for(built: Built, vendors: Json, run: Run) -> None:
    """The context keeps the rules of the vendor that it was rendered for."""
    need(built.target in vendors, f"{built.name} was rendered for {built.target}")
    broken = wrong(built.target, built.view)
    need(not broken, built.name, broken)


def pairs_intact(built: Built, _: Json, run: Run) -> None:
    """Every call has one result right behind it, every result one call."""
    broken = list(broken_pairs(built.view))
    need(not broken, built.name, broken)


def _limit(built: Built, value: Json) -> int:
    return built.budget_tokens if value == "budget" else int(value)


def max_tokens(built: Built, value: Json, run: Run) -> None:
    """A recount of the messages is at most this."""
    tokens = _count({**_request(built), "tools": []}, built)
    need(tokens <= _limit(built, value), built.name, tokens, _limit(built, value))


def max_tokens_with_tools(built: Built, value: Json, run: Run) -> None:
    """A recount of messages and tool definitions is at most this."""
    tokens = _count(_request(built), built)
    need(tokens <= _limit(built, value), built.name, tokens, _limit(built, value))


def _request(built: Built) -> Mapping[str, Any]:
    return built.view.request


def _count(request: Mapping[str, Any], built: Built) -> int:
    if built.target in {"openai", "strict", "mistral"}:
        return recount(request)
    said = [*built.view.system, *leaves(built.view.conversation), *_names(request)]
    return sum(map(o200k, said)) + 3 * len(built.view.said)


def _names(request: Mapping[str, Any]) -> list[str]:
    return list(leaves(request.get("tools") or ()))


def contains(built: Built, text: Json, run: Run) -> None:
    """Some text of the build has it."""
    need(any(text in said for said in built.view.texts()), built.name, text)


def not_contains(built: Built, text: Json, run: Run) -> None:
    """No text of the build has it."""
    need(not any(text in said for said in built.view.texts()), built.name, text)


def count_of(built: Built, value: Json, run: Run) -> None:
    """The text occurs so often, or at most so often."""
    times = sum(said.count(value["text"]) for said in built.view.texts())
    need(times == value.get("equals", times), built.name, times, value)
    need(times <= value.get("max", times), built.name, times, value)


def system_equals(built: Built, text: Json, run: Run) -> None:
    """The system text is this, once; behind it may stand a section set off by a tag."""
    system = built.view.system
    need(len(system) == 1, built.name, system)
    has_field = built.target in {"anthropic", "gemini"}
    is_followed = has_field and system[0].startswith(f"{text}\n\n<")
    need(system[0] == text or is_followed, built.name, system[0])


def first_role(built: Built, role: Json, run: Run) -> None:
    """The first message without the system text is of this role."""
    need(built.view.said[0].role == role, built.name, built.view.said[0])


def last_role(built: Built, role: Json, run: Run) -> None:
    """The last message is of this role."""
    need(built.view.said[-1].role == role, built.name, built.view.said[-1])


_NOTE = re.compile(
    r"(\d[\d,]*\s+(more\s+)?\w+\s+(more|left out|omitted|missing|removed|cut))"
    r"|((left out|omitted|missing|removed|cut|truncated)\W[^.\n]{0,30}?\d)"
)


def marker_present(built: Built, _: Json, run: Run) -> None:
    """A note says that something is missing, and how much."""
    need(any(_NOTE.search(said) for said in built.view.texts()), built.name)


def no_blank_text(built: Built, _: Json, run: Run) -> None:
    """No text part is empty or only white space."""
    said = built.view.said
    texts = [text for each in said for text in each.texts]
    texts += [result.text for each in said for result in each.results]
    need(all(text.strip() for text in texts), built.name, texts)


def unique_tool_ids(built: Built, _: Json, run: Run) -> None:
    """No id stands for two calls."""
    ids = Counter(call.id for said in built.view.said for call in said.calls)
    need(all(times == 1 for times in ids.values()), built.name, ids)


def text_only_in_role(built: Built, value: Json, run: Run) -> None:
    """The text, if it is there, stands only in messages of that role."""
    pieces = [("system", text) for text in built.view.system]
    for said in built.view.said:
        pieces += [(said.role, text) for text in said.texts]
        pieces += [("tool", result.text) for result in said.results]
        pieces += [
            (said.role, text) for call in said.calls for text in leaves(call.object)
        ]
    roles = {role for role, text in pieces if value["text"] in text}
    need(roles <= {value["role"]}, built.name, roles, value)


def no_own_message(built: Built, value: Json, run: Run) -> None:
    """No message of that role begins with the text."""
    for said in built.view.said:
        is_own = said.text.lstrip().startswith(value["text"])
        need(said.role != value["role"] or not is_own, built.name, said)


def part_present(built: Built, kind: Json, run: Run) -> None:
    """A part of this kind is there, and its data are those that came in."""
    came_in = [text for text in leaves(run.case["input"]) if f"data:{kind}/" in text]
    data = {text.partition(",")[2] for text in came_in}
    media = [text for said in built.view.said for text in leaves(list(said.media))]
    need(data & {text.partition(",")[2] or text for text in media}, built.name, kind)


def equals_build(built: Built, other: Json, run: Run) -> None:
    """It is the same, byte for byte."""
    same = run.find(other)
    one, two = (json.dumps(each.view.request) for each in (built, same))
    need(one == two, built.name, other)


# --- how a build went -----------------------------------------------------------------


_KINDS: Mapping[str, tuple[type[Exception], ...]] = {
    "budget_error": (BudgetExceededError,),
    "context_overflow": (BudgetExceededError,),
    "provider_error": (VendorError,),
    "load_error": (StoreError,),
}


def raises(built: Built, kind: Json, run: Run) -> None:
    """It failed, and what was raised means this."""
    if kind not in _KINDS:
        raise NotYet(door=f"an error that means {kind}")
    need(isinstance(built.error, _KINDS[kind]), built.name, built.error)


def error_mentions(built: Built, text: Json, run: Run) -> None:
    """The text of the error has it."""
    need(text in str(built.error), built.name, built.error)


def error_not_contains(built: Built, texts: Json, run: Run) -> None:
    """No text of the error has any of it."""
    need(built.error, f"{built.name} raised nothing")
    said = f"{built.error} {built.error!r}"
    need(not any(text in said for text in texts), built.name, said)


def not_raises(built: Built, _: Json, run: Run) -> None:
    """It did not fail."""
    need(built.error is None, built.name, built.error)


def max_seconds(about: Built | Counted, seconds: Json, run: Run) -> None:
    """It took no longer."""
    need(about.seconds <= seconds, about.name, about.seconds)


def tokens_between(counted: Counted, bounds: Json, run: Run) -> None:
    """The count is within the bounds."""
    need(bounds[0] <= counted.tokens <= bounds[1], counted, bounds)


def greater_than(counted: Counted, other: Json, run: Run) -> None:
    """The count is larger than the other."""
    need(counted.tokens > run.counted[other].tokens, counted, run.counted[other])


def _summaries(view: View) -> list[str]:
    frame = re.compile(r"<summary\b.*?</summary>", re.DOTALL)
    return [found for text in view.texts() for found in frame.findall(text)]


def summary_tokens(built: Built, value: Json, run: Run) -> None:
    """The summary in the build has no more tokens than this; 0 where there is none."""
    tokens = sum(map(o200k, _summaries(built.view)))
    need(tokens <= value["max"], built.name, tokens, value)


def summarizer_calls(built: Built, value: Json, run: Run) -> None:
    """The stub was called so often for this build."""
    need(built.summarizer_calls <= value["max"], built.name, built.summarizer_calls)


def one_of(built: Built, outcomes: Json, run: Run) -> None:
    """One of these outcomes, in words, came true."""
    true = [outcome for outcome in outcomes if _OUTCOMES[outcome](built, run)]
    need(true, built.name, built.error, outcomes)


def _was_recovered(built: Built, run: Run) -> bool:
    session, saved = run.loaded[built.name].session, run.loaded[built.name].saved
    if session is None or not session.damage or not session.items:
        return False
    return session.items == saved.items[: len(session.items)]


def _was_refused(built: Built, run: Run) -> bool:
    is_clear = isinstance(built.error, StoreError) and str(built.error).strip()
    return bool(is_clear) and run.loaded[built.name].is_unchanged


_OUTCOMES: Mapping[str, Callable[[Built, Run], bool]] = {
    "recovers the complete items before the cut and says so": _was_recovered,
    "raises a clear load error and leaves the file as it is": _was_refused,
    # The library does not do this: a damaged file is never taken for an empty one.
    "starts empty, keeps the damaged file aside and says so": lambda *_: False,
}


def provider_calls(built: Built, value: Json, run: Run) -> None:
    """So many requests were made of the vendor."""
    need(len(built.sent) == value.get("equals", len(built.sent)), built.sent, value)
    need(len(built.sent) <= value.get("max", len(built.sent)), built.sent, value)


def shrinks_each_call(built: Built, value: Json, run: Run) -> None:
    """Each request is smaller than the one before."""
    sizes = [recount(request) for request in built.sent]
    need(sizes, f"{built.name} sent nothing")
    pairs = itertools.pairwise(sizes)
    need(all(later < former for former, later in pairs), built.name, sizes)


# --- which assertion is about what ----------------------------------------------------

BUILD_ASSERTIONS: Mapping[str, Callable[[Built, Json, Run], None]] = {
    rule.__name__: rule
    for rule in (
        valid_for,
        pairs_intact,
        max_tokens,
        max_tokens_with_tools,
        contains,
        not_contains,
        count_of,
        system_equals,
        first_role,
        last_role,
        marker_present,
        no_blank_text,
        unique_tool_ids,
        valid_json_arguments,
        arguments_keep_keys,
        well_formed_unicode,
        no_nul,
        no_split_emoji,
        thinking_unchanged,
        thinking_whole_or_absent,
        text_only_in_role,
        no_own_message,
        part_present,
        equals_build,
        raises,
        error_mentions,
        error_not_contains,
        not_raises,
        max_seconds,
        summary_tokens,
        summarizer_calls,
        one_of,
        provider_calls,
        shrinks_each_call,
    )
}
COUNT_ASSERTIONS: Mapping[str, Callable[[Counted, Json, Run], None]] = {
    "tokens_between": tokens_between,
    "greater_than": greater_than,
    "max_seconds": max_seconds,
}
ASSERTIONS = frozenset({*BUILD_ASSERTIONS, *COUNT_ASSERTIONS, *RUN_ASSERTIONS})


def hold(assertion: Mapping[str, Json], run: Run) -> None:
    """Fail unless an entry of `expect` holds for a run."""
    for name in assertion.keys() - {"at", "each"}:
        if name not in ASSERTIONS:
            raise AssertionError(f"no such assertion: {name}")  # noqa: EM102
        if name in RUN_ASSERTIONS and "at" not in assertion:
            RUN_ASSERTIONS[name](run, assertion[name])
            continue
        for about in _about(assertion, run):
            if isinstance(about, Counted):
                COUNT_ASSERTIONS[name](about, assertion[name], run)
            else:
                BUILD_ASSERTIONS[name](about, assertion[name], run)


def _about(assertion: Mapping[str, Json], run: Run) -> Sequence[Built | Counted]:
    """Return what an assertion is about: never nothing."""
    if "each" in assertion:
        asked = assertion["each"]
        patterns = asked if isinstance(asked, list) else [asked, f"{asked}:*"]
        found = [
            built
            for built in run.built
            if any(fnmatch.fnmatchcase(built.name, pattern) for pattern in patterns)
        ]
        need(found, f"no build is called {asked}")
        return found
    if "at" not in assertion:
        need(run.built, "nothing was built")
        return run.built[-1:]
    name = assertion["at"]
    return [run.counted[name]] if name in run.counted else [run.find(name)]
