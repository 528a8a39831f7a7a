from __future__ import annotations

from context_builder.summarizers import Attempt, SummaryPolicy, breaker_state, may_ask

POLICY = SummaryPolicy(max_refusals=3, pause_compactions=3)


def attempts(*outcomes: bool, at: int = 1) -> list[Attempt]:
    """Return attempts, one a compaction, from compaction `at` on."""
    return [
        Attempt(accepted, (f"i{number}",), at + number)
        for number, accepted in enumerate(outcomes)
    ]


def asks(past: list[Attempt], compactions: int, *wanted: str) -> bool:
    """Say whether these items would be asked for."""
    return may_ask(past, wanted or ("new",), compactions=compactions, policy=POLICY)


def test_the_first_wish_is_asked() -> None:
    """Nothing speaks against it; without a wish nothing is asked."""
    assert asks([], 1)
    assert not may_ask([], (), compactions=1, policy=POLICY)


def test_after_a_refusal_something_more_has_to_leave_first() -> None:
    """The next build does not ask again; the next compaction does."""
    past = attempts(False)
    assert not asks(past, 1)
    assert asks(past, 2)
    assert not asks(past, 2, "i0")  # nothing but what was refused


def test_three_refusals_in_a_row_open_the_breaker() -> None:
    """It stays open for three compactions, then lets one try through."""
    past = attempts(False, False, False)
    state = [breaker_state(past, compactions=n, policy=POLICY) for n in range(3, 8)]
    assert state == ["open", "open", "open", "half_open", "half_open"]
    assert [asks(past, n) for n in range(3, 8)] == [False] * 3 + [True] * 2


def test_the_try_that_fails_keeps_it_open() -> None:
    """One more refusal, and the pause begins anew."""
    past = [*attempts(False, False, False), Attempt(False, ("i9",), 6)]
    assert [asks(past, n) for n in range(6, 10)] == [False, False, False, True]


def test_a_success_closes_it() -> None:
    """Only refusals in a row count."""
    past = [*attempts(False, False, False), Attempt(True, ("i9",), 6)]
    assert breaker_state(past, compactions=6, policy=POLICY) == "closed"
    assert [asks(past, n) for n in (6, 7)] == [False, True]
    assert asks(attempts(False, False, True, False), 5)
