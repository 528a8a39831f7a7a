"""Recorded requests with their bills; `tests/data/README.md` says whose."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data" / "openai_usage.jsonl"


@pytest.fixture(scope="session")
def usage_records() -> list[dict[str, Any]]:
    """Read all recorded requests."""
    return [json.loads(line) for line in DATA.read_text("utf-8").splitlines()]
