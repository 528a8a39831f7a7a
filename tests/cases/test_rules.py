"""The vendor rules of the case files refuse what a vendor refuses, and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.cases.rules import wrong
from tests.cases.samples import SOUND, anthropic, built, call, changed, openai
from tests.cases.view import read

if TYPE_CHECKING:
    from tests.cases.results import Built

BROKEN_RULES: list[tuple[str, Built]] = [
    ("openai", changed("openai", 1, "role", value="human")),
    ("openai", built({"messages": [{"role": "system", "content": "Hi."}]})),
    ("openai", changed("openai", 1, "content", value=" ")),
    ("openai", changed("openai", 3, "content", value="")),
    ("openai", changed("openai", 4, "content", value="")),
    ("openai", changed("openai", 2, "tool_calls", 0, "id", value="c" * 41)),
    ("openai", changed("openai", 2, "tool_calls", value=[call("c1", "a.b")])),
    ("openai", changed("openai", 2, "tool_calls", value=[call("c1"), call("c2")])),
    ("strict", changed("strict", 4, "role", value="system")),
    ("strict", changed("strict", 4, "role", value="user")),
    ("strict", changed("strict", 1, value=None)),
    ("mistral", built(openai(), "mistral")),
    ("anthropic", changed("anthropic", 0, value=None)),
    ("anthropic", changed("anthropic", 2, value=None)),
    ("anthropic", changed("anthropic", 0, "role", value="assistant")),
    ("anthropic", changed("anthropic", 1, "content", 2, "id", value="c:1")),
    ("anthropic", changed("anthropic", 1, "content", 2, "input", value="{}")),
    ("anthropic", changed("anthropic", 1, "content", 0, "signature", value="")),
    ("anthropic", changed("anthropic", 2, "content", 0, value=None)),
    ("anthropic", changed("anthropic", 2, "content", 1, "text", value="\n")),
    (
        "anthropic",
        changed(
            "anthropic", 2, "content", value=anthropic()["messages"][2]["content"][::-1]
        ),
    ),
    ("gemini", changed("gemini", 0, value=None)),
    ("gemini", changed("gemini", 2, value=None)),
    ("gemini", changed("gemini", 1, "role", value="assistant")),
    ("gemini", changed("gemini", 3, "parts", value=[])),
    ("gemini", changed("gemini", 3, "parts", 0, "text", value="")),
    (
        "gemini",
        changed("gemini", 2, "parts", 0, "functionResponse", "name", value="lose"),
    ),
]


@pytest.mark.parametrize(("vendor", "broken"), BROKEN_RULES)
def test_a_vendor_rule_can_fail(vendor: str, broken: Built) -> None:
    """Each vendor's rules refuse what that vendor refuses."""
    assert wrong(vendor, broken.view)


@pytest.mark.parametrize("vendor", SOUND)
def test_a_sound_request_keeps_the_rules(vendor: str) -> None:
    """The rules refuse nothing that a vendor takes."""
    assert wrong(vendor, read(vendor, SOUND[vendor]())) == []
