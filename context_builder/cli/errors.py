"""The errors of the command line: one line for people, and an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar

import typer
from typer.core import TyperGroup

from context_builder.errors import ContextBuilderError, StoreError, UnknownModelError

__all__ = [
    "BY_BUDGET",
    "CannotDoError",
    "CommandError",
    "InputError",
    "Program",
    "as_command_error",
    "ended",
    "errors_in_one_line",
    "unknown_model",
]

BY_BUDGET = (
    "say how much it can hold with --context-window, or set a budget with --max-tokens"
)
"""What to do where a model is not known, and nothing but its window is wanted of it."""

_UsageError: Any = typer.BadParameter.__mro__[1]
"""What typer raises for an option that it does not understand; it does not say it."""
_NO_WORDS = "NoArgsIsHelpError"
"""Its kind where nothing was asked for at all: the answer is the help."""


class CommandError(Exception):
    """A command ends here: nothing was written."""

    exit_code: ClassVar[int] = 1

    def __init__(self, where: str, problem: str) -> None:
        super().__init__(" ".join(f"{where}: {problem}".split()))


class InputError(CommandError):
    """What was given cannot be used."""

    exit_code = 2


class CannotDoError(CommandError):
    """What was given is in order, but it cannot be done: over budget, not writable."""

    exit_code = 1


@contextmanager
def errors_in_one_line(where: str | None = None) -> Iterator[None]:
    """Say an error that people can mend in one line, and exit with its code.

    Args:
        where: What the library's own errors are about; None: they pass through.
    """
    try:
        yield
    except CommandError as error:
        raise ended(error) from None
    except ContextBuilderError as error:
        if where is None:
            raise
        raise ended(as_command_error(error, where)) from None


def ended(error: CommandError) -> typer.Exit:
    """Say an error, and return what ends the program."""
    typer.echo(f"error: {error}", err=True)
    return typer.Exit(error.exit_code)


def as_command_error(error: ContextBuilderError, where: str) -> CommandError:
    """Return an error of the library as one of a command."""
    if isinstance(error, UnknownModelError):
        return unknown_model(error, where)
    kind = CannotDoError if isinstance(error, StoreError) else InputError
    return kind(where, str(error))


def unknown_model(
    error: UnknownModelError, where: str, *, way_out: str = BY_BUDGET
) -> InputError:
    """Say that a model is not known, which ones are like it, and what to do."""
    names = ", ".join(error.close_matches)
    hint = f" (close to it: {names})" if names else ""
    return InputError(where, f"the model {error.model!r} is not known{hint}; {way_out}")


class Program(TyperGroup):
    """The commands; what is wrong with an option is said in one line as well."""

    def make_context(self, *args: Any, **named: Any) -> Any:
        """Read the words up to the command."""
        with _usage_in_one_line():
            return super().make_context(*args, **named)

    def invoke(self, ctx: Any) -> Any:
        """Read the words behind the command, and run it."""
        with _usage_in_one_line():
            return super().invoke(ctx)


@contextmanager
def _usage_in_one_line() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        if type(error).__name__ == _NO_WORDS:
            raise
        path = error.ctx.command_path if error.ctx else ""
        problem = error.format_message().rstrip(".")
        see = f"; see {path} --help" if path else ""
        where = path.partition(" ")[2] or path or "options"
        said = InputError(where, f"{problem[:1].lower()}{problem[1:]}{see}")
        raise ended(said) from None
