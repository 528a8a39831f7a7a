"""Makes the arguments of a call fit to go out: an object, whatever the model wrote."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from context_builder.collect.plain import MOST_NESTED, repair_json
from context_builder.items import ContextItem, Mark
from context_builder.unicode import is_well_formed, repair_text

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.messages import ToolCall

__all__ = ["CutOffError", "tidy_arguments"]


class CutOffError(Exception):
    """A call was cut off inside its arguments: half a call is never sent."""


def tidy_arguments(call: ToolCall, item: ContextItem, marks: list[Mark]) -> str:
    """Return arguments that parse as an object; add what was repaired to `marks`.

    Raises:
        CutOffError: If only a part of them was received.
    """
    if call.type == "custom":
        return repair_text(call.arguments)
    if not call.arguments.strip():
        return "{}"
    text = repair_text(call.arguments)
    if text is not call.arguments:
        marks.append(Mark(item.id, "repaired", "arguments held unpaired surrogates"))
    value = _parsed(text)
    if isinstance(value, dict) and not _is_deep(text, value):
        return text if _is_strict(text, value) else _written(repair_json(value))
    if item.partial:
        reason = f"call of {repair_text(call.name)} left out: arguments cut off"
        marks.append(Mark(item.id, "repaired", reason))
        raise CutOffError
    reason = f"arguments of {repair_text(call.name)} were not an object"
    marks.append(Mark(item.id, "repaired", reason))
    return _written({"_raw": text})


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_deep(text: str, value: object) -> bool:
    """Say whether data is nested deeper than anything that walks it can bear.

    Args:
        text: It as JSON: with few brackets it cannot be deep.
        value: The data.
    """
    if text.count("{") + text.count("[") < MOST_NESTED:
        return False
    level: list[object] = [value]
    for _ in range(MOST_NESTED):
        level = [part for one in level for part in _parts(one)]
        if not level:
            return False
    return True


def _parts(value: object) -> Iterable[object]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()


def _is_strict(text: str, value: object) -> bool:
    r"""Say whether no escape such as `\ud83d` or `\u0000`, and no NaN, hides in it."""
    lowered = text.lower()
    if "\\ud" in lowered or "\\u0000" in lowered:
        return is_well_formed(_written(value)) and "\\u0000" not in lowered
    return not (("nan" in lowered or "infinity" in lowered) and _has_constants(value))


def _has_constants(value: object) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    return any(map(_has_constants, _parts(value)))


def _written(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
