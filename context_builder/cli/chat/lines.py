"""Where the user's lines come from: a terminal with editing, or a pipe."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Protocol

from context_builder.cli.chat.vendors import HERE
from context_builder.cli.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from prompt_toolkit.input import Input
    from prompt_toolkit.output import Output

__all__ = [
    "Lines",
    "PipedLines",
    "PlainLines",
    "TerminalLines",
    "is_plain",
    "is_terminal",
]


def is_terminal() -> bool:
    """Say whether somebody types here, and looks."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def is_plain() -> bool:
    """Say whether the terminal takes nothing but text."""
    return os.environ.get("TERM", "").lower() in {"dumb", "unknown"}


class Lines(Protocol):
    """Gives one line after the other."""

    async def read(self, prompt: str) -> str:
        """Return the next line.

        Raises:
            EOFError: If there is none any more.
            KeyboardInterrupt: If Ctrl-C was pressed.
        """

    def remember(self, said: Iterable[str]) -> None:
        """Offer what was said earlier, where lines can be called back."""


class PipedLines:
    """Reads standard input as UTF-8."""

    async def read(self, prompt: str) -> str:
        """Return the next line; nobody sees a prompt, and nothing else waits."""
        del prompt
        raw = sys.stdin.buffer.readline()
        if not raw:
            raise EOFError
        return raw.decode("utf-8", "replace").lstrip("\ufeff").rstrip("\r\n")

    def remember(self, said: Iterable[str]) -> None:
        """Do nothing: nothing is called back."""


class PlainLines(PipedLines):
    """Reads from a terminal that cannot move its cursor."""

    async def read(self, prompt: str) -> str:
        """Return the next line, behind a prompt."""
        sys.stdout.write(prompt)
        sys.stdout.flush()
        return await super().read(prompt)


class TerminalLines:
    """Reads from a terminal: with editing, completion, and what was said before.

    Args:
        commands: What is completed behind a slash.
        below: Says what stands below the line.
        source: Where keys come from; None: the terminal.
        output: Where it is shown; None: the terminal.

    Raises:
        InputError: If `prompt_toolkit` is not installed.
    """

    def __init__(
        self,
        commands: Sequence[str],
        *,
        below: Callable[[], str],
        source: Input | None = None,
        output: Output | None = None,
    ) -> None:
        try:
            from prompt_toolkit import PromptSession  # noqa: PLC0415  an extra
            from prompt_toolkit.completion import WordCompleter  # noqa: PLC0415
            from prompt_toolkit.history import InMemoryHistory  # noqa: PLC0415
        except ModuleNotFoundError as error:
            raise InputError(
                HERE, "it is an extra: pip install 'context-builder[cli]'"
            ) from error
        self._history = InMemoryHistory()
        self._session: PromptSession[str] = PromptSession(
            history=self._history,
            completer=WordCompleter(list(commands), sentence=True),
            complete_while_typing=True,
            bottom_toolbar=lambda: f" {below()}",
            key_bindings=_bindings(),
            prompt_continuation="  ",
            enable_history_search=True,
            reserve_space_for_menu=4,
            input=source,
            output=output,
        )

    async def read(self, prompt: str) -> str:
        """Return the next line; Alt-Enter begins another line of the same message."""
        return await self._session.prompt_async(prompt)

    def remember(self, said: Iterable[str]) -> None:
        """Offer what was said earlier behind the arrow up."""
        for text in said:
            self._history.append_string(text)


def _bindings() -> Any:
    from prompt_toolkit.key_binding import KeyBindings  # noqa: PLC0415  an extra

    bindings = KeyBindings()

    @bindings.add("escape", "enter")
    def _(event: Any) -> None:
        event.current_buffer.insert_text("\n")

    return bindings
