"""The assertions of the case files that are about a whole run, not about one build."""

from __future__ import annotations

import fnmatch
import itertools
import json
from typing import TYPE_CHECKING, Any

from context_builder.render.overflow import is_context_overflow
from tests.cases.results import Run, need, stored_form
from tests.cases.sending import VendorError
from tests.cases.words import WORDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["RUN_ASSERTIONS"]

Json = Any
"""A value that a case gives."""


def words(run: Run, _: Json) -> None:
    """What the case says in words, put into code."""
    check = WORDS[run.number]
    if check is not None:
        check(run)


def not_raises(run: Run, _: Json) -> None:
    """No build of the run failed."""
    failed = [built for built in run.built if built.error is not None]
    need(not failed, failed)


def stored_unchanged(run: Run, _: Json) -> None:
    """The stored items are what was added, in order and in full."""
    stored = [stored_form(item) for item in run.ctx.items]
    need(stored == run.added, stored, run.added)


def stored_count(run: Run, value: Json) -> None:
    """So many items are stored."""
    need(len(run.ctx.items) == value["equals"], len(run.ctx.items), value)


def log_not_contains(run: Run, texts: Json) -> None:
    """Nothing that was logged has any of these texts."""
    need(run.logged, "nothing was logged at all")
    for record in run.logged:
        said = f"{record.getMessage()} {record.__dict__}"
        need(not any(text in said for text in texts), record)


def prefix_stable(run: Run, value: Json) -> None:
    """An earlier build without its last message mostly begins the later one."""
    builds = [
        built.view.conversation
        for built in run.built
        if fnmatch.fnmatchcase(built.name, value["over"])
    ]
    steps = [
        later[: len(earlier) - 1] == earlier[:-1]
        for earlier, later in itertools.pairwise(builds)
    ]
    need(steps, f"fewer than two builds are called {value['over']}")
    share = sum(steps) / len(steps)
    need(share >= value["min_share_of_steps"], share, value)


def summarizer_calls_total(run: Run, value: Json) -> None:
    """The stub was called so often in the run."""
    need(len(run.prompts) <= value["max"], len(run.prompts), value)


def summarizer_input_contains(run: Run, text: Json) -> None:
    """The stub was given this text."""
    need(any(text in prompt for prompt in run.prompts), text, run.prompts)


def summarizer_input_not_contains(run: Run, text: Json) -> None:
    """The stub was called, and never given this text."""
    need(run.prompts, "the summariser was never called")
    need(not any(text in prompt for prompt in run.prompts), text, run.prompts)


_PROPERTIES: Mapping[str, tuple[str, ...]] = {
    "asks for the language of the conversation": ("language",),
    "asks to separate finished from open work": ("done", "to do"),
}


def summarizer_prompt(run: Run, asked: Json) -> None:
    """The prompt has a property that the case gives in words."""
    signs = _PROPERTIES[asked]
    prompts = [prompt.lower() for prompt in run.prompts]
    need(any(all(sign in said for sign in signs) for said in prompts), asked, prompts)


def classify(run: Run, value: Json) -> None:
    """Every error of a list is told to be an overflow, or to be none."""
    errors = run.case["input"][value["all"]]
    need(errors, f"no {value['all']}")
    for body in errors:
        for error in (body, {"error": body}, json.dumps(body), VendorError(body)):
            told = is_context_overflow(error)
            need(told == (value["as"] == "overflow"), error, told)


def live_sessions(run: Run, value: Json) -> None:
    """So many sessions are in memory at the end."""
    live = run.live_sessions
    need(live is not None and live <= value["max"], live, value)


RUN_ASSERTIONS: Mapping[str, Callable[[Run, Json], None]] = {
    rule.__name__: rule
    for rule in (
        words,
        not_raises,
        stored_unchanged,
        stored_count,
        log_not_contains,
        prefix_stable,
        summarizer_calls_total,
        summarizer_input_contains,
        summarizer_input_not_contains,
        summarizer_prompt,
        classify,
        live_sessions,
    )
}
"""Those that are also about a build (`not_raises`) are so where `at` names one."""
