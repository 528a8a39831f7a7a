"""What came of running a case: builds, counts, and what went wrong."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from context_builder import ContextBuilder, ContextItem, Report
from context_builder.sessions import FileSession
from tests.cases.view import View, read

__all__ = ["Built", "Counted", "Loaded", "NotYet", "Run", "need", "stored_form"]

Json = Any
"""A piece of a case file."""

MODELS: Mapping[str, str] = {
    "openai": "gpt-4o",
    "strict": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "gemini": "gemini-2.5-flash",
    "mistral": "mistral-large-latest",
}
"""What a request names where the case names no model; the window is the case's own."""


class NotYet(Exception):  # noqa: N818  it is no error of the case
    """The library has no public door for something that a case needs."""

    def __init__(self, *, door: str) -> None:
        super().__init__(f"the library has no public door for {door}")


def need(found: object, *facts: object) -> None:
    """Fail with the facts unless something was found to be so."""
    if not found:
        raise AssertionError(*facts)


@dataclasses.dataclass(frozen=True)
class Built:
    """One build, as it was: later changes do not reach it."""

    name: str
    target: str
    own: bool
    """Whether the step asked for this very vendor."""
    budget_tokens: int
    seconds: float
    request: Mapping[str, Any] | None = None
    report: Report | None = None
    error: Exception | None = None
    summarizer_calls: int = 0
    sent: tuple[Mapping[str, Any], ...] = ()
    """Every request that was made of the vendor, where the step was to send."""

    @property
    def view(self) -> View:
        """The request as a reader sees it; a build that failed fails here again."""
        need(self.request, f"{self.name} raised {self.error!r}")
        return read(self.target, self.request or {})


@dataclasses.dataclass(frozen=True)
class Counted:
    """One count."""

    name: str
    tokens: int
    seconds: float


@dataclasses.dataclass(frozen=True)
class Loaded:
    """What came of loading a file whose session does not become the current one."""

    session: FileSession | None
    """None: it was refused, see the build of the same name."""
    saved: ContextBuilder
    """The session as it was when it was current."""
    is_unchanged: bool
    """Whether the file is as it was before."""


@dataclasses.dataclass
class Run:
    """All that came of a case."""

    case: Mapping[str, Any]
    vendor: str
    ctx: ContextBuilder
    built: list[Built] = dataclasses.field(default_factory=list)
    counted: dict[str, Counted] = dataclasses.field(default_factory=dict)
    added: list[tuple[Json, ...]] = dataclasses.field(default_factory=list)
    """What was stored, in the words of `stored_form`."""
    logged: list[logging.LogRecord] = dataclasses.field(default_factory=list)
    prompts: list[str] = dataclasses.field(default_factory=list)
    """What the stub summariser was given."""
    loaded: dict[str, Loaded] = dataclasses.field(default_factory=dict)
    live_sessions: int | None = None
    """How many sessions a manager had in memory at the end."""
    held_locks: int | None = None
    """How many locks and leases it held at the end."""

    @property
    def number(self) -> str:
        """The number of the case, such as `d01`."""
        return str(self.case["id"]).partition("-")[0]

    @property
    def model(self) -> str:
        """What requests name: the case's model, or one of the vendor's."""
        return str(self.case["input"].get("model") or MODELS[self.vendor])

    def find(self, name: str) -> Built:
        """Return the build of this name, the last where there are several."""
        found = [built for built in self.built if built.name == name]
        need(found, f"no build is called {name}")
        return found[-1]


def stored_form(item: ContextItem | Mapping[str, Any]) -> tuple[Json, ...]:
    """Say what of an item is stored unchanged: role, text, calls, whose call."""
    if isinstance(item, ContextItem):
        calls = [(call.id, call.name, call.arguments) for call in item.tool_calls]
        return (item.role, item.text, tuple(calls), item.tool_call_id)
    content = item.get("content") or ""
    if not isinstance(content, str):
        texts = [part["text"] for part in content if part["type"] == "text"]
        content = "\n".join(text for text in texts if text.strip())
    calls = [
        (call["id"], call["function"]["name"], call["function"]["arguments"])
        for call in item.get("tool_calls") or ()
    ]
    return (item["role"], content, tuple(calls), item.get("tool_call_id"))
