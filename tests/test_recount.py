from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.recount import o200k, recount

FAMILIES = ("gpt-4o", "gpt-4.1")
"""Models that count by o200k_base, framed as `recount` has it."""
BEYOND_THE_BODY = ("part_", "server_tools", "web_search_options")
"""Features whose price does not follow from the body."""


def is_priced_by_its_body(record: dict[str, Any]) -> bool:
    """Say whether the bill depends on nothing but the texts of the body."""
    return str(record["model"]).startswith(FAMILIES) and not any(
        feature.startswith(BEYOND_THE_BODY) for feature in record["features"]
    )


FILE = Path(__file__).parent / "data/openai_usage.jsonl"
BILLED = [
    record
    for line in FILE.read_text("utf-8").splitlines()
    if is_priced_by_its_body(record := json.loads(line))
]


@pytest.mark.parametrize("record", BILLED, ids=[record["id"] for record in BILLED])
def test_the_recount_is_never_more_than_the_bill(record: dict[str, Any]) -> None:
    """What the tests count with is never above the bill: no budget fails by it."""
    assert recount(record["request"]) <= record["usage"]["prompt_tokens"]


def test_texts_of_one_message_are_one_text() -> None:
    """As they are billed: two parts may share the token at which they meet."""
    parts = [{"type": "text", "text": text} for text in ("Hel", "lo")]
    apart = {"messages": [{"role": "user", "content": parts}]}
    joined = {"messages": [{"role": "user", "content": "Hello"}]}
    assert recount(apart) == recount(joined)
    assert recount(joined) < 3 + 4 + sum(o200k(part["text"]) for part in parts)


def test_the_recount_is_not_far_below_the_bill() -> None:
    """Plain text is counted to the token, and calls and tools with little missing."""
    plain = [record for record in BILLED if not record["features"]]
    exact = [
        recount(record["request"]) == record["usage"]["prompt_tokens"]
        for record in plain
    ]
    assert len(plain) > 50
    assert all(exact)
    shares = sorted(
        recount(record["request"]) / record["usage"]["prompt_tokens"]
        for record in BILLED
        if "tools" in record["features"]
    )
    assert shares[len(shares) // 2] > 0.9
