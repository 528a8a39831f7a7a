"""What is shown: answers and results on standard output, remarks beside them."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from rich.console import Console

from context_builder.cli.chat.vendors import without_secrets
from context_builder.cli.terminal import shown

__all__ = ["Screen", "in_columns", "one_line"]


def one_line(text: str, most_chars: int) -> str:
    """Return the beginning of a text, on one line."""
    text = " ".join(text.split())
    return text if len(text) <= most_chars else f"{text[: most_chars - 1]}…"


def in_columns(
    rows: Sequence[tuple[str, ...]], *, right: frozenset[int] = frozenset()
) -> str:
    """Return rows as a table; the columns that are named stand to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        "  ".join(
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


class _Stream(Console):
    """A stream whose reader may go away, as `| head` does."""

    is_gone = False

    def on_broken_pipe(self) -> None:
        """Take note of it, and have nothing fail that is written on the way out."""
        self.is_gone = self.quiet = True
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.file.fileno())
        os.close(nowhere)


class Screen:
    """Writes in UTF-8, whatever the locale says; in colour only to a terminal."""

    def __init__(self, *, is_interactive: bool) -> None:
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(encoding="utf-8", errors="replace")
        self._is_interactive = is_interactive
        self._out = _Stream(file=sys.stdout, highlight=False)
        self._beside = self._out
        if not is_interactive:  # a pipe gets the answers, and nothing else
            self._beside = _Stream(file=sys.stderr, highlight=False)
        self._is_mid_line = self._is_thinking = False

    @property
    def is_interactive(self) -> bool:
        """Whether somebody looks."""
        return self._is_interactive

    @property
    def is_gone(self) -> bool:
        """Whether nobody reads the answers any more."""
        return self._out.is_gone

    def piece(self, text: str) -> None:
        """Show a piece of an answer."""
        if self._is_thinking:
            self.end_line()
        text = shown(text)
        if text:
            self._is_mid_line = not text.endswith("\n")
            self._out.out(text, end="", highlight=False)

    def thought(self, text: str) -> None:
        """Show a piece of what the model thinks, to somebody who looks."""
        text = shown(text)
        if text and self._is_interactive:
            self._is_thinking = True
            self._is_mid_line = not text.endswith("\n")
            self._out.out(text, end="", style="dim italic", highlight=False)

    def end_line(self) -> None:
        """End the line that an answer stands in."""
        if self._is_mid_line:
            self._out.out("", highlight=False)
        self._is_mid_line = self._is_thinking = False

    def result(self, text: str) -> None:
        """Show what a command was asked for."""
        self.end_line()
        self._out.out(shown(text), highlight=False)

    def remark(self, text: str) -> None:
        """Say something beside the conversation."""
        self.end_line()
        self._beside.out(shown(text), style="dim", highlight=False)

    def error(self, text: str) -> None:
        """Say what went wrong, without any secret."""
        self.end_line()
        said = shown(without_secrets(f"error: {text}"))
        self._beside.out(said, style="bold red", highlight=False)
