"""One session in one file: F33, and the case of files that survive."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from context_builder import ContextBuilder
from context_builder.errors import SessionCorruptedError, StoreError
from context_builder.sessions import FileSession, load_session, save_session

DATA = Path(__file__).parent / "data"
BUDGET: dict[str, Any] = {"max_tokens": 5_600}
CALL = {"id": "m1", "function": {"name": "mass", "arguments": '{"ding": "Kiste"}'}}


def logbook() -> ContextBuilder:
    """Make the conversation of the case."""
    ctx = ContextBuilder(system_prompt="Du führst ein Logbuch.", max_tokens=5_600)
    ctx.add_user_message("Größe der Kiste? 尺寸多少？ 📦")  # noqa: RUF001
    ctx.add_assistant_message("", tool_calls=[CALL])
    ctx.add_tool_result(None, "40×30×20 cm — „passt“", tool_call_id="m1")  # noqa: RUF001
    ctx.add_assistant_message("40 mal 30 mal 20.")
    ctx.add_user_message("Und das Gewicht? \ud83d")
    return ctx


def test_loaded_equals_saved(tmp_path: Path) -> None:
    """The next request is the same; the file is UTF-8 that people can read."""
    ctx, path = logbook(), tmp_path / "deep" / "er" / "f1.jsonl"
    assert save_session(ctx, path) == path
    text = path.read_text(encoding="utf-8")
    assert "尺寸多少" in text
    assert "📦" in text
    assert all(json.loads(line) for line in text.splitlines())
    loaded = load_session(path, **BUDGET)
    assert not loaded.is_new
    assert loaded.build() == ctx.build()
    assert loaded.items == ctx.items
    loaded.add_user_message("Noch eine Frage.")
    save_session(loaded, path)
    assert load_session(path, **BUDGET).build() == loaded.build()


def test_a_missing_file_is_a_new_session(tmp_path: Path) -> None:
    """With the defaults that it was loaded with, and no file until it is saved."""
    path = tmp_path / "none.jsonl"
    ctx = load_session(path, system_prompt="Be terse.", **BUDGET)
    assert ctx.is_new
    assert not path.exists()
    save_session(ctx, path)
    again = load_session(path, system_prompt="Be terse.", **BUDGET)
    assert [item.id for item in again.items] == ["i1"]


def test_the_full_history_is_saved(tmp_path: Path) -> None:
    """Not what the model was shown of it."""
    ctx = ContextBuilder(max_tokens=300)
    for number in range(100):
        ctx.add_user_message(f"question {number} " + "word " * 20)
        ctx.add_assistant_message(f"answer {number}")
    assert len(ctx.build()) < 100
    save_session(ctx, tmp_path / "f")
    assert len(load_session(tmp_path / "f", max_tokens=300).items) == 200


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75, 0.999])
def test_half_a_file_gives_what_is_complete(tmp_path: Path, share: float) -> None:
    """And says so; saving keeps the damaged file beside the new one."""
    ctx, path = logbook(), tmp_path / "f1.jsonl"
    save_session(ctx, path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])
    loaded = load_session(path, **BUDGET)
    assert loaded.damage
    assert loaded.items == ctx.items[: len(loaded.items)]
    assert next(d.position for d in loaded.damage) == len(loaded.items)
    loaded.build()
    save_session(loaded, path)
    assert (
        path.with_name("f1.jsonl.damaged").read_bytes()
        == whole[: int(len(whole) * share)]
    )
    assert load_session(path, **BUDGET).damage == ()


@pytest.mark.parametrize("cut", range(0, 1_700, 100))
def test_no_cut_makes_anything_up(tmp_path: Path, cut: int) -> None:
    """Wherever a file ends, what is loaded is the beginning, or an error."""
    ctx, path = logbook(), tmp_path / "f1.jsonl"
    save_session(ctx, path)
    path.write_bytes(path.read_bytes()[:cut])
    before = path.read_bytes()
    try:
        loaded = load_session(path, **BUDGET)
    except SessionCorruptedError:
        assert cut < 500
    else:
        assert loaded.items == ctx.items[: len(loaded.items)]
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"", b"\0" * 900, b"\n\n", b"\xff\xfe\x00"])
def test_nothing_is_an_error_and_stays(tmp_path: Path, content: bytes) -> None:
    """An empty or zeroed file is named, and left as it is."""
    path = tmp_path / "f1.jsonl"
    path.write_bytes(content)
    with pytest.raises(SessionCorruptedError, match=r"f1\.jsonl.*record 0"):
        load_session(path, **BUDGET)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ('{"a": 1}', "no session"),
        ("[1, 2]", "messages that are none"),
        ('"text"', "no session"),
        ('{"schema": "other", "version": 1}', "schema is 'other'"),
        ('{"schema": "context_builder.session", "version": 2}', "upgrade"),
        ('{"schema": "context_builder.session"}', "version None"),
        ('{"messages": [{"role": "user"}, 7]}', "messages that are none"),
    ],
)
def test_a_wrong_shape_is_said(tmp_path: Path, content: str, says: str) -> None:
    """What is wrong with it, and where it lies."""
    path = tmp_path / "f1.jsonl"
    path.write_text(content)
    with pytest.raises(StoreError, match=says):
        load_session(path, **BUDGET)


def test_older_messages_are_read(tmp_path: Path) -> None:
    """Fields that are not known do not stop them."""
    messages = [
        {"role": "user", "content": "alte Frage"},
        {"role": "assistant", "content": "alte Antwort", "mood": "unknown-extra-field"},
    ]
    for number, shape in enumerate(({"messages": messages}, messages)):
        path = tmp_path / f"{number}.json"
        path.write_text(json.dumps(shape, indent=2))
        ctx = load_session(path, **BUDGET)
        assert [item.text for item in ctx.items] == ["alte Frage", "alte Antwort"]
        save_session(ctx, path)
        assert load_session(path, **BUDGET).build() == ctx.build()


def test_a_dump_is_read(tmp_path: Path) -> None:
    """What `ContextBuilder.dump` returned, as one document or line by line."""
    ctx = logbook()
    dump = ctx.dump()
    for number, text in enumerate(
        (json.dumps(dump), "\n".join(json.dumps(entry) for entry in dump))
    ):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        assert load_session(path, **BUDGET).build() == ctx.build()


def test_files_of_the_first_release_open() -> None:
    """This file was written by the first release, and will always open."""
    ctx = load_session(DATA / "release-0.1.jsonl", **BUDGET)
    assert ctx.damage == ()
    assert [item.text for item in ctx.items] == [item.text for item in logbook().items]
    assert ctx.build() == logbook().build()


def test_an_ascii_locale_changes_nothing(tmp_path: Path) -> None:
    """UTF-8 whatever the locale says."""
    script = (
        "import sys; from context_builder.sessions import *; "
        "c = load_session(sys.argv[1], max_tokens=5600); "
        "c.add_user_message('Gr\\xf6\\xdfe \\u5c3a\\u5bf8'); "
        "save_session(c, sys.argv[1])"
    )
    path = tmp_path / "f1.jsonl"
    save_session(logbook(), path)
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", script, path], check=True, env=env)
    assert load_session(path, **BUDGET).items[-1].text == "Größe 尺寸"


def _full_disk(bytes_left: int) -> None:
    """Let this process write no file beyond so many bytes: what a full disk does."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, bytes_left))


def test_a_full_disk_leaves_the_file(tmp_path: Path) -> None:
    """A save that does not fit fails, leaves the old file, and no litter."""
    path = tmp_path / "f1.jsonl"
    save_session(logbook(), path)
    before = path.read_bytes()
    script = (
        "import sys; from context_builder.sessions import *\n"
        "c = load_session(sys.argv[1], max_tokens=5600)\n"
        "c.add_user_message('long ' * 9_000)\n"
        "try: save_session(c, sys.argv[1])\n"
        "except Exception as e: print(type(e).__name__)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, path],
        check=True,
        capture_output=True,
        preexec_fn=lambda: _full_disk(20_000),
    )
    assert done.stdout.strip() == b"StoreError"
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_crash_while_saving_leaves_the_old_file(tmp_path: Path) -> None:
    """Killed when half of it was written, the file is as it was."""
    path = tmp_path / "f1.jsonl"
    save_session(logbook(), path)
    before = path.read_bytes()
    script = (
        "import os, signal, sys; from context_builder.sessions import *\n"
        "c = load_session(sys.argv[1], max_tokens=5600)\n"
        "c.add_user_message('Noch eine Frage.')\n"
        "os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)\n"
        "save_session(c, sys.argv[1])\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], check=False)
    assert done.returncode == -9
    assert path.read_bytes() == before
    assert load_session(path, **BUDGET).build() == logbook().build()


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    """A folder in the way is an error that names it."""
    with pytest.raises(StoreError, match="cannot write"):
        save_session(logbook(), tmp_path)
    with pytest.raises(StoreError, match="cannot read"):
        load_session(tmp_path, **BUDGET)


def test_the_default_place_is_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state folder, not the working folder."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = save_session(logbook())
    assert path.is_relative_to(tmp_path)
    assert path.parent.name == "context_builder"
    assert load_session(**BUDGET).build() == logbook().build()


def test_permissions_and_links_stay(tmp_path: Path) -> None:
    """A private file stays private, and a link leads where it led."""
    path, link = tmp_path / "f1.jsonl", tmp_path / "link"
    save_session(logbook(), path)
    assert path.stat().st_mode & 0o077 == 0
    path.chmod(0o640)
    link.symlink_to(path)
    save_session(logbook(), link)
    assert link.is_symlink()
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_session_is_a_builder() -> None:
    """It has no other doors."""
    other: Any = FileSession(**BUDGET)
    assert isinstance(other, ContextBuilder)
