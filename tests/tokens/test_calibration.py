from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.render import adapter_for
from context_builder.tokens import counter_for
from context_builder.tokens.calibration import Calibration, calibrated

TOKENS = st.integers(50, 10**6)
DATA = Path(__file__).parents[1] / "data"


def test_without_bills_nothing_is_corrected() -> None:
    """The estimate stands until something is known."""
    assert Calibration().billed(1_234) == Calibration().counted(1_234) == 1_234


def test_bills_move_it_slowly_and_all_the_way() -> None:
    """One bill counts three tenths; many of one kind arrive where they point."""
    once = calibrated(Calibration(), billed_tokens=1_300, estimated_tokens=1_000)
    assert once.ratio == pytest.approx(1.09)
    assert once.bills == 1
    for _ in range(30):
        once = calibrated(once, billed_tokens=1_300, estimated_tokens=1_000)
    assert once.ratio == pytest.approx(1.3, abs=0.001)
    assert once.billed(1_000) in {1_300, 1_301}
    assert once.counted(1_300) in {999, 1_000}


@pytest.mark.parametrize(("billed", "expected"), [(10**6, 1.6), (51, 0.7)])
def test_a_wild_bill_is_held_within_bounds(billed: int, expected: float) -> None:
    """A bill that is about something else moves it to the bounds, not beyond."""
    known = Calibration()
    for _ in range(60):
        known = calibrated(known, billed_tokens=billed, estimated_tokens=5_000)
    assert known.ratio == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize(("billed", "estimated"), [(0, 100), (100, 0), (49, 1_000)])
def test_small_bills_say_nothing(billed: int, estimated: int) -> None:
    """A token more or less is no measure, and nothing is no bill."""
    known = Calibration(1.2, 3)
    assert calibrated(known, billed_tokens=billed, estimated_tokens=estimated) is known


@given(bills=st.lists(st.tuples(TOKENS, TOKENS), max_size=12), tokens=TOKENS)
def test_it_stays_within_bounds_and_is_undone_by_its_inverse(
    bills: list[tuple[int, int]], tokens: int
) -> None:
    """What may be counted for a budget is billed within it."""
    known = Calibration()
    for billed, estimated in bills:
        known = calibrated(known, billed_tokens=billed, estimated_tokens=estimated)
    assert 0.7 <= known.ratio <= 1.6
    assert known.bills == len(bills)
    assert known.counted(tokens) * known.ratio <= tokens + 1e-6
    assert known.billed(tokens) >= tokens * known.ratio - 1e-6


@given(bills=st.lists(st.tuples(TOKENS, TOKENS), max_size=6))
def test_the_same_bills_give_the_same(bills: list[tuple[int, int]]) -> None:
    """It is a pure fold over the bills."""
    ends = []
    for _ in range(2):
        known = Calibration()
        for billed, estimated in bills:
            known = calibrated(known, billed_tokens=billed, estimated_tokens=estimated)
        ends.append(known)
    assert ends[0] == ends[1]


def test_real_bills_improve_a_count_that_is_off() -> None:
    """Counted with another vendor's tokenizer, the next bill is foretold better."""
    adapter = adapter_for("anthropic")
    count = counter_for("o200k_base").count
    known, before, after = Calibration(), [], []
    for line in (DATA / "anthropic_usage.jsonl").read_text("utf-8").splitlines():
        record: dict[str, Any] = json.loads(line)
        usage = record["usage"]
        billed = sum(
            usage.get(key) or 0 for key in usage if key.endswith("input_tokens")
        )
        if not set(record["features"]) <= {"system", "tools"} or billed < 50:
            continue
        body = {**record["request"], "model": record["model"]}
        counted = adapter.request_tokens(body, count)
        before.append(abs(counted / billed - 1))
        after.append(abs(known.billed(counted) / billed - 1))
        known = calibrated(known, billed_tokens=billed, estimated_tokens=counted)
    assert len(before) >= 15
    assert sum(after) < sum(before)
