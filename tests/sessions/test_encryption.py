from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from context_builder.errors import InvalidItemError, StoreError
from context_builder.sessions import SessionKey, SessionManager, generate_key
from context_builder.sessions.codec import DamagedError, RecordCodec
from context_builder.sessions.encryption import Cipher

if TYPE_CHECKING:
    from pathlib import Path

OLD, NEW = generate_key(), generate_key()
A, B = SessionKey("default", "a"), SessionKey("default", "b")


def test_nothing_readable_is_stored(tmp_path: Path) -> None:
    """With a key, the store holds no word of what was said."""
    url = f"sqlite:///{tmp_path}/s.db"
    with SessionManager(max_tokens=999, store=url, encryption_key=OLD) as sessions:
        with sessions.open("s") as ctx:
            ctx.add_user_message("walnut")
        assert not any(b"walnut" in path.read_bytes() for path in tmp_path.iterdir())
        assert "walnut" in sessions.export("s")
    with (
        SessionManager(max_tokens=999, store=url, encryption_key=OLD) as again,
        again.open("s") as ctx,
    ):
        assert ctx.items[0].content == "walnut"


@pytest.mark.parametrize("key", [None, NEW], ids=["none", "another"])
def test_a_wrong_key_is_no_damage(tmp_path: Path, key: str | None) -> None:
    """A session is refused, not opened empty and overwritten."""
    url = f"sqlite:///{tmp_path}/s.db"
    with (
        SessionManager(max_tokens=999, store=url, encryption_key=OLD) as sessions,
        sessions.open("s") as ctx,
    ):
        ctx.add_user_message("walnut")
    with SessionManager(max_tokens=999, store=url, encryption_key=key) as sessions:
        with pytest.raises(StoreError, match="key"), sessions.open("s"):
            pass
        with pytest.raises(StoreError, match="key"):
            sessions.export("s")


def test_keys_can_be_changed(tmp_path: Path) -> None:
    """The first key seals, all of them open."""
    url = f"sqlite:///{tmp_path}/s.db"
    for keys in ([OLD], [NEW, OLD]):
        with (
            SessionManager(max_tokens=999, store=url, encryption_key=keys) as sessions,
            sessions.open("s") as ctx,
        ):
            ctx.add_user_message("text")
    with (
        SessionManager(
            max_tokens=999, store=url, encryption_key=[OLD, NEW]
        ) as sessions,
        sessions.open("s") as ctx,
    ):
        assert len(ctx.items) == 2


def test_records_cannot_be_moved() -> None:
    """A sealed record is good in its session and its place only."""
    cipher = Cipher(OLD)
    record = RecordCodec(cipher.for_session(A)).encode(b'{"x":1}', position=4)
    assert RecordCodec(cipher.for_session(A)).decode(record, position=4) == {"x": 1}
    for key, position in ((A, 5), (B, 4)):
        with pytest.raises(DamagedError):
            RecordCodec(cipher.for_session(key)).decode(record, position=position)


def test_the_same_text_is_sealed_differently() -> None:
    """Equal records do not look equal."""
    codec = RecordCodec(Cipher(OLD).for_session(A))
    assert codec.encode(b"{}", position=0) != codec.encode(b"{}", position=0)


@pytest.mark.parametrize("bad", ["", "short", b"short", [], "!" * 44])
def test_what_is_no_key(bad: str) -> None:
    """A bad key is refused, and not repeated."""
    with pytest.raises(InvalidItemError, match="key"):
        Cipher(bad)


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package the error says what to install."""
    for name in [name for name in sys.modules if name.startswith("cryptography")]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    with pytest.raises(StoreError, match=r"context-builder\[encryption\]"):
        Cipher(OLD)
