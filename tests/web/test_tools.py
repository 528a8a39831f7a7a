from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest

from context_builder.agent.named_tools import tools_named
from context_builder.errors import InvalidItemError
from context_builder.web import WebSettings
from context_builder.web.tools import BUILT_IN

calculator, clock = BUILT_IN


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("1 + 2 * 3", "7"),
        (" (3 + 4) * 2 / 5 ", "2.8"),
        ("-7 // 2", "-4"),
        ("+2 ** 10 % 1000", "24"),
        ("1.5e3", "1500.0"),
    ],
)
def test_arithmetic_is_worked_out(expression: str, value: str) -> None:
    """With the usual order of operations."""
    assert calculator(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "",
        "1 +",
        "x",
        "True",
        "'a' * 9",
        "__import__('os')",
        "(1).real",
        "[1]",
        "1 if 1 else 2",
        "1 < 2",
        "1 and 2",
        "2 ** 5000",
        "9 ** 999 ** 9",
        "1 / 0",
        "1" * 201,
        "(" * 150 + ")" * 50,
        "2j",
    ],
)
def test_nothing_but_arithmetic_is_worked_out(expression: str) -> None:
    """No name, no attribute, no call, nothing that takes for ever: an error instead."""
    with pytest.raises(ValueError, match=r"expression|result|understood|characters"):
        calculator(expression)


def test_the_time_is_told_for_a_zone() -> None:
    """Of one that is known; another is refused by its name."""
    assert datetime.fromisoformat(clock("Asia/Shanghai")).utcoffset() is not None
    assert clock().endswith("+00:00")
    for nowhere in ("Nowhere/Town", "../../etc/passwd", ""):
        with pytest.raises(ValueError, match="time zone"):
            clock(nowhere)


def test_tools_are_named_by_module_and_list() -> None:
    """What is there is taken; what is not is said."""
    assert tools_named("context_builder.web.tools:BUILT_IN") == list(BUILT_IN)
    for wrong in ("no.such.module:TOOLS", "json:none", "json:decoder", ":x", ""):
        with pytest.raises(InvalidItemError, match="module:name"):
            tools_named(wrong)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"target": "anthropic", "model": "claude-opus-5", "max_tokens": 9},
        {"accounts": (("ada", "k", "d"),), "is_offline": True, "tools": "a:b"},
    ],
)
def test_settings_travel_in_the_environment(
    changes: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker is served what the command line set."""
    monkeypatch.delenv("CONTEXT_BUILDER_WEB", raising=False)
    assert WebSettings.from_environment() == WebSettings()
    monkeypatch.setenv("CONTEXT_BUILDER_WEB", "")
    settings = WebSettings(**changes)
    settings.to_environment()
    assert WebSettings.from_environment() == settings
