from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest

from context_builder.replay import (
    Budget,
    BuilderStrategy,
    Chart,
    Recency,
    chart_html,
    chart_png,
    play,
)
from tests.replay.conversations import transcript

if TYPE_CHECKING:
    from pathlib import Path

HAS_MATPLOTLIB = importlib.util.find_spec("matplotlib") is not None


def _chart() -> Chart:
    evidence = [{"kind": "qa", "question": "Where?", "message_ids": [1]}]
    one = transcript(5, id="<tickets>", evidence=evidence)
    budget = Budget(share=0.4)
    played = [play(one, BuilderStrategy(), budget), play(one, Recency(), budget)]
    return Chart.of(played, main="builder", against="recency")


def test_a_page_holds_its_chart_and_needs_nothing_else() -> None:
    """Well-formed pictures, no address to load from, and text that stays text."""
    chart = _chart()
    page = chart_html(chart, title="A & B")
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "&lt;tickets&gt;" in page
    pictures = page.split("<svg")[1:]
    for picture in pictures:
        ET.fromstring("<svg" + picture.split("</svg>")[0] + "</svg>")  # noqa: S314 (ours)
    assert len(pictures) == 3


def test_bills_are_shares_of_the_dearest() -> None:
    """Every bar fits."""
    bars = _chart().bars
    assert max(bars["billed cost"].values()) == 1
    assert all(0 <= share <= 1 for bar in bars.values() for share in bar.values())


def test_nothing_played_can_be_drawn() -> None:
    """An empty chart is still a page."""
    assert "<svg" in chart_html(Chart.of([], main="builder", against=None))


def test_a_picture_needs_matplotlib(tmp_path: Path) -> None:
    """With it a PNG is written; without it the error says what is missing."""
    path = tmp_path / "chart.png"
    if HAS_MATPLOTLIB:
        chart_png(_chart(), path)
        assert path.read_bytes().startswith(b"\x89PNG")
    else:
        with pytest.raises(ModuleNotFoundError, match="matplotlib"):
            chart_png(_chart(), path)
