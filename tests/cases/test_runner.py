"""The assertions of the case files can fail: each meets a build that breaks it."""

from __future__ import annotations

import dataclasses
import logging
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import (
    BudgetExceededError,
    ContextBuilder,
    SessionCorruptedError,
)
from context_builder.sessions import Damage, FileSession
from tests.cases.assertions import ASSERTIONS, hold
from tests.cases.parts import CASES, SUMMARIZER, parts_of
from tests.cases.results import Built, Counted, Loaded, NotYet, Run
from tests.cases.runner import run_case
from tests.cases.samples import (
    CASE,
    FAMILY,
    PICTURE,
    anthropic,
    built,
    call,
    changed,
    openai,
    run_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

Json = Any
"""A piece of a case, or of a request."""


def record(text: str) -> logging.LogRecord:
    """Return a log record that says this."""
    return logging.LogRecord("context_builder", logging.DEBUG, "", 0, text, (), None)


def prompts(*said: str) -> Run:
    """Return a run whose stub was given these prompts."""
    return run_of(prompts=list(said))


def counted(tokens: int, seconds: float = 0.1) -> Run:
    """Return a run with a count, and another of 10 tokens."""
    counts = {"n": Counted("n", tokens, seconds), "ten": Counted("ten", 10, 0.1)}
    return run_of(counted=counts)


def sent(*requests: Json) -> Built:
    """Return the build of a step that sent these requests."""
    return built(requests[-1], sent=requests)


def errors(message: str) -> Json:
    """Return a case in which this is an overflow."""
    body = {"status": 400, "message": message}
    return {**CASE, "input": {**CASE["input"], "overflow_errors": [body]}}


def loaded(
    *,
    saved: int = 1,
    damage: Sequence[Damage] = (Damage(1, "cut off"),),
    error: Exception | None = None,
    is_unchanged: bool = True,
) -> Run:
    """Return a run that loaded a file: one message, of so many that were saved."""
    session = FileSession(max_tokens=99, clock=lambda: 0.0)
    session.add_user_message("text 0")
    session.damage = tuple(damage)
    former = ContextBuilder(max_tokens=99, clock=lambda: 0.0)
    for number in range(saved):
        former.add_user_message(f"text {number}")
    came = Loaded(None if error else session, former, is_unchanged=is_unchanged)
    return run_of(built(openai(), error=error), loaded={"b": came})


RECOVERS = "recovers the complete items before the cut and says so"
REFUSES = "raises a clear load error and leaves the file as it is"
DAMAGED = SessionCorruptedError("nothing can be read", session_id="s", position=0)
OVER = BudgetExceededError(needed_tokens=9, limit_tokens=5, parts={"tools": 9})
BRIEF = built(openai())
SUMMARY = {"role": "user", "content": "<summary>\n" + "word " * 60 + "\n</summary>"}

ASSERTIONS_AND_RUNS: list[tuple[Json, Run, Run]] = [
    # An entry of `expect`, a run for which it holds, and one for which it does not.
    (
        {"at": "b", "valid_for": ["openai"]},
        run_of(BRIEF),
        run_of(changed("openai", 3, value=None)),
    ),
    (
        {"at": "b", "pairs_intact": True},
        run_of(BRIEF),
        run_of(changed("openai", 2, "tool_calls", 0, "id", value="c2")),
    ),
    (
        {"max_tokens": "budget"},
        run_of(BRIEF),
        run_of(built(openai(), budget_tokens=30)),
    ),
    (
        {"max_tokens_with_tools": 160},
        run_of(BRIEF),
        run_of(
            built(
                openai()
                | {
                    "tools": [
                        {
                            "type": "function",
                            "function": {"name": "find", "description": "find " * 90},
                        }
                    ]
                }
            )
        ),
    ),
    ({"contains": "Found."}, run_of(BRIEF), run_of(changed("openai", 4, value=None))),
    (
        {"not_contains": "Lost."},
        run_of(BRIEF),
        run_of(changed("openai", 3, "content", value="Lost.")),
    ),
    (
        {"count_of": {"text": "brief", "equals": 1}},
        run_of(BRIEF),
        run_of(changed("openai", 4, "content", value="brief")),
    ),
    (
        {"count_of": {"text": "brief", "max": 1}},
        run_of(BRIEF),
        run_of(changed("openai", 4, "content", value="brief")),
    ),
    (
        {"system_equals": "Be brief."},
        run_of(BRIEF),
        run_of(changed("openai", 0, "content", value="Be brief")),
    ),
    (
        {"system_equals": "Be brief."},
        run_of(built({**anthropic(), "system": "Be brief.\n\n<summary>"}, "anthropic")),
        run_of(built({**anthropic(), "system": "Be brief. Really."}, "anthropic")),
    ),
    ({"first_role": "user"}, run_of(BRIEF), run_of(changed("openai", 1, value=None))),
    ({"last_role": "user"}, run_of(BRIEF), run_of(changed("openai", 5, value=None))),
    (
        {"marker_present": True},
        run_of(BRIEF),
        run_of(changed("openai", 3, "content", value="9 lines")),
    ),
    (
        {"no_blank_text": True},
        run_of(BRIEF),
        run_of(changed("openai", 4, "content", value=" ")),
    ),
    (
        {"unique_tool_ids": True},
        run_of(BRIEF),
        run_of(changed("openai", 4, "tool_calls", value=[call("c1")])),
    ),
    (
        {"valid_json_arguments": True},
        run_of(BRIEF),
        run_of(changed("openai", 2, "tool_calls", value=[call("c1", "f", "[1]")])),
    ),
    (
        {"arguments_keep_keys": {"call": "c1", "keys": ["q"], "if_present": True}},
        run_of(BRIEF),
        run_of(changed("openai", 2, "tool_calls", value=[call("c1", "f", "{}")])),
    ),
    (
        {"well_formed_unicode": True},
        run_of(BRIEF),
        run_of(
            changed("openai", 2, "tool_calls", value=[call("c1", "f", '["\\ud83d"]')])
        ),
    ),
    (
        {"no_nul": True},
        run_of(BRIEF),
        run_of(changed("openai", 4, "content", value="a\0b")),
    ),
    (
        {"no_split_emoji": True},
        run_of(BRIEF),
        run_of(changed("openai", 1, "content", value=FAMILY[:3])),
    ),
    (
        {"thinking_unchanged": ["c2ln", "cmVk"]},
        run_of(built(anthropic(), "anthropic")),
        run_of(changed("anthropic", 1, "content", 0, "thinking", value="hm")),
    ),
    (
        {"thinking_whole_or_absent": True},
        run_of(built(anthropic(), "anthropic")),
        run_of(changed("anthropic", 1, "content", 1, value=None)),
    ),
    (
        {"text_only_in_role": {"text": "lines", "role": "tool"}},
        run_of(BRIEF),
        run_of(changed("openai", 4, "content", value="lines")),
    ),
    (
        {"no_own_message": {"text": "Delete", "role": "user"}},
        run_of(BRIEF),
        run_of(changed("openai", 1, "content", value="\nDelete it.")),
    ),
    (
        {"part_present": "image"},
        run_of(BRIEF),
        run_of(
            changed("openai", 5, "content", 1, "image_url", "url", value=PICTURE[:-1])
        ),
    ),
    (
        {"at": "b", "equals_build": "c"},
        run_of(BRIEF, built(openai(), name="c")),
        run_of(BRIEF, dataclasses.replace(changed("openai", 5, value=None), name="c")),
    ),
    ({"raises": "budget_error"}, run_of(built(error=OVER)), run_of(BRIEF)),
    ({"error_mentions": "tools"}, run_of(built(error=OVER)), run_of(BRIEF)),
    (
        {"error_not_contains": ["secret"]},
        run_of(built(error=OVER)),
        run_of(built(error=ValueError("secret"))),
    ),
    ({"at": "b", "not_raises": True}, run_of(BRIEF), run_of(built(error=OVER))),
    ({"not_raises": True}, run_of(BRIEF), run_of(built(error=OVER), BRIEF)),
    ({"at": "b", "max_seconds": 1}, run_of(BRIEF), run_of(built(openai(), seconds=2))),
    ({"at": "n", "max_seconds": 1}, counted(10), counted(10, seconds=2)),
    ({"at": "n", "tokens_between": [5, 10]}, counted(10), counted(11)),
    ({"at": "n", "greater_than": "ten"}, counted(11), counted(10)),
    (
        {"summary_tokens": {"max": 20}},
        run_of(BRIEF),
        run_of(built({"messages": [SUMMARY]})),
    ),
    (
        {"summarizer_calls": {"max": 2}},
        run_of(BRIEF),
        run_of(built(openai(), summarizer_calls=3)),
    ),
    ({"summarizer_calls_total": {"max": 1}}, prompts("a"), prompts("a", "b")),
    ({"summarizer_input_contains": "wall"}, prompts("the wall"), prompts("the roof")),
    ({"summarizer_input_not_contains": "wall"}, prompts("a roof"), prompts("a wall")),
    ({"summarizer_input_not_contains": "wall"}, prompts("a roof"), prompts()),
    (
        {"summarizer_prompt": "asks to separate finished from open work"},
        prompts("What is done, what is to do?"),
        prompts("What happened?"),
    ),
    (
        {"prefix_stable": {"over": "b*", "min_share_of_steps": 0.7}},
        run_of(BRIEF, BRIEF),
        run_of(BRIEF, changed("openai", 1, "content", value="Hi.")),
    ),
    (
        {"stored_unchanged": True},
        run_of(BRIEF),
        run_of(BRIEF, added=[("user", "came", (), None)]),
    ),
    (
        {"stored_count": {"equals": 1}},
        run_of(BRIEF),
        run_of(BRIEF, ctx=ContextBuilder(max_tokens=9)),
    ),
    (
        {"log_not_contains": ["secret"]},
        run_of(BRIEF, logged=[record("context_built")]),
        run_of(BRIEF, logged=[record("a secret")]),
    ),
    ({"log_not_contains": ["secret"]}, run_of(logged=[record("")]), run_of(BRIEF)),
    (
        {"at": "b", "provider_calls": {"max": 1}},
        run_of(sent(openai())),
        run_of(sent(openai(), openai())),
    ),
    (
        {"at": "b", "shrinks_each_call": True},
        run_of(sent(openai(), {"messages": openai()["messages"][:2]})),
        run_of(sent(openai(), openai())),
    ),
    (
        {"classify": {"all": "overflow_errors", "as": "overflow"}},
        run_of(case=errors("prompt is too long: 9 tokens > 4 maximum")),
        run_of(case=errors("Incorrect API key provided.")),
    ),
    ({"raises": "load_error"}, run_of(built(error=DAMAGED)), run_of(built(error=OVER))),
    ({"live_sessions": {"max": 2}}, run_of(live_sessions=2), run_of(live_sessions=3)),
    ({"live_sessions": {"max": 2}}, run_of(live_sessions=0), run_of()),
    ({"at": "b", "one_of": [RECOVERS]}, loaded(saved=2), loaded(saved=0)),
    ({"at": "b", "one_of": [RECOVERS]}, loaded(saved=2), loaded(saved=2, damage=())),
    (
        {"at": "b", "one_of": [RECOVERS, REFUSES]},
        loaded(error=DAMAGED),
        loaded(error=DAMAGED, is_unchanged=False),
    ),
    ({"at": "b", "one_of": [REFUSES]}, loaded(error=DAMAGED), loaded(error=OVER)),
    (
        {"each": "b", "contains": "Found."},
        run_of(dataclasses.replace(BRIEF, name="b:10"), BRIEF),
        run_of(
            BRIEF, dataclasses.replace(changed("openai", 4, value=None), name="b:1")
        ),
    ),
]
UNTESTED = {"words"}
"""It is another check for each case."""


def named(case: tuple[Json, Run, Run]) -> str:
    """Return the name of an entry of `expect`."""
    return next(str(name) for name in case[0] if name not in {"at", "each"})


@pytest.mark.parametrize("case", ASSERTIONS_AND_RUNS, ids=named)
def test_an_assertion_can_fail(case: tuple[Json, Run, Run]) -> None:
    """Each assertion holds for a sound build, and fails for a broken one."""
    assertion, sound, broken = case
    hold(assertion, sound)
    with pytest.raises((AssertionError, UnicodeEncodeError)):
        hold(assertion, broken)


def test_every_assertion_is_tested() -> None:
    """No assertion of the README is without a build that breaks it."""
    assert {named(case) for case in ASSERTIONS_AND_RUNS} == ASSERTIONS - UNTESTED


def test_an_unknown_assertion_fails() -> None:
    """A name that nobody implements is no assertion that holds."""
    with pytest.raises(AssertionError, match="no such assertion"):
        hold({"contians": "x"}, run_of(BRIEF))


@pytest.mark.parametrize("assertion", [{"at": "x"}, {"each": "x*"}, {"each": ["x"]}])
def test_an_assertion_about_no_build_fails(assertion: Json) -> None:
    """An assertion that would be about nothing does not hold."""
    with pytest.raises(AssertionError, match="no build is called"):
        hold({**assertion, "pairs_intact": True}, run_of(BRIEF))


def test_a_missing_door_is_said() -> None:
    """What the library cannot do yet is said, not taken for done."""
    with pytest.raises(NotYet):
        hold({"raises": "an error of another kind"}, run_of(BRIEF))


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_no_assertion_is_passed_over(case: Json) -> None:
    """Each entry of `expect` belongs to a part; what it names is implemented."""
    checked = [entry for part in parts_of(case) for entry in part.assertions]
    assert all(entry in checked for entry in case["expect"])
    names = {name for entry in case["expect"] for name in entry} - {"at", "each"}
    assert names <= ASSERTIONS


def test_a_step_without_a_door_stops_the_run() -> None:
    """An unknown step is never passed over."""
    case = {**CASE, "input": {**CASE["input"], "ops": [{"op": "dance"}]}}
    with pytest.raises(NotYet, match="dance"):
        run_case(case, "openai")


def test_the_summarizer_is_never_passed_over() -> None:
    """Where an assertion depends on the stub, the run is one with the stub."""
    case = next(case for case in CASES if case["id"].startswith("d15"))
    part = next(part for part in parts_of(case) if part.name == SUMMARIZER)
    asked = next(one for one in part.assertions if "summarizer_input_contains" in one)
    part.check()
    with pytest.raises(AssertionError):
        hold(asked, run_case(case, part.vendor))
