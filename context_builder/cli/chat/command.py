"""The options of `context-builder chat`, and what is wrong with them."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, NoReturn

import typer

from context_builder.cli.chat.asked import new_name
from context_builder.cli.chat.conversation import Conversation, Options
from context_builder.cli.chat.lines import (
    Lines,
    PipedLines,
    PlainLines,
    TerminalLines,
    is_plain,
    is_terminal,
)
from context_builder.cli.chat.loop import INTERRUPTED, Chat
from context_builder.cli.chat.screen import Screen
from context_builder.cli.chat.tools import demo_tools
from context_builder.cli.chat.vendors import (
    HERE,
    VENDORS,
    Answerer,
    NoKeyError,
    chosen,
    keys_to_set,
    summarizer_for,
    without_secrets,
)
from context_builder.cli.errors import (
    CannotDoError,
    CommandError,
    InputError,
    as_command_error,
)
from context_builder.errors import ContextBuilderError
from context_builder.sessions import SessionKey
from context_builder.sessions.sqlite import default_path

__all__ = ["chat"]


def chat(
    *,
    model: Annotated[
        str | None,
        typer.Option(
            envvar="CONTEXT_BUILDER_MODEL",
            help="The model to ask. Otherwise a well-known one of the vendor.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            "--to",
            help=f"The vendor: {', '.join(VENDORS)}. Otherwise the model's, or the "
            "first that has a key.",
        ),
    ] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Another address of the vendor's interface.")
    ] = None,
    offline: Annotated[
        bool,
        typer.Option("--offline", help="Answer with a local scripted model: no key."),
    ] = False,
    session: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The session; one that is there goes on."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the session used last.")
    ] = False,
    store: Annotated[
        str,
        typer.Option(
            envvar="CONTEXT_BUILDER_STORE",
            help="sqlite:///file.db, sqlite: (in the user's state folder), "
            "redis://..., postgresql://..., or memory: (kept nowhere).",
        ),
    ] = "sqlite:",
    system: Annotated[str | None, typer.Option(help="The system prompt.")] = None,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="The budget of a request, in tokens.")
    ] = None,
    context_window: Annotated[
        int | None,
        typer.Option(min=1, help="The model's window, where it is not known."),
    ] = None,
    summary_model: Annotated[
        str | None,
        typer.Option(
            help="The model that writes summaries, of the vendor that is spoken to; "
            "where that is not OpenAI's interface, at OPENAI_BASE_URL or OpenAI's.",
        ),
    ] = None,
    tools: Annotated[
        bool,
        typer.Option(
            "--tools",
            help="Let the model use a clock, a calculator, and read notes.txt in the "
            "user's state folder.",
        ),
    ] = False,
) -> None:
    """Talk to a model, and look at what it sees."""
    with _in_one_line():
        who = _who(target, model, base_url, is_offline=offline)
        if session is not None:
            session = _as_typed(session)
            SessionKey(HERE, session)
            if resume:
                raise InputError(HERE, "--session names one: leave --resume out")
        options = Options(
            system_prompt=None if system is None else _as_typed(system),
            max_tokens=max_tokens,
            context_window=context_window,
            tools=tuple(demo_tools(default_path().with_name("notes.txt")))
            if tools
            else (),
            summarizer=None
            if summary_model is None
            else summarizer_for(summary_model, who),
        )
        code = _run(_talk(store, who, session, options, is_resumed=resume))
    if code:
        raise typer.Exit(code)


def _as_typed(text: str) -> str:
    """Return an argument as UTF-8, whatever the locale took its bytes for."""
    return os.fsencode(text).decode("utf-8", "replace")


def _who(
    target: str | None, model: str | None, base_url: str | None, *, is_offline: bool
) -> Answerer:
    """Return who answers.

    Raises:
        InputError: If nobody can be asked.
    """
    if not is_offline:
        return chosen(target, model, base_url)
    if target is not None or base_url is not None:
        raise InputError(
            HERE, "--offline asks nobody: leave --target and --base-url out"
        )
    return Answerer.offline()


async def _talk(
    store: str,
    who: Answerer,
    name: str | None,
    options: Options,
    *,
    is_resumed: bool,
) -> int:
    screen = Screen(is_interactive=is_terminal())
    conversation = Conversation(store, who, name=name or new_name(), options=options)
    try:
        found = (
            await conversation.sessions()
        )  # also finds out whether the store is there
        if is_resumed:
            if not found:
                raise CannotDoError(HERE, "there is no session to go on with")
            conversation.name = found[0].session_id
        return await Chat(conversation, screen, _lines).run()
    finally:
        await conversation.close()


def _lines(commands: tuple[str, ...], below: Callable[[], str]) -> Lines:
    """Return what reads the lines here."""
    if not is_terminal():
        return PipedLines()
    return PlainLines() if is_plain() else TerminalLines(commands, below=below)


def _run(talking: Coroutine[Any, Any, int]) -> int:
    """Run to the end; Ctrl-C raises where the loop has nothing of its own to stop."""
    if threading.current_thread() is not threading.main_thread():
        return asyncio.run(talking)
    # Where a line is waited for, Ctrl-C has to raise: asyncio would cancel, and wait.
    before = signal.signal(signal.SIGINT, _interrupt)
    try:
        return asyncio.run(talking)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        signal.signal(signal.SIGINT, before)


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def _in_one_line() -> Iterator[None]:
    """Say an error that people can mend in one line, and exit with its code."""
    try:
        yield
    except ContextBuilderError as error:
        _end(as_command_error(error, HERE))
    except CommandError as error:
        _end(error)


def _end(error: CommandError) -> NoReturn:
    typer.echo(without_secrets(f"error: {error}"), err=True)
    if isinstance(error, NoKeyError):
        typer.echo(keys_to_set(), err=True)
    raise typer.Exit(error.exit_code) from None
