from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner

from context_builder.cli.replay import replay
from tests.replay.conversations import record

if TYPE_CHECKING:
    from pathlib import Path

app = typer.Typer()
app.command()(replay)
QUESTION = {"kind": "qa", "question": "Where is order A077?", "message_ids": [1]}


@pytest.fixture
def source(tmp_path: Path) -> str:
    """A file with two records."""
    path = tmp_path / "some.jsonl"
    lines = [record(5, evidence=[QUESTION]), record(3) | {"id": "short"}]
    path.write_text("\n".join(map(json.dumps, lines)))
    return str(path)


def test_a_table_compares_two_strategies(source: str) -> None:
    """Evidence, tokens, cache, cost, compactions, invalid requests: side by side."""
    run = CliRunner().invoke(app, [source, "--share", "0.4", "--against", "recency"])
    assert run.exit_code == 0, run.output
    for label in (
        "2 transcripts",
        "builder",
        "recency",
        "evidence kept: qa (1)",
        "input tokens",
        "served from the cache",
        "billed, over recency's",
        "compactions",
        "invalid requests",
    ):
        assert label in run.output


def test_json_holds_totals_and_every_call(source: str) -> None:
    """Programs get all that was written down."""
    run = CliRunner().invoke(app, [source, "--max-tokens", "400", "--json"])
    data = json.loads(run.stdout)
    assert data["totals"]["builder"]["invalid"] == 0
    assert data["cost_ratio"] is None
    assert [len(one["calls"]) for one in data["transcripts"]] == [10, 6]


def test_a_chart_is_written(source: str, tmp_path: Path) -> None:
    """HTML by its name; another name is refused before anything is written."""
    page = tmp_path / "chart.html"
    run = CliRunner().invoke(app, [source, "--share", "0.5", "--out", str(page)])
    assert run.exit_code == 0, run.output
    assert "<svg" in page.read_text()
    other = tmp_path / "chart.doc"
    run = CliRunner().invoke(app, [source, "--share", "0.5", "--out", str(other)])
    assert run.exit_code == 2
    assert not other.exists()


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--share", "0.5", "--max-tokens", "9"],
        ["--share", "0.5", "--policy", "none"],
        ["--share", "0.5", "--against", "none"],
    ],
)
def test_options_that_make_no_sense_are_refused(
    source: str, options: list[str]
) -> None:
    """One budget, and names that are known."""
    assert CliRunner().invoke(app, [source, *options]).exit_code == 2


def test_broken_evidence_is_said_in_one_line(tmp_path: Path) -> None:
    """The error names the file and the line."""
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps(record(1, evidence=[{"kind": "qa"}])))
    run = CliRunner().invoke(app, [str(path), "--share", "0.5"])
    assert run.exit_code == 2
    assert "line 1: evidence" in run.output
    assert "Traceback" not in run.output
