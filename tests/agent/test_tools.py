from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import enum
import functools
from datetime import date
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inline_snapshot import snapshot
from pydantic import BaseModel, Field

from context_builder import ContextBuilder, InvalidItemError
from context_builder.agent import Tool, tool
from context_builder.agent.signatures import ArgumentsError
from context_builder.agent.tools import as_tools


class Unit(enum.Enum):
    """A unit of temperature."""

    CELSIUS = "C"
    FAHRENHEIT = "F"


class Place(BaseModel):
    """Where it is."""

    city: str
    country: str = "CH"


@tool
def forecast(  # noqa: D417, PLR0917  what is not said, and how much, is the test
    place: Place,
    day: date,
    hours: Annotated[int, Field(ge=1, le=24, description="How many hours.")] = 3,
    unit: Unit = Unit.CELSIUS,
    kind: Literal["short", "long"] = "short",
    tags: list[str] | None = None,
) -> str:
    """Say what the weather will be.

    It is taken from the national service.

    Args:
        place: The town, and
            its country.
        day (date): The day, as 2026-12-24.
        hours: Not said: the type says it.
        kind: How much is told: all of it, or a line.

    Returns:
        One line of text.
    """
    return f"{place.city} {day:%d.%m.} {hours} {unit.name} {kind} {tags}"


def test_a_schema_comes_from_types_and_docstring() -> None:
    """Names, types, defaults and limits from the signature; what for, from the text."""
    assert forecast.definition == snapshot(
        {
            "type": "function",
            "function": {
                "name": "forecast",
                "description": """\
Say what the weather will be.

It is taken from the national service.

Returns: One line of text.\
""",
                "parameters": {
                    "$defs": {
                        "Place": {
                            "description": "Where it is.",
                            "properties": {
                                "city": {"type": "string"},
                                "country": {"default": "CH", "type": "string"},
                            },
                            "required": ["city"],
                            "type": "object",
                        },
                        "Unit": {
                            "description": "A unit of temperature.",
                            "enum": ["C", "F"],
                            "type": "string",
                        },
                    },
                    "additionalProperties": False,
                    "properties": {
                        "place": {
                            "$ref": "#/$defs/Place",
                            "description": "The town, and its country.",
                        },
                        "day": {
                            "description": "The day, as 2026-12-24.",
                            "format": "date",
                            "type": "string",
                        },
                        "hours": {
                            "default": 3,
                            "description": "How many hours.",
                            "maximum": 24,
                            "minimum": 1,
                            "type": "integer",
                        },
                        "unit": {"$ref": "#/$defs/Unit", "default": "C"},
                        "kind": {
                            "default": "short",
                            "description": "How much is told: all of it, or a line.",
                            "enum": ["short", "long"],
                            "type": "string",
                        },
                        "tags": {
                            "anyOf": [
                                {"items": {"type": "string"}, "type": "array"},
                                {"type": "null"},
                            ],
                            "default": None,
                        },
                    },
                    "required": ["place", "day"],
                    "type": "object",
                },
            },
        }
    )


def test_arguments_come_as_the_function_wants_them() -> None:
    """Nested models, dates, enums: made from the model's JSON, defaults filled in."""
    positional, named = forecast.read(
        '{"place": {"city": "Bern"}, "day": "2026-12-24", "unit": "F"}'
    )
    assert positional == []
    assert named["place"] == Place(city="Bern")
    assert named["day"] == date(2026, 12, 24)
    assert forecast(**named) == "Bern 24.12. 3 FAHRENHEIT short None"


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ("", "place: this argument is required; day: this argument is required"),
        ("{", "the arguments are not valid JSON"),
        ("[1]", "the arguments: Input should be an object; it was [1]"),
        (
            '{"place": {"city": 5}, "day": "soon"}',
            "place.city: Input should be a valid string; it was 5; day: Input should",
        ),
        (
            '{"place": {"city": "x"}, "day": "2026-12-24", "hours": 30}',
            "hours: Input should be less than or equal to 24; it was 30",
        ),
        (
            '{"place": {"city": "x"}, "day": "2026-12-24", "colour": 1}',
            "colour: there is no such argument",
        ),
        (
            '{"place": {"city": "x"}, "day": "2026-12-24", "kind": "medium"}',
            "kind: Input should be 'short' or 'long'; it was 'medium'",
        ),
    ],
)
def test_wrong_arguments_say_which_and_what_was_expected(
    arguments: str, problem: str
) -> None:
    """The model is told the field, what is wanted, and what it gave."""
    with pytest.raises(ArgumentsError) as caught:
        forecast.read(arguments)
    assert str(caught.value).startswith(problem)


def test_many_problems_are_told_in_part() -> None:
    """The first eight, and how many more; long values are cut."""

    @tool
    def many(numbers: list[int]) -> None:
        """Take numbers."""

    with pytest.raises(ArgumentsError) as caught:
        many.read('{"numbers": [' + ",".join(['"' + "x" * 99 + '"'] * 20) + "]}")
    assert str(caught.value).endswith("and 12 more")
    assert len(str(caught.value)) < 1_500


@given(st.text(max_size=200))
def test_no_text_of_a_model_breaks_the_reading(arguments: str) -> None:
    """Whatever it writes: arguments, or an error that is told to it."""
    with contextlib.suppress(ArgumentsError):
        _, named = forecast.read(arguments)
        assert set(named) >= {"place", "day"}


def test_names_that_pydantic_has_taken_are_arguments_too() -> None:
    """`schema`, `json`, `copy`, `model_config` and `_x` are names like all others."""

    @tool
    def odd(schema: str, json: int, copy: bool, model_config: str, _x: int = 1) -> str:
        """Take odd names."""
        return f"{schema}{json}{copy}{model_config}{_x}"

    _, named = odd.read('{"schema":"a","json":1,"copy":true,"model_config":"b"}')
    assert odd(**named) == "a1Trueb1"
    assert set(odd.parameters["properties"]) == {
        "schema",
        "json",
        "copy",
        "model_config",
        "_x",
    }


def test_arguments_by_position_are_given_by_position() -> None:
    """A function may insist on it."""

    @tool
    def power(base: int, exponent: int = 2, /, *, digits: int = 0) -> float:
        """Raise a number to a power."""
        return float(round(base**exponent, digits))

    positional, named = power.read('{"base": 3}')
    assert (positional, named) == ([3, 2], {"digits": 0})
    assert power(*positional, **named) == 9


def test_types_in_a_function_s_own_scope_are_found() -> None:
    """Types are resolved where the function was made, also those in quotes."""

    class Local(BaseModel):
        x: int

    @tool
    def use(local: Local) -> int:
        """Use it."""
        return local.x

    _, named = use.read('{"local": {"x": 4}}')
    assert use(**named) == 4


class Shop:
    """Has a tool that knows its object."""

    def __init__(self, stock: int) -> None:
        self.stock = stock

    def left(self, item: str) -> str:
        """Say how many are left."""
        return f"{self.stock} {item}"

    async def __call__(self, item: str) -> str:
        """Say so, asynchronously."""
        return self.left(item)


def test_methods_partials_and_callable_objects_are_tools() -> None:
    """Whatever can be called and has types."""
    shop = Shop(3)
    assert tool(shop.left)(item="eggs") == "3 eggs"
    made = tool(shop)
    assert made.name == "Shop"
    assert made.function is None
    assert asyncio.run(made(item="eggs")) == "3 eggs"
    bound = tool(name="eggs", description="Eggs left.")(
        functools.partial(shop.left, item="eggs")
    )
    assert bound.name == "eggs"


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: tool(lambda x: x), "x"),
        (lambda: tool(_star), "values"),
        (lambda: tool(_object), "parameters"),
        (lambda: tool(name="no name")(forecast.function or _star), "name"),
        (lambda: Tool("t", "", {}), "function"),
        (lambda: Tool("t", "", {}, _star, timeout_seconds=0), "timeout_seconds"),
        (lambda: as_tools([forecast, forecast]), "tools"),
        (lambda: as_tools([1]), "tools[0]"),
        (lambda: as_tools("abc"), "tools"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_at_once(make: Any, field: str) -> None:
    """By the name of the field, when it is made, not when it is called."""
    with pytest.raises(InvalidItemError) as caught:
        make()
    assert caught.value.field == field


def _star(*values: int) -> int:
    return sum(values)


def _object(thing: ContextBuilder) -> None:
    del thing


def test_a_tool_by_hand_checks_that_the_required_is_there() -> None:
    """Its schema is its own; what is run does the rest."""
    schema = {"type": "object", "properties": {"q": {}}, "required": ["q"]}
    made = Tool("look", "Look.", schema, lambda q: q)
    assert made.read('{"q": 1}') == ([], {"q": 1})
    for wrong, problem in {
        "{}": "q: this argument is required",
        "[]": "the arguments must be an object, not list",
        "no": "the arguments are not valid JSON",
    }.items():
        with pytest.raises(ArgumentsError, match=problem.replace("(", r"\(")):
            made.read(wrong)


def test_definitions_are_what_a_session_takes() -> None:
    """They are counted in its budget as any tools are."""
    ctx = ContextBuilder(model="gpt-4o")
    ctx.add_user_message("hello")
    before = ctx.explain().tokens
    ctx.set_tools([forecast.definition])
    assert ctx.request()["tools"] == [forecast.definition]
    assert ctx.explain().tokens > before + 50


@dataclasses.dataclass
class Point:
    """A place in a plane."""

    x: int
    y: int


def test_dataclasses_are_arguments() -> None:
    """They come as their objects."""

    @tool
    def move(to: Point) -> int:
        """Move."""
        return to.x

    assert move.read('{"to": {"x": 1, "y": 2}}')[1] == {"to": Point(1, 2)}
