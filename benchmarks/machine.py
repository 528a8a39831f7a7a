"""Runs the state machines for long, and says how much they did.

    python -m benchmarks.machine --steps 20000 --seed 1

Each session of the machine takes up to `--length` steps; sessions are made until so
many steps were taken. A failure is printed with all its steps, and ends the run.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

MACHINES = ("face", "kept")
BATCH = 5
"""Sessions of one seed and machine."""


def main() -> int:
    """Run them, and print the figures."""
    asked = _arguments()
    from tests.machine.promises import TALLY  # noqa: PLC0415  loads every vendor's SDK

    started = time.perf_counter()
    number, failures = asked.seed, 0
    with contextlib.suppress(KeyboardInterrupt):  # what was done until then counts
        while TALLY["steps"] < asked.steps and failures < asked.failures:
            for make in _machines(asked.machine):
                failures += _failed(make, number, asked)
            number += 1
            print(f"seed {number - 1}: {TALLY['steps']:,} steps", file=sys.stderr)
    seconds = time.perf_counter() - started
    print(f"seeds {asked.seed} to {number - 1}, {seconds:,.0f} s, {failures} failures")
    for name, count in sorted(TALLY.items()):
        print(f"{count:>10,}  {name}")
    return int(failures > 0)


def _failed(make: type[Any], number: int, asked: argparse.Namespace) -> bool:
    phases = [Phase.generate, Phase.shrink] if asked.shrink else [Phase.generate]
    chosen = settings(
        max_examples=BATCH,
        stateful_step_count=asked.length,
        deadline=None,
        database=None,
        phases=phases,
        print_blob=False,
        suppress_health_check=list(HealthCheck),
    )
    try:
        run_state_machine_as_test(_seeded(make, number), settings=chosen)
    except Exception:
        traceback.print_exc()
        return True
    return False


def _seeded(make: type[Any], number: int) -> type[Any]:
    """Return the machine with a seed: its sessions are the same every time."""
    return seed(number)(type(make.__name__, (make,), {}))


def _machines(name: str) -> list[type[Any]]:
    from tests.machine.face import Face  # noqa: PLC0415  as above
    from tests.machine.kept import Kept  # noqa: PLC0415  as above

    known = {"face": Face, "kept": Kept}
    return [*known.values()] if name == "both" else [known[name]]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.machine")
    parser.add_argument("--steps", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--length", type=int, default=40, help="steps of a session")
    parser.add_argument("--failures", type=int, default=1, help="stop after so many")
    parser.add_argument("--machine", choices=[*MACHINES, "both"], default="both")
    parser.add_argument("--shrink", action="store_true", help="make failures small")
    return parser.parse_args()


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main())
