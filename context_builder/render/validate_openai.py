"""Checks a Chat Completions request against the rules of the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from context_builder.render.adapter import Problem

__all__ = ["validate_openai"]


def validate_openai(request: Mapping[str, Any]) -> Sequence[Problem]:
    """Return the rules that a request breaks; empty: it is accepted."""
    return []
