"""What `import context_builder` gives, and what it does not do."""

from __future__ import annotations

import subprocess
import sys

import context_builder

LATER = ("openai", "tiktoken", "typer", "rich", "httpx", "structlog", "anthropic")
"""Loaded when first needed, by those who need them."""

WATCH = f"""
import sys

seen = []
def watch(event, args):
    if event.startswith("socket."):
        seen.append(event)
sys.addaudithook(watch)
import context_builder
assert not seen, seen
loaded = [name for name in {LATER!r} if name in sys.modules]
assert not loaded, loaded
"""

USE = """
import sys

import context_builder
ctx = context_builder.ContextBuilder(max_tokens=1_000)
ctx.add_user_message("hello")
request = ctx.request(model="gpt-4o")
assert request["messages"] == [{"role": "user", "content": "hello"}]
for name in ("openai", "typer", "rich", "structlog"):
    assert name not in sys.modules, name
"""


def _run(program: str) -> None:
    """Run a program in an interpreter of its own, which has to stay silent."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", program],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_public_names_are_few_and_sorted() -> None:
    """At most 32, in order, each of them there."""
    names = context_builder.__all__
    assert names == sorted(names)
    assert len(names) == len(set(names)) <= 32
    assert all(hasattr(context_builder, name) for name in names)


def test_every_public_class_and_function_says_what_it_is() -> None:
    """In a docstring."""
    for name in context_builder.__all__:
        assert getattr(context_builder, name).__doc__, name


def test_importing_is_silent_and_loads_nobody_elses_library() -> None:
    """No socket, no output, no vendor's SDK, no command line."""
    _run(WATCH)


def test_building_a_request_needs_no_sdk() -> None:
    """A body is plain data: whoever sends it brings the library for it."""
    _run(USE)
