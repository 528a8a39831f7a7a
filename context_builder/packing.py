"""Packs a session that nobody uses at the moment: its log, and all that was decided.

It takes less memory than its texts, and is ready again without deciding anything anew:
what comes out is what went in, object by object. It never leaves the memory of the
process that made it, so nothing that somebody else wrote is ever unpacked; and only
values of this library are packed or unpacked at all.
"""

from __future__ import annotations

import io
import operator
import pickle
import zlib
from types import BuiltinFunctionType, FunctionType
from typing import TYPE_CHECKING, Any, ClassVar

from context_builder.copies import fields_of, made_of
from context_builder.items import ContextItem, ItemsAdded, Mark, Unit
from context_builder.messages import ToolCall

if TYPE_CHECKING:
    from collections.abc import Mapping

    from context_builder.targets import Target

__all__ = ["decided", "outside_of", "pack", "take_up", "unpack"]

_LEVEL = 1
"""Of compression: the others take several times as long for a tenth less."""
_VALUES = frozenset({ContextItem, ItemsAdded, Mark, Unit, ToolCall})
"""Frozen values with slots: what most of a session is made of."""
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
_NAMED = (type, FunctionType, BuiltinFunctionType)
_DECIDED = ("_grouper", "_fold", "_calibration", "_learned_tokens", "_position")
"""What a target has worked out; the rest of it is made in a moment."""
_OUTSIDE = ("_rules", "_measure_fixed", "shown._measure")
"""What its fold works with, and is given anew: ruler, settings, hooks."""


def decided(target: Target) -> dict[str, Any]:
    """Return what a target has decided."""
    known = vars(target)
    return {name: known[name] for name in _DECIDED}


def take_up(target: Target, decision: Mapping[str, Any]) -> None:
    """Have a new target go on with what another one has decided."""
    vars(target).update(decision)
    target.told_compactions = target.compactions


def outside_of(target: Target) -> dict[str, object]:
    """Return what a decision refers to that is no part of it, by names."""
    found = operator.attrgetter(*_OUTSIDE)(target.fold)
    return dict(zip(_OUTSIDE, found, strict=True))


def pack(state: object, outside: Mapping[str, object]) -> bytes:
    """Return a state as bytes.

    Args:
        state: Values, and whatever they refer to.
        outside: What it refers to and is not part of it, by names for `unpack`.

    Raises:
        pickle.PicklingError: If there is somebody else's object in it.
    """
    packed = io.BytesIO()
    _Packer(packed, outside).dump(state)
    return zlib.compress(packed.getvalue(), _LEVEL)


def unpack(packed: bytes, outside: Mapping[str, object]) -> Any:
    """Return what `pack` was given, with these in the places of what was outside."""
    return _Unpacker(io.BytesIO(zlib.decompress(packed)), outside).load()


def _outside(name: str) -> object:
    """Stand for what is outside; an unpacker puts its own in the place of this."""
    raise LookupError(name)


def _made(kind: Any, values: tuple[Any, ...]) -> object:
    return made_of(kind, values)


def _is_ours(module: str, name: str) -> bool:
    package = __name__.partition(".")[0]
    return module.partition(".")[0] == package or (module, name) in _PLAIN


class _Packer(pickle.Pickler):
    def __init__(self, file: io.BytesIO, outside: Mapping[str, object]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._names = {id(value): name for name, value in outside.items()}

    def reducer_override(self, obj: Any) -> Any:
        """Say how to pack an object that is no plain data."""
        if type(obj) in _VALUES:
            return _made, (type(obj), fields_of(obj))
        name = self._names.get(id(obj))
        if name is not None:
            return _outside, (name,)
        named = obj if isinstance(obj, _NAMED) else type(obj)
        if not _is_ours(named.__module__, named.__qualname__):
            message = f"{named.__qualname__} is no value of the library"
            raise pickle.PicklingError(message)
        return NotImplemented


class _Unpacker(pickle.Unpickler):
    _MODULE: ClassVar[str] = _outside.__module__

    def __init__(self, file: io.BytesIO, outside: Mapping[str, object]) -> None:
        super().__init__(file)
        self._here = outside

    def find_class(self, module: str, name: str) -> Any:
        """Find what was named while packing."""
        if (module, name) == (self._MODULE, _outside.__name__):
            return self._here.__getitem__
        if not _is_ours(module, name):
            message = f"{module}.{name} is no value of the library"
            raise pickle.UnpicklingError(message)
        return super().find_class(module, name)
