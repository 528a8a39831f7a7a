"""Writes those parts of the pages that are taken from the code, between two comments.

A part stands between `<!-- KIND: ARGUMENT -->` and `<!-- end -->`:

- `modules: FOLDER` is a table of a package's modules, with the first line of each;
- `layers` is who may import whom, from `pyproject.toml`;
- `source: FILE NAME` is a value or a function as it stands in the code;
- `targets` is what `make help` lists.
"""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

__all__ = ["ROOT", "filled", "modules_of"]

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "context_builder"
_PART = re.compile(
    r"(<!-- (?!end)(\w+)(?:: ([^>]*?))? -->\n)(.*?)(?=<!-- end -->)", re.S
)


def filled(text: str) -> str:
    """Return a page with its parts as the code has them now."""
    return _PART.sub(lambda part: part[1] + _written(part[2], part[3] or ""), text)


def _written(kind: str, argument: str) -> str:
    match kind:
        case "modules":
            return _table(argument)
        case "layers":
            return _layers()
        case "source":
            return _source(*argument.split())
        case "targets":
            return _targets()
        case _:
            msg = f"there is no part {kind!r}"
            raise ValueError(msg)


def modules_of(folder: str) -> dict[str, str]:
    """Return the modules and packages in a folder, each with its first line."""
    found: dict[str, str] = {}
    for path in sorted((PACKAGE / folder).iterdir()):
        init = path / "__init__.py"
        if init.exists():
            found[f"{path.name}/"] = _first_line(init)
        elif path.suffix == ".py" and not path.stem.startswith("__"):
            found[path.name] = _first_line(path)
    return found


def _first_line(path: Path) -> str:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return (ast.get_docstring(tree) or "").partition("\n")[0]


def _table(folder: str) -> str:
    rows = [f"| `{name}` | {line} |" for name, line in modules_of(folder).items()]
    return "\n".join(["", "| module | |", "| --- | --- |", *rows, "", ""])


def _layers() -> str:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    words = {" | ": " and ", " : ": ", "}
    rows = []
    for layer in layers:
        named = re.sub(r"\(?(\w+)\)?", r"`\1`", layer)
        rows.append(f"| {re.sub(' [|:] ', lambda found: words[found[0]], named)} |")
    return "\n".join(["", "| layer |", "| --- |", *rows, "", ""])


def _source(file: str, name: str) -> str:
    text = (ROOT / file).read_text(encoding="utf-8")
    for node in ast.parse(text).body:
        target = getattr(node, "target", None)
        named = getattr(node, "name", None) or getattr(target, "id", None)
        if named == name:
            code = ast.get_source_segment(text, node)
            return f"\n```py\n{code}\n```\n\n"
    msg = f"{file} has no {name}"
    raise ValueError(msg)


def _targets() -> str:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r"^([a-z-]+):.*?## (.*)", makefile, re.M)
    rows = [f"| `make {name}` | {text.replace('|', 'or')} |" for name, text in found]
    return "\n".join(["", "| target | does |", "| --- | --- |", *rows, "", ""])
