"""Writes results: whole or not at all, in UTF-8 whatever the locale says."""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path

from context_builder.cli.errors import CannotDoError

__all__ = ["deliver", "to_json"]

STDOUT = "-"
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def to_json(value: object, *, compact: bool = False) -> str:
    """Say a value as JSON that people can read: indented, with letters as letters."""
    text = json.dumps(
        value,
        ensure_ascii=False,
        indent=None if compact else 2,
        separators=(",", ":") if compact else None,
        allow_nan=False,
    )
    # Half a character cannot be written in UTF-8; JSON has an escape for it.
    return LONE_SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", text)


def deliver(text: str, out: str | None) -> None:
    """Write a text and a final line break to a file, or to standard output.

    Raises:
        CannotDoError: If the file cannot be written; it is then as it was before.
    """
    raw = text.encode("utf-8", "replace") + b"\n"
    out = out or STDOUT
    try:
        if out == STDOUT:
            sys.stdout.buffer.write(raw)
            sys.stdout.buffer.flush()
        else:
            _replace(Path(out), raw)
    except BrokenPipeError:
        raise  # whoever reads has read enough, which is no error to speak of
    except OSError as error:
        where = "<stdout>" if out == STDOUT else out
        raise CannotDoError(where, error.strerror or str(error)) from error


def _replace(path: Path, raw: bytes) -> None:
    path = path.resolve()  # through a link, to the file that is meant
    if path.exists() and not path.is_file():
        path.write_bytes(raw)  # a device or a pipe cannot be replaced
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(
        dir=path.parent, prefix=".context-builder.", delete=False
    ) as beside:
        try:
            beside.write(raw)
            beside.flush()
            os.fsync(beside.fileno())
            Path(beside.name).chmod(_mode_for(path))
            Path(beside.name).replace(path)
        except BaseException:
            Path(beside.name).unlink(missing_ok=True)
            raise


def _mode_for(path: Path) -> int:
    """Keep an existing file's permissions; a new one gets the usual ones."""
    if path.exists():
        return path.stat().st_mode & 0o777
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask
