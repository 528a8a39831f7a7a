"""Compares counts with bills, and estimates with counts. Prints Markdown tables.

    python -m benchmarks.count_error [--data FOLDER]

The folder holds recorded requests with their usage (`openai_usage.jsonl`; where there
are, `anthropic_usage.jsonl` and `gemini_usage.jsonl`), and conversations
(`agent_*.jsonl`, `chat_*.jsonl`). Without it, the records of the test suite are used.
An error is ours less theirs: below zero, we counted too little.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.tokens import (
    EstimatingCounter,
    TiktokenCounter,
    counter_for,
    framing_for,
    request_tokens,
    resolve_model,
)
from context_builder.tokens.estimator import profile_for, rule_of_thumb

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

TEST_DATA = Path(__file__).parents[1] / "tests" / "data"

OUTSIDE = {"part_file", "web_search_options"}
"""Features whose price depends on what is not in the request."""

MIN_TOKENS = 50
"""Shorter texts are left out of medians: one token more or less is no measure."""

FEATURES = (
    ("several calls at once", None),
    ("tool calls and results", "msg_tool"),
    ("response_format json_schema", "rf_json_schema"),
    ("tools", "tools"),
    ("pictures in the request", "part_image_url"),
    ("sound", "part_input_audio"),
    ("names", "name"),
    ("text in parts", "multi_text_parts"),
    ("text in parts", "one_text_part"),
    ("response_format json_object", "rf_json_object"),
)
"""The first that a record has is its row."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A count of ours beside the true one."""

    ours: int
    true: int

    @property
    def share(self) -> float:
        """The error as a share of the true count."""
        return (self.ours - self.true) / max(self.true, 1)


def read(folder: Path, pattern: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the records of all matching files, with the file's name."""
    for path in sorted(folder.glob(pattern)):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                yield path.stem, json.loads(line)


def table(title: str, groups: dict[str, list[Pair]]) -> None:
    """Print one table of errors."""
    print(f"\n### {title}\n")
    print("| | n | exact | median | p95 | worst under | worst over | sum |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for name, pairs in sorted(groups.items()):
        shares = sorted(pair.share for pair in pairs)
        sizes = sorted(map(abs, shares))
        exact = sum(pair.ours == pair.true for pair in pairs) / len(pairs)
        total = sum(pair.ours for pair in pairs) / sum(pair.true for pair in pairs) - 1
        print(
            f"| {name} | {len(pairs)} | {exact:.0%} | {statistics.median(sizes):.2%} "
            f"| {sizes[int(0.95 * (len(sizes) - 1))]:.2%} | {min(shares[0], 0):.2%} "
            f"| {max(shares[-1], 0):.2%} | {total:+.2%} |"
        )


# --- Bills of OpenAI -----------------------------------------------------------------


def openai_tables(folder: Path) -> None:
    """Compare whole requests with `prompt_tokens`."""
    by_feature, by_family = defaultdict(list), defaultdict(list)
    misses = []
    for _, record in read(folder, "openai_usage.jsonl"):
        if OUTSIDE & set(record["features"]) or has_remote_picture(record):
            continue
        pair = billed(record)
        by_feature[feature(record)].append(pair)
        by_family[family(record["model"])].append(pair)
        if pair.ours != pair.true:
            misses.append((pair, record))
    table("OpenAI requests, by feature", by_feature)
    table("OpenAI requests, by family", by_family)
    print("\nNot exact (ours / billed):\n")
    for pair, record in sorted(misses, key=lambda miss: miss[0].share):
        features = ", ".join(record["features"]) or "plain"
        print(
            f"- {record['id']} {record['endpoint']} {record['model']}: "
            f"{pair.ours} / {pair.true} ({features})"
        )


def billed(record: dict[str, Any]) -> Pair:
    """Count a recorded request."""
    count = counter_for(resolve_model(record["model"]).encoding).count
    ours = request_tokens(record["request"], count, framing_for(record["model"]))
    return Pair(ours, record["usage"]["prompt_tokens"])


def has_remote_picture(record: dict[str, Any]) -> bool:
    """Whether the vendor had to fetch a picture."""
    return '"url": "http' in json.dumps(record["request"]["messages"])


def feature(record: dict[str, Any]) -> str:
    """Choose the row of a record."""
    if any(len(m.get("tool_calls") or ()) > 1 for m in record["request"]["messages"]):
        return FEATURES[0][0]
    for name, key in FEATURES[1:]:
        if key in record["features"]:
            return name
    return "plain"


def family(model: str) -> str:
    """Name the family that a model belongs to."""
    for begin in ("gpt-35", "gpt-3.5", "gpt-4.1", "gpt-4o", "gpt-4", "gpt-5", "o"):
        if model.startswith(begin):
            return {"gpt-35": "gpt-3.5", "o": "o-series"}.get(begin, begin)
    return model


# --- Bills of Anthropic and Gemini, text only ----------------------------------------


def vendor_tables(folder: Path) -> None:
    """Compare estimates with the billed input of text-only requests."""
    groups: dict[str, list[Pair]] = defaultdict(list)
    for _, record in read(folder, "anthropic_usage.jsonl"):
        texts = anthropic_texts(record["request"])
        if texts is None or set(record["features"]) - {"system", "cache_control"}:
            continue
        usage = record["usage"]
        true = sum(usage.get(key) or 0 for key in usage if key.endswith("input_tokens"))
        profile = "claude-new" if "opus-4-8" in record["model"] else "claude"
        count = EstimatingCounter(profile_for(profile)).count
        messages = len(record["request"]["messages"])
        framing = 3 + 4 * messages
        add(groups, f"Anthropic, {profile}", sum(map(count, texts)) + framing, true)
    for _, record in read(folder, "gemini_usage.jsonl"):
        texts = gemini_texts(record["request"])
        if texts is None or set(record["features"]) - {"system", "thinking_config"}:
            continue
        usage = record["usage"]
        true = usage.get("promptTokenCount") or usage.get("totalTokens") or 0
        count = EstimatingCounter(profile_for("gemini")).count
        add(groups, "Gemini, gemini", sum(map(count, texts)), true)
    if groups:
        table(
            f"Estimates of text-only requests of {MIN_TOKENS} tokens and more", groups
        )


def add(groups: dict[str, list[Pair]], name: str, ours: int, true: int) -> None:
    """Add a pair to its row, if it is large enough to say something."""
    if true >= MIN_TOKENS:
        groups[name].append(Pair(ours, true))


def anthropic_texts(request: dict[str, Any]) -> list[str] | None:
    """Collect the texts of a request; None: it has something else."""
    contents = [
        request.get("system") or [],
        *(m["content"] for m in request["messages"]),
    ]
    parts = [
        part
        for content in contents
        for part in ([{"text": content}] if isinstance(content, str) else content)
    ]
    return only_text(parts)


def gemini_texts(request: dict[str, Any]) -> list[str] | None:
    """Collect the texts of a request; None: it has something else."""
    request = request.get("generateContentRequest") or request
    system = request.get("systemInstruction") or request.get("system_instruction") or {}
    contents = [system, *(request.get("contents") or [])]
    return only_text(part for content in contents for part in content.get("parts", []))


def only_text(parts: Iterable[dict[str, Any]]) -> list[str] | None:
    """Return the texts of parts; None: not all of them are text."""
    texts = [part.get("text") for part in parts]
    return None if None in texts else [str(text) for text in texts]


# --- Estimates against o200k_base ----------------------------------------------------


def estimate_tables(folder: Path) -> None:
    """Compare the estimate, and the rule of thumb, with o200k_base."""
    methods: dict[str, Callable[[str], int]] = {
        "`estimate:generic` against o200k_base": EstimatingCounter().count,
        "The rule of thumb against o200k_base": rule_of_thumb,
    }
    texts = [
        (name, text)
        for pattern in ("chat_*.jsonl", "agent_*.jsonl")
        for file, record in read(folder, pattern)
        for name, text in texts_of(file, record)
    ]
    true = TiktokenCounter("o200k_base").count_many([text for _, text in texts])
    for title, method in methods.items():
        groups: dict[str, list[Pair]] = defaultdict(list)
        for (name, text), tokens in zip(texts, true, strict=True):
            add(groups, name, method(text), tokens)
        if groups:
            table(title, groups)


def texts_of(file: str, record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the texts of a conversation, with the row of each."""
    for message in record["messages"]:
        kind = "tool results" if message["role"] == "tool" else "text"
        language = record.get("lang") or "en"
        if isinstance(message.get("content"), str):
            yield f"{language}, {kind} ({file.partition('_')[0]})", message["content"]
        for call in message.get("tool_calls") or ():
            yield f"{language}, tool arguments", call["function"]["arguments"]


def main() -> None:
    """Print all tables that the folder has data for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=TEST_DATA)
    folder = parser.parse_args().data
    openai_tables(folder)
    vendor_tables(folder)
    estimate_tables(folder)


if __name__ == "__main__":
    main()
