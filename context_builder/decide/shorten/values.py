"""Shortens JSON so that it stays JSON.

Decides what goes first inside a value: long strings before short ones, the middle of
arrays before their ends, depth before breadth. Names, numbers, dates and ids are
short, so they stay longest. Knows characters only; nothing of tokens.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from context_builder.decide.shorten.cuts import briefly_left_out, keep_ends, left_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from context_builder.decide.shorten.fit import Renderer

__all__ = ["JsonShortener", "parse_json", "quote"]

Pairs: TypeAlias = tuple[tuple[str, object], ...]
"""An object as it is written: in order, with repeated keys."""

_DEEPEST: Final = 40
"""Levels of nesting that are kept; a text with more of them is not read by anybody."""

_LEAST_CHARS: Final = 12
"""Size of the shortest form of a value, such as `"[...1234]"`."""

_ATOM_CHARS: Final = 24
"""Strings up to this length are names and ids: whole, or not there."""

_SHAPED_CHARS: Final = 240
"""Strings with room for this much are shortened by their own shape."""

_LONGEST_KEY_CHARS: Final = 120
_FEW_KEYS: Final = 40
_WORTH_ONE_CHARS: Final = 64
_MARKER_CHARS: Final = 32
_SAMPLE_HEAD: Final = 8
_SAMPLE_TAIL: Final = 4
_ITEM_CHARS: Final = 48
_IMPORTANT: Final = re.compile(
    r"(?:^|_)(?:id|uuid|name|title|type|kind|status|state|code|error|errors"
    r"|message|reason|total|count|amount|price|date|time|path|file|url|exit_code)"
    r"(?:$|_)|(?:Id|At|Code|Error|Path)$",
    re.IGNORECASE,
)
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ENCODE: Final = json.JSONEncoder(ensure_ascii=False).encode


class _Literal(str):
    """A number as it was written: `1.10` stays `1.10`, whatever its length."""

    __slots__ = ()


class _Constant(str):
    """`NaN` or `Infinity`, which JSON does not have: shown as a string."""

    __slots__ = ()


def parse_json(text: str) -> object | None:
    """Read an object, an array or a string; None for all else, and what is not JSON.

    Objects come back as tuples of pairs, so that nothing is lost to a repeated key.
    """
    try:
        value: object = json.loads(
            text,
            object_pairs_hook=tuple,
            parse_int=_Literal,
            parse_float=_Literal,
            parse_constant=_Constant,
        )
    except (ValueError, RecursionError):
        return None
    if isinstance(value, _Literal | _Constant):
        return None
    return value if isinstance(value, tuple | list | str) else None


def quote(text: str) -> str:
    """Write a JSON string; lone surrogates as escapes, the rest readable."""
    quoted = _ENCODE(text)
    if quoted.isascii():
        return quoted
    return _SURROGATE.sub(lambda half: f"\\u{ord(half.group()):04x}", quoted)


class JsonShortener:
    """Shows one parsed value with more or less of it.

    Sizes are worked out once, so that each rendering costs what it shows.
    """

    def __init__(
        self,
        root: object,
        shape_string: Callable[[str], Renderer] | None = None,
        *,
        keep_keys: bool = False,
    ) -> None:
        """Measure the value.

        Args:
            root: What `parse_json` returned.
            shape_string: Returns the renderer for a long string; None cuts its middle.
            keep_keys: Never leave out a key of the outermost object.
        """
        self._root = root
        self._shape_string = shape_string
        self._keep_keys = keep_keys
        self._sizes: dict[int, int] = {}
        self._renderers: dict[int, Renderer] = {}
        self.ample_chars = 2 * self._measure(root, 0) + _MARKER_CHARS
        """Room in which nothing is left out, whatever escapes add."""

    def render(self, room_chars: int) -> str:
        """Show the value in about `room_chars` characters."""
        return self._show(self._root, room_chars, 0)

    def _measure(self, value: object, depth: int) -> int:
        """Note the size of every container, so that no rendering has to add up."""
        if not isinstance(value, tuple | list) or not value:
            return _leaf_size(value)
        if depth >= _DEEPEST:
            size = _LEAST_CHARS
        elif isinstance(value, tuple):
            size = 1 + sum(
                len(key) + 4 + self._measure(item, depth + 1) for key, item in value
            )
        else:
            size = 1 + sum(1 + self._measure(item, depth + 1) for item in value)
        self._sizes[id(value)] = size
        return size

    def _size(self, value: object) -> int:
        if isinstance(value, tuple | list) and value:
            return self._sizes.get(id(value), _LEAST_CHARS)
        return _leaf_size(value)

    def _show(self, value: object, room: int, depth: int) -> str:
        if isinstance(value, tuple | list) and value:
            if depth >= _DEEPEST:
                return _collapsed(value)
            if isinstance(value, tuple):
                return self._show_object(cast("Pairs", value), room, depth)
            return self._show_array(value, room, depth)
        if isinstance(value, str):
            return self._show_string(value, room, _ATOM_CHARS if depth else 0)
        return _leaf(value)

    def _show_object(self, pairs: Pairs, room: int, depth: int) -> str:
        may_cut = self._size(pairs) > room and not (self._keep_keys and depth == 0)
        kept = self._kept_keys(pairs, room) if may_cut else range(len(pairs))
        if not kept:
            return _collapsed(pairs)
        names = {index: pairs[index][0] for index in kept}
        if may_cut:
            names = {index: _short_key(name) for index, name in names.items()}
        missing = len(pairs) - len(kept)
        room -= sum(len(name) + 4 for name in names.values()) + 1
        room -= _MARKER_CHARS if missing else 0
        first = {index for index, name in names.items() if _IMPORTANT.search(name)}
        shown = self._share(
            {index: pairs[index][1] for index in kept}, room, depth, first
        )
        parts = [f"{quote(names[i])}:{shown[i]}" for i in kept]
        if missing:
            marker = f"{_marker_key(pairs)}:{quote(_keys(missing))}"
            gap = next((n for n, i in enumerate(kept) if i != n), len(kept))
            parts.insert(gap, marker)
        return "{" + ",".join(parts) + "}"

    def _kept_keys(self, pairs: Pairs, room: int) -> Sequence[int]:
        """Choose the keys that stay: telling names first, then from both ends."""
        least = _LEAST_CHARS if len(pairs) <= _FEW_KEYS else _ITEM_CHARS
        room -= 1
        needs = _MARKER_CHARS
        kept: list[int] = []
        for index in _key_order(pairs):
            key, value = pairs[index]
            needs += _key_size(key) + min(self._size(value), least)
            if needs > room and not self._all_fit(pairs, least, room):
                break
            kept.append(index)
        return sorted(kept)

    def _all_fit(self, pairs: Pairs, least: int, room: int) -> bool:
        """Say whether every key fits when no marker has to be made room for."""
        if len(pairs) > _FEW_KEYS:
            return False
        return room >= sum(
            _key_size(key) + min(self._size(value), least) for key, value in pairs
        )

    def _show_array(self, items: list[object], room: int, depth: int) -> str:
        size = self._size(items)
        shown_items = len(items)
        if size > room:
            shown_items = min(
                shown_items, (room - _MARKER_CHARS) // self._typical(items)
            )
            if room >= _WORTH_ONE_CHARS:
                shown_items = max(shown_items, 1)
        if shown_items <= 0:
            return _collapsed(items)
        head = shown_items - shown_items * 2 // 5
        tail = len(items) - (shown_items - head)
        kept = [*range(head), *range(tail, len(items))]
        room -= len(kept) + 1 + (_MARKER_CHARS if tail > head else 0)
        shown = self._share({index: items[index] for index in kept}, room, depth, set())
        parts = [shown[index] for index in kept]
        if tail > head:
            parts.insert(head, quote(_items(tail - head)))
        return "[" + ",".join(parts) + "]"

    def _typical(self, items: list[object]) -> int:
        """Estimate how much room one item needs to be worth showing."""
        sample = items[:_SAMPLE_HEAD] + items[_SAMPLE_HEAD:][-_SAMPLE_TAIL:]
        return max(sum(self._worth(item) for item in sample) // len(sample), 2)

    def _worth(self, item: object) -> int:
        if isinstance(item, tuple):
            pairs = cast("Pairs", item)[:_FEW_KEYS]
            return 2 + sum(
                _key_size(key) + min(self._size(value), _ITEM_CHARS)
                for key, value in pairs
            )
        if isinstance(item, list) and item:
            if id(item) not in self._sizes:
                return _LEAST_CHARS  # it lies deeper than what is ever shown
            return min(self._size(item), _MARKER_CHARS + self._worth(item[0]))
        return 1 + min(self._size(item), 2 * _ITEM_CHARS)

    def _share(
        self, values: dict[int, object], room: int, depth: int, first: set[int]
    ) -> dict[int, str]:
        """Deal out `room`: small values whole, what they leave over to the large."""
        sizes = {index: self._size(value) for index, value in values.items()}
        left = len(values)
        reserved = sum(min(size, _LEAST_CHARS) for size in sizes.values())
        shown: dict[int, str] = {}
        for index in sorted(
            values, key=lambda index: (index not in first, sizes[index])
        ):
            reserved -= min(sizes[index], _LEAST_CHARS)
            fair = max(room, 0) // left
            if index in first:
                fair = max(fair, min(sizes[index], room // 3))
            fair = max(min(fair, room - reserved), 0)
            shown[index] = self._show(values[index], fair, depth + 1)
            room -= len(shown[index])
            left -= 1
        return shown

    def _show_string(self, text: str, room: int, atom_chars: int) -> str:
        size = _leaf_size(text)
        if size <= max(room, atom_chars):
            return _leaf(text)
        # Room is in characters of JSON; escapes make those more than the text's own.
        room = (room - 2) * len(text) // size
        marker_chars = len(left_out(len(text)))
        if room < 3 * marker_chars:
            room -= len(briefly_left_out(len(text)))
            return quote(keep_ends(text, room, marker=briefly_left_out))
        if room >= _SHAPED_CHARS and self._shape_string is not None:
            return quote(self._renderer(text)(room - marker_chars))
        return quote(keep_ends(text, room - marker_chars))

    def _renderer(self, text: str) -> Renderer:
        if self._shape_string is None:
            return lambda room: keep_ends(text, room)
        if id(text) not in self._renderers:
            self._renderers[id(text)] = self._shape_string(text)
        return self._renderers[id(text)]


def _leaf(value: object) -> str:
    """Write a value that has no parts."""
    if isinstance(value, _Literal):
        return str(value)
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return "{}" if isinstance(value, tuple) else "[]"


def _leaf_size(value: object) -> int:
    if isinstance(value, str):
        return len(value) + 2 + sum(map(value.count, '\n"\\\t\r'))
    return len(_leaf(value))


def _key_size(key: str) -> int:
    return min(len(key), _LONGEST_KEY_CHARS) + 4


def _short_key(key: str) -> str:
    if len(key) <= _LONGEST_KEY_CHARS:
        return key
    return keep_ends(key, _LONGEST_KEY_CHARS - len(left_out(len(key))))


def _collapsed(value: Sequence[object]) -> str:
    """Write the shortest honest form of a container."""
    if isinstance(value, tuple):
        return f'{{"...":{len(value)}}}'
    return f'["...{len(value)}"]'


def _marker_key(pairs: Pairs) -> str:
    """Choose a key for the marker that the object does not have itself."""
    name = "..."
    taken = {key for key, _ in pairs if key.startswith(name)}
    while name in taken:
        name += "."
    return quote(name)


def _keys(missing: int) -> str:
    return f"{missing:,} more key{'s' if missing != 1 else ''}"


def _items(missing: int) -> str:
    return f"... {missing:,} more item{'s' if missing != 1 else ''} ..."


def _key_order(pairs: Pairs) -> Iterable[int]:
    """Order keys by how long they stay: telling names, then two of the head to one."""
    seen: set[int] = set()
    if len(pairs) <= 8 * _FEW_KEYS:
        for index, (key, _) in enumerate(pairs):
            if _IMPORTANT.search(key):
                seen.add(index)
                yield index
    head, tail = 0, len(pairs) - 1
    while head <= tail:
        for index in (head, head + 1, tail):
            if index not in seen and index <= tail:
                seen.add(index)
                yield index
        head, tail = head + 2, tail - 1
