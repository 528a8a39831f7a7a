"""Fits the pages of the repository into the site, as they stand.

The pages are written to be read where the repository is shown. For the site

- the navigation is made from the tables of `index.md`, section by section;
- what lies outside `docs/` and is linked from it becomes part of the site;
- links that lead from one to the other are turned to where the site has them;
- the name behind a fence (`json chat.json`) becomes the title of the block;
- a page that would load anything from another address is a warning.
"""

from __future__ import annotations

import logging
import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mkdocs.structure.files import File, Files

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
WARNINGS = logging.getLogger("mkdocs.hooks.pages")

OUTSIDE = {
    "README.md": "readme.md",
    "README.zh-CN.md": "readme.zh-CN.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "reporting.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/load/README.md": "load.md",
    "tests/data/README.md": "test-data.md",
    "tests/data/cases/README.md": "cases.md",
    "examples/data/README.md": "example-data.md",
    "context_builder/tokens/vocabularies/README.md": "vocabularies.md",
}
"""Pages that lie elsewhere in the repository, and their names in the site."""
AS_THEY_ARE = ("LICENSE", "pyproject.toml", "constraints.txt", "examples/*.py")
"""Files that the site hands out unchanged."""

_FENCED = re.compile(r"^(```.*?^```[ \t]*)$", re.M | re.S)
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s]+)\)")
_LOADED = re.compile(
    r"<(?:script|img|iframe|source)\b[^>]*\bsrc=[\"']?(?:https?:)?//[^\"'\s>]+"
    r"|<link\b[^>]*\brel=[\"']?(?:stylesheet|preconnect|preload|icon)\b[^>]*//[^>]+"
)
_NAMED = re.compile(r"^```(\w+) ([\w./]+)$", re.M)


def _places() -> dict[str, str]:
    """Say where the site has each file of the repository, by its path there."""
    found = {path: name for path, name in OUTSIDE.items() if (ROOT / path).exists()}
    for pattern in AS_THEY_ARE:
        for path in ROOT.glob(pattern):
            name = path.relative_to(ROOT).as_posix()
            found[name] = f"{name}.txt" if "." not in name else name
    for path in (ROOT / "docs").rglob("*"):
        if path.is_file() and "_site" not in path.parts:
            name = path.relative_to(ROOT / "docs").as_posix()
            found[f"docs/{name}"] = name
    return found


def _navigation(index: str) -> list[Any]:
    """Return the sections of the index, each with the pages in its tables."""
    sections: list[Any] = [{"Home": "index.md"}]
    for section in index.split("\n## ")[1:]:
        title, _, text = section.partition("\n")
        pages = []
        for name, link in re.findall(r"^\| \[([^\]]+)\]\(([^)]+)\)", text, re.M):
            path = posixpath.normpath(posixpath.join("docs", link))
            pages.append({name: OUTSIDE.get(path, link)})
        if pages:
            sections.append({title: pages})
    return sections


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the navigation."""
    index = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    config.nav = _navigation(index)
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Take in what lies outside `docs/`."""
    for path, name in _places().items():
        if path.startswith("docs/"):
            continue
        file = File.generated(config, name, abs_src_path=str(ROOT / path))
        files.append(file)
    return files


def on_page_markdown(
    markdown: str, *, page: Page, config: MkDocsConfig, files: Files
) -> str:
    """Turn the links of a page to where the site has what they lead to."""
    del config, files
    places = _places()
    site = page.file.src_uri
    path = next(path for path, name in places.items() if name == site)

    def turned(match: re.Match[str]) -> str:
        text, whole = match.groups()
        target, _, anchor = whole.partition("#")
        if not target or "://" in target or target.startswith("mailto:"):
            return match.group(0)
        led = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if led in places:
            link = posixpath.relpath(places[led], posixpath.dirname(site) or ".")
            return f"[{text}]({link}{'#' + anchor if anchor else ''})"
        if not (ROOT / led).exists():
            WARNINGS.warning("%s links to %s, which is not there", path, target)
        return text  # it is in the repository, and no part of the site

    pieces = _FENCED.split(markdown)
    pieces[::2] = [_LINK.sub(turned, piece) for piece in pieces[::2]]
    return _NAMED.sub(r'```\1 title="\2"', "".join(pieces))


def on_post_page(output: str, *, page: Page, config: MkDocsConfig) -> str:
    """See that the page loads nothing from elsewhere."""
    del config
    for found in _LOADED.findall(output):
        WARNINGS.warning("%s loads %s", page.file.src_uri, found)
    return output
