"""One session in one file, for programs that need no manager.

A file is written beside the old one and takes its place in one step, so that a crash
leaves either the one or the other. It is UTF-8 whatever the locale says, and holds the
full log, not what the model was shown of it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.builder import ContextBuilder, SystemPrompt
from context_builder.collect import entry_from_dict
from context_builder.collect.bounds import check_entry
from context_builder.errors import InvalidItemError, SessionCorruptedError, StoreError
from context_builder.logs import log_event
from context_builder.sessions.codec import Damage, to_json
from context_builder.sessions.exchange import Document, read_document, write_document
from context_builder.sessions.journal import at_of, bodies_of, replay
from context_builder.sessions.sqlite import default_path

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.sessions.redaction import Redactor
    from context_builder.settings import Settings

__all__ = ["FileSession", "importable", "load_session", "save_session"]

AnyPath = str | os.PathLike[str]

_ANY_BUDGET = 10**9
"""A budget, in tokens, that no session exceeds: nothing is built of it."""


class FileSession(ContextBuilder):
    """A builder whose log was read from a file. `load_session` makes it."""

    is_new = True
    """Whether there was no file."""
    damage: tuple[Damage, ...] = ()
    """What the file had that could not be read; it was set aside."""
    _source: Path | None = None

    @property
    def source(self) -> Path | None:
        """The file that it was read from."""
        return self._source

    def read(self, document: Document, source: Path | None = None) -> None:
        """Take in what a file says.

        Raises:
            InvalidItemError: If it holds messages that are none, or passes a limit.
            StoreError: If it has entries of a later version.
        """
        self.is_new = False
        self._source = source
        damage = list(document.damage)
        for position, body in enumerate(document.bodies):
            if "entry" not in body:
                continue
            try:
                entry = entry_from_dict(body["entry"])
            except InvalidItemError as error:
                if error.field == "entry" and isinstance(error.value, str):
                    raise StoreError(str(error)) from None
                damage.append(Damage(position, f"it is no entry ({error.field})"))
                continue
            check_entry(entry, self._item_limits, present=self._log.item_count)
            try:
                replay(self._append, self._log, at_of(body), entry)
            except InvalidItemError as error:
                damage.append(Damage(position, f"it is no entry ({error.field})"))
        self._hook_state.loaded = self.revision
        if document.messages:
            self.extend(document.messages)
        self.damage = tuple(damage)


def default_file() -> Path:
    """Return the file in the user's state folder where a session lies by default.

    Raises:
        StoreError: If `platformdirs` is not installed.
    """
    return default_path().with_name("session.jsonl")


def load_session(
    path: AnyPath | None = None,
    *,
    system_prompt: SystemPrompt | None = None,
    tools: Iterable[object] | None = None,
    **settings: Any,
) -> FileSession:
    """Return a builder with the session in a file; a new one if there is no file.

    Args:
        path: The file; None: `session.jsonl` in the user's state folder.
        system_prompt: Takes the place of the one in the file.
        tools: Take the place of those in the file.
        **settings: As for `ContextBuilder`.

    Raises:
        SessionCorruptedError: If nothing in the file can be read. It stays as it is.
        StoreError: If the file is something else, or cannot be read.
    """
    path = default_file() if path is None else Path(path)
    session = FileSession(**settings)
    text = _read(path)
    if text is not None:
        try:
            session.read(read_document(text, name=repr(str(path))), path)
        except InvalidItemError as error:
            message = f"{str(path)!r} holds messages that are none, or too large"
            message = f"{message}: {error}"
            raise StoreError(message) from None
    if system_prompt is not None:
        session.add_system_prompt(system_prompt)
    if tools is not None:
        session.set_tools(tools)
    _tell(session, path)
    return session


def save_session(ctx: ContextBuilder, path: AnyPath | None = None) -> Path:
    """Write a session to a file, whole or not at all. Parent folders are made.

    A file that could not be read in full is kept beside it, as `*.damaged`.

    Returns:
        The file.

    Raises:
        StoreError: If it cannot be written; the file is then as it was before.
    """
    path = default_file() if path is None else Path(path)
    text = write_document(bodies_of(list(ctx.log)))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(ctx, FileSession) and ctx.damage and ctx.source == path:
            _keep_aside(path)
            ctx.damage = ()
        _replace(path, text)
    except OSError as error:
        message = f"cannot write {str(path)!r}: {error.strerror or error}"
        raise StoreError(message) from error
    return path


def importable(
    document: Document,
    session_id: str,
    redactor: Redactor | None,
    settings: Settings | None = None,
) -> list[bytes]:
    """Return what a store can be given of a document, checked and redacted.

    Raises:
        InvalidItemError: If it holds messages that are none, or passes a limit.
        SessionCorruptedError: If a record in it is damaged.
        StoreError: If it has entries of a later version.
    """
    checked = FileSession(max_tokens=_ANY_BUDGET, settings=settings)
    checked.read(document)
    if checked.damage:
        first = checked.damage[0]
        message = f"record {first.position} of what was imported: {first.reason}"
        raise SessionCorruptedError(
            message, session_id=session_id, position=first.position
        )
    notes = [to_json(body) for body in document.bodies if "note" in body]
    entries = list(checked.log)
    if redactor is not None:
        entries = [redactor.entry(entry) for entry in entries]
    return bodies_of(entries) + notes


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        message = f"cannot read {str(path)!r}: {error.strerror or error}"
        raise StoreError(message) from error


def _tell(session: FileSession, path: Path) -> None:
    for damage in session.damage:
        log_event(
            "session_damaged",
            level=logging.WARNING,
            path=str(path),
            position=damage.position,
            reason=damage.reason,
        )


def _keep_aside(path: Path) -> None:
    aside = path.with_name(f"{path.name}.damaged")
    if path.exists() and not aside.exists():
        _replace(aside, path.read_bytes())


def _replace(path: Path, text: bytes) -> None:
    path = path.resolve()  # through a link, to the file that is meant
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name[:64]}.")
    beside = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            beside.chmod(path.stat().st_mode & 0o777)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    _flush_folder(path.parent)


def _flush_folder(folder: Path) -> None:
    """Make the new name outlive a power cut; not every system lets us."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
