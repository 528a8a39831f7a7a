"""Draws what was played: shares as bars, and the tokens of one session call by call.

HTML needs nothing but a browser; PNG needs matplotlib.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from context_builder.replay.totals import Totals, cost_ratio, totals

if TYPE_CHECKING:
    from pathlib import Path

    from context_builder.replay.play import Played

__all__ = ["Chart", "chart_html", "chart_png"]

_COLORS = ("#2563eb", "#d97706", "#6b7280", "#059669")
_WIDTH, _HEIGHT, _LEFT, _BAR = 720, 240, 190, 16
_LEGEND_STEP = 150


@dataclasses.dataclass(frozen=True, slots=True)
class Chart:
    """What is drawn. Shares are from 0 to 1."""

    bars: Mapping[str, Mapping[str, float]]
    """Figure -> strategy -> share."""
    lines: Mapping[str, Sequence[tuple[int, int]]]
    """Strategy -> input and cached tokens of each call of the longest session."""
    session: str
    max_tokens: int

    @classmethod
    def of(cls, played: Sequence[Played], *, main: str, against: str | None) -> Chart:
        """Gather what to draw; bills are shown as shares of the dearest."""
        pooled = totals(played)
        longest = max(played, key=lambda one: len(one.calls), default=None)
        shown = [
            one
            for one in played
            if longest is not None
            and (one.transcript, one.source, one.max_tokens)
            == (longest.transcript, longest.source, longest.max_tokens)
        ]
        bars = _evidence_bars(pooled) | {
            "served from the cache": {n: t.cached_share for n, t in pooled.items()}
        }
        ratio = None if against is None else cost_ratio(played, main, against)
        if ratio is not None and against is not None:
            dearest = max(ratio, 1.0)
            bars["billed cost"] = {main: ratio / dearest, against: 1 / dearest}
        return cls(
            bars=bars,
            lines={
                one.strategy: [(call.tokens, call.cached_tokens) for call in one.calls]
                for one in shown
            },
            session="" if longest is None else longest.transcript,
            max_tokens=0 if longest is None else longest.max_tokens,
        )

    @property
    def strategies(self) -> list[str]:
        """The strategies in order; each has its own colour."""
        names: dict[str, None] = {}
        for bars in self.bars.values():
            names |= dict.fromkeys(bars)
        return list(names)

    def color(self, strategy: str) -> str:
        """Return a strategy's colour."""
        return _COLORS[self.strategies.index(strategy) % len(_COLORS)]


def _evidence_bars(pooled: Mapping[str, Totals]) -> dict[str, dict[str, float]]:
    bars: dict[str, dict[str, float]] = {}
    for name, total in pooled.items():
        for evidence in total.evidence:
            label = f"evidence kept: {evidence.kind}"
            bars.setdefault(label, {})[name] = evidence.kept_share
    return bars


# --- HTML ---------------------------------------------------------------------------


def chart_html(chart: Chart, *, title: str = "Replay") -> str:
    """Return a page that holds the chart, and needs nothing else."""
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>
<style>body{{font:14px system-ui,sans-serif;margin:2rem;max-width:{_WIDTH}px}}
svg text{{font:12px system-ui,sans-serif;fill:#222}}</style></head>
<body><h1>{escape(title)}</h1>
{_legend(chart)}
{_bars_svg(chart)}
<h2>Input tokens, call by call: {escape(chart.session)}</h2>
<p>Solid: sent. Dotted: served from the prompt cache. Budget: {chart.max_tokens:,}.</p>
{_lines_svg(chart)}
</body></html>"""


def _svg(height: int, inside: Iterable[str]) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" '
        f'width="{_WIDTH}" height="{height}">{"".join(inside)}</svg>'
    )


def _legend(chart: Chart) -> str:
    return _svg(
        24,
        [
            f'<rect x="{number * _LEGEND_STEP}" y="6" width="12" height="12" '
            f'fill="{chart.color(name)}"/>'
            f'<text x="{number * _LEGEND_STEP + 18}" y="16">{escape(name)}</text>'
            for number, name in enumerate(chart.strategies)
        ],
    )


def _bars_svg(chart: Chart) -> str:
    pieces: list[str] = []
    y = 8
    for label, bars in chart.bars.items():
        pieces.append(f'<text x="0" y="{y + 12}">{escape(label)}</text>')
        for name, share in bars.items():
            length = round((_WIDTH - _LEFT - 60) * share, 1)
            pieces.append(
                f'<rect x="{_LEFT}" y="{y}" width="{length}" height="{_BAR - 3}" '
                f'fill="{chart.color(name)}"/>'
                f'<text x="{_LEFT + length + 5}" y="{y + 11}">{share:.1%}</text>'
            )
            y += _BAR
        y += 10
    return _svg(y + 4, pieces)


def _lines_svg(chart: Chart) -> str:
    sent_tokens = [sent for line in chart.lines.values() for sent, _ in line]
    most = max([chart.max_tokens, 1, *sent_tokens])
    budget_y = _y(chart.max_tokens, most)
    pieces = [
        f'<line x1="0" x2="{_WIDTH}" y1="{budget_y}" y2="{budget_y}" stroke="#bbb"/>'
    ]
    for name, line in chart.lines.items():
        for column, dashes in ((0, ""), (1, ' stroke-dasharray="2 3"')):
            points = _points([call[column] for call in line], most)
            pieces.append(
                f'<polyline fill="none" stroke="{chart.color(name)}" '
                f'stroke-width="1.5"{dashes} points="{points}"/>'
            )
    return _svg(_HEIGHT + 10, pieces)


def _points(line: Sequence[int], most: int) -> str:
    step = _WIDTH / max(len(line) - 1, 1)
    return " ".join(
        f"{round(number * step, 1)},{_y(tokens, most)}"
        for number, tokens in enumerate(line)
    )


def _y(tokens: int, most: int) -> float:
    return round(_HEIGHT - tokens / most * (_HEIGHT - 10), 1)


# --- PNG ----------------------------------------------------------------------------


def chart_png(chart: Chart, path: Path, *, title: str = "Replay") -> None:
    """Write the chart as a picture.

    Raises:
        ModuleNotFoundError: If matplotlib is not installed.
        OSError: If the file cannot be written.
    """
    matplotlib = importlib.import_module("matplotlib.figure")  # an extra
    figure = matplotlib.Figure(figsize=(9, 7), layout="constrained")
    figure.suptitle(title)
    bars, lines = figure.subplots(2, 1)
    thickness = 0.8 / max(len(chart.strategies), 1)
    for row, shares in enumerate(chart.bars.values()):
        for place, (name, share) in enumerate(shares.items()):
            drawn = bars.barh(
                -row - place * thickness, share, thickness, color=chart.color(name)
            )
            bars.bar_label(drawn, [f"{share:.1%}"], padding=3, fontsize=8)
    bars.set_yticks([-row for row in range(len(chart.bars))], list(chart.bars))
    bars.set_xlim(0, 1.1)
    for name, line in chart.lines.items():
        color = chart.color(name)
        lines.plot([sent for sent, _ in line], color=color, label=name)
        lines.plot([cached for _, cached in line], color=color, linestyle=":")
    lines.axhline(chart.max_tokens, color="#bbbbbb", linewidth=1)
    lines.set_title(f"Input tokens of {chart.session} (dotted: cached)", fontsize=9)
    lines.set_xlabel("call")
    lines.legend(fontsize=8)
    figure.savefig(path, dpi=150)
