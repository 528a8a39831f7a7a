"""The errors of the command line: one line for people, and an exit code."""

from __future__ import annotations

from typing import ClassVar

__all__ = ["CannotDoError", "CommandError", "InputError"]


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
