"""Checks every promise that one build can show on every transcript of a folder.

    python -m benchmarks.transcripts --data FOLDER [--target openai]

Each transcript is taken over whole, and again turn by turn, at budgets of 10, 25, 50
and 100 % of a recount of its whole request, tools included. What is checked: the
request is valid, within the budget by a recount, calls and results are paired, system
prompt and latest user message are there, the order is kept, two builds are the same
bytes, a reload gives the same bytes. Prints a table; exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder import BudgetExceededError, ContextBuilder
from context_builder.render import adapter_for, validate
from tests.render.sdk_types import MODELS

if TYPE_CHECKING:
    from collections.abc import Iterator

SHARES = (0.10, 0.25, 0.50, 1.0)


def records(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the conversations of all JSONL files in a folder, with the file's name."""
    for path in sorted(folder.glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            for line in lines:
                record = json.loads(line)
                if "messages" in record:
                    yield path.stem, record


def recount(request: dict[str, Any], target: str) -> int:
    """Count a request from its body."""
    adapter = adapter_for(target)
    return adapter.request_tokens(request, adapter.counter(request.get("model")).count)


def check(
    record: dict[str, Any],
    max_tokens: int,
    target: str,
    *,
    stepwise: bool,
    is_full: bool,
) -> list[str]:
    """Return what a transcript at a budget breaks; empty: every promise was kept."""
    ctx = ContextBuilder(
        model=MODELS[target], max_tokens=max_tokens, tools=record.get("tools")
    )
    problems = []
    if stepwise:
        problems += _grow(ctx, record["messages"], max_tokens, target)
    else:
        ctx.extend(record["messages"])
    try:
        request = ctx.request(target)
    except BudgetExceededError as error:
        return [*problems, *_false_alarm(error, record, max_tokens)]
    problems += [str(problem) for problem in validate(request, target)]
    problems += _sizes(ctx, request, max_tokens, target, is_full=is_full)
    if request != ctx.request(target):
        problems.append("two builds differ")
    dumped = json.loads(json.dumps(ctx.dump()))
    again = ContextBuilder.load(dumped, model=MODELS[target], max_tokens=max_tokens)
    if again.request(target) != request:
        problems.append("a reload differs")
    return problems + _essentials(ctx, record, request)


def _grow(
    ctx: ContextBuilder, messages: list[Any], max_tokens: int, target: str
) -> list[str]:
    """Add message after message, and return what the requests on the way break."""
    problems = []
    moves, before = -1, []
    for message in messages:
        ctx.extend([message])
        try:
            now, report = ctx.build(target), ctx.explain(target)
        except BudgetExceededError:
            moves = -1
            continue
        if report.tokens > max_tokens:
            problems.append("over budget on the way")
        if len(report.prefix_moves) == moves and before != now[: len(before)]:
            problems.append("the prefix moved without a reason")
        moves, before = (-1 if report.pending_calls else len(report.prefix_moves)), now
    return problems


def _sizes(
    ctx: ContextBuilder,
    request: dict[str, Any],
    max_tokens: int,
    target: str,
    *,
    is_full: bool,
) -> list[str]:
    problems = []
    counted = recount(request, target)
    if counted > max_tokens:
        problems.append("over budget")
    if target == "openai" and counted != ctx.explain(target).tokens:
        problems.append("the report's tokens are not the request's")
    if is_full and ctx.explain(target).compactions:
        problems.append("compacted although everything fits")
    return problems


def _false_alarm(
    error: BudgetExceededError, record: dict[str, Any], max_tokens: int
) -> list[str]:
    """Return a problem if the untouchable part would have fitted after all."""
    users = [message for message in record["messages"] if message["role"] == "user"]
    ctx = ContextBuilder(model="gpt-4o", max_tokens=10**9, tools=record.get("tools"))
    systems = [m for m in record["messages"][:1] if m["role"] == "system"]
    ctx.extend([*systems, *users[-1:]])
    if error.needed_tokens <= max_tokens:
        return ["the budget error is false"]
    least = ctx.explain().tokens
    return [f"refused although {least} would fit"] if least + 150 <= max_tokens else []


def _essentials(
    ctx: ContextBuilder, record: dict[str, Any], request: dict[str, Any]
) -> list[str]:
    problems = []
    said = request["messages"]
    first = record["messages"][0]
    if first["role"] == "system" and said[0]["content"] != first["content"]:
        problems.append("the system prompt is not first or not whole")
    users = [m for m in record["messages"] if m["role"] == "user" and m["content"]]
    if users and isinstance(users[-1]["content"], str):
        last = users[-1]["content"]
        if not any(m["role"] == "user" and _is_same(m["content"], last) for m in said):
            problems.append("the latest user message is not there")
    outcomes = {outcome.item_id for outcome in ctx.explain().outcomes}
    if outcomes != {item.id for item in ctx.items}:
        problems.append("an item without an outcome")
    return problems


def _is_same(said: Any, asked: str) -> bool:
    return said == asked or (isinstance(said, str) and said[:4] == asked[:4])


def main() -> int:
    """Run the checks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--target", default="openai")
    parser.add_argument("--no-stepwise", action="store_true")
    options = parser.parse_args()
    started = time.perf_counter()
    runs: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    for name, record in records(options.data):
        whole = ContextBuilder(
            model="gpt-4o", max_tokens=10**9, tools=record.get("tools")
        )
        whole.extend(record["messages"])
        total = recount(whole.request(options.target), options.target)
        for share in SHARES:
            for stepwise in (False, True)[: 1 if options.no_stepwise else 2]:
                runs[name] += 1
                found = check(
                    record,
                    max(1, int(total * share)),
                    options.target,
                    stepwise=stepwise,
                    is_full=share == 1,
                )
                for problem in dict.fromkeys(found):
                    failed[f"{name}: {problem[:100]}"] += 1
                    if failed[f"{name}: {problem[:100]}"] <= 2:
                        how = "stepwise" if stepwise else "whole"
                        print(
                            f"{record['id']} {share:.0%} {how}: {problem}",
                            file=sys.stderr,
                        )
    print("| transcripts | runs | failed |\n| --- | --- | --- |")
    for name, count in runs.items():
        bad = sum(n for key, n in failed.items() if key.startswith(f"{name}: "))
        print(f"| {name} | {count} | {bad} |")
    print(f"\n{sum(runs.values())} runs in {time.perf_counter() - started:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
