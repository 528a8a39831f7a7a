"""Tells whether a process of this machine is gone, so that nobody waits for its lease.

A process is named by where it runs and by when it began: a number alone is given out
again. Whoever cannot be told of for sure is not gone: then its lease has to run out.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

__all__ = ["is_gone", "named_owner"]

_PROC = Path("/proc")
_ENDED = frozenset("ZX")
_BEGAN = 18
"""Which of the figures behind a process's state says when it began; see proc(5)."""


def named_owner(owner: str) -> str:
    """Return an owner's name with that of this process, where it has one."""
    process = _this_process(os.getpid())
    return owner if process is None else f"{owner}@{process}"


def is_gone(owner: str) -> bool:
    """Say whether the process of an owner ran here and has ended."""
    here = _here()
    place, _, process = owner.partition("@")[2].rpartition("/")
    number, _, began = process.partition(".")
    if here is None or place != here or not number.isdecimal():
        return False
    try:
        os.kill(int(number), 0)  # sends nothing: it asks whether there is one
    except ProcessLookupError:
        return True
    except OverflowError:
        return False
    except PermissionError:
        pass  # somebody else's: there is one
    now = _state(int(number))
    return now is not None and (now[0] in _ENDED or now[1] != began)


@functools.lru_cache(maxsize=1)
def _this_process(number: int) -> str | None:
    here, state = _here(), _state(number)
    return None if here is None or state is None else f"{here}/{number}.{state[1]}"


@functools.cache
def _here() -> str | None:
    """Return the name of this run of the machine and of what sees the same processes.

    None: there is no telling.
    """
    try:
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}.{(_PROC / 'self/ns/pid').stat().st_ino}"
    except OSError:
        return None


def _state(number: int) -> tuple[str, str] | None:
    """Return a process's state, and when it began; None: there is no telling."""
    try:
        text = (_PROC / f"{number}/stat").read_text(errors="replace")
    except OSError:
        return None
    state, *figures = text.rpartition(")")[2].split()
    return (state, figures[_BEGAN]) if len(figures) > _BEGAN else None
