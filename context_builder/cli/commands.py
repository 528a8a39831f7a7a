"""The commands and their options: what is asked for, and how an error is said.

Exit codes: 0 done; 1 it cannot be done (over budget, not valid, not writable); 2 what
was given cannot be used. An error is one line on standard error; nothing is written.
"""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from context_builder.cli.chat import chat
from context_builder.cli.counting import (
    Counts,
    counts_of,
    counts_table,
    totals_table,
)
from context_builder.cli.errors import CannotDoError, Program, errors_in_one_line
from context_builder.cli.html import page_of
from context_builder.cli.read import Transcript, TranscriptFile
from context_builder.cli.replay import replay
from context_builder.cli.serve import serve, users
from context_builder.cli.session import Ask, built, check, converted, explained
from context_builder.cli.sessions import app as sessions
from context_builder.cli.write import deliver, to_json
from context_builder.collect import import_formats
from context_builder.render import adapter_names

__all__ = ["app"]

CANNOT_DO = 1
"""The exit code where a rule is broken, or one of many records does not fit."""

app = typer.Typer(
    cls=Program,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Source = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        show_default=False,
        help="A JSON list of messages, an object with `messages` (and `tools`), or "
        "JSONL of such records. `-` reads standard input.",
    ),
]
RecordId = Annotated[
    str | None,
    typer.Option(
        "--id",
        help="Which record of a JSONL file: its `id`, or else its number, from 1.",
    ),
]
Model = Annotated[
    str | None,
    typer.Option(help="The model to build for. Otherwise the record's own `model`."),
]
MaxTokens = Annotated[
    int | None, typer.Option(min=1, help="The budget of the request, in tokens.")
]
ContextWindow = Annotated[
    int | None, typer.Option(min=1, help="The model's window, where it is not known.")
]
System = Annotated[
    str | None, typer.Option(help="A system prompt in place of the transcript's own.")
]
Target = Annotated[
    str,
    typer.Option(
        "--to",
        "--for",
        callback=lambda name: _one_of(adapter_names(), name),
        help=f"The vendor to speak to: {', '.join(adapter_names())}.",
    ),
]
Origin = Annotated[
    str,
    typer.Option(
        "--from",
        callback=lambda name: _one_of(import_formats(), name),
        help=f"The format that is read: {', '.join(import_formats())}.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Data for programs, as JSON.")]
OneLine = Annotated[bool, typer.Option("--json", help="JSON on one line.")]
Out = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Write here, whole or not at all."),
]
Quiet = Annotated[
    bool, typer.Option("--quiet", "-q", help="Say nothing but the result and errors.")
]
Html = Annotated[
    str | None,
    typer.Option(
        "--html",
        metavar="FILE",
        help="Write it as a page of its own: the items, their fates, a slider for the "
        "budget, the requests and where each parts from the one before.",
    ),
]
EveryRecord = Annotated[
    bool, typer.Option("--all", help="Explain every record of a JSONL file.")
]


def _one_of(known: tuple[str, ...], name: str) -> str:
    if name not in known:
        message = f"{name!r} is not known; known are {', '.join(known)}"
        raise typer.BadParameter(message)
    return name


def _print_version(*, wanted: bool) -> None:
    if wanted:
        deliver(
            f"context-builder {importlib.metadata.version('context-builder')}", None
        )
        raise typer.Exit


@app.callback()
def program(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            is_eager=True,
            callback=lambda wanted: _print_version(wanted=wanted),
            help="Print the version and exit.",
        ),
    ] = False,
) -> None:
    """Decide what a model sees of a conversation: within budget, valid, explained."""


@app.command()
def build(
    source: Source,
    *,
    record_id: RecordId = None,
    model: Model = None,
    max_tokens: MaxTokens = None,
    context_window: ContextWindow = None,
    system: System = None,
    target: Target = "openai",
    out: Out = None,
    one_line: OneLine = False,
    quiet: Quiet = False,
) -> None:
    """Print the request that fits the budget."""
    ask = Ask(target, model, max_tokens, context_window, system)
    with errors_in_one_line():
        request, report = built(TranscriptFile.read(source).only(record_id), ask)
        deliver(to_json(request, compact=one_line), out)
    if out is not None and not quiet:
        _say(
            f"wrote {out}: a request for {target}, {report.tokens:,} of "
            f"{report.budget_tokens:,} tokens"
        )


@app.command()
def explain(
    source: Source,
    *,
    record_id: RecordId = None,
    every_record: EveryRecord = False,
    model: Model = None,
    max_tokens: MaxTokens = None,
    context_window: ContextWindow = None,
    system: System = None,
    target: Target = "openai",
    out: Out = None,
    as_json: AsJson = False,
    html: Html = None,
    quiet: Quiet = False,
) -> None:
    """Say what became of every item, and why."""
    ask = Ask(target, model, max_tokens, context_window, system)
    with errors_in_one_line():
        file = TranscriptFile.read(source)
        if html is not None:
            deliver(page_of(file.only(record_id), ask), html)
            return
        if every_record:
            _explain_every(file, ask, as_json=as_json, out=out, quiet=quiet)
            return
        report = explained(file.only(record_id), ask)
        deliver(to_json(report.to_dict()) if as_json else str(report), out)


def _explain_every(
    file: TranscriptFile, ask: Ask, *, as_json: bool, out: str | None, quiet: bool
) -> None:
    """Explain all records; one that does not fit is said so, and the others go on."""
    texts, data, failed = [], [], False
    for transcript in _watched(file, quiet=quiet):
        try:
            report = explained(transcript, ask)
        except CannotDoError as error:
            failed = True
            texts.append(f"{transcript.id}\nerror: {error}")
            data.append({"id": transcript.id, "error": str(error)})
        else:
            texts.append(f"{transcript.id}\n{report}")
            data.append({"id": transcript.id, **report.to_dict()})
    deliver(to_json(data) if as_json else "\n\n".join(texts), out)
    if failed:
        raise typer.Exit(CANNOT_DO)


@app.command()
def count(
    source: Source,
    *,
    record_id: RecordId = None,
    origin: Origin = "openai",
    target: Target = "openai",
    model: Model = None,
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Count the tokens of every message, or of every record."""

    def counted(one: Transcript) -> Counts:
        return counts_of(one, origin=origin, target=target, model=model)

    with errors_in_one_line():
        file = TranscriptFile.read(source)
        if record_id is not None or len(file) == 1:
            counts = counted(file.only(record_id))
            text = to_json(counts.to_dict()) if as_json else counts_table(counts)
        else:
            every = [counted(one) for one in _watched(file, quiet=quiet)]
            text = (
                to_json([counts.to_dict() for counts in every])
                if as_json
                else totals_table(every)
            )
        deliver(text, out)


@app.command()
def validate(
    source: Source,
    *,
    record_id: RecordId = None,
    target: Target = "openai",
    out: Out = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Check against a vendor's rules; exit with 1 if one is broken."""
    with errors_in_one_line():
        file = TranscriptFile.read(source)
        chosen = [file.only(record_id)] if record_id else _watched(file, quiet=quiet)
        found = [problem for one in chosen for problem in check(one, target)]
        if as_json:
            deliver(to_json([problem.to_dict() for problem in found]), out)
        elif found:
            deliver("\n".join(map(str, found)), out)
        elif not quiet:
            deliver(f"{file.name}: valid for {target}", out)
    if found:
        raise typer.Exit(CANNOT_DO)


@app.command()
def convert(
    source: Source,
    *,
    record_id: RecordId = None,
    origin: Origin = "openai",
    target: Target = "openai",
    model: Model = None,
    out: Out = None,
    one_line: OneLine = False,
    quiet: Quiet = False,
) -> None:
    """Print the whole transcript in a vendor's format."""
    with errors_in_one_line():
        transcript = TranscriptFile.read(source).only(record_id)
        body, lost = converted(
            transcript, origin=transcript.format or origin, target=target, model=model
        )
        deliver(to_json(body, compact=one_line), out)
    if lost and not quiet:
        _say(f"{transcript.where}: not carried over:")
        for what in lost:
            _say(f"  {what}")
    if out is not None and not quiet:
        _say(f"wrote {out}: the transcript for {target}")


app.command()(replay)
app.add_typer(sessions, name="sessions")
app.command()(chat)
app.command()(serve)
app.add_typer(users, name="users")


def _watched(file: TranscriptFile, *, quiet: bool) -> Iterator[Transcript]:
    """Go over all records, and show people how far it is."""
    console = Console(stderr=True)
    hidden = quiet or len(file) == 1 or not console.is_terminal
    with Progress(console=console, transient=True, disable=hidden) as progress:
        yield from progress.track(file, total=len(file), description=file.name)


def _say(text: str) -> None:
    typer.echo(text, err=True)
