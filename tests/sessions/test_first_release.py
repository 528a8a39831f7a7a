"""What the first release has written opens with every later one."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from context_builder.sessions import SessionManager

DATA = Path(__file__).parent / "data"
KEY = "bGVhcm5lZC1ieS1oZWFydC0wMTIzNDU2Nzg5YWJjZGU="
BUILT: list[dict[str, Any]] = [
    {"role": "system", "content": "Du führst ein Logbuch."},
    {"role": "user", "content": "Größe der Kiste? 尺寸多少? 📦 \ufffd"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": "m1",
                "type": "function",
                "function": {"name": "mass", "arguments": '{"ding": "Kiste"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "m1", "content": "40 x 30 x 20 cm"},
    {"role": "assistant", "content": "40 mal 30 mal 20."},
    {"role": "user", "content": "Und das Gewicht?"},
]
"""What the first release built of it."""


@pytest.mark.parametrize(("name", "key"), [("plain", None), ("sealed", KEY)])
def test_a_database_of_the_first_release(
    tmp_path: Path, name: str, key: str | None
) -> None:
    """It was written by the first release, and will always open and go on."""
    shutil.copy(DATA / "release-0.1.db", tmp_path / "s.db")
    url = f"sqlite:///{tmp_path}/s.db"
    with SessionManager(store=url, max_tokens=9_000, encryption_key=key) as sessions:
        assert [info.session_id for info in sessions.list()] == ["plain", "sealed"]
        with sessions.open(name) as ctx:
            assert ctx.damage == ()
            assert ctx.was_interrupted
            assert ctx.build() == BUILT
            assert ctx.items[1].pinned
            ctx.add_assistant_message("12 kg")
        with sessions.open(name) as ctx:
            assert not ctx.was_interrupted
            assert ctx.build()[:-1] == BUILT
