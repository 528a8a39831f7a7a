"""Runs every case file: what went wrong elsewhere must not go wrong here."""

from __future__ import annotations

import pytest

from context_builder.render import adapter_names
from tests.cases.parts import CASES, SUMMARIZER, Part, parts_of

OUTPUT = "the output tier"

LATER: dict[str, str] = {}
"""What later work has to bring, by the number of the case or the name of the test."""


def _parameter(part: Part) -> object:
    number = part.case["id"].partition("-")[0]
    reason = LATER.get(part.id, LATER.get(number))
    if part.name != SUMMARIZER and part.name not in adapter_names():
        reason = reason or OUTPUT
    marks = [pytest.mark.xfail(strict=True, reason=reason)] if reason else []
    return pytest.param(part, id=part.id, marks=marks)


@pytest.mark.parametrize(
    "part", [_parameter(part) for case in CASES for part in parts_of(case)]
)
def test_case(part: Part) -> None:
    """Every assertion of the case holds."""
    part.check()
