from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner, Result

from context_builder.cli.sessions import app
from context_builder.sessions import SessionManager, generate_key

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def url(tmp_path: Path) -> str:
    """Give a store with two sessions."""
    url = f"sqlite:///{tmp_path}/s.db"
    with SessionManager(store=url, max_tokens=9_000) as sessions:
        for name in ("ä-1", "b\x1b[31m"):
            with sessions.open(name) as ctx:
                ctx.add_user_message("Größe? 尺寸")
                call = {"id": "c", "function": {"name": "look", "arguments": "{}"}}
                ctx.add_assistant_message("", tool_calls=[call])
    return url


def run(*args: str, url: str | None = None, stdin: str | None = None) -> Result:
    """Run a command within this process."""
    at = ["--store", url] if url else []
    return CliRunner().invoke(app, [*args, *at], input=stdin)


def test_list(url: str) -> None:
    """Ids, how many records, and when; safe to print."""
    result = run("list", url=url)
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0].endswith(r"2  b\x1b[31m")
    assert lines[1].endswith("2  ä-1")
    facts = json.loads(run("list", "--json", url=url).stdout)
    assert [info["session_id"] for info in facts] == ["b\x1b[31m", "ä-1"]
    assert (
        run("list", "--limit", "1", "--after", "c", url=url).stdout == lines[1] + "\n"
    )
    assert run("list", "--namespace", "other", url=url).stdout == ""


def test_show(url: str) -> None:
    """What came in, in order."""
    lines = run("show", "ä-1", url=url).stdout.splitlines()
    assert lines[0].split() == ["i1", "user", "Größe?", "尺寸"]
    assert "[calls look]" in lines[1]
    shown = json.loads(run("show", "ä-1", "--json", url=url).stdout)
    assert [item["role"] for item in shown] == ["user", "assistant"]


def test_export_and_import(url: str, tmp_path: Path) -> None:
    """To a file and back, by name or on standard input."""
    out = tmp_path / "out.jsonl"
    assert run("export", "ä-1", "--out", str(out), url=url).exit_code == 0
    taken = run("import", str(out), url=url)
    assert taken.exit_code == 1
    assert "already" in taken.stderr
    assert run("import", str(out), "--id", "new", url=url).exit_code == 0
    text = run("export", "new", url=url).stdout
    assert run("import", "-", "--id", "newer", url=url, stdin=text).exit_code == 0
    messages = '{"messages": [{"role": "user", "content": "old"}]}'
    assert run("import", "-", url=url, stdin=messages).exit_code == 2
    assert run("import", "-", "--id", "old", url=url, stdin=messages).exit_code == 0
    assert "old" in run("show", "old", url=url).stdout


def test_delete(url: str) -> None:
    """One or several; one that is missing is an error, and the others go."""
    result = run("delete", "ä-1", "missing", url=url)
    assert result.exit_code == 1
    assert "missing" in result.stderr
    assert len(run("list", url=url).stdout.splitlines()) == 1


def test_errors_are_one_line(url: str, tmp_path: Path) -> None:
    """And say what to do by their exit code; what was given is named."""
    torn = run("export", "ä-1", url=url).stdout.rstrip()[:-9]

    def written(name: str, text: str) -> Path:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return tmp_path / name

    for args, code in (
        (("show", "missing"), 1),
        (("export", "missing"), 1),
        (("import", str(tmp_path / "no-file")), 2),
        (("show", "x" * 600), 2),
        (("import", str(written("empty.json", ""))), 2),
        (("import", str(written("bad.json", "nope"))), 2),
        (("import", str(written("nameless.json", '{"messages": []}'))), 2),
        (("import", str(written("torn.jsonl", torn))), 2),
    ):
        result = run(*args, url=url)
        assert result.exit_code == code, result.output
        assert result.stderr.startswith("error: ")
        assert result.stderr.count("\n") == 1
    assert run("list", url="mysql://x").exit_code == 2


@pytest.mark.parametrize("command", ["list", "show", "export", "delete"])
def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, command: str) -> None:
    """Its name was mistyped: the error says which file was looked for."""
    file = tmp_path / "typo.db"
    names = () if command == "list" else ("s",)
    result = run(command, *names, url=f"sqlite:///{file}")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: sessions: there is no file {str(file)!r}")
    assert not list(tmp_path.iterdir())


def test_an_encrypted_session(tmp_path: Path) -> None:
    """Is shown with the key, which comes from a file."""
    url, key, file = f"sqlite:///{tmp_path}/e.db", generate_key(), tmp_path / "key"
    file.write_text(key + "\n")
    with (
        SessionManager(store=url, max_tokens=9_000, encryption_key=key) as sessions,
        sessions.open("s") as ctx,
    ):
        ctx.add_user_message("walnut")
    assert run("show", "s", url=url).exit_code == 1
    assert "walnut" in run("show", "s", "--key-file", str(file), url=url).stdout
    file.write_text("ü")
    assert run("show", "s", "--key-file", str(file), url=url).exit_code == 2
