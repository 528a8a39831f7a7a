from __future__ import annotations

import base64
import copy
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.render.validate_anthropic import validate_anthropic
from tests.render.bodies_anthropic import (
    ANSWER,
    ASKED,
    CALL,
    HOUR,
    HUGE,
    MARK,
    REFUSED,
    TEXT,
    THOUGHT,
    TOOL,
    body,
    picture,
)

ACCEPTED = {
    "plain": body(),
    "system as text": body(system="Terse."),
    "empty system": body(system=""),
    "calls": body(*ASKED, tools=[TOOL]),
    "text behind results": body(*ASKED[:2], ("user", [ANSWER, TEXT])),
    "neighbours": body(("user", "a"), ("user", "b")),
    "blank before a call": body(
        ("user", "a"),
        ("assistant", [{"type": "text", "text": "\n\n"}, CALL]),
        ("user", [ANSWER]),
    ),
    "blank beside text": body(("user", [TEXT, {"type": "text", "text": " "}])),
    "empty assistant": body(("user", "a"), ("assistant", ""), ("user", "b")),
    "assistant without blocks": body(("user", "a"), ("assistant", []), ("user", "b")),
    "blank results": body(*ASKED[:2], ("user", [{**ANSWER, "content": " "}])),
    "empty results": body(*ASKED[:2], ("user", [{**ANSWER, "content": []}])),
    "prefill": body(("user", "a"), ("assistant", "b")),
    "note": body(("user", "a"), ("system", "b"), model="claude-opus-4-8"),
    "note before the assistant": body(
        ("user", "a"),
        ("system", "b"),
        ("assistant", "c"),
        ("user", "d"),
        model="claude-opus-5-5",
    ),
    "thinking loop": body(
        ("user", "Go."),
        ("assistant", [THOUGHT, CALL]),
        ("user", [ANSWER]),
        thinking={"type": "enabled", "budget_tokens": 1_024},
        max_tokens=2_000,
    ),
    "marks": body(
        ("user", [{**TEXT, **MARK}]), system=[{**TEXT, **HOUR}], tools=[TOOL]
    ),
    "pictures": body(("user", [picture(), TEXT])),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_what_the_vendor_accepts_is_accepted(name: str) -> None:
    """No rule is made up."""
    assert validate_anthropic(ACCEPTED[name]) == []


@pytest.mark.parametrize("name", REFUSED)
def test_every_broken_rule_is_found(name: str) -> None:
    """The place, the rule and what to do about it."""
    request, where, words = REFUSED[name]
    before = copy.deepcopy(request)
    problems = validate_anthropic(request)
    assert request == before
    found = [problem for problem in problems if problem.where == where]
    assert any(words in problem.rule for problem in found), problems
    assert all(problem.fix and str(problem) for problem in problems)


def test_too_many_pictures() -> None:
    """There is a limit to how many, and a smaller size where there are many."""
    many = [picture()] * 601
    rules = [problem.rule for problem in validate_anthropic(body(("user", many)))]
    assert any("100" in rule for rule in rules)
    wide = base64.b64encode(
        base64.b64decode(HUGE)[:16] + struct.pack(">II", 3_000, 2) + b"\x08\x02" * 9
    ).decode()
    assert validate_anthropic(body(("user", [picture(wide)]))) == []
    crowd = [picture(wide)] + [picture()] * 20
    rules = [problem.rule for problem in validate_anthropic(body(("user", crowd)))]
    assert any("2,000" in rule for rule in rules)


def test_too_many_messages() -> None:
    """There is a limit to how many."""
    request = body(*[("user", "a"), ("assistant", "b")] * 50_001)
    assert any("100,000" in problem.rule for problem in validate_anthropic(request))


ODD = st.sampled_from([None, 7, "x", [], {}, [7], {"type": "text"}, b"x", True])


@given(name=st.sampled_from(sorted(ACCEPTED)), odd=ODD, data=st.data())
def test_a_misshapen_request_is_no_error(
    name: str, odd: Any, data: st.DataObject
) -> None:
    """Whatever stands at any place of it, a list of problems comes back."""
    request = copy.deepcopy(ACCEPTED[name])
    place: Any = request
    while isinstance(place, dict | list) and place:
        keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
        key = data.draw(st.sampled_from(keys))
        if not isinstance(place[key], dict | list) or data.draw(st.booleans()):
            place[key] = odd
            break
        place = place[key]
    assert isinstance(validate_anthropic(request), list)
