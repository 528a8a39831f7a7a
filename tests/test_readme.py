"""Runs what README.md and docs/ show, and compares what they say is printed.

Blocks of a page run from top to bottom in one namespace and one folder:

- `python` is run; a `text` block right behind it is what it prints;
- `json NAME`, `jsonl NAME` and `text NAME` are written to a file of that name;
- `console` holds commands behind `$ `, each followed by its output.

A line `...` in an output stands for any lines. README.zh-CN.md has the blocks of
README.md. `python -m tests.test_readme` writes the outputs that blocks really have into
the pages, and what pages take from the code (see `tests.written`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from context_builder.cli.commands import app
from tests.written import filled

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
README, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
PAGES = (README, *sorted((ROOT / "docs").glob("*.md")))
WRITTEN = (*PAGES, ROOT / "CONTRIBUTING.md")
"""Pages with parts that are taken from the code."""
LINKED = (
    *WRITTEN,
    CHINESE,
    ROOT / "CHANGELOG.md",
    *sorted((ROOT / "benchmarks").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.md")),
    *sorted((ROOT / "tests" / "data").rglob("*.md")),
)
"""Pages whose links are followed."""

COMPILED_ONLY = {
    ("README.md", "from openai import OpenAI"): "asks a model",
    ("adapters.md", "from context_builder import ContextBuilder\n\nctx = "): (
        "needs the adapter above as an installed package"
    ),
    ("migration.md", "from llama_index.core.llms import ChatMessage"): (
        "needs LlamaIndex"
    ),
    ("summaries.md", "from context_builder import ContextBuilder"): "asks a model",
    ("summaries.md", "from context_builder.summarizers import SummaryRequest,"): (
        "leaves the model to the reader"
    ),
}
"""Blocks that are compiled and not run: the page, how the block begins, and why."""

ANY_LINES = "..."


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a page."""

    page: Path
    line: int
    """The number of its first line, from 1."""
    language: str
    name: str
    text: str
    follows: int
    """The line where the block right before it ends; 0: something stands between."""

    @property
    def id(self) -> str:
        """Its place, for people."""
        return f"{self.page.name}:{self.line}"

    @property
    def why_not_run(self) -> str | None:
        """Why it is only compiled; None: it is run."""
        for (page, begin), reason in COMPILED_ONLY.items():
            if self.page.name == page and self.text.startswith(begin):
                return reason
        return None


def blocks_of(page: Path) -> list[Block]:
    """Return the fenced blocks of a page, in order."""
    found: list[Block] = []
    lines = page.read_text(encoding="utf-8").split("\n")
    start: int | None = None
    end_of_last = -1
    for number, line in enumerate(lines):
        if not line.startswith("```"):
            if start is None and line.strip():
                end_of_last = -1
            continue
        if start is None:
            start = number
            continue
        info = lines[start][3:].split()
        found.append(
            Block(
                page=page,
                line=start + 2,
                language=info[0] if info else "",
                name=info[1] if len(info) > 1 else "",
                text="\n".join(lines[start + 1 : number]),
                follows=max(0, end_of_last),
            )
        )
        start, end_of_last = None, number + 1
    return found


def commands_in(block: Block) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with the output below it."""
    pieces = re.split(r"^\$ ", block.text, flags=re.M)
    for piece in pieces[1:]:
        command, _, output = piece.partition("\n")
        yield command, output


def run_command(command: str) -> str:
    """Run a command of ours here, and return what it prints."""
    if command == "make demo":
        return "".join(map(run_command, _demo()))
    command, _, asks = command.partition("; ")
    command, _, source = command.partition(" < ")
    words = shlex.split(command)
    assert words[0] == "context-builder", f"not a command of ours: {command}"
    lines = Path(source).read_bytes() if source else b""
    done = CliRunner().invoke(app, words[1:], lines, prog_name="context-builder")
    code = f"{done.exit_code}\n" if asks == "echo $?" else ""
    assert code or not done.exit_code, done.output
    return done.output + code


def _demo() -> tuple[str, str]:
    """Return the commands that `make demo` runs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    values = dict(re.findall(r"^(\w+) := (\S+)$", makefile, re.M))
    asked = (
        f"{values['EXAMPLE']} --model {values['DEMO_MODEL']} "
        f"--max-tokens {values['DEMO_TOKENS']}"
    )
    return (
        f"context-builder explain {asked}",
        f"context-builder build {asked} --out out/request.json",
    )


def run_page(page: Path) -> Iterator[tuple[Block, str, str]]:
    """Run a page in the current folder; yield each output: block, shown, and real."""
    space: dict[str, Any] = {"__name__": f"page_{page.stem}"}
    printed: dict[int, str] = {}
    for block in blocks_of(page):
        match block.language:
            case "python":
                code = compile(block.text, block.id, "exec")
                if block.why_not_run is None:
                    out = io.StringIO()
                    with contextlib.redirect_stdout(out):
                        exec(code, space)  # noqa: S102  the page is ours
                    last = block.line + block.text.count("\n") + 1
                    printed[last] = out.getvalue()
            case "json" | "jsonl" | "text" if block.name:
                Path(block.name).write_text(block.text + "\n", encoding="utf-8")
            case "text" if block.follows in printed:
                yield block, block.text, printed[block.follows].rstrip("\n")
            case "console":
                parts = [(cmd, run_command(cmd)) for cmd, _ in commands_in(block)]
                real = "".join(f"$ {cmd}\n{output}" for cmd, output in parts)
                yield block, block.text, real.rstrip("\n")
            case _:
                pass


def shows(shown: str, real: str) -> bool:
    """Say whether an output is what is shown; `...` alone on a line is any lines."""
    pattern = "\n".join(
        r"(?:[^\n]*\n)*?[^\n]*" if line.strip() == ANY_LINES else re.escape(line)
        for line in (one.rstrip() for one in shown.split("\n"))
    )
    text = "\n".join(line.rstrip() for line in real.split("\n"))
    return re.fullmatch(pattern, text) is not None


@contextlib.contextmanager
def working_folder(path: Path) -> Iterator[None]:
    """Work in a folder that has the examples."""
    shutil.copytree(ROOT / "examples", path / "examples")
    before = Path.cwd()
    os.chdir(path)
    try:
        yield
    finally:
        os.chdir(before)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_shows_what_happens(page: Path, tmp_path: Path) -> None:
    """Every block runs, and prints what stands below it."""
    with working_folder(tmp_path):
        for block, shown, real in run_page(page):
            assert shows(shown, real), f"{block.id} shows\n{shown}\nbut it is\n{real}"


def test_the_list_of_blocks_not_run_is_true() -> None:
    """Each entry is a block that is there."""
    every = [block for page in PAGES for block in blocks_of(page)]
    for page, begin in COMPILED_ONLY:
        assert any(
            block.page.name == page and block.text.startswith(begin) for block in every
        ), f"{page} has no block that begins with {begin!r}"


def test_the_readme_runs_both_commands_and_the_report() -> None:
    """The first example and its report, `make demo` and `make test` are in it."""
    languages = [block.language for block in blocks_of(ROOT / "README.md")]
    assert languages[:2] == ["python", "text"]
    text = PAGES[0].read_text(encoding="utf-8")
    assert "$ make demo" in text
    assert "make test" in text


def _anchors(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {
        re.sub(r"[^\w\- ]", "", head.lower()).strip().replace(" ", "-")
        for head in heads
    }


def test_the_chinese_readme_has_the_same_examples() -> None:
    """Block by block, the outputs as well."""
    blocks = [[block.text for block in blocks_of(page)] for page in (README, CHINESE)]
    assert blocks[0] == blocks[1]


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.as_posix()[-30:])
def test_links_lead_somewhere(page: Path) -> None:
    """Every link between pages has its file, and its heading."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.S)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        assert target.exists(), f"{page.name} links to {link}, which is not there"
        if anchor:
            assert anchor in _anchors(target), f"{page.name}: no heading for {link}"


def _renewed(shown: list[str], real: list[str]) -> list[str]:
    """Return an output as it is now: of a shortened one, the lines nearest to it."""
    if ANY_LINES not in shown:
        return real
    renewed: list[str] = []
    for line in shown:
        near = [] if line == ANY_LINES else difflib.get_close_matches(line, real, n=1)
        if near:
            real = real[real.index(near[0]) + 1 :]
        renewed.append((near or [ANY_LINES])[0])
    return renewed


def _rewrite(page: Path) -> None:
    """Put the real outputs into a page; what is shortened stays so."""
    lines = page.read_text(encoding="utf-8").split("\n")
    for block, shown, real in reversed(list(run_page(page))):
        if not shows(shown, real):
            start = block.line - 1
            end = lines.index("```", start)
            lines[start:end] = _renewed(shown.split("\n"), real.split("\n"))
    page.write_text("\n".join(line.rstrip() for line in lines), encoding="utf-8")


def _translate() -> None:
    """Put the blocks of README.md into the Chinese one."""
    fenced = re.compile(r"^```.*?^```$", re.M | re.S)
    blocks = iter(fenced.findall(README.read_text(encoding="utf-8")))
    text = CHINESE.read_text(encoding="utf-8")
    CHINESE.write_text(fenced.sub(lambda _: next(blocks), text), encoding="utf-8")


def main() -> None:
    """Write the real outputs into the pages named, or into all."""
    names = sys.argv[1:]
    for page in PAGES:
        if names and page.name not in names:
            continue
        with tempfile.TemporaryDirectory() as folder, working_folder(Path(folder)):
            _rewrite(page)
    for page in WRITTEN:
        text = page.read_text(encoding="utf-8")
        page.write_text(filled(text), encoding="utf-8")
    _translate()


if __name__ == "__main__":
    main()
