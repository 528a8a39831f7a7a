from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder.errors import InvalidItemError, StoreError
from context_builder.sessions import SessionKey
from context_builder.sessions.codec import DamagedError, RecordCodec, to_json
from context_builder.sessions.encryption import Cipher, generate_key

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | ANY_TEXT,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(ANY_TEXT, inner, max_size=3)
    ),
    max_leaves=8,
)
KEY = SessionKey("default", "s")
PLAIN = RecordCodec()
SEALED = RecordCodec(Cipher(generate_key()).for_session(KEY))


def halves_joined(value: Any) -> Any:
    """Return a value as JSON brings it back: halves side by side are one character."""
    return json.loads(json.dumps(value))


@pytest.mark.parametrize("codec", [PLAIN, SEALED], ids=["plain", "sealed"])
@given(body=st.dictionaries(ANY_TEXT, JSON, max_size=4), position=st.integers(0, 2**40))
def test_a_record_says_what_was_put_in(
    codec: RecordCodec, body: dict[str, Any], position: int
) -> None:
    """Any text survives, half characters too; a record is one line of strict UTF-8."""
    record = codec.encode(to_json(body), position=position)
    record.decode("utf-8")
    assert b"\n" not in record
    assert isinstance(json.loads(record), dict)
    assert codec.decode(record, position=position) == halves_joined(body)


@pytest.mark.parametrize("codec", [PLAIN, SEALED], ids=["plain", "sealed"])
@given(data=st.data())
def test_any_damage_is_noticed(codec: RecordCodec, data: st.DataObject) -> None:
    """A record that was cut, or changed in any byte, is never taken for a good one."""
    record = codec.encode(to_json({"at": 0, "text": "尺寸 and size"}), position=3)
    spoilt = bytearray(record)
    where = data.draw(st.integers(0, len(record) - 1))
    if data.draw(st.booleans()):
        spoilt[where] ^= data.draw(st.integers(1, 255))
    else:
        del spoilt[where:]
    try:
        codec.decode(bytes(spoilt), position=3)
    except DamagedError:
        return
    pytest.fail("damage went unnoticed")


def test_text_is_readable() -> None:
    """People can read a record: no escaped Chinese; only half characters are."""
    record = PLAIN.encode(to_json({"text": "尺寸 📦 \ud83d"}), position=0).decode()
    assert "尺寸 📦 \\ud83d" in record


def test_what_json_cannot_say_is_refused() -> None:
    """By its kind, not by its content."""
    with pytest.raises(InvalidItemError) as caught:
        to_json({"walnut": {1}})
    assert "walnut" not in str(caught.value)
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(InvalidItemError):
        to_json(circle)


def test_records_of_the_first_release_are_read() -> None:
    """This line was written by the first release, and will always be read."""
    line = (
        b'{"v":1,"log":1,"sum":"f5d2fa1bb5dd808a","body":{"at":0,"entry":{"entry":"item",'
        b'"item":{"role":"user","content":"hello","id":"i1","priority":90}}}}'
    )
    body = PLAIN.decode(line, position=0)
    assert body["entry"]["item"]["content"] == "hello"


def test_earlier_records_are_migrated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of a version is taken in turn."""
    record = PLAIN.encode(to_json({"text": "a"}), position=0)
    monkeypatch.setattr("context_builder.sessions.codec.RECORD_VERSION", 3)
    codec = RecordCodec(
        migrations={
            1: lambda body: body | {"two": 1},
            2: lambda body: body | {"three": 1},
        }
    )
    assert codec.decode(record, position=0) == {"text": "a", "two": 1, "three": 1}
    assert json.loads(codec.encode(b"{}", position=0))["v"] == 3


@pytest.mark.parametrize("name", ["RECORD_VERSION", "LOG_VERSION"])
def test_records_of_later_releases_are_refused(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Rather than to be misread, or taken for damaged."""
    with monkeypatch.context() as later:
        later.setattr(f"context_builder.sessions.codec.{name}", 99)
        record = PLAIN.encode(b"{}", position=0)
    with pytest.raises(StoreError, match=r"later version.*upgrade"):
        PLAIN.decode(record, position=0)
