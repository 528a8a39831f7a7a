"""Makes mutants, tries them, and says how many were noticed; see the package."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, settings

from benchmarks.mutants.choosing import TIERS, Choice, chosen
from benchmarks.mutants.explained import explanations
from benchmarks.mutants.trying import Limits, Trial, Verdict

if TYPE_CHECKING:
    from benchmarks.mutants.making import Mutant

OUT = Path("out") / "mutants"
TESTS = (
    "tests/decide", "tests/render", "tests/collect", "tests/test_builder.py",
    "tests/test_compaction.py", "tests/test_exact_count.py", "tests/test_inspection.py",
    "tests/test_own_rungs.py", "tests/test_policy.py", "tests/test_promises.py",
    "tests/test_recount.py", "tests/test_recovery.py", "tests/test_summaries.py",
    "tests/test_summary_promises.py", "tests/test_usage.py",
)  # fmt: skip
"""Tests that are near the two tiers. All others could kill more, and are not asked."""


def main() -> int:
    """Try the mutants that are asked for, and print the count."""
    asked = _arguments()
    OUT.mkdir(parents=True, exist_ok=True)
    results = OUT / "results.jsonl"
    if asked.fresh:
        results.unlink(missing_ok=True)
        (OUT / "notes.json").unlink(missing_ok=True)
    if asked.anew:
        (OUT / "notes.json").unlink(missing_ok=True)
    known = _known(results)
    choice = chosen(asked.modules, asked.sample, asked.seed, OUT / "chosen.json")
    if not asked.report:
        waiting = [
            one for one in choice.mutants if _is_wanted(one, known, again=asked.again)
        ]
        code = _tried(waiting, asked, results)
        if code:
            return code
    return _report(choice, _known(results), asked)


def _tried(waiting: list[Mutant], asked: argparse.Namespace, results: Path) -> int:
    """Try mutants, and write down each verdict as soon as it is known."""
    # No shrinking: that it fails is all we want to know. The same examples every time.
    settings.register_profile(
        "mutants",
        max_examples=asked.examples,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    done = 0

    def tell(mutant: Mutant, verdict: Verdict, seconds: float) -> None:
        nonlocal done
        done += 1
        line = {
            "function": mutant.function, "change": mutant.change, "name": mutant.name,
            "line": mutant.lines[0], "status": verdict.status, "tests": verdict.tests,
            "killer": verdict.killer, "seconds": round(seconds, 2),
        }  # fmt: skip
        with results.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
        if verdict.status != "killed" or done % 25 == 0:
            said = f"{verdict.status} {seconds:.1f} s {mutant.name}"
            print(f"{done}/{len(waiting)} {said}", file=sys.__stderr__)

    limits = Limits(asked.test_seconds, asked.seconds)
    trial = Trial(waiting, limits, OUT / "notes.json", tell)
    options = [
        "-q", "--tb=line", "--assert=plain", "-p", "no:cacheprovider", "-p",
        "no:randomly", "--no-header", "--no-summary",
        "--ignore=tests/render/test_every_vendor.py",  # slow: through SDKs and sockets
    ]  # fmt: skip
    return int(pytest.main([*options, *(asked.tests or TESTS)], plugins=[trial]))


def _is_wanted(
    mutant: Mutant, known: dict[tuple[str, str], dict[str, Any]], *, again: bool
) -> bool:
    before = known.get(mutant.key)
    if before is None:
        return not again
    return again and before["status"] in {"survived", "unreached"}


def _known(results: Path) -> dict[tuple[str, str], dict[str, Any]]:
    if not results.exists():
        return {}
    known: dict[tuple[str, str], dict[str, Any]] = {}
    for line in map(json.loads, results.read_text("utf-8").splitlines()):
        key = line["function"], line["change"]
        if line["status"] != "unreached" or key not in known:
            known[key] = line  # fewer tests than before say nothing new
    return known


# --- The count


def _report(
    choice: Choice,
    known: dict[tuple[str, str], dict[str, Any]],
    asked: argparse.Namespace,
) -> int:
    explained = explanations()
    counts: dict[str, Counter[str]] = {tier: Counter() for tier in TIERS}
    left = []
    for mutant in choice.mutants:
        verdict = known.get(mutant.key)
        if verdict is None:
            continue
        status = verdict["status"]
        if status in {"survived", "unreached"} and mutant.key in explained:
            status = "equivalent"
        elif status in {"survived", "unreached"}:
            left.append((status, mutant))
        counts[mutant.path.split("/")[1]][status] += 1
    for status, mutant in left:
        print(f"{status} {mutant.path}:{mutant.lines[0]} {mutant.name}")
        print("    " + mutant.change.replace("\n", "\n    "))
    print(f"seed {asked.seed}, {time.strftime('%Y-%m-%d')}")
    for tier, count in counts.items():
        tried = count.total() - count["no fit"]
        killed = count["killed"] + count["hanging"]
        if not tried:
            continue
        print(
            f"{tier}: {tried} of {choice.of_all[tier]} mutants tried; {killed} killed "
            f"({count['hanging']} of them hanging), {count['equivalent']} equivalent, "
            f"{count['survived']} survived, {count['unreached']} unreached, "
            f"{count['no fit']} did not fit: killed {killed / tried:.1%}, without the "
            f"equivalent {killed / max(1, tried - count['equivalent']):.1%}"
        )
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mutants")
    parser.add_argument("modules", nargs="*", help="as decide/evict; or a tier; or all")
    parser.add_argument("--sample", type=int, default=0, help="of each tier; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=6, help="for one mutant")
    parser.add_argument("--test-seconds", type=float, default=1, help="for one test")
    parser.add_argument("--examples", type=int, default=10, help="of a property")
    parser.add_argument("--tests", action="append", help="other tests than usual")
    parser.add_argument("--again", action="store_true", help="only what survived")
    parser.add_argument("--anew", action="store_true", help="note what tests reach")
    parser.add_argument("--fresh", action="store_true", help="forget earlier results")
    parser.add_argument("--report", action="store_true", help="count, and try nothing")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
