"""Says every request of real conversations to every vendor, and asks who refuses it.

    python -m benchmarks.vendors [--data FOLDER] [--target NAME ...]

Before each message of the assistant, what was said until then becomes a request to
each vendor. Asked are the vendor's rules (its validator), the vendor's own SDK (its
types), and a recount of the finished request: it must not be more than was counted
while it was decided. What ends with the assistant is refused where the vendor refuses
it. Prints a table; exits with 1 if anything failed.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks.transcripts import records
from context_builder.render import adapter_names
from tests.render.real_chats import failures_in, requests_of, wrong_endings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TEST_DATA = Path(__file__).parents[1] / "tests" / "data"

FAILURES = ("rules", "SDK types", "undercounted", "ending")


def check(
    record: Mapping[str, Any], target: str, tally: Counter[str]
) -> Iterator[tuple[str, str]]:
    """Yield all failures of a conversation for a target, and count its requests."""
    for number, request, ctx in requests_of(record, target):
        tally["requests"] += 1
        for kind, what in failures_in(request, ctx, target):
            yield kind, f"before message {number}: {what}"
    for what in wrong_endings(record, target):
        yield "ending", what


def main() -> int:
    """Run the checks and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=TEST_DATA)
    parser.add_argument("--target", action="append")
    options = parser.parse_args()
    failed = False
    print(f"| target | requests | {' | '.join(FAILURES)} | s |")
    print(f"| --- | ---: |{' ---: |' * (len(FAILURES) + 1)}")
    for target in options.target or adapter_names():
        started, tally = time.perf_counter(), Counter[str]()
        for _, record in records(options.data):
            for kind, what in check(record, target, tally):
                failed = True
                tally[kind] += 1
                if tally[kind] <= 3:
                    print(f"{target} {record['id']}: {kind}: {what}", file=sys.stderr)
        seconds = time.perf_counter() - started
        cells = " | ".join(str(tally[kind]) for kind in FAILURES)
        print(
            f"| {target} | {tally['requests']} | {cells} | {seconds:.0f} |", flush=True
        )
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
