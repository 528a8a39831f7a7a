"""Fuzzes every target for so long, one after another, and says how much was tried.

    python -m fuzz --seconds 60                 # all of them
    python -m fuzz extend --seconds 600

What is found is kept in `out/fuzz/<target>`: the corpus, and what crashes. A crash is
mended, and its input goes to `tests/data/fuzz/<target>`, where every run tries it.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

from fuzz.targets import SEEDS, TARGETS

OUT = Path("out") / "fuzz"
KNOWN = Path(__file__).parents[1] / "tests" / "data" / "fuzz"
_DONE = re.compile(r"#(\d+)\s.*?cov: (\d+)")


def main() -> int:
    """Fuzz, each target in a process of its own."""
    asked = _arguments()
    crashes = 0
    for name in asked.targets or TARGETS:
        crashes += _fuzzed(name, asked.seconds, asked.seed)
    return int(crashes > 0)


def _fuzzed(name: str, seconds: int, seed: int) -> int:
    folder = OUT / name
    corpus = folder / "corpus"
    corpus.mkdir(parents=True, exist_ok=True)
    for number, data in enumerate(SEEDS[name]()):
        (corpus / f"seed-{number}").write_bytes(data)
    for known in sorted((KNOWN / name).glob("*")):
        (corpus / f"known-{known.name}").write_bytes(known.read_bytes())
    for old in _artifacts(folder):
        old.unlink()
    command = [
        sys.executable, "-m", "fuzz.one", name, str(corpus),
        f"-max_total_time={seconds}", f"-seed={seed}", "-max_len=20000",
        "-timeout=20", "-rss_limit_mb=3000", f"-artifact_prefix={folder}/",
        "-print_final_stats=1",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    log = done.stdout + done.stderr
    (folder / "log.txt").write_text(log, "utf-8")
    found = _artifacts(folder)
    seen = _DONE.findall(log)
    inputs, reached = seen[-1] if seen else ("0", "0")
    inputs = (re.findall(r"number_of_executed_units: (\d+)", log) or [inputs])[-1]
    line = f"{name:<10} {int(inputs):>9,} inputs, {int(reached):>6,} places reached"
    print(f"{line}, {len(found)} crashes (seed {seed}, {seconds} s)")
    for crash in found:
        print(f"  {crash}")
    if done.returncode and not found:
        print(log[-2_000:])
    return len(found) + (done.returncode != 0 and not found)


def _artifacts(folder: Path) -> list[Path]:
    kinds = ("crash-*", "timeout-*", "oom-*")
    return sorted(path for kind in kinds for path in folder.glob(kind))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m fuzz")
    parser.add_argument("targets", nargs="*", choices=[*TARGETS, []])
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
