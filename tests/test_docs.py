"""What the pages of docs/ say of the code is what the code says."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from pathlib import Path

import pytest
from pydantic import BaseModel

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
from context_builder.settings import ItemLimits
from tests.render.sdk_types import MODELS
from tests.test_readme import PAGES, WRITTEN, blocks_of
from tests.written import filled

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
    is_settings = isinstance(default, BaseModel)
    return f"`{type(default).__name__}()`" if is_settings else str(default)


@pytest.mark.parametrize("model", [Settings, ItemLimits, Shares, RequestOptions])
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
    for number, _, where, test, shown, status in rows:
        name = test.strip("`")
        if status == "later":
            assert not name, f"{number} has a test: is it done?"
        else:
            assert status == "done"
            assert name in known, f"{number}: there is no test {name}"
            assert name.startswith(f"test_{number.lower()}_")
            assert where
            assert re.fullmatch(r"\[\w+\]\([\w.]+\.md(#[\w-]+)?\)", shown), number


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
    """In its table of targets, and in the Chinese one."""
    for name, heading in (("README.md", "Adapters"), ("README.zh-CN.md", "适配器")):
        readme = (ROOT / name).read_text(encoding="utf-8")
        cells = " ".join(row[0] for row in rows_of(section(readme, heading)))
        assert sorted(re.findall(r"`([^`]+)`", cells)) == list(adapter_names())


@pytest.mark.parametrize(
    ("name", "heading", "nothing"),
    [("README.md", "Tuning", "none"), ("README.zh-CN.md", "调整", "无")],
)
def test_the_defaults_in_the_readme_are_those_of_the_code(
    name: str, heading: str, nothing: str
) -> None:
    """Number by number."""
    fields = Settings.model_fields
    text = section((ROOT / name).read_text(encoding="utf-8"), heading)
    seen = 0
    for names, default, *_ in rows_of(text):
        listed = [one for one in re.findall(r"`(\w+)`", names) if one in fields]
        values = default.split(", ")
        if isinstance(getattr(Settings(), listed[0] if listed else "", None), Shares):
            parts = list(Shares().by_class().values())
            assert values[0] == " / ".join(f"{100 * part:g}" for part in parts) + " %"
            continue
        for place, one in enumerate(listed):
            real, value = fields[one].default, values[min(place, len(values) - 1)]
            assert value == nothing if real is None else float(value) == real, one
            seen += 1
    assert seen >= 4


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


PUBLIC = (
    "context_builder",
    "context_builder.agent",
    "context_builder.sessions",
    "context_builder.testing",
    "context_builder.web",
)


def test_every_public_name_is_in_the_reference() -> None:
    """What the page names is there, and what is public is on the page."""
    listed = re.findall(r"^::: (\S+)$", page("api.md"), re.M)
    assert len(set(listed)) == len(listed)
    for path in listed:
        home, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(home), name), path
    for home in PUBLIC:
        for name in importlib.import_module(home).__all__:
            assert {f"{home}.{name}", f"context_builder.{name}"} & set(listed), name


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.name)
def test_what_is_taken_from_the_code_is_as_it_is_there(path: Path) -> None:
    """Modules, layers, targets of make; `python -m tests.test_readme` writes them."""
    text = path.read_text(encoding="utf-8")
    assert filled(text) == text


def test_the_architecture_names_every_module() -> None:
    """Of the package, and of each tier."""
    text = page("architecture.md")
    for folder in (".", "decide", "collect", "render"):
        assert f"<!-- modules: {folder} -->" in text
    for name in re.findall(r"`((?:collect|decide|render)/\w+\.py)`", text):
        assert (ROOT / "context_builder" / name).exists(), name


def test_what_is_cut_from_an_example_is_in_it() -> None:
    """Line by line, as it stands there."""
    cut = [
        block
        for block in blocks_of(DOCS / "frameworks.md")
        if block.name.startswith("examples/")
    ]
    for block in cut:
        source = (ROOT / block.name).read_text(encoding="utf-8")
        assert f"\n{block.text}\n" in source, block.id
    examples = {path.name for path in (ROOT / "examples").glob("*.py")}
    assert {Path(block.name).name for block in cut} == examples


def test_every_case_is_answered_in_the_questions() -> None:
    """Each report behind a case is a question that somebody had."""
    cases = {path.name[:3] for path in (ROOT / "tests/data/cases").glob("d*.json")}
    asked = re.findall(r"^\*(d[\d, d]+)\.\* ", page("faq.md"), re.M)
    assert cases == set(", ".join(asked).split(", "))


def test_lists_begin_behind_an_empty_line() -> None:
    """Else they are a paragraph in the site, though a list where the file is shown."""
    for path in PAGES:
        text = re.sub(
            r"^ *```.*?^ *```",
            "```",
            path.read_text(encoding="utf-8"),
            flags=re.M | re.S,
        )
        before = ""
        for line in text.split("\n"):
            item = re.match(r"([-*]|\d+\.) ", line)
            fine = not before.strip() or re.match(r"([-*]|\d+\.) | +\S", before)
            assert not item or fine, f"{path.name}: {line}"
            before = line


def test_every_page_is_in_the_index() -> None:
    """So that it can be found."""
    for path in DOCS.glob("*.md"):
        assert path.name == "index.md" or f"({path.name})" in page("index.md"), (
            path.name
        )


def _sections(name: str) -> list[str]:
    text = (ROOT / name).read_text(encoding="utf-8")
    return text.split("\n## ")


def _said_alike(section: str) -> dict[str, list[str]]:
    """Return of a section what is the same in every language."""
    blocks = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    shown = blocks.sub("", section)
    rows = [line for line in shown.split("\n") if line.startswith("|")]
    return {
        "blocks": blocks.findall(section),
        "names": sorted(re.findall(r"`([^`\s]+)`", shown)),
        "links": sorted(set(re.findall(r"\]\(([^)]+)\)", shown)) - _TONGUES),
        "figures": [" ".join(re.findall(r"\d[\d,.]*\d|\d", row)) for row in rows],
    }


_TONGUES = {"README.md", "README.zh-CN.md"}


def test_both_readmes_say_the_same() -> None:
    """Section by section: examples, names, links, and the figures in tables."""
    english, chinese = map(_sections, ("README.md", "README.zh-CN.md"))
    assert len(english) == len(chinese)
    for ours, theirs in zip(english, chinese, strict=True):
        heading = ours.partition("\n")[0]
        assert _said_alike(theirs) == _said_alike(ours), heading
