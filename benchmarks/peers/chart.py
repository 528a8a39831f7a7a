"""Draws how long each peer takes as the history grows."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from benchmarks.peers.catalogue import EAGER, LAZY, NO_RECALL, OURS, REFERENCE

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.peers.results import Results

__all__ = ["draw"]

_PANELS = (("warm", "append and build, mean"), ("cold", "load and build, median"))
_STYLES: dict[str, dict[str, Any]] = {
    OURS: {"color": "#c0392b", "linewidth": 2.6, "zorder": 5},
    NO_RECALL: {"color": "#e07b6d", "linewidth": 2.0, "zorder": 5},
    EAGER: {"color": "#555555", "linestyle": "--", "zorder": 4},
    LAZY: {"color": "#999999", "linestyle": ":", "zorder": 4},
    REFERENCE: {"color": "#1f5fa8", "linewidth": 2.0, "zorder": 4},
}


_COLORS = (
    "#2a9d8f",
    "#e9a23b",
    "#7b5ea7",
    "#4c8c2b",
    "#d46a9f",
    "#8a6d3b",
    "#3aa6d0",
    "#b0b03a",
    "#000000",
)
"""For those without a style of their own."""


def draw(results: Results, path: Path) -> None:
    """Write a PNG with a panel for each of two tasks, both axes logarithmic."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415 - slow
    from matplotlib.figure import Figure as Picture  # noqa: PLC0415 - as above

    picture = Picture(figsize=(10, 4.6), dpi=100, layout="constrained")
    FigureCanvasAgg(picture)
    panels = picture.subplots(1, len(_PANELS))
    for panel, (task, title) in zip(panels, _PANELS, strict=True):
        colors = cycle(_COLORS)
        for peer in results.peers:
            style = {"linewidth": 1.2, "alpha": 0.9} | (
                _STYLES.get(peer.name) or {"color": next(colors)}
            )
            points = [
                (length, (figure.mean if task == "warm" else figure.p50) * 1e3)
                for length, figure in sorted(results.figures[task][peer.name].items())
                if figure.taken
            ]
            if points:
                xs, ys = zip(*points, strict=True)
                panel.plot(xs, ys, marker="o", markersize=3.5, label=peer.name, **style)
        panel.set(xscale="log", yscale="log", title=title, xlabel="messages")
        panel.grid(visible=True, which="major", alpha=0.25)
    panels[0].set_ylabel("milliseconds")
    handles, labels = panels[0].get_legend_handles_labels()
    picture.legend(handles, labels, loc="outside right center", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.savefig(path, metadata={"Software": None})
