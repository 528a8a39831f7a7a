from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from context_builder import ReasoningPart
from context_builder.errors import InvalidItemError
from context_builder.sessions import SessionManager

if TYPE_CHECKING:
    from pathlib import Path


def no_numbers(text: str) -> str:
    """Take card numbers out of a text."""
    return re.sub(r"\d{4}-\d{4}", "[number]", text)


def test_what_is_redacted_is_never_stored(tmp_path: Path) -> None:
    """Whatever door it came in by; and the model sees what is stored."""
    url = f"sqlite:///{tmp_path}/s.db"
    with SessionManager(
        max_tokens=9_999,
        store=url,
        redact=no_numbers,
        system_prompt=lambda: "Owner: 1111-2222",
    ) as sessions:
        with sessions.open("s") as ctx:
            item = ctx.add_user_message(
                [{"type": "text", "text": "My card: 1234-5678"}]
            )
            assert item is not None
            assert item.text == "My card: [number]"
            call = {
                "id": "1234-5678",
                "function": {"name": "pay", "arguments": '{"card": "1234-5678"}'},
            }
            ctx.add_assistant_message("ok 1234-5678", tool_calls=[call])
            ctx.add_tool_result(
                "pay", {"paid": ["1234-5678"]}, tool_call_id="1234-5678"
            )
            ctx.add_memory("card 1234-5678", metadata={"name": "1234-5678"})
            ctx.add_user_message("nothing here")
            edited = ctx.edit("i2", content="again 1234-5678")
            assert edited.text == "again [number]"
            live = ctx.build()
        text = sessions.import_(sessions.export("s"), session_id="copy")
        raw = '{"messages": [{"role": "user", "content": "4321-8765"}]}'
        sessions.import_(raw, session_id="old")
        assert "4321" not in sessions.export("old")
        exported = sessions.export(text)
    with SessionManager(max_tokens=9_999, store=url) as plain, plain.open("s") as ctx:
        assert ctx.build() == live
        assert len([i for i in ctx.items if i.role == "system"]) == 1
    data = (tmp_path / "s.db").read_bytes()
    assert b"1111-2222" not in data
    assert data.count(b"1234-5678") == exported.count("1234-5678") * 2  # the call's id
    arguments = next(m for m in live if m.get("tool_calls"))["tool_calls"][0]
    assert json.loads(arguments["function"]["arguments"]) == {"card": "[number]"}


def test_reasoning_goes_whole_or_not_at_all() -> None:
    """Signed reasoning is not changed: it is kept as it came, or left out."""
    sessions = SessionManager(max_tokens=9_999, redact=no_numbers)
    with sessions.open("s") as ctx:
        for text in ("fine", "card 1234-5678"):
            part = ReasoningPart(provider="anthropic", text=text, signature="sig")
            ctx.add_assistant_message("x", reasoning=[part])
        assert [len(item.reasoning) for item in ctx.items] == [1, 0]


@pytest.mark.parametrize("bad", [None, 7, b"bytes"])
def test_a_hook_returns_text(bad: Any) -> None:
    """Else nothing comes in, rather than something unredacted."""
    sessions = SessionManager(max_tokens=9_999, redact=lambda _: bad)
    with sessions.open("s") as ctx:
        with pytest.raises(InvalidItemError, match="redact"):
            ctx.add_user_message("text")
        assert ctx.items == ()
