"""Puts the tables and the plot of a run into the pages, between two marks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.peers.chart import draw

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.peers.results import Results

__all__ = ["BEGIN", "END", "placed", "publish"]

BEGIN = "<!-- bench_peers writes from here -->"
END = "<!-- bench_peers writes until here -->"
_PICTURE = "docs/images/peers.png"
_FIGURES = "benchmarks/peers/figures.json"


def publish(results: Results, text: str, root: Path) -> None:
    """Write the tables into the benchmarks' page, and the plot and all figures.

    Raises:
        ValueError: If the page has no marks; nothing is written then.
    """
    page = root / "benchmarks" / "README.md"
    shown = f"![Time against length](../{_PICTURE})\n\n{text}"
    changed = placed(page.read_text(encoding="utf-8"), shown)
    page.write_text(changed, encoding="utf-8")
    draw(results, root / _PICTURE)
    (root / _FIGURES).write_text(results.summary() + "\n", encoding="utf-8")


def placed(page: str, text: str) -> str:
    """Return a page with a text between its marks, in place of what stood there.

    Raises:
        ValueError: If the page does not have both marks, in their order.
    """
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        msg = f"The page has no place for the tables; write {BEGIN!r} and {END!r}."
        raise ValueError(msg)
    return f"{head}{BEGIN}\n\n{text.strip()}\n\n{END}{tail}"
