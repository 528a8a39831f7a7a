"""Counts of parts add up where a text is cut at a joint."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.tokens import TokenCounter, counter_for
from context_builder.tokens.joints import core_of, counted_in_parts, is_joint

ENCODINGS = ("o200k_base", "cl100k_base")
PIECES = (
    *" \n\r\t/.,:;'\"()[]{}<>-_#\\`*",
    *("a", "Z", "it's", "'s", "1", "2024", "ord_12_3", "\u00e9", "e\u0301", "\u4e86"),
    *("\u6211\u4eec", "\u3002", "\u300c", "\u00a0", "\u2028", "\u0085", "\u200b"),
    *("\U0001f600", "\u0661", "\x1c", "word", "Words", "  ", "\n\n", ".\n", " \n"),
)

texts = st.lists(st.sampled_from(PIECES), max_size=12).map("".join)


@pytest.fixture(scope="module", params=ENCODINGS)
def counter(request: pytest.FixtureRequest) -> TokenCounter:
    """Return each counter that has a vocabulary."""
    return counter_for(request.param)


@given(before=texts.filter(bool), after=texts.filter(bool))
def test_counts_add_up_at_a_joint(
    counter: TokenCounter, before: str, after: str
) -> None:
    """Whatever stands on its sides."""
    if is_joint(before[-1], after[0]):
        parts = counter.count(before) + counter.count(after)
        assert counter.count(before + after) == parts


@given(parts=st.lists(texts, max_size=8))
def test_parts_count_what_the_whole_counts(
    counter: TokenCounter, parts: list[str]
) -> None:
    """Those without a joint between them are counted together."""
    total, sizes = counted_in_parts(parts, counter.count, {})
    assert total == counter.count("".join(parts))

    def fail(text: str) -> int:
        raise AssertionError(text)

    again, _ = counted_in_parts(parts, fail, sizes)
    assert again == total, "what is known is not counted"


@given(text=texts, before=texts, after=texts)
def test_a_core_counts_the_same_everywhere(
    counter: TokenCounter, text: str, before: str, after: str
) -> None:
    """What stands around the text changes what its edges take, and nothing else."""
    start, end = core_of(text)
    if 0 < start < end < len(text):
        core = counter.count(text[start:end])
        edges = counter.count(before + text[:start]), counter.count(text[end:] + after)
        assert counter.count(before + text + after) == core + sum(edges)


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("The order was late, they said.", " order was late, they said"),
        ('"note": "of the", ', '": "of the'),
        ("\u6211\u4eec\u3002\u4ed6\u4eec", "\u3002\u4ed6\u4eec"),
        ("", ""),
        ("...", ""),
    ],
)
def test_the_core_is_all_but_the_edges(text: str, core: str) -> None:
    """From behind the first word to behind the last one."""
    start, end = core_of(text)
    assert text[start:end] == core


def test_both_vocabularies_add_up(counter: TokenCounter) -> None:
    """An estimate does not say so, and is never taken apart."""
    assert getattr(counter, "adds_up", False)
    assert not getattr(counter_for(None), "adds_up", False)
