"""Compares what each vendor's adapter counts with what that vendor billed.

    python -m benchmarks.count_vendors [--data FOLDER]

The folder holds recorded requests with their usage (`*_usage.jsonl`); without it, the
records of the test suite are used. Whole requests are counted, as they were sent. An
error is ours less theirs: below zero, we counted too little. Left out are records whose
price depends on what is not in the body: remote files, the vendor's own tools, state
that the vendor keeps. Prints Markdown.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.count_error import MIN_TOKENS, Pair, read, table
from context_builder.collect import read_request
from context_builder.items import ContextItem
from context_builder.render import Prompt, adapter_for

TEST_DATA = Path(__file__).parents[1] / "tests" / "data"

OUTSIDE = (
    "addition",
    "advisor",
    "bash",
    "cached",
    "code",
    "compaction",
    "container",
    "context_management",
    "document",
    "file",
    "image_generation",
    "input_audio",
    "mcp",
    "part_thought_signature",  # spelled so, the vendor read past it
    "reference",
    "server",
    "toolCall",
    "toolResponse",
    "tool_search",
    "video",
    "web",
)
"""Words in features whose price depends on what is not in the body."""

_REMOTE = r'url": "http|"file_id"|"file_?[uU]ri"'
"""Signs in a body of what is not in it."""

MEDIA = ("image", "inline")
SETTINGS = frozenset(
    {"cache_control", "instructions", "multi_text_parts", "one_text_part", "rf_text"}
    | {"system", "thinking_config", "thinking_disabled", "reasoning_config"}
)
"""Features that cost nothing but the texts that they hold."""


@dataclass(frozen=True, slots=True)
class Source:
    """One file of records, and who counts them."""

    target: str
    billed: Callable[[Mapping[str, Any]], int]
    is_estimate: bool = False
    is_said_anew: bool = False


def _sum(*names: str) -> Callable[[Mapping[str, Any]], int]:
    return lambda usage: sum(usage.get(name) or 0 for name in names)


SOURCES: Mapping[str, Source] = {
    "openai_usage": Source("openai", _sum("prompt_tokens")),
    "openai_responses_usage": Source("openai-responses", _sum("input_tokens")),
    "anthropic_usage": Source(
        "anthropic",
        _sum("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
        is_estimate=True,
    ),
    "gemini_usage": Source(
        "gemini",
        lambda usage: usage.get("promptTokenCount") or usage.get("totalTokens") or 0,
        is_estimate=True,
        is_said_anew=True,
    ),
}


def feature_of(features: Collection[str]) -> str:
    """Choose the row of a record: the first of these that it has."""
    said = " ".join(features)
    if any(sign in said for sign in MEDIA):
        return "pictures"
    if "schema" in said or "output_format" in said:
        return "answer by schema"
    if "tool_result" in said or "msg_tool" in said or "unction" in said:
        return "calls and results"
    if "tools" in features:
        return "tools"
    return "text" if SETTINGS.issuperset(features) else "other settings"


def is_whole(record: Mapping[str, Any]) -> bool:
    """Say whether all that a record was billed for is in its body."""
    said = " ".join(record["features"])
    remote = re.search(_REMOTE, json.dumps(record["request"]))
    return not remote and not any(sign in said for sign in OUTSIDE)


def pair_of(record: Mapping[str, Any], source: Source) -> Pair:
    """Count a record as it was sent, or said anew where it is spelled otherwise."""
    adapter, model = adapter_for(source.target), record["model"]
    body = record["request"]
    if source.is_said_anew:
        found = read_request(body, format=source.target)
        system = found.system and ContextItem(role="system", content=found.system)
        prompt = Prompt(found.items, system or None, found.tools, model)
        body = adapter.render(prompt).request
    tokens = adapter.request_tokens(
        {**body, "model": model}, adapter.counter(model).count
    )
    return Pair(tokens, source.billed(record["usage"]))


def main() -> None:
    """Print one table a vendor."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=TEST_DATA)
    folder = parser.parse_args().data
    for name, source in SOURCES.items():
        groups: dict[str, list[Pair]] = defaultdict(list)
        for _, record in read(folder, f"{name}.jsonl"):
            if not is_whole(record):
                continue
            pair = pair_of(record, source)
            if pair.true >= (MIN_TOKENS if source.is_estimate else 1):
                groups[feature_of(record["features"])].append(pair)
                groups["all of them"].append(pair)
        if groups:
            table(f"{source.target}: whole requests", groups)


if __name__ == "__main__":
    main()
