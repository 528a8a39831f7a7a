"""Sessions as JSONL, to carry them from store to store or to keep one in a file.

The first line says what it is; every other line is a record, as stores keep it, with
its version and its checksum. Older shapes are read as well: what `ContextBuilder.dump`
returns, `{"messages": [...]}`, and a list of messages.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

from context_builder.errors import SessionCorruptedError, StoreError
from context_builder.sessions.codec import Damage, DamagedError, RecordCodec, to_json
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["Document", "read_document", "write_document"]

SCHEMA = "context_builder.session"
DUMP_SCHEMA = "context_builder.log"
EXCHANGE_VERSION = 1


@dataclasses.dataclass(frozen=True, slots=True)
class Document:
    """A session in a file, read."""

    session_id: str | None = None
    bodies: tuple[dict[str, Any], ...] = ()
    """What the records say that could be read, in order."""
    messages: tuple[object, ...] = ()
    """Of an older shape that holds messages only."""
    damage: tuple[Damage, ...] = ()
    """Records that could not be read."""


def write_document(bodies: Iterable[bytes], *, session_id: str | None = None) -> bytes:
    """Write a session; the bodies are as `to_json` wrote them."""
    codec = RecordCodec()
    lines = [
        codec.encode(body, position=position) for position, body in enumerate(bodies)
    ]
    head = {
        "schema": SCHEMA,
        "version": EXCHANGE_VERSION,
        "session_id": session_id,
        "records": len(lines),
    }
    return b"".join(line + b"\n" for line in (to_json(head), *lines))


def read_document(text: bytes, *, name: str) -> Document:
    """Read a session in any shape that has ever been written.

    Args:
        text: The file.
        name: What to call it in errors.

    Raises:
        SessionCorruptedError: If nothing in it can be read.
        StoreError: If it is something else, or of a later version.
    """
    text = text.removeprefix(b"\xef\xbb\xbf")  # some editors put it there
    first, _, rest = text.partition(b"\n")
    head = _parsed(first)
    if not isinstance(head, dict) or "schema" not in head:
        return _older(_parsed(text), text, name=name)
    _require_known(head, name)
    if head["schema"] == DUMP_SCHEMA:
        return _dumped([_parsed(line) for line in rest.splitlines() if line.strip()])
    session_id = head.get("session_id")
    return _records(
        [line for line in rest.split(b"\n") if line.strip()],
        expected=head.get("records"),
        session_id=session_id if isinstance(session_id, str) else None,
        name=name,
    )


def _records(
    lines: Sequence[bytes], *, expected: object, session_id: str | None, name: str
) -> Document:
    codec = RecordCodec()
    bodies, damage = [], []
    for position, line in enumerate(lines):
        try:
            bodies.append(codec.decode(line.rstrip(b"\r"), position=position))
        except DamagedError as error:
            damage.append(Damage(position, str(error)))
    if isinstance(expected, int) and len(lines) < expected:
        missing = expected - len(lines)
        damage.append(Damage(len(lines), f"{missing} records are missing from here on"))
    if damage and not bodies:
        raise _corrupted(name, damage[0].position, damage[0].reason)
    return Document(session_id, tuple(bodies), damage=tuple(damage))


def _dumped(entries: Sequence[Any]) -> Document:
    bodies, damage = [], []
    for position, entry in enumerate(entries):
        if isinstance(entry, dict):
            bodies.append({"entry": entry})
        else:
            damage.append(Damage(position, "it is cut off, or no entry at all"))
    return Document(bodies=tuple(bodies), damage=tuple(damage))


def _older(value: Any, text: bytes, *, name: str) -> Document:
    """Read a file without our first line."""
    if isinstance(value, list) and value and _is_dump_head(value[0]):
        _require_known(value[0], name)
        return _dumped(value[1:])
    messages = value.get("messages") if isinstance(value, dict) else value
    if isinstance(messages, list):
        return Document(messages=tuple(messages))
    if value is None:
        reason = (
            "it is cut off, or no JSON" if text.strip(b"\0\r\n\t ") else "it is empty"
        )
        raise _corrupted(name, 0, reason)
    message = (
        f"{name} is no session: it is neither what save_session() and `sessions "
        "export` write, nor an object with `messages`"
    )
    raise StoreError(message)


def _is_dump_head(value: object) -> bool:
    return isinstance(value, dict) and value.get("schema") == DUMP_SCHEMA


def _require_known(head: Mapping[str, Any], name: str) -> None:
    if head["schema"] not in (SCHEMA, DUMP_SCHEMA):  # it may be a list
        message = f"{name} is no session: its schema is {quoted(head['schema'])}"
        raise StoreError(message)
    version = head.get("version")
    if not isinstance(version, int) or version > EXCHANGE_VERSION:
        message = (
            f"{name} has version {quoted(version)}; this version of context_builder "
            f"reads up to {EXCHANGE_VERSION}: upgrade it"
        )
        raise StoreError(message)


def _parsed(text: bytes) -> Any:
    """Return what JSON says; None if it is not JSON, which has no other use here."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _corrupted(name: str, position: int, reason: str) -> SessionCorruptedError:
    message = f"nothing of {name} can be read: {reason} (record {position})"
    return SessionCorruptedError(message, session_id=name, position=position)
