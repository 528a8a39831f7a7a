"""How a record is written: one line of JSON with a version and a checksum.

    {"v":1,"log":1,"sum":"<blake2b, 8 bytes>","body":{"at":4,"entry":{...}}}

The body says what happened: an entry of the log, or a note of the session's own. `at`
is how many items the log had before it, so that a lost record leaves a gap that is
seen. Sealed, `"key"` and `"sealed"` stand in for the body. Text is UTF-8 that people
can read; only half characters, which UTF-8 does not have, are escaped.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import re
from typing import TYPE_CHECKING, Any

from context_builder.collect import LOG_VERSION
from context_builder.errors import InvalidItemError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_builder.sessions.encryption import SessionCipher

__all__ = ["MIGRATIONS", "RECORD_VERSION", "Damage", "DamagedError", "RecordCodec"]

RECORD_VERSION = 1
"""The version of the records that are written. Earlier ones are read."""

Body = dict[str, Any]
"""What a record says."""

MIGRATIONS: Mapping[int, Callable[[Body], Body]] = {}
"""For each earlier version, what makes the next one of a body."""

_HALF_CHARACTER = re.compile("[\ud800-\udfff]")
_LINE = re.compile(
    rb'\{("v":(\d{1,9}),"log":(\d{1,9})),"sum":"([0-9a-f]{16})",(.*)\}', re.DOTALL
)


@dataclasses.dataclass(frozen=True, slots=True)
class Damage:
    """A record that cannot be read. It was set aside; the others were not."""

    position: int
    """Its place among the session's records, from 0."""
    reason: str
    """What is wrong with it, without its content."""


class DamagedError(Exception):
    """A record cannot be read; the message says why. Never leaves this package."""


class RecordCodec:
    """Writes and reads the records of one session.

    Args:
        cipher: Seals what is written; None: everybody may read it.
        migrations: As `MIGRATIONS`.
    """

    def __init__(
        self,
        cipher: SessionCipher | None = None,
        *,
        migrations: Mapping[int, Callable[[Body], Body]] = MIGRATIONS,
    ) -> None:
        self._cipher = cipher
        self._migrations = migrations

    def encode(self, body: bytes, *, position: int) -> bytes:
        """Return the record that says `body`, which `to_json` wrote."""
        if self._cipher is None:
            payload = b'"body":' + body
        else:
            name, sealed = self._cipher.seal(body, position=position)
            text = base64.b64encode(sealed)
            payload = b'"key":"%s","sealed":"%s"' % (name.encode(), text)
        head = b'"v":%d,"log":%d' % (RECORD_VERSION, LOG_VERSION)
        return b'{%s,"sum":"%s",%s}' % (head, _checksum(head, payload), payload)

    def decode(self, record: bytes | None, *, position: int) -> Body:
        """Return what a record says, in the current version.

        Raises:
            DamagedError: If it is not as it was written.
            StoreError: If it is of a later version, or its key is not here.
        """
        found = None if record is None else _LINE.fullmatch(record)
        if found is None:
            message = "it is missing, cut off, or no record at all"
            raise DamagedError(message)
        head, version, log_version, checksum, payload = found.groups()
        if _checksum(head, payload) != checksum:
            message = "its checksum does not fit"
            raise DamagedError(message)
        _require_known(int(version), int(log_version))
        return self._migrated(self._body(payload, position), int(version))

    def _body(self, payload: bytes, position: int) -> Body:
        try:
            said = json.loads(b"{%s}" % payload)
        except (ValueError, RecursionError):  # not JSON, not UTF-8, or a bomb
            message = "it is not JSON"
            raise DamagedError(message) from None
        if "sealed" in said:
            said = {"body": self._unsealed(said, position)}
        body = said.get("body")
        if not isinstance(body, dict):
            message = "it says nothing"
            raise DamagedError(message)
        return body

    def _unsealed(self, said: Mapping[str, Any], position: int) -> Any:
        if self._cipher is None:
            message = "the session is encrypted; pass encryption_key"
            raise StoreError(message)
        try:
            sealed = base64.b64decode(said["sealed"])
            opened = self._cipher.open(str(said.get("key")), sealed, position=position)
            return None if opened is None else json.loads(opened)
        except (binascii.Error, RecursionError, TypeError, ValueError):
            return None

    def _migrated(self, body: Body, version: int) -> Body:
        for earlier in range(version, RECORD_VERSION):
            body = self._migrations[earlier](body)
        return body


def to_json(value: object) -> bytes:
    """Write a value as JSON that people can read, on one line.

    Raises:
        InvalidItemError: If JSON cannot say it.
    """
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        message = f"a session keeps what JSON can say: {error}"
        raise InvalidItemError(message, field="content") from None
    if not text.isascii():
        text = _HALF_CHARACTER.sub(lambda half: f"\\u{ord(half[0]):04x}", text)
    return text.encode()


def has_half_characters(body: bytes) -> bool:
    """Say whether `to_json` may have had to escape something."""
    return b"\\ud" in body


def _checksum(head: bytes, payload: bytes) -> bytes:
    """Return the checksum, which later versions have to work out the same way."""
    return hashlib.blake2b(head + b"," + payload, digest_size=8).hexdigest().encode()


def _require_known(version: int, log_version: int) -> None:
    """Refuse what a later version wrote, rather than to misread it.

    Raises:
        StoreError: If it is of a later version.
    """
    if version > RECORD_VERSION or log_version > LOG_VERSION:
        message = (
            f"the session was written by a later version of context_builder (record "
            f"{version}, log {log_version}; this one reads up to {RECORD_VERSION} and "
            f"{LOG_VERSION}): upgrade it"
        )
        raise StoreError(message)
