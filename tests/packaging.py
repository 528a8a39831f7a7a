"""Builds what is published, and installs it as a user would: `make package`.

Wheel and source distribution are built, the wheel once more from the source. Then the
wheel goes into a fresh environment for each extra, where a small program shows that it
works. `--extra NAME` takes only that one (`core`: none), `--newest` what the index has
now in place of what constraints.txt pins.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import tomllib
import venv
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ["CORE", "EXTRAS", "build", "extras_declared"]

ROOT = Path(__file__).parents[1]
BOTH_AT_ONCE = 2

CORE = """
from importlib.metadata import version
from context_builder import ContextBuilder
ctx = ContextBuilder(model="gpt-4o", system_prompt="Be terse.")
ctx.add_user_message("hello")
assert ctx.explain().is_exact and ctx.request("anthropic", model="claude-sonnet-5")
assert version("context-builder")
"""
COMMAND = """
import subprocess, sys, pathlib
command = pathlib.Path(sys.executable).with_name("context-builder")
done = subprocess.run([command, "--help"], capture_output=True, text=True)
assert done.returncode == 0 and "explain" in done.stdout, done
"""
SERVICE = """
from importlib.resources import files
from context_builder.web import create_app
assert (files("context_builder") / "web/static/index.html").is_file()
"""
FAST = """
import sys
from context_builder.tokens import counter_for
name = type(counter_for("o200k_base", fast=True)).__name__
assert ("Quicktok" in name) == (sys.version_info < (3, 14)), name
"""
MEANING = """
from context_builder.embeddings import LocalEmbedder
from context_builder.embeddings.vectors import Vectors
texts = ["I am allergic to peanuts.", "The train leaves at nine."]
embedder, vectors = LocalEmbedder(), Vectors()
vectors.put(texts, list(embedder.embed(texts)))
ill, train = vectors.scores(embedder.embed(["Which foods could make me ill?"])[0])
assert ill > train, (ill, train)
"""

EXTRAS = {
    "cli": COMMAND,
    "web": SERVICE,
    "redis": "import context_builder.sessions.redis, redis",
    "postgres": "import context_builder.sessions.postgres, psycopg, psycopg_pool",
    "fast": FAST,
    "charts": "import matplotlib; from context_builder.replay import chart_png",
    "semantic": MEANING,
    "encryption": "from context_builder.sessions import generate_key; generate_key()",
    "otel": "import context_builder.sessions.telemetry, opentelemetry.trace",
    "anthropic": "from anthropic import Anthropic; Anthropic(api_key='key')",
    "bedrock": "import boto3; boto3.client('bedrock-runtime', region_name='eu-west-1')",
    "cohere": "from cohere import ClientV2; ClientV2(api_key='key')",
    "gemini": "from google import genai; genai.Client(api_key='key')",
    "mcp": "import mcp; from context_builder.agent import mcp_tools",
    "mistral": "from mistralai.client import Mistral; Mistral(api_key='key')",
    "ollama": "import ollama; ollama.Client()",
    "all": COMMAND + SERVICE + FAST,
}
"""A program for each extra; it has to end without an error."""


def extras_declared() -> set[str]:
    """Return the extras of pyproject.toml."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return set(settings["project"]["optional-dependencies"])


def build(folder: Path) -> tuple[Path, Path]:
    """Build both kinds into a folder; return the wheel and the source distribution."""
    _run(sys.executable, "-m", "hatchling", "build", "-d", str(folder), cwd=ROOT)
    return next(folder.glob("*.whl")), next(folder.glob("*.tar.gz"))


def same_from_source(wheel: Path, source: Path) -> bool:
    """Say whether the source distribution gives the same wheel."""
    with tempfile.TemporaryDirectory() as folder:
        _run(
            *(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps"),
            *("--no-build-isolation", "--wheel-dir", folder, str(source)),
        )
        again = next(Path(folder).glob("*.whl"))
        return _files(again) == _files(wheel)


def _files(wheel: Path) -> dict[str, int]:
    with zipfile.ZipFile(wheel) as archive:
        return {one.filename: one.CRC for one in archive.infolist()}


def install(wheel: Path, extra: str, *, is_newest: bool) -> str:
    """Install the wheel with an extra into a fresh environment, and try it.

    Returns:
        What went wrong; empty: nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=False)
        python = str(Path(folder) / "bin" / "python")
        named = str(wheel) if extra == "core" else f"{wheel}[{extra}]"
        pins = [] if is_newest else ["--constraint", str(ROOT / "constraints.txt")]
        try:
            _run(
                *(sys.executable, "-m", "pip", "--python", python, "install"),
                *("--quiet", "--no-compile", "--disable-pip-version-check"),
                *(*pins, named),
            )
            for program in (CORE, EXTRAS.get(extra, "")):
                _run(python, "-I", "-W", "error", "-c", program, cwd=Path(folder))
        except subprocess.CalledProcessError as error:
            return f"{error}\n{error.stderr}"
    return ""


def _run(*command: str, cwd: Path | None = None) -> None:
    subprocess.run(command, cwd=cwd, check=True, capture_output=True, text=True)


def main() -> None:
    """Build, install, try; exit with 1 where something failed."""
    parser = argparse.ArgumentParser(description="Build and install what is published.")
    parser.add_argument("--extra", action="append", choices=["core", *EXTRAS])
    parser.add_argument("--newest", action="store_true")
    asked = parser.parse_args()
    dist = ROOT / "dist"
    for old in dist.glob("context_builder-*"):
        old.unlink()
    wheel, source = build(dist)
    same = same_from_source(wheel, source)
    print(f"{wheel.name} and {source.name}: {'the same' if same else 'NOT the same'}")  # noqa: T201

    def tried(extra: str) -> tuple[str, str]:
        return extra, install(wheel, extra, is_newest=asked.newest)

    failed = 0
    with ThreadPoolExecutor(BOTH_AT_ONCE) as pool:
        for extra, problem in pool.map(tried, asked.extra or ["core", *EXTRAS]):
            print(f"{extra}: {problem or 'installs and runs'}", flush=True)  # noqa: T201
            failed += bool(problem)
    sys.exit(bool(failed or not same))


if __name__ == "__main__":
    main()
