"""Three tools to try the loop with. They change nothing and ask nobody."""

from __future__ import annotations

from pathlib import Path

from context_builder.agent import Tool, tool
from context_builder.agent.everyday import calculator, clock

__all__ = ["demo_tools"]

_MOST_NOTES_CHARS = 20_000


def demo_tools(notes_file: Path) -> list[Tool]:
    """Return a clock, a calculator, and a look into the user's file of notes.

    Args:
        notes_file: What `notes` shows. It is read at each call, and never written.
    """

    @tool
    def notes() -> str:
        """Read the user's file of notes."""
        try:
            text = notes_file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return f"There are no notes yet: the user writes them to {notes_file}."
        if len(text) > _MOST_NOTES_CHARS:
            left = len(text) - _MOST_NOTES_CHARS
            return f"{text[:_MOST_NOTES_CHARS]}\n[{left:,} characters more]"
        return text

    return [clock, calculator, notes]
