"""The command `replay`: what transcripts would have cost, and what would be kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from context_builder.cli.errors import CannotDoError, InputError, errors_in_one_line
from context_builder.cli.read import TranscriptFile
from context_builder.cli.session import in_words_of
from context_builder.cli.write import deliver, to_json
from context_builder.replay import (
    POLICIES,
    Budget,
    BuilderStrategy,
    Played,
    Recency,
    Strategy,
    Totals,
    Transcript,
    Window,
    chart_html,
    chart_png,
    cost_ratio,
    play,
    totals,
)
from context_builder.replay.chart import Chart

__all__ = ["replay"]

MAIN = "builder"
AGAINST: dict[str, Strategy] = {"recency": Recency(), "window": Window()}
TABLE_COLUMNS = 100

Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILES",
        show_default=False,
        help="Transcripts, as for `build`; records may have `evidence`.",
    ),
]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, help="The budget of each request, in tokens.")
]
Share = Annotated[
    float | None,
    typer.Option(
        min=0,
        max=1,
        help="The budget: the system prompt and the tools, and this share of the "
        "tokens of everything else.",
    ),
]
PolicyName = Annotated[
    str,
    typer.Option(
        "--policy",
        callback=lambda name: _one_of(POLICIES, name),
        help=f"How it is decided: {', '.join(POLICIES)}.",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        callback=lambda name: name and _one_of(AGAINST, name),
        help=f"What to compare with: {', '.join(AGAINST)}.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Data for programs, as JSON.")]
ChartFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Draw a chart: .html, or .png."),
]


def _one_of(known: Any, name: str) -> str:
    if name not in known:
        message = f"{name!r} is not known; known are {', '.join(known)}"
        raise typer.BadParameter(message)
    return name


def replay(
    files: Files,
    *,
    max_tokens: MaxTokens = None,
    share: Share = None,
    policy: PolicyName = "balanced",
    against: Against = None,
    as_json: AsJson = False,
    out: ChartFile = None,
) -> None:
    """Play transcripts turn by turn: evidence kept, tokens, cache, cost."""
    if (max_tokens is None) == (share is None):
        message = "either --max-tokens or --share says what the budget is"
        raise typer.BadParameter(message)
    budget = Budget(max_tokens=max_tokens, share=share)
    strategies: list[Strategy] = [BuilderStrategy(POLICIES[policy](), MAIN)]
    if against is not None:
        strategies.append(AGAINST[against])
    with errors_in_one_line():
        played = [one for name in files for one in _played(name, strategies, budget)]
        if out is not None:
            _draw(played, against, out)
        deliver(_data(played, against) if as_json else _table(played, against), None)


def _played(name: str, strategies: list[Strategy], budget: Budget) -> Iterator[Played]:
    """Play the records of a file, and show people how far it is.

    Raises:
        InputError: If a record cannot be used.
    """
    file = TranscriptFile.read(name)
    console = Console(stderr=True)
    hidden = not console.is_terminal
    with Progress(console=console, transient=True, disable=hidden) as progress:
        for record in progress.track(file, total=len(file), description=file.name):
            with in_words_of(record):
                transcript = _transcript(record.where, record.body, file.name)
                for strategy in strategies:
                    yield play(transcript, strategy, budget)


def _transcript(where: str, body: dict[str, Any], name: str) -> Transcript:
    try:
        return Transcript.read(body, source=name)
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(where, f"evidence: not what it has to be: {error}") from error


# --- what is said -------------------------------------------------------------------


def _table(played: list[Played], against: str | None) -> str:
    """Lay the figures out, a column a strategy."""
    pooled = totals(played)
    table = Table(title=f"{len({_key(one) for one in played})} transcripts")
    table.add_column("")
    for name in pooled:
        table.add_column(name, justify="right")
    for label, *cells in _rows(pooled):
        table.add_row(label, *cells)
    ratio = None if against is None else cost_ratio(played, MAIN, against)
    if ratio is not None:
        table.add_row(f"billed, over {against}'s", f"{ratio:.2f}", "1.00")
    console = Console(width=TABLE_COLUMNS, color_system=None)
    with console.capture() as capture:
        console.print(table)
    return capture.get().rstrip("\n")


def _key(one: Played) -> tuple[str, str]:
    return one.source, one.transcript


def _rows(pooled: dict[str, Totals]) -> Iterator[list[str]]:
    every = list(pooled.values())
    kinds = {kept.kind: kept.count for one in every for kept in one.evidence}
    for kind, count in kinds.items():
        kept = [{e.kind: e.kept_share for e in one.evidence} for one in every]
        yield [f"evidence kept: {kind} ({count})", *(f"{k[kind]:.1%}" for k in kept)]
    yield ["calls", *(f"{one.calls:,}" for one in every)]
    yield ["input tokens", *(f"{one.tokens:,}" for one in every)]
    yield ["served from the cache", *(f"{one.cached_share:.1%}" for one in every)]
    yield ["billed, in full tokens", *(f"{one.billed_tokens:,.0f}" for one in every)]
    yield ["compactions", *(f"{one.compactions:,}" for one in every)]
    yield ["invalid requests", *(f"{one.invalid:,}" for one in every)]
    yield ["over the budget", *(f"{one.over_budget:,}" for one in every)]
    yield ["nothing fitted", *(f"{one.failed:,}" for one in every)]


def _data(played: list[Played], against: str | None) -> str:
    ratio = None if against is None else cost_ratio(played, MAIN, against)
    return to_json(
        {
            "totals": {name: one.to_dict() for name, one in totals(played).items()},
            "cost_ratio": ratio,
            "transcripts": [dataclasses.asdict(one) for one in played],
        }
    )


def _draw(played: list[Played], against: str | None, out: str) -> None:
    """Write the chart.

    Raises:
        InputError: If it is neither HTML nor PNG.
        CannotDoError: If it cannot be written, or drawn.
    """
    chart = Chart.of(played, main=MAIN, against=against)
    match Path(out).suffix.lower():
        case ".html" | ".htm":
            deliver(chart_html(chart), out)
        case ".png":
            _draw_png(chart, out)
        case _:
            raise InputError(out, "a chart is .html or .png")


def _draw_png(chart: Chart, out: str) -> None:
    try:
        chart_png(chart, Path(out))
    except ModuleNotFoundError as error:
        raise CannotDoError(
            out, "a PNG needs matplotlib: pip install 'context-builder[charts]'"
        ) from error
    except OSError as error:
        raise CannotDoError(out, error.strerror or str(error)) from error
