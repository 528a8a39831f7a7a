from __future__ import annotations

from typing import Any

import pytest

from context_builder.render.chat_turns import _opened

THOUGHT = {"type": "thinking", "thinking": []}


def text(said: str) -> dict[str, Any]:
    """Return a text part."""
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("first", "second", "both"),
    [
        ("a", "b", ("a", "b")),
        (None, "b", (None, "b")),
        ("a", [THOUGHT, text("b"), text("c")], ("a", "b\nc")),
        ([THOUGHT, text("a")], "b", ([THOUGHT, text("a\n\nb")], None)),
        ([THOUGHT, text("a")], [THOUGHT, text("b")], ([THOUGHT, text("a\n\nb")], None)),
        ([THOUGHT, text("a")], None, ([THOUGHT, text("a")], None)),
        ([THOUGHT, text("a")], "", ([THOUGHT, text("a")], "")),
        ([THOUGHT], "b", ([THOUGHT], "b")),
        (
            [THOUGHT, text("x"), text("a")],
            "b",
            ([THOUGHT, text("x"), text("a\n\nb")], None),
        ),
    ],
)
def test_thoughts_open_a_message_and_one_text_ends_it(
    first: Any, second: Any, both: Any
) -> None:
    """Thoughts of the second message have no place any more."""
    assert _opened(first, second) == both
