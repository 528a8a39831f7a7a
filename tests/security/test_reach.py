"""Threat: being made to fetch, run or write something.

The library opens no address that a conversation names, runs no code that a file or a
model brings, and writes nowhere but where it was told to.
"""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import context_builder
from context_builder import ContextBuilder
from context_builder.agent.everyday import calculator, clock
from context_builder.errors import ContextBuilderError
from context_builder.messages import FilePart, ImagePart
from context_builder.render import adapter_names
from context_builder.testing import WordCounter
from tests.render.sdk_types import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

PACKAGE = Path(context_builder.__file__).parent

RUNS = frozenset(
    {
        *("pickle", "marshal", "shelve", "dill", "yaml", "ctypes", "pty", "code"),
        *("subprocess", "commands", "xml", "lxml", "telnetlib", "ftplib", "smtplib"),
    }
)
"""Modules that run, unpickle or parse what a stranger may have written."""
FETCHES = frozenset({"socket", "urllib", "http", "httpx", "requests", "aiohttp"})
MAY_RUN: dict[str, set[str]] = {
    "cli/": {"subprocess"},
    "packing.py": {"pickle"},  # of its own memory; see tests/sessions/test_asleep.py
    "sessions/asleep.py": {"pickle"},
    "sessions/cache.py": {"pickle"},
}
MAY_FETCH: dict[str, set[str]] = {
    "cli/": {"socket", "urllib", "http", "httpx"},
    "agent/": {"httpx"},
    "sessions/": {"socket", "urllib"},
    "summarizers/": {"httpx"},
    "web/": {"socket"},
}
"""What speaks to the addresses that its caller gave: stores, and vendors' clients."""


def imports() -> Iterator[tuple[str, str]]:
    """Yield each module of the package with the modules that it imports."""
    for path in PACKAGE.rglob("*.py"):
        name = path.relative_to(PACKAGE).as_posix()
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    yield name, alias.name.partition(".")[0]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                yield name, node.module.partition(".")[0]


def may(name: str, module: str, allowed: dict[str, set[str]]) -> bool:
    """Say whether a part of the package may use a module."""
    return any(
        name.startswith(part) and module in modules for part, modules in allowed.items()
    )


def test_nothing_can_run_what_a_stranger_wrote() -> None:
    """No module for it is imported, and nothing is evaluated."""
    for name, module in imports():
        assert module not in RUNS or may(name, module, MAY_RUN), f"{name}: {module}"
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                assert called not in {"eval", "exec", "compile", "__import__"}, path
                assert called not in {"os.system", "os.popen", "os.exec"}, path


def test_the_three_tiers_cannot_reach_the_network() -> None:
    """Only what talks to stores and vendors may."""
    for name, module in imports():
        assert module not in FETCHES or may(name, module, MAY_FETCH), (
            f"{name}: {module}"
        )


ADDRESSES = (
    "http://169.254.169.254/latest/meta-data/",
    "http://127.0.0.1:9/x.png",
    "https://example.org/x.png",
    "file:///etc/passwd",
    "gopher://127.0.0.1/x",
    "//example.org/x.png",
    "\\\\example.org\\share\\x.png",
)


@pytest.mark.parametrize("target", adapter_names())
@pytest.mark.parametrize("address", ADDRESSES)
def test_no_address_is_opened(target: str, address: str) -> None:
    """A picture or a file by its address is passed on, or named: never fetched.

    Every test fails that reaches for another machine; files would show in the request.
    """
    ctx = ContextBuilder(max_tokens=100_000, counter=WordCounter())
    ctx.add_user_message([ImagePart(url=address), {"type": "text", "text": "Look."}])
    ctx.add_user_message([FilePart(url=address), {"type": "text", "text": "Read."}])
    try:
        said = json.dumps(ctx.request(target, model=MODELS[target]), default=str)
    except ContextBuilderError:
        return  # a vendor that takes no such address
    assert "root:" not in said
    assert ctx.explain(target, model=MODELS[target]).tokens > 0


@pytest.mark.parametrize(
    "expression",
    [
        "*".join(["(10**1000)**1000"] * 11),
        "9**9**9**9",
        "((" * 90 + "1" + "))" * 90,
        "-" * 199 + "1",
        "__import__('os').system('x')",
        "().__class__",
        "'a' * 10**9",
        "[1] * 10**9",
        "1 << 10**9",
        "f'{1}'",
        "(lambda: 1)()",
    ],
)
def test_the_calculator_only_calculates(expression: str) -> None:
    """Numbers of a bounded size; everything else is an error for the model."""
    assert calculator.function is not None
    try:
        said = str(calculator.function(expression))
    except ValueError:
        return
    assert len(said) < 5_000


@pytest.mark.parametrize(
    "zone", ["../../etc/passwd", "/etc/passwd", "Europe", "", "a" * 5_000, "\0", "."]
)
def test_the_clock_opens_no_file_of_another_kind(zone: str) -> None:
    """What is no time zone is said to be none."""
    assert clock.function is not None
    with pytest.raises(ValueError, match="zone"):
        clock.function(zone)
