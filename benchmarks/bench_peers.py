"""Compares with other libraries: time, memory, and whether what they send is right.

    make bench-peers                           sets their environments up, and runs this
    python -m benchmarks.bench_peers [--quick] [--only NAME ...] [--clock cpu] [--box S]
                                     [--json FILE] [--plot FILE] [--publish]
    python -m benchmarks.bench_peers --again FILE [--clock cpu] [--publish]

Each peer runs in an environment and a process of its own, over the same seeded
histories with the same vocabulary; this process gives them their turns. What a peer is
asked is written in `benchmarks/peers/`, one file a peer. A peer whose environment is
not there is left out and named. `--publish` writes the tables between the marks in
`benchmarks/README.md`, and the plot beside the other pictures of the docs. `--again`
tells an earlier run once more; both clocks are in its file.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.peers.catalogue import EAGER, FOLDER, LAZY, OURS, PEERS, python_of
from benchmarks.peers.chart import draw
from benchmarks.peers.publish import publish
from benchmarks.peers.results import QUICK, Plan, Results
from benchmarks.peers.run import run
from benchmarks.peers.table import report
from benchmarks.peers.vocabulary import write_vocabularies

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.peers.catalogue import Peer

ROOT = Path(__file__).resolve().parents[1]
ALWAYS = (OURS, EAGER, LAZY)


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a minute or two")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these peers")
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--box", type=float, help="seconds that a peer has to answer")
    parser.add_argument("--again", type=Path, help="a file that --json wrote")
    parser.add_argument("--json", type=Path, default=ROOT / "out" / "peers.json")
    parser.add_argument("--plot", type=Path, default=ROOT / "out" / "peers.png")
    parser.add_argument("--publish", action="store_true", help="write the docs")
    parser.add_argument("--noise", action="store_true", help="show what peers print")
    return parser.parse_args()


def chosen(only: Sequence[str] | None) -> tuple[Peer, ...]:
    """Return the peers that are asked for; the library and the floors always are."""
    if only is None:
        return PEERS
    wanted = {*only, *ALWAYS}
    unknown = wanted - {peer.name for peer in PEERS}
    if unknown:
        sys.exit(f"no such peer: {', '.join(sorted(unknown))}")
    return tuple(peer for peer in PEERS if peer.name in wanted)


def plan_of(given: argparse.Namespace) -> Plan:
    """Return how much is measured."""
    plan = replace(QUICK if given.quick else Plan(), clock=given.clock)
    return plan if given.box is None else replace(plan, box_seconds=given.box)


def found(given: argparse.Namespace) -> Results:
    """Return the results of a run, or of an earlier one."""
    if given.again is not None:
        results = Results.from_json(given.again.read_text(encoding="utf-8"))
        results.by(given.clock)
        return results
    return run(
        chosen(given.only),
        plan_of(given),
        python_of=python_of,
        vocabularies=write_vocabularies(FOLDER / "vocabularies"),
        say=lambda text: print(f"  {text}", file=sys.stderr, flush=True),
        keep=lambda results: write(results, given.json),
    )


def write(results: Results, path: Path) -> None:
    """Write everything that was found so far."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(results.to_json(), encoding="utf-8")


def main() -> None:
    """Run, and write what was found."""
    given = arguments()
    started = time.perf_counter()
    results = found(given)
    text = report(results)
    print(text)
    write(results, given.json)
    draw(results, given.plot)
    if given.publish:
        publish(results, text, ROOT)
    print(f"  {time.perf_counter() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
