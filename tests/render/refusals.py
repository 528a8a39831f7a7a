"""Every body that a vendor's rule refuses, and what the refusal says, word for word.

`python -m tests.render.refusals` writes the words anew, to be read before they are
kept: each line says the place, the rule and what to do.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.render.validate_anthropic import validate_anthropic
from context_builder.render.validate_bedrock import validate_bedrock
from context_builder.render.validate_cohere import validate_cohere
from context_builder.render.validate_gemini import validate_gemini
from context_builder.render.validate_mistral import validate_mistral
from context_builder.render.validate_ollama import validate_ollama
from context_builder.render.validate_openai import validate_openai
from context_builder.render.validate_openai_responses import (
    validate_openai_responses,
)
from tests.render import (
    limits_anthropic,
    limits_anthropic_settings,
    limits_bedrock,
    limits_bedrock_settings,
    limits_chat,
    limits_compatible,
    limits_gemini,
    limits_ollama,
    limits_openai,
    limits_responses,
    test_cohere,
    test_mistral,
    test_ollama,
    test_validate_bedrock,
    test_validate_gemini,
    test_validate_openai,
    test_validate_openai_compatible,
    test_validate_openai_responses,
)
from tests.render.bodies_anthropic import REFUSED as ANTHROPIC
from tests.render.more_refused import MORE
from tests.render.wire import broken

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from context_builder.render.adapter import Problem

WORDS = Path(__file__).parents[1] / "data" / "refusals.json"
_Case = tuple[str, Any]


def _rows(test: Any) -> Sequence[Any]:
    """Return what a test is given."""
    rows: Sequence[Any] = test.pytestmark[0].args[1]
    return rows


def _numbered(said: Iterable[tuple[str, Any]]) -> Iterator[_Case]:
    for number, (name, body) in enumerate(said):
        yield f"{number} {name}", body


def _paths(test: Any, good: Any) -> Iterator[_Case]:
    """Return bodies of which one place differs from a good one."""
    rows = [row[-3:] for row in _rows(test)]
    yield from _numbered((p, broken(good, p, value)) for p, value, _ in rows)


def _gemini() -> Iterator[_Case]:
    module = test_validate_gemini
    yield from module.BROKEN.items()
    rows = _rows(module.test_a_broken_order_is_found)
    yield from _numbered(
        (rule, {"contents": contents, "model": module.NEW}) for contents, rule in rows
    )


def _openai() -> Iterator[_Case]:
    module = test_validate_openai
    for name, (place, value, _, _) in module.BROKEN.items():
        yield name, module.broken(place, value)


def _responses() -> Iterator[_Case]:
    module = test_validate_openai_responses
    yield from module.BROKEN.items()
    rows = _rows(module.test_a_broken_order_is_found)
    yield from _numbered(("order", {"input": items}) for items in rows)


_VALIDATORS: Mapping[str, Callable[[Any], Sequence[Problem]]] = {
    "anthropic": validate_anthropic,
    "bedrock": validate_bedrock,
    "cohere": validate_cohere,
    "gemini": validate_gemini,
    "mistral": validate_mistral,
    "ollama": validate_ollama,
    "openai": validate_openai,
    "openai-responses": validate_openai_responses,
}
_REFUSED: Mapping[str, Callable[[], Iterable[_Case]]] = {
    "anthropic": lambda: ((name, case[0]) for name, case in ANTHROPIC.items()),
    "bedrock": lambda: (
        (name, case[0]) for name, case in test_validate_bedrock.REFUSED.items()
    ),
    "cohere": lambda: _paths(
        test_cohere.test_the_validator_finds_each_rule, test_cohere.GOOD
    ),
    "gemini": _gemini,
    "mistral": lambda: _paths(
        test_mistral.test_the_validator_finds_each_rule, test_mistral.GOOD
    ),
    "ollama": lambda: _paths(
        test_ollama.test_the_validator_finds_each_rule, test_ollama.GOOD
    ),
    "openai": _openai,
    "openai-responses": _responses,
}
TARGETS = (*_VALIDATORS, "openai-compatible")
_LIMITS: Mapping[str, Mapping[str, tuple[Any, Any]]] = {
    "anthropic": {**limits_anthropic.LIMITS, **limits_anthropic_settings.SETTINGS},
    "bedrock": {**limits_bedrock.LIMITS, **limits_bedrock_settings.SETTINGS},
    "cohere": limits_chat.COHERE,
    "gemini": limits_gemini.LIMITS,
    "mistral": limits_chat.MISTRAL,
    "ollama": limits_ollama.LIMITS,
    "openai": limits_openai.LIMITS,
    "openai-responses": limits_responses.LIMITS,
}
"""Bodies on both sides of each limit: what is just taken, and what just is not."""


def refusals(target: str) -> dict[str, list[str]]:
    """Return what each refused body of a vendor is told."""
    if target == "openai-compatible":
        return _compatible()
    validate = _VALIDATORS[target]
    cases = [*_REFUSED[target](), *MORE.get(target, {}).items(), *_beyond(target)]
    return {name: [str(one) for one in validate(body)] for name, body in cases}


def _beyond(target: str) -> Iterator[_Case]:
    for name, (_, body) in _LIMITS[target].items():
        if body is not None:
            yield f"limit: {name}", body


def wrongly_refused(target: str) -> dict[str, list[str]]:
    """Return what bodies within the limits are told; empty: all are taken."""
    told: dict[str, list[str]] = {}
    if target == "openai-compatible":
        for name, adapter, body in limits_compatible.taken():
            told[name] = [str(one) for one in adapter.validate(body)]
    else:
        for name, (body, _) in _LIMITS[target].items():
            if body is not None:
                told[name] = [str(one) for one in _VALIDATORS[target](body)]
    return {name: words for name, words in told.items() if words}


def _compatible() -> dict[str, list[str]]:
    module = test_validate_openai_compatible
    told = {}
    rows = _rows(module.test_the_validator_finds_each_rule)
    for number, (adapter, path, value, _) in enumerate(rows):
        body = broken(adapter.render(module.CHAT).request, path, value)
        told[f"{number} {path}"] = [str(one) for one in adapter.validate(body)]
    for name, family, beyond in limits_compatible.refused():
        told[f"limit: {name}"] = [str(one) for one in family.validate(beyond)]
    return told


def kept() -> dict[str, dict[str, list[str]]]:
    """Return the words as they were read and kept."""
    words: dict[str, dict[str, list[str]]] = json.loads(WORDS.read_text("utf-8"))
    return words


if __name__ == "__main__":
    WORDS.write_text(
        json.dumps({name: refusals(name) for name in TARGETS}, indent=1) + "\n",
        "utf-8",
    )
