"""Sets up an environment for each peer, in `.venv-peers`.

    python -m benchmarks.peers.environments [NAME ...]

Each is optional: what does not install is said, and the others go on. Only wheels are
taken, so that nothing is built and no package's code runs while it is installed.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from typing import TYPE_CHECKING

from benchmarks.peers.catalogue import ENVIRONMENTS, FOLDER

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["set_up"]


def set_up(name: str, requirements: Sequence[str], folder: Path = FOLDER) -> str:
    """Make one environment, unless it is there already.

    Returns:
        What went wrong, in a line; empty: nothing did.
    """
    home = folder / name
    stamp = home / ".installed"
    wanted = "\n".join(requirements)
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return ""
    if not (home / "pyvenv.cfg").exists():
        venv.create(home, with_pip=True)
    python = next(
        home / place
        for place in ("bin/python", "Scripts/python.exe")
        if (home / place).exists()
    )
    command = [str(python), "-m", "pip", "install", "--quiet"]
    command += ["--disable-pip-version-check", "--only-binary", ":all:", *requirements]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - pip, with the requirements above
    if done.returncode:
        stamp.unlink(missing_ok=True)
        said = [line for line in done.stderr.splitlines() if "ERROR" in line]
        return said[-1] if said else f"pip ended with {done.returncode}"
    stamp.write_text(wanted, encoding="utf-8")
    return ""


def main() -> None:
    """Set up those that are named, or all."""
    for name in sys.argv[1:] or ENVIRONMENTS:
        problem = set_up(name, ENVIRONMENTS[name])
        state = f"not installed: {problem}" if problem else "installed"
        print(f"{name:<16}{state}", flush=True)


if __name__ == "__main__":
    main()
