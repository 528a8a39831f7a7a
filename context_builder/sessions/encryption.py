"""Encryption at rest: what a store is given says nothing without the key.

AES-256-GCM from `cryptography`. Every session has a key of its own, derived from yours,
and every record is bound to its place, so that records cannot be moved about. Session
ids, times and sizes are not hidden.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
from typing import TYPE_CHECKING, Any

from context_builder.errors import InvalidItemError, StoreError
from context_builder.unicode import quoted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from context_builder.sessions.store import SessionKey

__all__ = ["Cipher", "EncryptionKey", "SessionCipher", "generate_key"]

EncryptionKey = str | bytes
"""32 bytes, or these bytes in urlsafe base64."""

KEY_BYTES = 32
NONCE_BYTES = 12


def generate_key() -> str:
    """Return a new random key, as text that can be kept with other secrets."""
    return base64.urlsafe_b64encode(os.urandom(KEY_BYTES)).decode("ascii")


class Cipher:
    """Holds the keys: the first one seals, all of them open.

    Raises:
        InvalidItemError: If a key is not one.
        StoreError: If `cryptography` is not installed.
    """

    def __init__(self, keys: EncryptionKey | Sequence[EncryptionKey]) -> None:
        given = [keys] if isinstance(keys, str | bytes) else list(keys)
        if not given:
            message = "encryption_key needs at least one key"
            raise InvalidItemError(message, field="encryption_key")
        self._modules = _import_cryptography()
        self._keys = {_name(key): key for key in map(_key_bytes, given)}

    def for_session(self, key: SessionKey) -> SessionCipher:
        """Return the cipher of one session."""
        place = len(key.raw_namespace).to_bytes(4, "big")
        place += key.raw_namespace + key.raw_id
        return SessionCipher(
            {name: self._derived(master, place) for name, master in self._keys.items()}
        )

    def _derived(self, master: bytes, place: bytes) -> Any:
        hashes, hkdf, aead = self._modules
        derive = hkdf.HKDF(
            algorithm=hashes.SHA256(),
            length=KEY_BYTES,
            salt=None,
            info=b"context_builder session" + place,
        )
        return aead.AESGCM(derive.derive(master))


class SessionCipher:
    """Seals and opens the records of one session."""

    def __init__(self, keys: dict[str, Any]) -> None:
        self._keys = keys
        self._sealing = next(iter(keys))

    def seal(self, text: bytes, *, position: int) -> tuple[str, bytes]:
        """Return the name of the key, and the sealed bytes."""
        nonce = os.urandom(NONCE_BYTES)
        sealed = self._keys[self._sealing].encrypt(nonce, text, b"%d" % position)
        return self._sealing, nonce + sealed

    def open(self, name: str, sealed: bytes, *, position: int) -> bytes | None:
        """Return the bytes that were sealed at that place; None if they are not those.

        Raises:
            StoreError: If they were sealed with a key that is not here.
        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415

        if name not in self._keys:
            message = (
                f"a record is sealed with the key {quoted(name)}, which was not given"
            )
            raise StoreError(message)
        nonce, rest = sealed[:NONCE_BYTES], sealed[NONCE_BYTES:]
        try:
            opened: bytes = self._keys[name].decrypt(nonce, rest, b"%d" % position)
        except (InvalidTag, ValueError):
            return None
        return opened


def _key_bytes(key: EncryptionKey) -> bytes:
    raw = key
    if isinstance(raw, str):
        try:
            raw = base64.b64decode(raw, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raw = b""
    if len(raw) != KEY_BYTES:
        message = (
            "an encryption key is 32 bytes, or these in urlsafe base64; generate_key() "
            "makes one"
        )
        raise InvalidItemError(message, field="encryption_key")
    return raw


def _name(key: bytes) -> str:
    return hashlib.sha256(b"context_builder key name" + key).hexdigest()[:8]


def _import_cryptography() -> tuple[Any, Any, Any]:
    try:
        from cryptography.hazmat.primitives import hashes  # noqa: PLC0415
        from cryptography.hazmat.primitives.ciphers import aead  # noqa: PLC0415
        from cryptography.hazmat.primitives.kdf import hkdf  # noqa: PLC0415
    except ModuleNotFoundError as error:
        message = (
            "encryption at rest needs cryptography: "
            "pip install 'context-builder[encryption]'"
        )
        raise StoreError(message) from error
    return hashes, hkdf, aead
