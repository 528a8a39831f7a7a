"""Packs a session that nobody uses at the moment: its log, and all that was decided.

It takes less memory than its texts, and is ready again without deciding anything anew:
what comes out is what went in, object by object. Long texts are packed apart, once:
who sleeps a second time packs what came in since, and what was decided. Nothing leaves
the memory of the process that made it, so nothing that somebody else wrote is ever
unpacked; and only values of this library are packed or unpacked at all.
"""

from __future__ import annotations

import functools
import io
import operator
import pickle
import zlib
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any

from context_builder.context_item import ContextItem, Traits
from context_builder.copies import Columns, columns_of, made_of_columns, slots_of
from context_builder.decide.known import Fact
from context_builder.items import Unit
from context_builder.messages import ToolCall
from context_builder.render.kept import KeptMessages
from context_builder.render.script import Script

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from context_builder.render.kept import Columns as MessageColumns
    from context_builder.targets import Target

__all__ = ["Texts", "decided", "outside_of", "pack", "take_up", "unpack"]

_LEVEL = 1
"""Of compression: the others take several times as long for a tenth less."""
_LONG_CHARS = 64
"""Texts that are longer are packed apart, and once."""
_MOST_BLOCKS = 8
"""Texts in more blocks than these are packed anew, so that they make one again."""
_KINDS: tuple[type, ...] = (Fact, Unit, ContextItem, Traits, ToolCall)
"""What most of a session is made of is packed field by field, which is fast and small.
A value refers to none of its own kind or of those before it here."""
_TEXT_FIELDS = {ContextItem: "content", ToolCall: "arguments"}
"""Where long texts stand."""
_TEXT_PLACES = {kind: slots_of(kind).index(name) for kind, name in _TEXT_FIELDS.items()}
_PLAIN = frozenset(
    {
        ("array", "_array_reconstructor"),
        ("array", "array"),
        ("collections", "ChainMap"),
        ("collections", "Counter"),
        ("collections", "OrderedDict"),
        ("collections", "defaultdict"),
        ("collections", "deque"),
    }
)
"""What else may be named in what is packed: containers."""
_GETITEM = (operator.getitem.__module__, operator.getitem.__name__)
_PROTOCOL = pickle.HIGHEST_PROTOCOL
_NAMED = (type, FunctionType, BuiltinFunctionType)
_RENDERED = "_rendered"
"""The request as it was said: kept where the next one can go on from it."""
_DECIDED = ("_grouper", "_fold", "_calibration", "_learned_tokens", "_position")
"""What a target has worked out; the rest of it is made in a moment."""
_OUTSIDE = ("_rules", "_measure_fixed", "shown._measure")
"""What its fold works with, and is given anew: ruler, settings, hooks."""


def decided(target: Target) -> dict[str, Any]:
    """Return what a target has decided."""
    known = vars(target)
    decision = {name: known[name] for name in _DECIDED}
    rendered = known[_RENDERED]
    if rendered is not None and isinstance(rendered[1], Script):
        decision[_RENDERED] = rendered
    return decision


def take_up(target: Target, decision: Mapping[str, Any]) -> None:
    """Have a new target go on with what another one has decided."""
    vars(target).update(decision)
    target.told_compactions = target.compactions


def outside_of(target: Target) -> dict[str, object]:
    """Return what a decision refers to that is no part of it, by names."""
    found = operator.attrgetter(*_OUTSIDE)(target.fold)
    return dict(zip(_OUTSIDE, found, strict=True))


class Texts:
    """Long texts of a session by number, packed in blocks as they came in.

    Args:
        blocks: What `packed` returned before.
        texts: The texts that are in them.
    """

    def __init__(self, blocks: Iterable[bytes] = (), texts: Iterable[str] = ()) -> None:
        self._blocks = tuple(blocks)
        self._numbers = {text: number for number, text in enumerate(texts)}
        self._in_blocks = len(self._numbers)

    def number_of(self, text: str) -> int:
        """Return the number of a text; it gets one if it has none."""
        return self._numbers.setdefault(text, len(self._numbers))

    def packed(self) -> tuple[bytes, ...]:
        """Return all texts as bytes; what was packed before is not packed again."""
        new = list(self._numbers)[self._in_blocks :]
        if not new:
            return self._blocks
        return (*self._blocks, zlib.compress(pickle.dumps(new, _PROTOCOL), _LEVEL))

    @classmethod
    def of(cls, blocks: tuple[bytes, ...]) -> Texts:
        """Return the texts of such blocks."""
        loaded = (_Unpacker(_opened(block), {}, ()).load() for block in blocks)
        return cls(blocks, [text for texts in loaded for text in texts])

    def to_add_to(self) -> Texts:
        """Return texts to pack a session with that has these, and perhaps others.

        After many blocks they are none: all are packed anew, without those that the
        session has no more.
        """
        if len(self._blocks) >= _MOST_BLOCKS:
            return Texts()
        return Texts(self._blocks, self._numbers)

    def all(self) -> tuple[str, ...]:
        """Return the texts by their numbers."""
        return tuple(self._numbers)


def pack(state: object, outside: Mapping[str, object], texts: Texts) -> bytes:
    """Return a state as bytes.

    Args:
        state: Values, and whatever they refer to.
        outside: What it refers to and is not part of it, by names for `unpack`.
        texts: Takes in its long texts, which `unpack` needs as well.

    Raises:
        pickle.PicklingError: If there is somebody else's object in it.
    """
    values = {kind: _Values() for kind in _KINDS}
    names = {id(value): name for name, value in outside.items()}
    names |= {id(known): kind.__name__ for kind, known in values.items()}
    parts = [_packed(state, names, values, texts)]
    for kind, known in values.items():
        columns = _with_numbers(kind, columns_of(kind, known), texts)
        parts.append(_packed(columns, names, values, texts))
    return zlib.compress(b"".join(reversed(parts)), _LEVEL)


def unpack(packed: bytes, outside: Mapping[str, object], texts: Texts) -> Any:
    """Return what `pack` was given, with these in the places of what was outside."""
    file = io.BytesIO(zlib.decompress(packed))
    known, said = dict(outside), texts.all()
    for kind in reversed(_KINDS):
        columns = _with_texts(kind, _Unpacker(file, known, said).load(), said)
        known[kind.__name__] = made_of_columns(kind, columns)
    return _Unpacker(file, known, said).load()


def _packed(
    part: object,
    names: Mapping[int, str],
    values: Mapping[type, _Values],
    texts: Texts,
) -> bytes:
    file = io.BytesIO()
    _Packer(file, names, values, texts).dump(part)
    return file.getvalue()


class _Values(list[Any]):
    """All values of a kind that were come across, each once."""

    def __init__(self) -> None:
        super().__init__()
        self.numbers: dict[int, int] = {}
        """Of each, by its identity."""


def _with_numbers(kind: type, columns: Columns, texts: Texts) -> Columns:
    """Put numbers in the places of long texts."""
    number_of = texts.number_of

    def numbered(given: Sequence[Any]) -> list[Any]:
        return [
            number_of(text) if type(text) is str and len(text) > _LONG_CHARS else text
            for text in given
        ]

    return _with_field(kind, columns, numbered)


def _with_texts(kind: type, columns: Columns, texts: Sequence[str]) -> Columns:
    """Put long texts in the places of their numbers."""

    def worded(given: Sequence[Any]) -> list[Any]:
        return [texts[one] if type(one) is int else one for one in given]

    return _with_field(kind, columns, worded)


def _with_field(
    kind: type, columns: Columns, change: Callable[[Sequence[Any]], list[Any]]
) -> Columns:
    count, fields = columns
    place = _TEXT_PLACES.get(kind)
    if place is None or not count:
        return columns
    is_one, field = fields[place]
    fields[place] = (True, *change([field])) if is_one else (False, change(field))
    return count, fields


def _opened(packed: bytes) -> io.BytesIO:
    return io.BytesIO(zlib.decompress(packed))


def _outside(name: str) -> object:
    """Stand for what is outside; an unpacker puts its own in the place of this."""
    raise LookupError(name)


def _kept(roles: list[str], contents: list[Any], rests: list[Any]) -> object:
    """Stand for messages that have numbers of their texts, as `_worded`."""
    raise LookupError(roles, contents, rests)


@functools.cache
def _is_ours(module: str, name: str) -> bool:
    package = __name__.partition(".")[0]
    return module.partition(".")[0] == package or (module, name) in _PLAIN


class _Packer(pickle.Pickler):
    def __init__(
        self,
        file: io.BytesIO,
        names: Mapping[int, str],
        values: Mapping[type, _Values],
        texts: Texts,
    ) -> None:
        super().__init__(file, protocol=_PROTOCOL)
        self._names = names
        self._values = values
        self._texts = texts

    def reducer_override(self, obj: Any) -> Any:
        """Say how to pack an object that is no plain data."""
        kind = type(obj)
        known = self._values.get(kind)
        if known is not None:
            number = known.numbers.get(id(obj))
            if number is None:
                number = known.numbers[id(obj)] = len(known)
                known.append(obj)
            return operator.getitem, (known, number)
        name = self._names.get(id(obj))
        if name is not None:
            return _outside, (name,)
        if kind is KeptMessages:
            return _kept, self._numbered(obj.columns)
        if obj is operator.getitem:
            return NotImplemented
        named = obj if isinstance(obj, _NAMED) else kind
        if not _is_ours(named.__module__, named.__qualname__):
            message = f"{named.__qualname__} is no value of the library"
            raise pickle.PicklingError(message)
        return NotImplemented

    def _numbered(self, columns: MessageColumns) -> tuple[list[Any], ...]:
        """Put numbers in the places of the long texts of messages."""
        roles, contents, rests = columns
        return (
            roles,
            [self._number_of(content) for content in contents],
            [
                tuple(map(self._number_of, rest)) if type(rest) is tuple else rest
                for rest in rests
            ],
        )

    def _number_of(self, text: str | None) -> str | int | None:
        if text is None or len(text) <= _LONG_CHARS:
            return text
        return self._texts.number_of(text)


class _Unpacker(pickle.Unpickler):
    def __init__(
        self,
        file: io.BytesIO,
        outside: Mapping[str, object],
        texts: tuple[str, ...],
    ) -> None:
        super().__init__(file)
        self._own: dict[tuple[str, str], Callable[..., object]] = {
            (__name__, _outside.__name__): outside.__getitem__,
            (__name__, _kept.__name__): self._said_in_messages,
            _GETITEM: operator.getitem,
        }
        self._texts = texts

    def find_class(self, module: str, name: str) -> Any:
        """Find what was named while packing."""
        own = self._own.get((module, name))
        if own is not None:
            return own
        if not _is_ours(module, name):
            message = f"{module}.{name} is no value of the library"
            raise pickle.UnpicklingError(message)
        return super().find_class(module, name)

    def _said_in_messages(
        self, roles: list[str], contents: list[Any], rests: list[Any]
    ) -> KeptMessages:
        said = [self._text_of(content) for content in contents]
        calls = [
            tuple(map(self._text_of, rest)) if type(rest) is tuple else rest
            for rest in rests
        ]
        return KeptMessages.of_columns((roles, said, calls))

    def _text_of(self, given: Any) -> Any:
        return self._texts[given] if type(given) is int else given
