"""What the pages of docs/ say of the code is what the code says."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from context_builder import (
    ContextBuilder,
    RequestOptions,
    Settings,
    Shares,
    ToolCall,
    errors,
)
from context_builder.cli.commands import app
from context_builder.render import adapter_names, validate
from tests.render.sdk_types import MODELS

if TYPE_CHECKING:
    from pydantic import BaseModel

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def page(name: str) -> str:
    """Return the text of a page."""
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, heading: str) -> str:
    """Return what stands below a heading, up to the next one."""
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def rows_of(text: str) -> list[list[str]]:
    """Return the cells of a table's rows, without its head."""
    lines = [line for line in text.split("\n") if line.startswith("|")]
    return [[cell.strip() for cell in line[1:-1].split("|")] for line in lines[2:]]


def said(default: object) -> str:
    """Say a default as the pages do."""
    if default is None:
        return "none"
    return (
        f"`{type(default).__name__}()`" if isinstance(default, Shares) else str(default)
    )


@pytest.mark.parametrize("model", [Settings, Shares, RequestOptions])
def test_every_setting_is_listed_with_its_default(model: type[BaseModel]) -> None:
    """Name by name, in the order of the code, with default and unit."""
    rows = rows_of(section(page("settings.md"), model.__name__))
    fields = model.model_fields
    assert [row[0].strip("`") for row in rows] == list(fields)
    assert [row[1] for row in rows] == [said(one.default) for one in fields.values()]
    assert all(row[2] for row in rows)


def test_every_argument_of_the_builder_is_listed() -> None:
    """Name by name, in the order of the code."""
    rows = rows_of(section(page("settings.md"), "ContextBuilder"))
    names = list(inspect.signature(ContextBuilder).parameters)
    assert [row[0].strip("`") for row in rows] == names


def test_the_tree_of_errors_is_word_for_word() -> None:
    """As in the docstring of the module."""
    lines = (inspect.getdoc(errors) or "").split("\n")
    tree = [line[4:] for line in lines if re.match(r" {4,}\w*Error\b", line)]
    assert len(tree) == len(errors.__all__)
    assert "```\n" + "\n".join(tree) + "\n```" in page("errors.md")


def test_every_error_has_a_row() -> None:
    """With when it comes and what stays."""
    listed = {row[0].strip("`") for row in rows_of(page("errors.md"))}
    assert listed == set(errors.__all__) - {"ContextBuilderError"}


def _test_names() -> set[str]:
    """Return the names of all tests there are."""
    found: set[str] = set()
    for path in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found |= {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        }
    return found


def test_every_row_of_the_checklist_is_done_or_said_to_come_later() -> None:
    """A row that is done names a test, which is there and bears the row's number."""
    known = _test_names()
    rows = rows_of(page("features.md"))
    assert len({row[0] for row in rows}) == len(rows)
    for number, _, where, test, status in rows:
        name = test.strip("`")
        if status == "later":
            assert not name, f"{number} has a test: is it done?"
        else:
            assert status == "done"
            assert name in known, f"{number}: there is no test {name}"
            assert name.startswith(f"test_{number.lower()}_")
            assert where


def test_no_row_of_the_checklist_is_missing() -> None:
    """F1 to F38, apart from the numbers that nobody uses."""
    unused = {"F9", *(f"F{number}" for number in range(25, 30))}
    listed = [row[0] for row in rows_of(page("features.md"))]
    assert listed == [f"F{n}" for n in range(1, 39) if f"F{n}" not in unused]


def test_every_row_that_a_test_shows_is_done() -> None:
    """A test of the checklist means that its row is there."""
    tests = (ROOT / "tests" / "test_features.py").read_text(encoding="utf-8")
    shown = {f"F{number}" for number in re.findall(r"def test_f(\d+)_", tests)}
    done = {row[0] for row in rows_of(page("features.md")) if row[-1] == "done"}
    assert shown <= done


def test_every_target_is_in_the_readme() -> None:
    """In its table of targets."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    cells = [row[0] for row in rows_of(section(readme, "Targets"))]
    assert sorted(re.findall(r"`([^`]+)`", " ".join(cells))) == list(adapter_names())


def test_every_command_has_an_example() -> None:
    """In the page about the command line."""
    names = [
        command.name or getattr(command.callback, "__name__", "")
        for command in app.registered_commands
    ]
    names += [str(group.name) for group in app.registered_groups]
    assert names
    for name in names:
        assert f"\n## {name}\n" in page("cli.md"), f"no heading for {name}"
        assert f"$ context-builder {name} " in page("cli.md"), f"no example of {name}"


@pytest.mark.parametrize("target", adapter_names())
def test_f30_changing_the_vendor_changes_one_argument(target: str) -> None:
    """F30: one session, broken role order and all, is said as each vendor takes it."""
    ctx = ContextBuilder(max_tokens=9_000, system_prompt="You are terse.")
    ctx.add_assistant_message("Hello! What can I do?")
    ctx.add_user_message("Search.")
    ctx.add_assistant_message("One moment.")
    ctx.add_assistant_message(tool_calls=[ToolCall("call_1", "search")])
    ctx.add_tool_result("search", "found", tool_call_id="call_1")
    ctx.add_message("system", "The user is in a hurry.")
    ctx.add_user_message("Thanks.")
    ctx.add_user_message("And now?")
    model = MODELS[target]
    assert validate(ctx.request(target, model=model), target) == []
    assert ctx.explain(target, model=model).removed == ()


def test_every_page_is_in_the_index() -> None:
    """So that it can be found."""
    for path in DOCS.glob("*.md"):
        assert path.name == "index.md" or f"({path.name})" in page("index.md"), (
            path.name
        )
