"""Sizes are remembered in little memory, and never another text's."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from context_builder.items import ContextItem
from context_builder.measuring import Counted, SessionRuler, Sizes
from context_builder.render import adapter_for

if TYPE_CHECKING:
    from collections.abc import Callable

_KEYS = st.integers(-(2**63), 2**63 - 1)


@given(st.lists(st.tuples(_KEYS, st.integers(0, 2**40)), max_size=200), st.data())
def test_sizes_are_a_dictionary(
    pairs: list[tuple[int, int]], data: st.DataObject
) -> None:
    """However much is packed, and when, each key has its own size, or none."""
    sizes, known = Sizes(), dict[int, int]()
    for key, size in pairs:
        if sizes.get(key) is None:
            sizes.put(key, size)
            known[key] = size
        if data.draw(st.booleans()):
            sizes.settle()
    assert len(sizes) == len(known)
    assert all(sizes.get(key) == size for key, size in known.items())
    absent = data.draw(_KEYS)
    assert sizes.get(absent) == known.get(absent)


def test_a_thousand_sizes_take_little() -> None:
    """Packed, a size takes its key and itself: a dictionary takes six times as much."""
    sizes = Sizes()
    for number in range(1_000):
        sizes.put(hash(str(number)), number)
        sizes.settle()
    columns = (sizes._keys, sizes._sizes)
    assert sum(map(sys.getsizeof, columns)) < 17 * 1_000
    assert len(sizes._fresh) <= 1_000 // 8


def ruler(count: Callable[[str], int], counted: Counted) -> SessionRuler:
    """Return a ruler of OpenAI's tokens."""
    return SessionRuler(adapter_for("openai"), "gpt-4o", count, counted)


def test_what_may_be_shown_is_counted_once() -> None:
    """Texts of items stay known; those that were only tried do not for long."""
    seen: list[str] = []

    def count(text: str) -> int:
        seen.append(text)
        return len(text)

    counted = Counted()
    measure = ruler(count, counted)
    item = ContextItem("user", "What the user said.", source="user")
    short = item.with_content("What the")
    for number in range(600):
        measure.text(f"tried {number}")
    for _ in range(2):
        measure.whole(item)
        measure.item(short)
        measure.settle()
    assert seen.count(item.text) == seen.count(short.text) == 1
    measure.text("tried 7")
    assert seen.count("tried 7") == 2
    other = ruler(count, counted)
    other.whole(item)
    assert seen.count(item.text) == 1
