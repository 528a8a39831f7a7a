"""Copies JSON-like data, so that what is handed out belongs to the caller."""

from __future__ import annotations

from typing import Any

__all__ = ["copy_json"]


def copy_json(value: Any) -> Any:
    """Copy dictionaries and lists all the way down; texts and numbers are shared."""
    if isinstance(value, dict):
        return {key: copy_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [copy_json(part) for part in value]
    return value
