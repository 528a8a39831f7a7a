"""Measures evidence and cost on real conversations, and prints Markdown and JSON.

    python -m benchmarks.quality --data FOLDER [--quick] [--json FILE]
    python -m benchmarks.quality --data FOLDER --files chat_qmsum --shares 0.5

The budget is the system prompt and the tools, and a share of the tokens of everything
else. A question is asked at the end of its conversation; its evidence is kept if every
message that it is about stands whole in the request, wherever that is (`qa_span`: the
share of the span's messages, of those whose text is theirs alone). A tool call's
evidence is kept if every argument value that came from the conversation still stands in
the messages of the request; the budget is then a share of what was said before that
call. `items` is the share of single values or messages, `answer` the share of questions
whose answer's text is there, `session` the share of calls with the one budget of the
whole session.

Plain recency is shown twice: `recency` keeps calls and results together, as a vendor
demands; `messages` takes single messages, which keeps a little more and is what the
references were measured with. Costs: one call before each message of the model, cached
is what the request shares with the one before, in whole messages, at 10 % of the price.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.quality.tables import cost_rows, evidence_rows, markdown, summary
from context_builder.embeddings import LocalEmbedder
from context_builder.replay import (
    POLICIES,
    Budget,
    BuilderStrategy,
    Played,
    Recency,
    Strategy,
    Transcript,
    Window,
    replay,
)
from context_builder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

QUICK_STEP = 4
QUICK_MESSAGES = 150


def transcripts(folder: Path, files: list[str], *, quick: bool) -> Iterator[Transcript]:
    """Yield the conversations with evidence, and those of agents, for their cost."""
    for path in sorted(folder.glob("*.jsonl")):
        if files and path.stem not in files:
            continue
        read = []
        for line in path.read_text(encoding="utf-8").splitlines():
            record = json.loads(line)
            if "messages" in record and "usage_field" not in record:
                read.append(Transcript.read(record, source=path.stem))
        if quick:
            short = [one for one in read if len(one.messages) <= QUICK_MESSAGES]
            read = short[::QUICK_STEP]
        is_agent = path.stem.startswith("agent_")
        yield from (one for one in read if one.evidence or is_agent)


def settings_of(policy: str, changes: list[str]) -> Settings:
    """Return a policy's settings with `name=value` changes, values as JSON."""
    values: dict[str, Any] = {}
    for change in changes:
        name, _, value = change.partition("=")
        values[name] = json.loads(value)
    return Settings.model_validate(POLICIES[policy]().model_dump() | values)


def main() -> int:
    """Play, print and write; exit with 1 if a goal is missed."""
    options = _options()
    started = time.perf_counter()
    settings = settings_of(options.policy, options.set)
    strategies: list[Strategy] = [
        BuilderStrategy(settings, embedder=LocalEmbedder() if options.local else None),
        Recency(),
        Recency("message", "messages"),
    ]
    if options.window:
        strategies.append(Window())
    shares = [float(share) for share in options.shares.split(",")]
    chosen = [name for name in options.files.split(",") if name]
    played: list[Played] = []
    runs = replay(
        list(transcripts(options.data, chosen, quick=options.quick)),
        strategies,
        [Budget(share=share) for share in shares],
        processes=options.processes,
    )
    for number, some in enumerate(runs, start=1):
        played += some
        if sys.stderr.isatty():
            print(f"\r{number} played", end="", file=sys.stderr, flush=True)
    evidence, costs = evidence_rows(played), cost_rows(played)
    print(markdown(evidence, costs))
    print(f"\n{summary(evidence, costs)}")
    seconds = time.perf_counter() - started
    print(f"\nPolicy {options.policy}; {len(played)} runs in {seconds:.0f} s.")
    if options.json:
        data = {
            "policy": options.policy,
            "settings": settings.model_dump(mode="json"),
            "seconds": round(seconds, 1),
            "evidence": evidence,
            "costs": costs,
            "misses": list(_misses(played)),
        }
        options.json.write_text(json.dumps(data, ensure_ascii=False, indent=1))
    return int(any(row.get("missed") for row in (*evidence, *costs)))


def _misses(played: list[Played]) -> Iterator[dict[str, Any]]:
    """Yield what the library did not keep, to look into."""
    for one in played:
        if one.strategy != "builder":
            continue
        for kept in one.evidence:
            if not kept.is_whole:
                yield {
                    "source": one.source,
                    "transcript": one.transcript,
                    "share": one.share,
                    "kind": kept.kind,
                    "where": kept.where,
                    "missing": kept.missing,
                    "needed": kept.needed,
                }


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--files", default="", help="names without .jsonl, by commas")
    parser.add_argument("--shares", default="0.25,0.5")
    parser.add_argument("--policy", default="balanced", choices=sorted(POLICIES))
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=JSON", help="a setting"
    )
    parser.add_argument("--quick", action="store_true", help="a small part of it")
    parser.add_argument("--window", action="store_true", help="a plain window, too")
    parser.add_argument(
        "--local", action="store_true", help="recall by meaning too, with LocalEmbedder"
    )
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", type=Path, help="write figures and misses here")
    return parser.parse_args()


if __name__ == "__main__":
    raise SystemExit(main())
