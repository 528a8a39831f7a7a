from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder import (
    BudgetExceededError,
    ContextBuilder,
    InvalidItemError,
)
from context_builder.recovery import acall_with_recovery, call_with_recovery

if TYPE_CHECKING:
    from collections.abc import Callable

MODEL = "gpt-4o"


class VendorError(Exception):
    """What an SDK raises."""

    def __init__(self, message: str, status_code: int = 400) -> None:
        super().__init__(message)
        self.status_code = status_code


def too_long(limit: int = 8_192, actual: int = 9_001) -> VendorError:
    """Return an overflow that names its figures."""
    return VendorError(f"prompt is too long: {actual} tokens > {limit} maximum")


NAMELESS = VendorError("Your input exceeds the context window of this model.")


class Vendor:
    """Answers as scripted, and keeps what it was sent."""

    def __init__(self, *script: object) -> None:
        self.script = list(script)
        self.sent: list[dict[str, Any]] = []

    def __call__(self, **request: Any) -> Any:
        """Answer."""
        self.sent.append(request)
        answer = self.script.pop(0) if self.script else "ok"
        if isinstance(answer, Exception):
            raise answer
        return answer

    async def awaited(self, **request: Any) -> Any:
        """Answer as an async client does."""
        return self(**request)

    @property
    def sizes(self) -> list[int]:
        """How large each request was."""
        return [len(json.dumps(request["messages"])) for request in self.sent]


def session(turns: int = 20, **settings: Any) -> ContextBuilder:
    """Return a session with some letters in it."""
    settings.setdefault("context_window", 8_000)
    ctx = ContextBuilder(model=MODEL, system_prompt="You draft letters.", **settings)
    for number in range(turns):
        ctx.add_user_message(f"letter {number} " + "dear all " * 60)
        ctx.add_assistant_message(f"draft {number} " + "with regards " * 60)
    ctx.add_user_message("Draft the last one.")
    return ctx


def test_what_fits_is_called_once() -> None:
    """The answer is handed on as it is."""
    ctx, answer = session(), object()
    vendor = Vendor(answer)
    assert call_with_recovery(ctx, vendor) is answer
    assert vendor.sent == [ctx.request()]


@pytest.mark.parametrize("error", [too_long(), NAMELESS], ids=["figures", "none"])
def test_an_overflow_is_answered_by_one_smaller_request(error: VendorError) -> None:
    """The second request is strictly smaller and still ends with what was asked.

    A limit that the error names is remembered; nothing else is logged.
    """
    ctx = session()
    revision = ctx.revision
    vendor = Vendor(error, "ok")
    assert call_with_recovery(ctx, vendor) == "ok"
    assert len(vendor.sent) == 2
    assert vendor.sizes[1] < vendor.sizes[0]
    assert vendor.sent[1]["messages"][-1]["content"] == "Draft the last one."
    assert ctx.revision == revision + (error is not NAMELESS)


def test_the_stated_limit_is_kept() -> None:
    """The next request is below the limit as the vendor counts, output included."""
    ctx = session(max_output_tokens=500)
    before = ctx.explain().tokens
    vendor = Vendor(too_long(limit=3_000, actual=before + 700), "ok")
    call_with_recovery(ctx, vendor)
    counted = ContextBuilder(model=MODEL, max_tokens=10**6)
    counted.extend(vendor.sent[1]["messages"])
    undercount = (before + 700) / before
    assert counted.explain().tokens * undercount + 500 < 3_000


def test_attempts_are_bounded_and_shrink() -> None:
    """After the last attempt comes a clear error, and the vendor's as its cause."""
    ctx = session()
    errors = [too_long(200_000, 210_001) for _ in range(8)]
    vendor = Vendor(*errors)
    with pytest.raises(
        BudgetExceededError, match="3 requests were too large"
    ) as caught:
        call_with_recovery(ctx, vendor)
    assert len(vendor.sent) == 3
    assert sorted(vendor.sizes, reverse=True) == vendor.sizes
    assert len(set(vendor.sizes)) == 3
    assert caught.value.__cause__ is errors[2]
    assert "200,000" in str(caught.value)
    assert caught.value.limit_tokens == 200_000


def test_nothing_smaller_is_said_so() -> None:
    """Where the rest may not be left out, no second call is made."""
    ctx = ContextBuilder(model=MODEL, context_window=8_000)
    ctx.add_user_message("word " * 40)
    vendor = Vendor(too_long(limit=20, actual=60))
    with pytest.raises(BudgetExceededError, match="Nothing smaller can be built"):
        call_with_recovery(ctx, vendor)
    assert len(vendor.sent) == 1


@pytest.mark.parametrize(
    "error",
    [
        VendorError("Incorrect API key provided.", 401),
        VendorError("Rate limit reached: tokens per minute limit 60000", 429),
        ValueError("something else"),
        KeyError("x"),
    ],
)
def test_other_errors_pass_through(error: Exception) -> None:
    """They are the caller's, the very same object, after one call."""
    vendor = Vendor(error)
    with pytest.raises(type(error)) as caught:
        call_with_recovery(session(), vendor)
    assert caught.value is error
    assert len(vendor.sent) == 1


def test_another_error_after_an_overflow_passes_through() -> None:
    """The second call's error is not the first one's business."""
    vendor = Vendor(NAMELESS, VendorError("Incorrect API key provided.", 401))
    with pytest.raises(VendorError, match="API key"):
        call_with_recovery(session(), vendor)
    assert len(vendor.sent) == 2


def test_an_answer_cut_at_the_window_is_asked_for_again() -> None:
    """It is no error: when attempts are used up, it is better than nothing."""
    cut = {"type": "message", "stop_reason": "model_context_window_exceeded"}
    vendor = Vendor(cut, "ok")
    assert call_with_recovery(session(), vendor) == "ok"
    assert vendor.sizes[1] < vendor.sizes[0]
    vendor = Vendor(cut, cut, cut)
    assert call_with_recovery(session(), vendor) is cut
    assert len(vendor.sent) == 3


def test_ollamas_silent_cut_is_an_overflow() -> None:
    """It answers as if nothing had happened; its own count tells."""
    ctx = session(max_tokens=3_000)
    sent: list[dict[str, Any]] = []

    def chat(**request: Any) -> dict[str, Any]:
        sent.append(request)
        window = request["options"]["num_ctx"]
        return {"done": True, "prompt_eval_count": window if len(sent) == 1 else 100}

    call_with_recovery(ctx, chat, target="ollama", model="llama3.1")
    assert len(sent) == 2
    assert len(json.dumps(sent[1])) < len(json.dumps(sent[0]))


def test_the_session_is_told_its_limit_where_it_wants_to_know() -> None:
    """A limit that was learned is handed to the session."""
    told: list[tuple[str | None, int]] = []

    class Learning(ContextBuilder):
        def learn_limit(self, model: str | None, limit_tokens: int) -> None:
            told.append((model, limit_tokens))

    ctx = Learning(model=MODEL, context_window=8_000)
    for number in range(9):
        ctx.add_user_message(f"{number} " + "word " * 500)
        ctx.add_assistant_message("ok")
    ctx.add_user_message("And now?")
    call_with_recovery(ctx, Vendor(too_long(4_000, 5_000), NAMELESS, "ok"))
    assert told == [(MODEL, 4_000)]


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_attempts", 0), ("min_shrink_share", 0.0), ("min_shrink_share", 1.0)],
)
def test_odd_settings_are_refused(field: str, value: float) -> None:
    """Before anything is sent."""
    vendor = Vendor()
    settings: dict[str, Any] = {field: value}
    with pytest.raises(InvalidItemError) as caught:
        call_with_recovery(session(1), vendor, **settings)
    assert caught.value.field == field
    assert vendor.sent == []


SCRIPTS: list[Callable[[], list[object]]] = [
    lambda: ["ok"],
    lambda: [too_long(), "ok"],
    lambda: [NAMELESS, NAMELESS, "ok"],
    lambda: [too_long(200_000, 210_001)] * 5,
    lambda: [VendorError("Incorrect API key provided.", 401)],
]


@pytest.mark.parametrize("script", SCRIPTS)
async def test_the_awaitable_twin_does_the_same(
    script: Callable[[], list[object]],
) -> None:
    """Same requests, same end."""
    ctx = session()
    one, other = Vendor(*script()), Vendor(*script())
    ends: list[object] = []
    try:
        ends.append(call_with_recovery(ctx, one))
    except Exception as error:
        ends.append((type(error), str(error)))
    try:
        ends.append(await acall_with_recovery(ctx, other.awaited))
    except Exception as error:
        ends.append((type(error), str(error)))
    assert ends[0] == ends[1]
    assert one.sent == other.sent


@given(
    limits=st.lists(
        st.none() | st.tuples(st.integers(1, 10**6), st.integers(1, 10**6)),
        max_size=6,
    ),
    attempts=st.integers(1, 6),
)
def test_it_always_ends_and_never_repeats_a_request(
    limits: list[tuple[int, int] | None], attempts: int
) -> None:
    """Whatever a vendor states, each request is smaller than the one before."""
    vendor = Vendor(*(too_long(*said) if said else NAMELESS for said in limits))
    with contextlib.suppress(BudgetExceededError):
        call_with_recovery(session(6), vendor, max_attempts=attempts)
    assert len(vendor.sent) <= attempts
    sizes = vendor.sizes
    assert all(later < former for former, later in itertools.pairwise(sizes))
