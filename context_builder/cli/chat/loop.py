"""The loop: a line is read, answered or carried out, and so on to the end."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from context_builder.agent import (
    AgentEvent,
    ReasoningDelta,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnResult,
)
from context_builder.cli.chat.asked import Asked, is_command
from context_builder.cli.chat.conversation import Conversation, NothingToDoError
from context_builder.cli.chat.lines import Lines
from context_builder.cli.chat.screen import Screen, one_line
from context_builder.cli.errors import CommandError
from context_builder.errors import ContextBuilderError, UnknownModelError

__all__ = ["INTERRUPTED", "Chat"]

DONE, FAILED, INTERRUPTED = 0, 1, 130
"""Exit codes: 130 is what a shell gives to a program that Ctrl-C ended."""
_ARGUMENT_CHARS = 120
_RESULT_CHARS = 160
_RECENT_CHARS = 300
_STOPS = {
    "max_rounds": "the model wanted tools once too often",
    "output_limit": "the answer was cut at the output's limit",
    "refused": "the model declined",
    "content_filter": "the vendor withheld the answer",
    "paused": "the vendor paused; say something to go on",
    "no_answer": "the model said nothing",
}


class Chat:
    """A conversation that somebody, or a pipe, has.

    Args:
        conversation: What is talked in.
        screen: Where it is shown.
        lines: Makes what gives the lines; it is told the commands and what is below.
    """

    def __init__(
        self,
        conversation: Conversation,
        screen: Screen,
        lines: Callable[[tuple[str, ...], Callable[[], str]], Lines],
    ) -> None:
        self._chat = conversation
        self._screen = screen
        self._asked = Asked(
            conversation, screen, retry=self._retry, enter=self._entered
        )
        self._lines = lines(self._asked.names, self._below)
        self._has_failed = False

    async def run(self) -> int:
        """Talk to the end; return the exit code: 1 if something failed in a pipe."""
        self._greet()
        await self._guarded(self._entered())
        while not (self._asked.is_over or self._screen.is_gone):
            try:
                line = await self._lines.read(self._prompt())
            except EOFError:
                break
            except KeyboardInterrupt:
                if not self._screen.is_interactive:
                    return INTERRUPTED
                self._screen.remark("Ctrl-D ends the chat")
                continue
            await self._take(line)
        is_failed = self._screen.is_gone or (
            self._has_failed and not self._screen.is_interactive
        )
        return FAILED if is_failed else DONE

    async def _take(self, line: str) -> None:
        """Answer a line, or carry it out; Ctrl-C ends that, and not the chat."""
        line = line.strip()
        if not line:
            return
        doing = asyncio.ensure_future(self._guarded(self._done(line)))
        with _interrupting(doing):
            await asyncio.wait([doing])
        self._screen.end_line()
        if doing.cancelled():
            self._has_failed = True
            self._screen.remark("stopped; what was said so far is kept")
        else:
            doing.result()

    async def _done(self, line: str) -> None:
        if is_command(line):
            await self._asked.run(line)
            return
        text = line.removeprefix("/") if line.startswith("//") else line
        await self._chat.say(text, self._show)

    async def _retry(self) -> None:
        await self._chat.retry(self._show)

    async def _guarded(self, doing: Awaitable[None]) -> None:
        """Do something; say what went wrong with it, and go on."""
        try:
            await doing
        except Exception as error:  # vendors' clients raise what they like
            self._has_failed = True
            self._screen.error(_in_words(error))

    # --- what is shown ----------------------------------------------------------------

    def _show(self, event: AgentEvent) -> None:
        if self._screen.is_gone:
            raise asyncio.CancelledError  # nobody reads it: it need not be written
        match event:
            case TextDelta():
                self._screen.piece(event.text)
            case ReasoningDelta():
                self._screen.thought(event.text)
            case ToolStarted():
                said = one_line(event.arguments, _ARGUMENT_CHARS)
                self._screen.remark(f"> {event.name} {said}")
            case ToolFinished():
                sign = "!" if event.is_error else "<"
                self._screen.remark(f"{sign} {one_line(event.text, _RESULT_CHARS)}")
            case TurnFinished():
                self._tell(event.result)
            case _:
                pass

    def _tell(self, result: TurnResult) -> None:
        if result.stop_reason != "answered":
            self._screen.remark(_STOPS[result.stop_reason])
        if (report := self._chat.compacted) is not None:
            self._screen.remark(
                f"compacted: {len(report.removed)} of {len(report.outcomes)} items are "
                "not whole; /context says which"
            )
        sent, last = self._chat.sent, self._chat.last
        if sent is None or not self._screen.is_interactive:
            return
        said = f"{sent.tokens:,} of {sent.budget_tokens:,} tokens"
        if last.input_tokens:
            said += f", {last.cached_tokens / last.input_tokens:.0%} from the cache"
        self._screen.remark(said)

    def _greet(self) -> None:
        self._screen.remark(f"{self._chat.who} answers; /help lists the commands")
        if self._chat.tools:
            names = ", ".join(tool.name for tool in self._chat.tools)
            self._screen.remark(f"it may use {names}")

    async def _entered(self) -> None:
        """Say which session is talked in, and how far it is."""
        items = await self._chat.said()
        said = [item.text for item in items if item.is_spoken]
        if not said:
            self._screen.remark(f"session {self._chat.name}")
            return
        self._lines.remember(said)
        count = f"{len(said):,} message{'' if len(said) == 1 else 's'} of yours"
        self._screen.remark(f"session {self._chat.name}, {count} so far; the last:")
        last = max(n for n, item in enumerate(items) if item.is_spoken)
        for item in items[last:]:
            if item.text and item.role in {"user", "assistant"}:
                text = one_line(item.text, _RECENT_CHARS)
                self._screen.remark(f"  {'you' if item.is_spoken else 'it'}: {text}")
        if await self._chat.was_interrupted():
            self._screen.remark("that turn was stopped; /retry asks again")

    def _prompt(self) -> str:
        who = self._chat.who
        return "offline (scripted)> " if who.is_offline else f"{who.model}> "

    def _below(self) -> str:
        said = f"{self._chat.name} | {self._chat.who}"
        if self._chat.sent is not None:
            sent = self._chat.sent
            said += f" | {sent.tokens:,} of {sent.budget_tokens:,} tokens"
        return said


@contextmanager
def _interrupting(doing: asyncio.Task[None]) -> Iterator[None]:
    """Have Ctrl-C cancel what is done in here, where this thread is told of it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def stop(*_: object) -> None:
        if not doing.cancelling():  # once: what ends is not to be broken off
            loop.call_soon_threadsafe(doing.cancel)  # the loop may sleep: wake it

    before = signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _in_words(error: Exception) -> str:
    """Say what went wrong, in one line."""
    if isinstance(error, UnknownModelError):
        return (
            f"the model {error.model!r} is not known; say how much it can hold with "
            "--context-window, or set a budget with --max-tokens"
        )
    known = (CommandError, ContextBuilderError, NothingToDoError)
    said = " ".join(str(error).split())
    if isinstance(error, known):
        return said
    return f"{type(error).__name__}: {one_line(said, _RECENT_CHARS)}"
