"""Runs every case file: what went wrong elsewhere must not go wrong here.

None of them may be marked as failing: a case that does not hold is a fault.
"""

from __future__ import annotations

import pytest

from context_builder.render import adapter_names
from tests.cases.parts import CASES, SUMMARIZER, Part, parts_of

PARTS = [part for case in CASES for part in parts_of(case)]


def test_every_case_is_run() -> None:
    """All 24 files, each assertion for a vendor that there is or the summariser."""
    assert len({part.case["id"] for part in PARTS}) == len(CASES) == 24
    assert {part.name for part in PARTS} <= {SUMMARIZER, *adapter_names()}


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.id)
def test_case(part: Part) -> None:
    """Every assertion of the case holds."""
    part.check()
