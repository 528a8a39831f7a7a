"""`context-builder sessions`: look at stored sessions, move them, delete them.

Reading asks for no lease, so a session can be looked at while somebody writes it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from context_builder.cli.errors import (
    CannotDoError,
    CommandError,
    InputError,
    ended,
)
from context_builder.cli.terminal import shown, shown_in_line
from context_builder.cli.write import deliver, to_json
from context_builder.errors import (
    ContextBuilderError,
    InvalidItemError,
    SessionCorruptedError,
    StoreError,
)
from context_builder.items import ContextItem
from context_builder.sessions import SessionInfo, SessionManager, Store
from context_builder.sessions.exchange import Document, read_document
from context_builder.sessions.files import FileSession
from context_builder.sessions.sqlite import SQLiteStore

__all__ = ["app"]

ANY_BUDGET = 10**9
"""A budget, in tokens, that no session exceeds: nothing is built here."""
STDIN = "-"
_HERE = "sessions"

app = typer.Typer(
    no_args_is_help=True,
    help="List, show, export, import and delete stored sessions.",
    rich_markup_mode=None,
)

SessionId = Annotated[str, typer.Argument(metavar="ID", help="The session's id.")]
Url = Annotated[
    str,
    typer.Option(
        "--store",
        envvar="CONTEXT_BUILDER_STORE",
        help="sqlite:///file.db, sqlite: (in the user's state folder), redis://..., or "
        "postgresql://...",
    ),
]
Namespace = Annotated[str, typer.Option(help="Whose sessions.")]
Key = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="A file with the encryption key, if the sessions are encrypted.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Data for programs, as JSON.")]
Out = Annotated[
    str | None, typer.Option(metavar="FILE", help="Write here, whole or not at all.")
]


@app.command("list")
def list_(
    *,
    url: Url = "sqlite:",
    namespace: Namespace = "default",
    after: Annotated[str | None, typer.Option(help="Begin behind this id.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="At most so many.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the sessions that are stored."""
    with _manager(url, namespace) as sessions:
        found = sessions.list(after=after, limit=limit)
    if as_json:
        deliver(to_json([_facts(info) for info in found]), None)
        return
    for info in found:
        name = shown_in_line(info.session_id)
        deliver(f"{_when(info.updated_at)}  {info.records:>7,}  {name}", None)


@app.command()
def show(
    session_id: SessionId,
    *,
    url: Url = "sqlite:",
    namespace: Namespace = "default",
    key_file: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show what came in, in order, each item with its text."""
    with _manager(url, namespace, key_file) as sessions:
        text = sessions.export(session_id)
        session = FileSession(max_tokens=ANY_BUDGET)
        session.read(read_document(text.encode(), name="the session"))
    if as_json:
        deliver(to_json([_item_facts(item) for item in session.items]), None)
        return
    for item in session.items:
        calls = "".join(f" [calls {call.name}]" for call in item.tool_calls)
        deliver(f"{item.id:<5} {item.role:<9} {shown(item.text)}{calls}", None)


@app.command()
def export(
    session_id: SessionId,
    *,
    url: Url = "sqlite:",
    namespace: Namespace = "default",
    key_file: Key = None,
    out: Out = None,
) -> None:
    """Print a session as JSONL, decrypted."""
    with _manager(url, namespace, key_file) as sessions:
        deliver(sessions.export(session_id).rstrip("\n"), out)


@app.command("import")
def import_(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="What `export` printed, or an object with `messages`. `-` reads "
            "standard input.",
        ),
    ],
    *,
    session_id: Annotated[
        str | None, typer.Option("--id", help="The id that it gets, if not its own.")
    ] = None,
    url: Url = "sqlite:",
    namespace: Namespace = "default",
    key_file: Key = None,
) -> None:
    """Store a session under an id that is not taken."""
    with _manager(url, namespace, key_file, creates=True) as sessions:
        raw = _read(source)
        document = _document(raw, source)
        if session_id is None and document.session_id is None:
            problem = "it does not say which session it was: give it a name with --id"
            raise InputError(source, problem)
        stored = sessions.import_(raw, session_id=session_id)
    typer.echo(f"stored {shown_in_line(stored)}", err=True)


@app.command()
def delete(
    session_ids: Annotated[list[str], typer.Argument(metavar="ID...")],
    *,
    url: Url = "sqlite:",
    namespace: Namespace = "default",
) -> None:
    """Delete sessions for good."""
    with _manager(url, namespace) as sessions:
        missing = [name for name in session_ids if not sessions.delete(name)]
    for session_id in missing:
        typer.echo(f"error: there is no session {shown_in_line(session_id)}", err=True)
    if missing:
        raise typer.Exit(CannotDoError.exit_code)


@contextmanager
def _manager(
    url: str, namespace: str, key_file: str | None = None, *, creates: bool = False
) -> Iterator[SessionManager]:
    """Open a store, and say an error that people can mend in one line.

    Args:
        url: The store.
        namespace: Whose sessions.
        key_file: Where the key lies, if they are encrypted.
        creates: Whether a file that is not there is made.
    """
    try:
        key = None if key_file is None else _read(key_file).decode("ascii").strip()
        with SessionManager(
            store=url,
            namespace=namespace,
            encryption_key=key,
            max_tokens=ANY_BUDGET,
        ) as sessions:
            if not creates:
                _require_file(sessions.store)
            yield sessions
    except (SessionCorruptedError, StoreError) as error:
        raise ended(CannotDoError(_HERE, str(error))) from None
    except (ContextBuilderError, UnicodeDecodeError) as error:
        field = error.field if isinstance(error, InvalidItemError) else "--key-file"
        raise ended(InputError(field, str(error))) from None
    except CommandError as error:
        raise ended(error) from None


def _require_file(store: Store) -> None:
    """Refuse a file that is not there, before it is made by looking for it.

    Raises:
        CannotDoError: If it is not there.
    """
    if isinstance(store, SQLiteStore) and not store.path.exists():
        problem = f"there is no file {str(store.path)!r}: no session was stored there"
        raise CannotDoError(_HERE, problem)


def _document(raw: bytes, source: str) -> Document:
    """Read a session that is to be stored.

    Raises:
        InputError: If it is none, or a record in it is damaged.
    """
    try:
        document = read_document(raw, name="it")
    except StoreError as error:
        raise InputError(source, str(error)) from error
    for damage in document.damage:
        raise InputError(source, f"record {damage.position}: {damage.reason}")
    return document


def _read(source: str) -> bytes:
    """Read a file.

    Raises:
        InputError: If it cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
    except OSError as error:
        raise InputError(source, error.strerror or str(error)) from error


def _facts(info: SessionInfo) -> dict[str, Any]:
    return {
        "session_id": info.session_id,
        "namespace": info.namespace,
        "records": info.records,
        "created_at": info.created_at,
        "updated_at": info.updated_at,
    }


def _item_facts(item: ContextItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "role": item.role,
        "source": item.source,
        "timestamp": item.timestamp,
        "text": item.text,
        "tool_calls": [
            {"id": call.id, "name": call.name, "arguments": call.arguments}
            for call in item.tool_calls
        ],
        "tool_call_id": item.tool_call_id,
    }


def _when(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, tz=UTC).isoformat(
        sep=" ", timespec="seconds"
    )
