"""Reads transcripts: a list of messages, an object that holds one, or JSONL of both.

An object may be a whole request to any vendor, or a record that has one as `request`.

It checks the shape around the messages and says where it is wrong: file, line, field.
What a message has to be is checked by `collect`, when the messages are taken in.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from context_builder.cli.errors import InputError

__all__ = ["Transcript", "TranscriptFile"]

STDIN = "-"
JSONL_SUFFIXES = {".jsonl", ".ndjson"}
JSON_TYPES = {
    bool: "a boolean",
    dict: "an object",
    list: "a list",
    str: "a text",
    type(None): "null",
}
IDS_SHOWN = 5
_MOST_DIGITS = 10
"""Of a record's number."""
OTHER_SHAPES = {"contents": "gemini", "input": "openai-responses"}
"""Where requests without `messages` have their conversation, and whose they are."""


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation as it was read."""

    where: str
    """The file, and in JSONL the line, for messages to people."""
    id: str
    """The record's own `id`; without one its number, from 1."""
    body: dict[str, Any]
    """The object with `messages`; a list alone is read as the object around it."""

    @property
    def messages(self) -> list[dict[str, Any]]:
        """The messages, as they were read.

        Raises:
            InputError: If it is a request to a vendor that has none.
        """
        if "messages" not in self.body:
            field, vendor = _other_shape(self.body)
            raise InputError(
                self.where,
                f"messages: missing; with {field} it is a request to {vendor}: "
                f"see `convert --from {vendor}`",
            )
        messages: list[dict[str, Any]] = self.body["messages"]
        return messages

    @property
    def format(self) -> str | None:
        """The format that the shape gives away; None: one that has `messages`."""
        return None if "messages" in self.body else _other_shape(self.body)[1]

    @property
    def tools(self) -> list[dict[str, Any]] | None:
        """The tool definitions, if there are any."""
        return self.body.get("tools")

    @property
    def model(self) -> str | None:
        """The model that the record names, if it does."""
        model = self.body.get("model")
        return model if isinstance(model, str) else None


@dataclass(frozen=True, slots=True)
class TranscriptFile:
    """The records of one file. They are parsed one by one, as they are asked for."""

    name: str
    records: tuple[tuple[int | None, str], ...]
    """Line number (None where the file is one document) and text."""

    @classmethod
    def read(cls, source: str) -> TranscriptFile:
        """Read a file, or standard input for `-`.

        Raises:
            InputError: If it cannot be read, is empty, or is not UTF-8.
        """
        name = "<stdin>" if source == STDIN else source
        text = _decode(_read_bytes(source, name), name)
        if not text.strip():
            raise InputError(name, "nothing in it")
        if not _is_jsonl(name, text):
            return cls(name, ((None, text),))
        lines = enumerate(text.split("\n"), start=1)
        return cls(name, tuple((n, line) for n, line in lines if line.strip()))

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Transcript]:
        for number, (line, text) in enumerate(self.records, start=1):
            yield _to_transcript(self.name, line, text, number)

    def only(self, record_id: str | None) -> Transcript:
        """Return the one record, or the one with this id, or else of this number.

        Raises:
            InputError: If there is no such record, or if there are several to choose
                from: no id was given, or it is that of more than one.
        """
        if record_id is None:
            if len(self) > 1:
                raise InputError(
                    self.name,
                    f"{len(self)} records; choose one with --id ({self._some_ids()})",
                )
            return next(iter(self))
        found = [transcript for transcript in self if transcript.id == record_id]
        found = found or self._numbered(record_id)
        if len(found) > 1:
            places = ", ".join(
                one.where.removeprefix(f"{self.name}: ") for one in found
            )
            raise InputError(
                self.name, f"{len(found)} records have the id {record_id!r} ({places})"
            )
        if not found:
            raise InputError(
                self.name,
                f"no record has the id {record_id!r} (there are {self._some_ids()})",
            )
        return found[0]

    def _numbered(self, number: str) -> list[Transcript]:
        """Return the record of a number, from 1, as a list of one; or of none."""
        is_number = (
            number.isascii() and number.isdecimal() and len(number) < _MOST_DIGITS
        )
        return (
            list(islice(self, int(number) - 1, int(number)))
            if is_number and int(number)
            else []
        )

    def _some_ids(self) -> str:
        ids = [
            transcript.id for transcript, _ in zip(self, range(IDS_SHOWN), strict=False)
        ]
        rest = len(self) - len(ids)
        return ", ".join(ids) + (f" and {rest} more" if rest else "")


def _read_bytes(source: str, name: str) -> bytes:
    try:
        if source == STDIN:
            return sys.stdin.buffer.read()
        return Path(source).read_bytes()
    except OSError as error:
        raise InputError(name, error.strerror or str(error)) from error


def _decode(raw: bytes, name: str) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            name, f"line {line}: not UTF-8 (byte 0x{raw[error.start]:02x})"
        ) from error


def _is_jsonl(name: str, text: str) -> bool:
    """Tell JSONL by its name, or by a first line that is whole and is not the last."""
    if Path(name).suffix.lower() in JSONL_SUFFIXES:
        return True
    first, _, rest = text.strip().partition("\n")
    if not rest:
        return False
    try:
        json.loads(first)
    except (ValueError, RecursionError):
        return False
    return True


def _parse(name: str, line: int | None, text: str) -> object:
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as error:
        at = (line or 1) + error.lineno - 1
        problem = f"line {at}, column {error.colno}: not JSON: {error.msg}"
    except ValueError as error:  # NaN, or a number with thousands of digits
        problem = f"line {line or 1}: not JSON: {error}"
    except RecursionError:
        problem = f"line {line or 1}: nested too deeply"
    raise InputError(name, problem)


def _refuse_constant(constant: str) -> NoReturn:
    message = f"{constant} is not a number in JSON"
    raise ValueError(message)


def _to_transcript(name: str, line: int | None, text: str, number: int) -> Transcript:
    where = name if line is None else f"{name}: line {line}"
    body = _parse(name, line, text)
    if isinstance(body, list):
        body = {"messages": body}
    if not isinstance(body, dict):
        raise InputError(
            where,
            "a list of messages or an object with `messages` is needed, not "
            + _json_type(body),
        )
    record, body = body, _request_of(body)
    if "messages" not in body and not _other_shape(body)[0]:
        hint = " (one message alone: put it in a list)" if "role" in body else ""
        raise InputError(where, f"messages: missing{hint}")
    for field in ("messages", "tools"):
        _check_objects(where, field, body.get(field, []))
    return Transcript(where=where, id=str(record.get("id", number)), body=body)


def _request_of(record: dict[str, Any]) -> dict[str, Any]:
    """Return the request that a record is about, or the record if it is one itself."""
    request = record.get("request")
    if "messages" in record or not isinstance(request, dict):
        return record
    return {"model": record["model"], **request} if "model" in record else request


def _other_shape(body: dict[str, Any]) -> tuple[str, str]:
    """Return the field and the vendor of a request without `messages`, if it is one."""
    return next(((f, v) for f, v in OTHER_SHAPES.items() if f in body), ("", ""))


def _check_objects(where: str, field: str, values: object) -> None:
    if field == "tools" and values is None:
        return
    if not isinstance(values, list):
        raise InputError(where, f"{field}: not a list but {_json_type(values)}")
    for index, value in enumerate(values):
        if not isinstance(value, dict):
            problem = f"{field}[{index}]: not an object but {_json_type(value)}"
            raise InputError(where, problem)


def _json_type(value: object) -> str:
    return JSON_TYPES.get(type(value), "a number")
