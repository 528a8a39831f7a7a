"""Errors: one tree, facts as attributes, no content in messages."""

from __future__ import annotations

import inspect
import re

import pytest

from context_builder import errors
from context_builder.errors import (
    AdapterError,
    BudgetExceededError,
    ContextBuilderError,
    InvalidItemError,
    SessionConflictError,
    SessionCorruptedError,
    StoreError,
    SummarizerError,
    UnknownModelError,
)


def _printed_tree() -> list[tuple[int, str]]:
    """Return depth and name of each class in the docstring of the module."""
    lines = re.findall(r"^( {4,})(\w*Error)\b", inspect.getdoc(errors) or "", re.M)
    return [((len(indent) - 4) // 2, name) for indent, name in lines]


def _real_tree() -> list[tuple[int, str]]:
    """Return depth and name of each class as it is, in the order of definition."""

    def below(cls: type[Exception], depth: int) -> list[tuple[int, str]]:
        own = [one for one in cls.__subclasses__() if one.__module__ == errors.__name__]
        return [(depth, cls.__name__)] + [
            line for one in own for line in below(one, depth + 1)
        ]

    return below(ContextBuilderError, 0)


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    """Word for word, indent by indent."""
    assert _printed_tree() == _real_tree()


def test_every_class_is_exported() -> None:
    """And nothing else."""
    assert sorted(errors.__all__) == sorted(name for _, name in _real_tree())


@pytest.mark.parametrize(
    ("cls", "builtin"),
    [(InvalidItemError, ValueError), (UnknownModelError, LookupError)],
)
def test_some_are_built_in_errors_as_well(
    cls: type[Exception], builtin: type[Exception]
) -> None:
    """A caller who knows only Python's errors catches them too."""
    assert issubclass(cls, builtin)


def test_an_invalid_item_names_the_field_and_keeps_the_value_apart() -> None:
    """The value may hold content: it is no part of the message."""
    error = InvalidItemError("priority is wrong", field="priority", value="secret")
    assert (error.field, error.value) == ("priority", "secret")
    assert "secret" not in str(error)


def test_an_unknown_model_comes_with_names_like_it() -> None:
    """And with what to do."""
    error = UnknownModelError("gpt-4p", close_matches=["gpt-4o", "gpt-4"])
    assert (error.model, error.close_matches) == ("gpt-4p", ("gpt-4o", "gpt-4"))
    assert "'gpt-4o', 'gpt-4'" in str(error)
    assert "context_window=" in str(error)


def test_an_exceeded_budget_says_what_takes_how_much() -> None:
    """Largest first."""
    error = BudgetExceededError(
        needed_tokens=5_100, limit_tokens=4_000, parts={"system": 900, "tools": 4_200}
    )
    assert list(error.parts) == ["tools", "system"]
    assert "5,100" in str(error)
    assert "(tools 4,200, system 900)" in str(error)


def test_the_others_carry_their_facts() -> None:
    """Attributes are for programs."""
    adapter = AdapterError("no", adapter="openai", item_id="i1")
    assert (adapter.adapter, adapter.item_id) == ("openai", "i1")
    taken = SessionConflictError("taken", session_id="s")
    damaged = SessionCorruptedError("bad", session_id="s", position=3)
    assert (taken.session_id, damaged.session_id, damaged.position) == ("s", "s", 3)
    assert isinstance(taken, StoreError)
    assert isinstance(SummarizerError("late"), ContextBuilderError)
