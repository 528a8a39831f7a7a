"""A small version of the proof in `benchmarks/load/serve.py`."""

from __future__ import annotations

from benchmarks.load.serve import Load, prove


def test_many_users_at_once_fail_nothing_and_mix_nothing() -> None:
    """Every turn ends, and everybody hears of their own words only."""
    figures = prove(Load(users=12, turns=3, think_seconds=0.2, piece_seconds=0.02))
    assert figures["turns"] == 36
    assert figures["acknowledged"] == 72
    assert figures["failures"] == 0


def test_a_server_that_is_killed_in_the_middle_loses_nothing() -> None:
    """It is started again, users go on, and all that was acknowledged is there."""
    figures = prove(
        Load(
            users=12,
            turns=6,
            think_seconds=0.3,
            piece_seconds=0.05,
            kill_after_seconds=1.0,
        )
    )
    assert figures["acknowledged"] > 12
    assert figures["turns"] > 36
