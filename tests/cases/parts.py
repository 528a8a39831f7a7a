"""Splits a case into parts that can pass or fail apart: one for each vendor.

What depends on what a summariser says is a part of its own. Every assertion of a case
falls into at least one part.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.cases.assertions import hold
from tests.cases.expand import builds_of, steps_of
from tests.cases.run_assertions import RUN_ASSERTIONS
from tests.cases.runner import run_case
from tests.cases.words import ABOUT_SUMMARIES

__all__ = ["CASES", "SUMMARIZER", "Part", "parts_of"]

FOLDER = Path(__file__).parents[1] / "data" / "cases"
CASES = [json.loads(path.read_text("utf-8")) for path in sorted(FOLDER.glob("*.json"))]
SUMMARIZER = "summarizer"
"""The part of a case that needs the stub summariser."""

Assertion = Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class Part:
    """What one vendor, or the summariser, has to do with a case."""

    case: Mapping[str, Any]
    name: str
    """A vendor, or `summarizer`."""
    assertions: tuple[Assertion, ...]

    @property
    def id(self) -> str:
        """The name of the test."""
        return f"{self.case['id']}-{self.name}"

    @property
    def vendor(self) -> str:
        """Whom it builds for."""
        provider: str = self.case["input"]["provider"]
        return provider if self.name == SUMMARIZER else self.name

    def check(self) -> None:
        """Run the case and hold every assertion of the part against it.

        Raises:
            AssertionError: If one does not hold.
            NotYet: If the library has no door for a step or an assertion.
        """
        wanted = [
            name
            for assertion in self.assertions
            if "valid_for" in assertion
            for name in _names(assertion)
        ]
        run = run_case(
            self.case, self.vendor, wanted=wanted, summarizer=self.name == SUMMARIZER
        )
        if self.name != self.case["input"]["provider"]:
            run.built[:] = [each for each in run.built if each.own or wanted]
        for assertion in self.assertions:
            hold(assertion, run)


def _names(assertion: Assertion) -> list[str]:
    asked = assertion.get("each", assertion.get("at", "build"))
    return list(asked) if isinstance(asked, list) else [asked]


def parts_of(case: Mapping[str, Any]) -> list[Part]:
    """Split a case; the parts come in the order in which their names first appear."""
    parts: dict[str, list[Assertion]] = {}
    for assertion in case["expect"]:
        for name in _parts(assertion, case):
            parts.setdefault(name, []).append(assertion)
    for words in (each for each in case["expect"] if "words" in each):
        for name, assertions in parts.items():
            is_for = not _is_about_summaries(case) and name != SUMMARIZER
            if is_for and words not in assertions:
                assertions.append(words)
    return [Part(case, name, tuple(found)) for name, found in parts.items()]


def _parts(assertion: Assertion, case: Mapping[str, Any]) -> Iterator[str]:
    """Yield the parts that an assertion belongs to."""
    if "words" in assertion:
        # Said of every vendor's builds alike.
        yield SUMMARIZER if _is_about_summaries(case) else case["input"]["provider"]
    elif _depends_on_summary(assertion, case):
        yield SUMMARIZER
    elif "valid_for" in assertion:
        yield from assertion["valid_for"]
    elif assertion.keys() & RUN_ASSERTIONS.keys() and "at" not in assertion:
        yield case["input"]["provider"]
    else:
        yield from dict.fromkeys(_providers(assertion, case))


def _is_about_summaries(case: Mapping[str, Any]) -> bool:
    return case["id"].partition("-")[0] in ABOUT_SUMMARIES


def _depends_on_summary(assertion: Assertion, case: Mapping[str, Any]) -> bool:
    stubs = [
        op for op in steps_of(case["input"].get("ops", ())) if op["op"] == SUMMARIZER
    ]
    if any(key.startswith("summar") for key in assertion):
        return True
    said = json.dumps([[op.get("returns"), op.get("error")] for op in stubs])
    return any(text in said for text in _asked_texts(assertion))


def _asked_texts(assertion: Assertion) -> Iterator[str]:
    for key in ("contains", "not_contains", "count_of", "no_own_message"):
        value = assertion.get(key)
        if value is not None:
            yield value if isinstance(value, str) else value["text"]


def _providers(assertion: Assertion, case: Mapping[str, Any]) -> Iterator[str]:
    """Yield the vendors of the builds that an assertion is about."""
    builds = builds_of(case)
    asked = assertion.get("each", assertion.get("at"))
    if asked is None:
        yield builds[-1][1]
        return
    for name in asked if isinstance(asked, list) else [asked]:
        sample = name.replace("*", "0")
        found = [vendor for looks, vendor in builds if looks.fullmatch(sample)]
        yield from found or [case["input"]["provider"]]
