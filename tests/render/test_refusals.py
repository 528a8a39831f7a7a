from __future__ import annotations

import pytest

from tests.render.refusals import TARGETS, kept, refusals, wrongly_refused


@pytest.mark.parametrize("target", TARGETS)
def test_a_refusal_says_place_rule_and_cure(target: str) -> None:
    """Word for word: a reader mends a request by these words alone."""
    told = refusals(target)
    assert told == kept()[target]
    assert all(told.values())


@pytest.mark.parametrize("target", TARGETS)
def test_what_is_just_within_a_limit_is_taken(target: str) -> None:
    """No rule is stricter than the vendor's."""
    assert wrongly_refused(target) == {}
