"""What is known of each model: its encoding and how much it can hold.

The tables are data: `models.json` (current models) and `older_models.json` (models
whose logs and snapshots are still about; these figures are general knowledge, not
checked against a vendor's list). They are read at the first question, not at
import, and never change afterwards. A name that is not in them is guessed from a
family, and says so, or refused: a window is never invented.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from context_builder.errors import UnknownModelError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["ModelInfo", "known_models", "resolve_model"]


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """The limits of one model, in tokens, and how its tokens are counted."""

    name: str
    """The name in the table that the figures stand under; not always the name asked."""
    provider: str
    """Who serves it, such as `"openai"`."""
    encoding: str | None
    """The public tokenizer, such as `"o200k_base"`; None: it has to be estimated."""
    context_window: int
    """All tokens that the model can hold, input and output together."""
    max_input_tokens: int | None
    """The ceiling of the input alone; None: only the window limits it."""
    max_output_tokens: int | None
    """The ceiling of the output; as large as the window where there is no other."""
    is_guess: bool
    """Whether the figures are those of a relative, as this very model is not known."""
    separate_output: bool
    """Whether the output has its own room, beside the window rather than inside it."""


_SEPARATE_OUTPUT = frozenset({"gemini", "dashscope"})
"""Providers whose window is the input's alone."""

_DEFAULT_ENCODING: Mapping[str, str] = {"openai": "o200k_base"}
"""Where a table row names no encoding."""

# Region or vendor in front of a name: "us.", "anthropic.", on Bedrock.
_DOTTED_PREFIX = re.compile(
    r"(?:us|eu|apac|ap|jp|au|ca|global|us-gov|anthropic|openai|google|meta|mistral"
    r"|amazon|cohere|deepseek|qwen|moonshotai|moonshot|zai|xai)\."
)
# What stands behind a name without making another model of it.
_SUFFIX = re.compile(
    r"(?:-latest|:[a-z]+|@[\w.-]+|-v\d+(?::\d+)?|-v\d+:\d+:\w+"
    r"|-\d{4}-\d{2}-\d{2}|-\d{8}|-\d{6}|-\d{4}|-00\d|-\d{2}-\d{2}"
    r"|-preview|-exp|-experimental)$"
)
# A dated snapshot of a name that floats ("-latest") may be an older, smaller model.
_FLOATING = "-latest"


def resolve_model(name: str) -> ModelInfo:
    """Look up a model, by its exact name or by what the name is a form of.

    A fine-tune has its base model's figures, and a dated snapshot its model's, unless
    the table lists it. Prefixes of providers and regions are ignored. Whatever else is
    not listed gets the figures of the longest listed name that begins it, as a guess:
    `gpt-4o-new` those of `gpt-4o`, never those of `gpt-4`.

    Raises:
        UnknownModelError: If not even a relative is listed.
    """
    found = _found(name)
    if isinstance(found, ModelInfo):
        return found
    raise UnknownModelError(name, close_matches=found)


@functools.lru_cache(maxsize=1024)
def _found(name: str) -> ModelInfo | tuple[str, ...]:
    """Return a model, or else the names that are most like it.

    What is not known is remembered as well: a model of one's own is asked about at
    every request.
    """
    table = _table()
    if name in table:
        return table[name]
    forms = tuple(_forms(name))
    for form in forms:
        if form in table:
            return _unless_hosted_elsewhere(name, table[form])
        if form + _FLOATING in table:
            return replace(table[form + _FLOATING], is_guess=True)
    for form in forms:
        for begin in _beginnings(form):
            if begin in table:
                return replace(table[begin], is_guess=True)
    return _close_matches(forms[-1], table)


def _unless_hosted_elsewhere(name: str, info: ModelInfo) -> ModelInfo:
    """Call it a guess if the name says that another known provider serves it.

    A host may cut the window down: Ollama loads what fits the machine.
    """
    host = name.strip().lower().partition("/")[0]
    providers = {known.provider for known in _table().values()}
    return replace(info, is_guess=host in providers - {info.provider})


def known_models() -> tuple[str, ...]:
    """List every name in the tables, sorted."""
    return tuple(sorted(_table()))


@functools.cache
def _table() -> Mapping[str, ModelInfo]:
    folder = files("context_builder.tokens")
    return {
        row["name"]: _info(row)
        for file in ("older_models.json", "models.json")
        for row in _rows((folder / file).read_text("utf-8"))
    }


def _rows(text: str) -> Iterator[dict[str, Any]]:
    table = json.loads(text)
    for row in table["models"]:
        yield dict(zip(table["columns"], row, strict=True))


def _info(row: Mapping[str, Any]) -> ModelInfo:
    provider = row["provider"]
    return ModelInfo(
        **{**row, "encoding": row["encoding"] or _DEFAULT_ENCODING.get(provider)},
        is_guess=False,
        separate_output=provider in _SEPARATE_OUTPUT,
    )


def _forms(name: str) -> Iterator[str]:
    """Yield ever barer forms of a name: without prefixes, then without suffixes."""
    form = name.strip().lower()
    if form.startswith("ft:"):
        form = form.split(":")[1]
    for bare in _without_prefixes(form):
        form = _spelled(bare)
        yield form
    while (shorter := _SUFFIX.sub("", form)) != form:
        yield shorter
        form = shorter


def _spelled(form: str) -> str:
    # Azure writes 3.5 as 35, routers write claude's 4-5 as 4.5.
    if form.startswith("claude"):
        return form.replace(".", "-")
    return form.replace("gpt-35-", "gpt-3.5-")


def _without_prefixes(form: str) -> Iterator[str]:
    yield form
    while "/" in form:
        form = form.partition("/")[2]
        yield form
    while match := _DOTTED_PREFIX.match(form):
        form = form[match.end() :]
        yield form


def _beginnings(form: str) -> Iterator[str]:
    # Longest first. Only at a boundary: "gpt-4o" does not begin with "gpt-4".
    for boundary in reversed(list(re.finditer(r"[-.:@]", form))):
        yield form[: boundary.start()]


def _close_matches(name: str, table: Mapping[str, ModelInfo]) -> tuple[str, ...]:
    import difflib  # noqa: PLC0415  only for an error's sake

    return tuple(difflib.get_close_matches(name, sorted(table), n=3, cutoff=0.6))
