"""`context-builder serve`: the chatbot as a web service, and who may use it.

The service runs in processes of its own, which are told by the environment what to
serve. Everything that can be wrong with it is found out here first.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from context_builder.accounts import AccountsFile, account_of, new_token
from context_builder.agent.drivers import driver_for
from context_builder.agent.named_tools import tools_named
from context_builder.agent.tools import as_tools
from context_builder.cli.chat.vendors import speak_to
from context_builder.cli.errors import CannotDoError, InputError, errors_in_one_line
from context_builder.cli.write import deliver
from context_builder.sessions import SessionManager
from context_builder.sessions.sqlite import default_path

__all__ = ["serve", "users"]

_HERE = "serve"
_USERS = "users"
_FACTORY = "context_builder.web.serving:app_from_environment"
_ENVIRONMENT = "CONTEXT_BUILDER_WEB"
_TOKENS = "CONTEXT_BUILDER_TOKENS"
_OFFLINE_BUDGET = 8_000
"""Tokens of input: the local model has no window, and a page has something to show."""
_SUMMARY_KEY = "OPENAI_API_KEY"
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}

users = typer.Typer(
    no_args_is_help=True,
    help="Add, list and remove the users of the web service.",
    rich_markup_mode=None,
)

UsersFile = Annotated[
    Path | None,
    typer.Option(
        "--users",
        envvar="CONTEXT_BUILDER_USERS",
        metavar="FILE",
        help="The file of users; otherwise `users.json` in the user's state folder.",
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="The user's name.")]


@users.command("add")
def add_user(name: Name, *, file: UsersFile = None) -> None:
    """Give a user a token, and print it: it is not shown again."""
    with errors_in_one_line(_USERS):
        deliver(AccountsFile(_file(file)).add(name), None)


@users.command("list")
def list_users(*, file: UsersFile = None) -> None:
    """List the users."""
    with errors_in_one_line(_USERS):
        for name in AccountsFile(_file(file)).users:
            deliver(name, None)


@users.command("remove")
def remove_user(name: Name, *, file: UsersFile = None) -> None:
    """Take all tokens of a user away; their conversations stay."""
    with errors_in_one_line(_USERS):
        if not AccountsFile(_file(file)).remove(name):
            raise CannotDoError(_USERS, f"there is no user {name!r}")


def serve(
    *,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="The port.")] = 8000,
    workers: Annotated[int, typer.Option(min=1, help="Processes that serve.")] = 1,
    store: Annotated[
        str,
        typer.Option(
            envvar="CONTEXT_BUILDER_STORE",
            help="sqlite:///file.db, sqlite: (in the user's state folder), "
            "redis://..., postgresql://..., or memory: (with one worker only).",
        ),
    ] = "sqlite:",
    file: UsersFile = None,
    target: Annotated[
        str, typer.Option("--to", "--for", help="The vendor to speak to.")
    ] = "openai",
    model: Annotated[str | None, typer.Option(help="The model to ask.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="Another address of the vendor's interface.")
    ] = None,
    summary_model: Annotated[
        str | None,
        typer.Option(
            help="The model that writes summaries: of the same vendor if it has "
            "OpenAI's interface, else at OPENAI_BASE_URL or OpenAI's."
        ),
    ] = None,
    offline: Annotated[
        bool,
        typer.Option("--offline", help="Answer with a local scripted model: no key."),
    ] = False,
    max_tokens: Annotated[
        int | None, typer.Option(min=1, help="The budget of a request, in tokens.")
    ] = None,
    context_window: Annotated[
        int | None,
        typer.Option(min=1, help="The model's window, where it is not known."),
    ] = None,
    system: Annotated[
        str | None, typer.Option(help="The system prompt of new conversations.")
    ] = None,
    tools: Annotated[
        str | None,
        typer.Option(metavar="MODULE:NAME", help="A list of tools for the model."),
    ] = None,
    max_rounds: Annotated[
        int, typer.Option(min=1, help="Rounds of tool calls in a turn.")
    ] = 5,
    gc_full_every: Annotated[
        int,
        typer.Option(
            min=1,
            help="Passes of Python's garbage collector over what is new before one "
            "over all, which holds up every turn.",
        ),
    ] = 1_000,
) -> None:
    """Serve the chatbot, and the page that shows what its model sees."""
    settings: dict[str, Any] = {
        "store": store,
        "users": str(_file(file)),
        "target": target,
        "model": None if offline else model,
        "summary_model": summary_model,
        "is_offline": offline,
        "max_tokens": max_tokens or (_OFFLINE_BUDGET if offline else None),
        "context_window": context_window,
        "system_prompt": system,
        "tools": tools,
        "max_rounds": max_rounds,
        "gc_full_every": gc_full_every,
    }
    with errors_in_one_line(_HERE):
        if not offline:
            _check_key(target, model, base_url)
        if summary_model is not None and not os.environ.get(_SUMMARY_KEY):
            raise InputError(_HERE, f"set {_SUMMARY_KEY} for --summary-model")
        _check(settings, workers=workers)
        accounts, greeting = _accounts(settings, host, port)
        settings["accounts"] = accounts
    os.environ[_ENVIRONMENT] = json.dumps(
        {name: value for name, value in settings.items() if value is not None}
    )
    typer.echo(greeting, err=True)
    _run(host=host, port=port, workers=workers)


def _run(*, host: str, port: int, workers: int) -> None:
    import uvicorn  # noqa: PLC0415  (an extra, and slow to load)

    options: dict[str, Any] = {
        "factory": True,
        "host": host,
        "port": port,
        "log_level": "warning",
        "access_log": False,
        "timeout_graceful_shutdown": 10,
        "server_header": False,
    }
    if workers == 1:
        uvicorn.run(_FACTORY, **options)
        return
    with tempfile.TemporaryDirectory(prefix="context-builder-metrics-") as folder:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
        uvicorn.run(_FACTORY, workers=workers, **options)


def _check(settings: dict[str, Any], *, workers: int) -> None:
    """Find out what cannot be used before processes are started.

    Raises:
        InputError: If something cannot.
    """
    try:
        import fastapi  # noqa: F401, PLC0415
        import prometheus_client  # noqa: F401, PLC0415
        import uvicorn  # noqa: F401, PLC0415
    except ModuleNotFoundError as error:
        raise InputError(
            _HERE, "it is an extra: pip install 'context-builder[web]'"
        ) from error
    if settings["tools"] is not None:
        sys.path.insert(0, str(Path.cwd()))  # also for the workers, who begin with it
        as_tools(tools_named(settings["tools"]))
    if workers > 1 and settings["store"].startswith("memory:"):
        raise InputError(_HERE, "memory: is one process's own; use one worker")
    with SessionManager(
        store=settings["store"],
        model=settings["model"],
        max_tokens=settings["max_tokens"] or settings["context_window"],
    ) as sessions:
        sessions.list(limit=1)


def _check_key(target: str, model: str | None, base_url: str | None) -> None:
    """Find out whether a vendor can be asked.

    Raises:
        InputError: If no model or no key is there.
    """
    driver = driver_for(target)  # of a target that nobody speaks to, it says so
    if model is None:
        raise InputError(
            _HERE, "a model has to be named: --model, or --offline to do without"
        )
    speak_to(target, base_url, _HERE)
    try:
        driver.make_client(is_async=True)
    except ImportError as error:
        problem = f"{target} needs its SDK: pip install 'context-builder[{target}]'"
        raise InputError(_HERE, problem) from error


def _accounts(
    settings: dict[str, Any], host: str, port: int
) -> tuple[list[tuple[str, str, str]], str]:
    """Return the accounts of this run alone, and what to tell who started it.

    Raises:
        InputError: If nobody could log in.
    """
    url = f"http://{'[::1]' if host == '::1' else host}:{port}/"
    given = _given_tokens()
    if given or len(AccountsFile(settings["users"])):
        return given, f"serving {url}"
    if host not in _LOOPBACK:
        raise InputError(_HERE, "there are no users: context-builder users add NAME")
    token, account = new_token("you")
    told = (
        f"serving {url}\nThere are no users yet, so here is one for this run: open\n"
        f"{url}#token={token}\n(others: context-builder users add NAME)"
    )
    return [(account.user, account.key, account.digest)], told


def _given_tokens() -> list[tuple[str, str, str]]:
    """Read tokens that the environment gives: `alice=cb-...,bob=cb-...`.

    Raises:
        InputError: If one is none.
    """
    found = []
    for pair in filter(None, os.environ.pop(_TOKENS, "").split(",")):
        user, _, token = pair.strip().partition("=")
        account = account_of(user, token)
        found.append((account.user, account.key, account.digest))
    return found


def _file(file: Path | None) -> Path:
    return file or default_path().with_name("users.json")
