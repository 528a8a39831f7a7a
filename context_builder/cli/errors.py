"""The errors of the command line: one line for people, and an exit code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import typer

from context_builder.errors import ContextBuilderError, StoreError, UnknownModelError

__all__ = [
    "CannotDoError",
    "CommandError",
    "InputError",
    "as_command_error",
    "ended",
    "errors_in_one_line",
]


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
        return InputError(
            where,
            f"the model {error.model!r} is not known; say how much it can hold with "
            "--context-window, or set a budget with --max-tokens",
        )
    kind = CannotDoError if isinstance(error, StoreError) else InputError
    return kind(where, str(error))
