from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from tests.chatting import chat
from tests.test_cli_chat import OFFLINE, no_keys

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["no_keys"]


def test_the_tools_can_be_used(tmp_path: Path) -> None:
    """A clock, a calculator, and a file of notes that is only read."""
    notes = tmp_path / "state" / "context_builder" / "notes.txt"
    lines = 'use clock\nuse calculator for "(3 + 4) * 2"\nuse notes\n'
    done = chat(tmp_path, *OFFLINE, "--tools", lines=lines)
    assert re.search(r"clock returned: \d{4}-\d\d-\d\dT", done.stdout)
    assert "calculator returned: 14" in done.stdout
    assert f"the user writes them to {notes}" in done.stdout
    assert '> calculator {"expression": "(3 + 4) * 2"}' in done.stderr
    notes.parent.mkdir(parents=True, exist_ok=True)
    notes.write_text("买牛奶", encoding="utf-8")
    again = chat(tmp_path, *OFFLINE, "--tools", lines="use notes\n", session="t")
    assert "notes returned: 买牛奶" in again.stdout


def test_context_shows_what_the_model_sees_of_a_shortened_result(
    tmp_path: Path,
) -> None:
    """What came in, and the very message that stands in the request."""
    notes = tmp_path / "state" / "context_builder" / "notes.txt"
    notes.parent.mkdir(parents=True)
    notes.write_text("\n".join(f"{n}. buy milk" for n in range(1_000)), "utf-8")
    lines = "use notes\n/context\n/context i3\n"
    done = chat(tmp_path, *OFFLINE, "--tools", "--max-tokens", "1500", lines=lines)
    assert done.exit_code == 0, done.output
    assert re.search(r"^i3 +tool_result +shortened ", done.stdout, re.M)
    seen = json.loads(done.stdout.partition("The model sees:\n")[2])
    assert seen["role"] == "tool"
    assert seen["content"].startswith("0. buy milk")
    assert len(seen["content"]) < len(notes.read_text("utf-8"))


def test_tools_of_an_earlier_run_are_not_offered(tmp_path: Path) -> None:
    """A session that goes on without them has none."""
    chat(tmp_path, *OFFLINE, "--tools", lines="use clock\n")
    done = chat(tmp_path, *OFFLINE, lines="use clock\n/tokens\n")
    assert "tools 0," in done.stdout
    assert "clock returned" not in done.stdout
