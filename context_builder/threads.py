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


def begin(
    call: Callable[[], Value],
    *,
    name: str = "call",
    caught: Callable[[BaseException], Value] | None = None,
) -> Future[Value]:
    """Start a call in a thread of its own, in the caller's context.

    A pool would make the end of the program wait for a call that hangs; this thread is
    left behind.

    Args:
        call: What to call.
        name: What the thread is for.
        caught: Makes a result of what the call raised, or of there being no thread for
            it; None: whoever asks for the result is raised it.
    """
    future: Future[Value] = Future()
    context = contextvars.copy_context()

    def fail(error: BaseException) -> None:
        if caught is None:
            future.set_exception(error)
        else:
            future.set_result(caught(error))

    def run() -> None:
        with contextlib.suppress(InvalidStateError):  # given up meanwhile
            try:
                value = context.run(call)
            except BaseException as error:  # a thread has nobody else to tell
                fail(error)
            else:
                future.set_result(value)

    thread = threading.Thread(target=run, name=f"context-builder-{name}", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # no more threads, or the program is ending
        fail(error)
    return future
