"""What a request is asked for is said to the vendor, or named as not said."""

from __future__ import annotations

from typing import Any

import pytest

from context_builder import ContextBuilder, RequestOptions
from context_builder.render import adapter_names, validate
from tests.render.sdk_types import MODELS

LOOK = {
    "type": "function",
    "function": {"name": "look", "parameters": {"type": "object", "properties": {}}},
}
SCHEMA = {"name": "sea", "schema": {"type": "object", "properties": {}}}
OPTIONS: dict[str, Any] = {
    "max_output_tokens": 777,
    "response_format": {"type": "json_schema", "json_schema": SCHEMA},
    "tool_choice": "required",
    "parallel_tool_calls": False,
    "thinking_budget_tokens": 2_048,
    "reasoning_effort": "high",
    "temperature": 0.3,
}
"""One value for each option but the vendor's own, and the hint for its cache."""

KEYED = ("kimi", "mistral", "openai", "openai-responses")
"""Vendors that take a key of the prompt cache."""


def asked(target: str, **options: Any) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a request with options, and what had to be repaired of it."""
    ctx = ContextBuilder(
        max_tokens=50_000, tools=[LOOK], options=RequestOptions(**options)
    )
    ctx.add_user_message("Look at the sea.")
    model = MODELS[target]
    return ctx.request(target, model=model), ctx.explain(target, model=model).repairs


def test_each_option_is_tried() -> None:
    """An option that comes later has to be said as well."""
    others = {"extra", "prompt_cache_key"}
    assert set(RequestOptions.model_fields) == OPTIONS.keys() | others


@pytest.mark.parametrize("target", adapter_names())
def test_an_option_is_said_or_named(target: str) -> None:
    """What a vendor has no word for is a repair of the request; never a silent loss."""
    plain, none = asked(target)
    assert not any(name.startswith("request") for name in none)
    for name, value in OPTIONS.items():
        request, repairs = asked(target, **{name: value})
        assert request != plain or repairs != none, name
        assert validate(request, target) == [], name


@pytest.mark.parametrize("target", adapter_names())
def test_a_key_of_the_cache_goes_where_there_is_one(target: str) -> None:
    """It is a hint: elsewhere the cache works without."""
    request, _ = asked(target, prompt_cache_key="route-7")
    assert request.get("prompt_cache_key") == ("route-7" if target in KEYED else None)
    assert validate(request, target) == []


@pytest.mark.parametrize("target", adapter_names())
def test_parameters_are_said_to_be_an_object(target: str) -> None:
    """Vendors refuse others; what is said as one is left as it is."""
    whole = {"type": "object", "properties": {"at": {"type": "string"}}}
    for schema in (
        {},
        {"type": "object"},
        {"type": ["object", "null"], "properties": {}},
        {"properties": whole["properties"]},
        {"$ref": "#/$defs/A", "$defs": {"A": whole}},
        {"anyOf": [whole, {"type": "object", "properties": {}}]},
    ):
        ctx = ContextBuilder(max_tokens=9_000)
        ctx.set_tools([{"name": "look", "parameters": schema}, LOOK_THERE])
        ctx.add_user_message("go")
        request = ctx.request(target, model=MODELS[target])
        assert validate(request, target) == [], schema
        first, second = found = _schemas(request)
        assert (first["type"], second) == ("object", THERE), schema
        assert len(found) == 2


THERE = {"type": "object", "properties": {"at": {"type": "string"}}, "x": 1}
LOOK_THERE = {"name": "look_there", "parameters": THERE}
_NAMES = ("parameters", "input_schema", "parameters_json_schema", "json")


def _schemas(said: Any) -> list[Any]:
    """Return what a request says under the names of schemas, in order."""
    if isinstance(said, list | tuple):
        return [each for member in said for each in _schemas(member)]
    if not isinstance(said, dict):
        return []
    return [
        each
        for name, value in said.items()
        for each in ([value] if name in _NAMES else _schemas(value))
    ]
