"""Runs a call in a thread that nobody has to wait for."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from concurrent.futures import Future, InvalidStateError
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["begin"]

Value = TypeVar("Value")


def begin(call: Callable[[], Value]) -> Future[Value]:
    """Start a call in a thread of its own, in the caller's context.

    A pool would make the end of the program wait for a call that hangs; this thread is
    left behind.
    """
    future: Future[Value] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            value = context.run(call)
        except BaseException as error:  # a thread has nobody else to tell
            with contextlib.suppress(InvalidStateError):  # given up meanwhile
                future.set_exception(error)
        else:
            with contextlib.suppress(InvalidStateError):
                future.set_result(value)

    thread = threading.Thread(target=run, name="context-builder-call", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # no more threads, or the program is ending
        future.set_exception(error)
    return future
