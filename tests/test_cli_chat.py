from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

from context_builder.cli.chat.conversation import NAMESPACE
from context_builder.cli.chat.vendors import VENDORS
from context_builder.cli.commands import app
from context_builder.sessions import SessionManager
from tests.chatting import chat, command, store_in, surroundings

OFFLINE = ("--offline",)
LONG = "The river Elbe is long and carries many barges. " * 60


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Take keys and colours away, and give a state folder of the test's own."""
    for vendor in VENDORS.values():
        for name in (*vendor.keys, vendor.sdk_url):
            monkeypatch.delenv(name, raising=False)
    for name in ("FORCE_COLOR", "NO_COLOR", "CONTEXT_BUILDER_STORE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("CONTEXT_BUILDER_MODEL", raising=False)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def texts(folder: Path, session: str = "s") -> list[tuple[str, str]]:
    """Return role and text of what a stored session holds now."""
    url = store_in(folder)[1]
    with (
        SessionManager(store=url, namespace=NAMESPACE, max_tokens=10**6) as sessions,
        sessions.open(session) as ctx,
    ):
        return [(i.role, i.text) for i in ctx.items if ctx.log.holds(i.id)]


# --- Who answers


def test_without_a_key_it_says_what_to_set() -> None:
    """Exit code 2; each vendor beside its variable, and the way that needs none."""
    done = CliRunner().invoke(app, ["chat"], input="hello\n")
    assert done.exit_code == 2
    assert done.stdout == ""
    for target, vendor in VENDORS.items():
        line = rf"^  {vendor.keys[0]} .*\b{re.escape(target)}\b"
        assert re.search(line, done.stderr, re.M), target
    assert "--offline" in done.stderr


def test_the_page_names_the_same_keys() -> None:
    """What docs/chat.md shows is what is printed, and its table has every variable."""
    page = (Path(__file__).parents[1] / "docs/chat.md").read_text("utf-8")
    done = CliRunner().invoke(app, ["chat"])
    assert f"$ context-builder chat; echo $?\n{done.stderr}2\n" in page
    for target, vendor in VENDORS.items():
        row = next(one for one in page.split("\n") if f"`{target}`" in one)
        for name in vendor.keys:
            assert f"`{name}`" in row


@pytest.mark.parametrize("target", VENDORS)
def test_without_its_key_a_vendor_is_not_asked(target: str, tmp_path: Path) -> None:
    """The error names the variable of the vendor that was asked for."""
    done = chat(tmp_path, "--target", target, "--model", "gpt-4o", lines="hello\n")
    assert done.exit_code == 2
    for name in VENDORS[target].keys:
        assert name in done.stderr
    assert "--offline" in done.stderr
    assert not (tmp_path / "chat.db").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", "nobody"), "'nobody' is not known; known are openai"),
        (("--offline", "--target", "openai"), "leave --target"),
        (("--offline", "--resume"), "leave --resume out"),
        (("--offline", "--store", "ftp://x"), "no store has URLs"),
        (("--base-url", "http://127.0.0.1:9"), "name one with --model"),
        (("--base-url", "http://127.0.0.1:9", "--model", "m-1"), "--context-window"),
    ],
)
def test_what_cannot_be_used_is_said(
    arguments: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    """In one line, with exit code 2, before anything is read."""
    done = chat(tmp_path, *arguments, lines="hello\n")
    assert done.exit_code == 2, done.output
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_offline_is_named_as_what_it_is(tmp_path: Path) -> None:
    """Nobody takes the scripted answers for a model's."""
    done = chat(tmp_path, *OFFLINE, lines="hello\n")
    assert done.exit_code == 0
    assert done.stdout == "[offline] You said: hello\n"
    assert "offline (scripted, no model) answers" in done.stderr


# --- Sessions


def test_a_session_goes_on_in_another_process(tmp_path: Path) -> None:
    """What was said in one run is in the context of the next."""
    first = [*command(tmp_path, *OFFLINE), "--session", "trip"]
    said = b"My name is Ada.\n"
    one = subprocess.run(
        first, input=said, capture_output=True, check=True, env=surroundings()
    )
    assert one.stdout.startswith(b"[offline] ")
    again = chat(tmp_path, *OFFLINE, lines="What is my name?\n", session="trip")
    assert '"My name is Ada."' in again.stdout
    assert "session trip, 1 message of yours so far" in again.stderr


def test_resume_goes_on_with_the_session_used_last(tmp_path: Path) -> None:
    """By when it was used, not by its name."""
    chat(tmp_path, *OFFLINE, lines="The code is 4711.\n", session="b")
    chat(tmp_path, *OFFLINE, lines="The code is 1234.\n", session="a")
    words = ["chat", *store_in(tmp_path), *OFFLINE, "--resume"]
    done = CliRunner().invoke(app, words, input="What is the code?\n")
    assert "1234" in done.stdout
    assert "4711" not in done.stdout
    empty = CliRunner().invoke(app, ["chat", "--offline", "--resume"], input="x\n")
    assert empty.exit_code == 1
    assert "there is no session to go on with" in empty.stderr


def test_the_default_store_lies_in_the_state_folder(tmp_path: Path) -> None:
    """Without `--store` sessions are kept all the same, under the time they began."""
    done = CliRunner().invoke(app, ["chat", "--offline"], input="hello\n/sessions\n")
    assert done.exit_code == 0
    assert re.search(r"^\* \S+ \S+  \d{4}-\d\d-\d\d-\d{6}$", done.stdout, re.M)
    assert list((tmp_path / "state").rglob("sessions.db"))


def test_new_and_sessions_change_what_is_talked_in(tmp_path: Path) -> None:
    """Sessions never mix, and one can be come back to."""
    done = chat(
        tmp_path,
        *OFFLINE,
        session="one",
        lines="My dog is Rex.\n/new two\nWhat is my dog?\n/new one\n"
        "/sessions one\nWhat is my dog?\n/sessions nine\n/sessions\n",
    )
    answers = [line for line in done.stdout.split("\n") if line.startswith("[off")]
    assert answers[1] == "[offline] You said: What is my dog?"
    assert "Rex" in answers[2]
    assert "there is a session one already" in done.stderr
    assert "there is no session nine" in done.stderr
    assert re.search(r"^\* .*  one$", done.stdout, re.M)
    assert re.search(r"^  .*  two$", done.stdout, re.M)
    assert done.exit_code == 1


def test_looking_stores_nothing(tmp_path: Path) -> None:
    """A session is there once something was said in it."""
    done = chat(tmp_path, *OFFLINE, lines="/help\n/sessions\n/context\n")
    assert "no session is stored yet" in done.stdout


# --- Lines and letters


def test_a_pipe_gets_utf8_whatever_the_locale_says(tmp_path: Path) -> None:
    """Chinese in, Chinese out; bytes that are no UTF-8 end nothing."""
    said = "你好。世界\n".encode() + b"\xff\xfe broken\n"
    done = subprocess.run(
        command(tmp_path, *OFFLINE, "--session", "中文"),
        input=said,
        capture_output=True,
        check=True,
        env=surroundings(LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0"),
    )
    out = done.stdout.decode()
    assert "[offline] You said: 你好。世界" in out
    assert "\ufffd\ufffd broken" in out
    assert "session 中文" in done.stderr.decode()


def test_a_pipe_gets_no_colours(tmp_path: Path) -> None:
    """Neither on standard output nor beside it."""
    done = chat(tmp_path, *OFFLINE, lines="hello\n/context\n/tokens\n/nope\n")
    assert "\x1b" not in done.stdout + done.stderr


def test_what_is_said_does_not_move_the_cursor(tmp_path: Path) -> None:
    """Escapes in a text are shown as what they are; they are sent as they came."""
    done = chat(tmp_path, *OFFLINE, lines="a \x1b[2Jb\u202ec\x07\n/context i1\n")
    assert "\x1b" not in done.stdout
    assert "a \\x1b[2Jb\\u202ec\\x07" in done.stdout
    assert texts(tmp_path)[0] == ("user", "a \x1b[2Jb\u202ec\x07")


def test_two_slashes_begin_a_message(tmp_path: Path) -> None:
    """So that a path can be said."""
    chat(tmp_path, *OFFLINE, lines="//etc/hosts is a file\n")
    assert texts(tmp_path)[0] == ("user", "/etc/hosts is a file")


def test_blank_lines_say_nothing(tmp_path: Path) -> None:
    """They are no turns, and an empty pipe is no error."""
    done = chat(tmp_path, *OFFLINE, lines="\n   \n\t\n")
    assert (done.exit_code, done.stdout) == (0, "")


def test_quit_ends_it(tmp_path: Path) -> None:
    """What stands behind it is not read."""
    done = chat(tmp_path, *OFFLINE, lines="one\n/quit\ntwo\n")
    assert done.stdout == "[offline] You said: one\n"


# --- Commands


def test_context_is_the_report_of_the_session(tmp_path: Path) -> None:
    """The same table as `explain` of the library gives for that session."""
    done = chat(tmp_path, *OFFLINE, lines="hello\n/context\n")
    with (
        SessionManager(
            store=store_in(tmp_path)[1],
            namespace=NAMESPACE,
            model="offline",
            max_tokens=8_000,
        ) as sessions,
        sessions.open("s") as ctx,
    ):
        assert str(ctx.explain("openai")) in done.stdout


def test_context_of_an_item_says_its_fate_and_what_is_seen(tmp_path: Path) -> None:
    """Whole: its text. Shortened: the text, and the message that the model sees."""
    lines = f"{LONG}\n/context i1\n/compact\nShort.\nShorter.\n/compact\n/context i1\n"
    done = chat(
        tmp_path, *OFFLINE, "--max-tokens", "1500", lines=f"{lines}/context x\n"
    )
    whole, _, poorer = done.stdout.partition("compacted from")
    assert "i1 (user, user): kept" in whole
    assert LONG.strip() in whole
    assert re.search(r"^i1 \(user, user\): (?!kept)\w+, 724 -> ", poorer, re.M)
    assert "error: there is no item 'x' in this session" in done.stderr


def test_tokens_are_shown_by_class_and_with_the_cache(tmp_path: Path) -> None:
    """Each class against its share, and how much of the last answer was cached."""
    done = chat(tmp_path, *OFFLINE, lines=f"{LONG}\nAnd now?\n/tokens\n")
    for name in ("system", "latest_turn", "tool_results", "history", "background"):
        assert re.search(rf"^{name} +[\d,]+ +[\d,]+  \[[#.]{{20}}\]", done.stdout, re.M)
    last = re.search(
        r"^last answer: ([\d,]+) tokens of input, (\d+)% of them", done.stdout, re.M
    )
    assert last is not None
    assert int(last[2]) > 50
    assert re.search(r"^this run: .* 2 requests$", done.stdout, re.M)


def test_compact_makes_room_and_loses_nothing(tmp_path: Path) -> None:
    """Fewer tokens are sent; all that was said is still in the session."""
    lines = "".join(f"Fact {n}: {LONG}\n" for n in range(3))
    done = chat(tmp_path, *OFFLINE, lines=f"{lines}/compact\n/compact\n")
    found = re.search(r"compacted from ([\d,]+) to ([\d,]+) of 8,000", done.stdout)
    assert found is not None, done.stdout
    before, after = (int(one.replace(",", "")) for one in found.groups())
    assert after < before
    said = [text for role, text in texts(tmp_path) if role == "user"]
    assert said == [f"Fact {n}: {LONG}".strip() for n in range(3)]
    assert done.exit_code == 0


def test_a_compaction_in_a_turn_is_told(tmp_path: Path) -> None:
    """Somebody who reads along knows that the model does not see everything."""
    lines = "".join(f"Fact {n}: {LONG}\n" for n in range(6))
    done = chat(tmp_path, *OFFLINE, "--max-tokens", "2500", lines=lines)
    assert done.exit_code == 0, done.stderr
    assert "items are not whole; /context says which" in done.stderr


def test_undo_takes_the_last_turn_back(tmp_path: Path) -> None:
    """Message and answer; the first one, too, and then there is nothing left."""
    done = chat(tmp_path, *OFFLINE, lines="one\ntwo\n/undo\n/undo\n/undo\nthree\n")
    assert "taken back: two\ntaken back: one\n" in done.stdout
    assert "error: nothing was said yet" in done.stderr
    assert texts(tmp_path) == [
        ("user", "three"),
        ("assistant", "[offline] You said: three"),
    ]


def test_retry_asks_again(tmp_path: Path) -> None:
    """The answer is replaced, and the message stays."""
    done = chat(tmp_path, *OFFLINE, lines="/retry\none\n/retry\n")
    assert done.stdout == "[offline] You said: one\n" * 2
    assert "error: nothing was said yet" in done.stderr
    assert [role for role, _ in texts(tmp_path)] == ["user", "assistant"]


def test_export_can_be_imported(tmp_path: Path) -> None:
    """JSONL that `context-builder sessions import` takes; nothing is overwritten."""
    file = tmp_path / "out.jsonl"
    done = chat(tmp_path, *OFFLINE, lines=f"你好\n/export {file}\n/export {file}\n")
    assert f"wrote {file}" in done.stdout
    assert "already" in done.stderr
    assert all(json.loads(line) for line in file.read_text("utf-8").splitlines())
    words = ["sessions", "import", str(file), "--id", "copy", *store_in(tmp_path)]
    assert CliRunner().invoke(app, words).exit_code == 0
    words = ["sessions", "show", "copy", *store_in(tmp_path)]
    assert "i1    user      你好" in CliRunner().invoke(app, words).stdout


def test_export_as_markdown_reads_well(tmp_path: Path) -> None:
    """A heading for each that speaks; a fence that its text cannot close."""
    file = tmp_path / "out.md"
    fence = 'use calculator for "1+1"\n'
    chat(tmp_path, *OFFLINE, "--tools", lines=f"{fence}/export {file}\n/export\n")
    assert file.read_text("utf-8").split("\n\n")[:3] == [
        "# s",
        "## You",
        'use calculator for "1+1"',
    ]
    assert "## calculator returned\n\n```\n2\n```" in file.read_text("utf-8")


def test_help_names_every_command(tmp_path: Path) -> None:
    """Also the ones that take something."""
    done = chat(tmp_path, *OFFLINE, lines="/help\n/HELP\n")
    names = re.findall(r"^(/\w+)", done.stdout, re.M)
    expected = "context tokens compact switch undo retry new sessions export help quit"
    assert names == [f"/{name}" for name in expected.split()] * 2


def test_an_unknown_command_is_no_message(tmp_path: Path) -> None:
    """A slip is not sent to a vendor; in a pipe it counts as a failure."""
    done = chat(tmp_path, *OFFLINE, lines="/tokns\n/tokens x\n")
    assert done.exit_code == 1
    assert "error: /tokns: there is no such command" in done.stderr
    assert "error: /tokens: it takes nothing else" in done.stderr
    assert done.stdout == ""


def test_switch_needs_a_vendor_with_a_key(tmp_path: Path) -> None:
    """Else the former one goes on."""
    lines = "/switch\n/switch nobody\n/switch anthropic\nhello\n/switch offline\n"
    done = chat(tmp_path, *OFFLINE, lines=lines)
    assert "to whom?" in done.stderr
    assert "'nobody' is not known" in done.stderr
    assert "set ANTHROPIC_API_KEY" in done.stderr
    assert done.stdout == (
        "[offline] You said: hello\nnow answers: offline (scripted, no model)\n"
    )
