from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from typing import TYPE_CHECKING

import pytest

from tests.agent.vendors import Says, ScriptedServer
from tests.chatting import chat, command, surroundings, terminal
from tests.test_cli_chat import no_keys, texts
from tests.test_cli_chat_vendors import options, server

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["no_keys", "server"]


# --- A terminal


def test_ctrl_c_stops_the_answer_and_leaves_the_session_whole(
    server: ScriptedServer, tmp_path: Path
) -> None:
    """What was said so far is kept; the next turn is accepted; Ctrl-D ends it."""
    held = threading.Event()
    server.play(Says("One two three.", hold=held), Says("Go on, then."), Says("Again."))
    arguments = [*options(server), "--session", "s"]
    with terminal(tmp_path, *arguments, env=surroundings(NO_COLOR="1")) as one:
        one.wait_for("gpt-4o>")
        one.press("count 数\r")
        one.wait_for("One two three.")
        one.press("\x03")
        one.wait_for("stopped; what was said so far is kept")
        held.set()
        one.wait_for("gpt-4o>")
        one.press("\x03")  # nothing is running: it ends nothing
        one.wait_for("Ctrl-D ends the chat")
        one.wait_for("gpt-4o>")
        one.press("and now?\r")
        one.wait_for("Go on, then.")
        one.wait_for("of 89,600 tokens, 20% from the cache")
        one.wait_for("gpt-4o>")
        one.press("/con\t")
        one.wait_for("/con")
        one.wait_for("text")  # it was completed
        one.press("\r")
        one.wait_for("0 of 4 items not whole")
        one.wait_for("gpt-4o>")
        one.press("/retry\r")
        one.wait_for("Again.")
        one.wait_for("gpt-4o>")
        one.press("\x04")
        assert one.end() == 0
    assert server.refused == []
    assert texts(tmp_path) == [
        ("user", "count 数"),
        ("assistant", "One two three."),
        ("user", "and now?"),
        ("assistant", "Again."),
    ]


def test_a_terminal_calls_back_what_was_said(tmp_path: Path) -> None:
    """Behind the arrow up, also from an earlier run; Alt-Enter begins another line."""
    chat(tmp_path, "--offline", lines="first words\n")
    with terminal(tmp_path, "--offline", "--session", "s") as one:
        one.wait_for("1 message of yours so far")
        one.wait_for("(scripted)>")
        one.press("\x1b[A\r")
        one.wait_for('The user said: "first words"')
        one.wait_for("(scripted)>")
        one.press("two\x1b\rlines\r")
        one.wait_for("[offline]")
        one.wait_for("(scripted)>")
        one.press("/quit\r")
        assert one.end() == 0
    assert [text for role, text in texts(tmp_path) if role == "user"] == [
        "first words",
        "first words",
        "two\nlines",
    ]


def test_a_dumb_terminal_gets_plain_text(tmp_path: Path) -> None:
    """Nothing that it would show as rubbish."""
    env = surroundings(TERM="dumb", NO_COLOR="1")
    with terminal(tmp_path, "--offline", "--session", "s", env=env) as one:
        one.wait_for("(scripted)>")
        one.press("你好\r")
        one.wait_for("[offline] You said: 你好")
        one.wait_for("(scripted)>")
        one.press("\x03")
        one.wait_for("Ctrl-D ends the chat")
        one.wait_for("(scripted)>")
        one.press("\x04")
        assert one.end() == 0
        assert b"\x1b" not in one.raw


# --- Ctrl-C in a pipe


@pytest.fixture
def held() -> threading.Event:
    """Give what the server waits for."""
    return threading.Event()


def _piped(folder: Path, server: ScriptedServer) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command(folder, *options(server), "--session", "s"),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=surroundings(),
    )


def test_ctrl_c_stops_an_answer_in_a_pipe(
    held: threading.Event, tmp_path: Path
) -> None:
    """The next line is answered; that one failed is in the exit code."""
    with ScriptedServer() as server:
        server.play(Says("One two.", hold=held), Says("Fine."))
        process = _piped(tmp_path, server)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"count\n")
        process.stdin.flush()
        os.read(process.stdout.fileno(), 3)
        process.send_signal(signal.SIGINT)
        held.set()
        out, err = process.communicate(b"and now?\n", timeout=60)
        assert server.refused == []
    assert out.endswith(b"Fine.\n")
    assert b"stopped; what was said so far is kept" in err
    assert process.returncode == 1
    assert [role for role, _ in texts(tmp_path)] == [
        "user",
        "assistant",
        "user",
        "assistant",
    ]


def test_ctrl_c_ends_a_pipe_that_waits(tmp_path: Path) -> None:
    """As a shell expects it; what was said is kept."""
    with ScriptedServer() as server:
        process = _piped(tmp_path, server)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"hello\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"Done.\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 130
        process.communicate()
    assert texts(tmp_path) == [("user", "hello"), ("assistant", "Done.")]


def test_a_reader_that_goes_away_ends_it(tmp_path: Path) -> None:
    """Without a trace of Python's; the session is whole."""
    words = command(tmp_path, "--offline", "--session", "s")
    done = subprocess.run(
        ["bash", "-c", 'yes hello | head -50 | "$@" | head -1', "-", *words],
        capture_output=True,
        check=False,
        env=surroundings(),
        timeout=120,
    )
    assert done.stdout == b"[offline] You said: hello\n"
    assert b"Traceback" not in done.stderr
    assert texts(tmp_path)[0] == ("user", "hello")
