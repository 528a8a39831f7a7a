from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from context_builder.builder import ContextBuilder
from context_builder.cli.commands import app

EXAMPLE = Path(__file__).parents[1] / "examples/data/airline_agent.json"
MODEL = ("--model", "gpt-4o")
TIGHT = (*MODEL, "--max-tokens", "5000")
COMMANDS = {
    "build": (*MODEL,),
    "explain": (*MODEL,),
    "count": (*MODEL,),
    "validate": (),
    "convert": (),
}
HELLO: list[dict[str, Any]] = [
    {"role": "system", "content": "You are terse."},
    {"role": "user", "content": "Grüße, 世界"},
]


def run(*args: str | Path, stdin: str | bytes | None = None) -> Result:
    """Run a command within this process."""
    return CliRunner().invoke(app, [str(arg) for arg in args], input=stdin)


def program(
    *args: str | Path, stdin: bytes = b"", shell_prefix: str = "", **env: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command as a program of its own."""
    command = [sys.executable, "-m", "context_builder.cli", *map(str, args)]
    if shell_prefix:
        command = ["bash", "-c", f'{shell_prefix}; exec "$@"', "-", *command]
    return subprocess.run(
        command, input=stdin, capture_output=True, check=False, env=os.environ | env
    )


def write_json(path: Path, value: object) -> Path:
    """Write one JSON document."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_jsonl(path: Path, *records: object) -> Path:
    """Write one record a line."""
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def record(name: str, *texts: str) -> dict[str, Any]:
    """Make a record in which the user says these texts."""
    messages = [{"role": "user", "content": text} for text in texts]
    return {"id": name, "messages": messages}


@pytest.fixture
def hello(tmp_path: Path) -> Path:
    """Give a file with a short conversation."""
    return write_json(tmp_path / "hello.json", HELLO)


# --- What the commands do


def test_build_prints_the_request_of_the_facade() -> None:
    """`build` prints exactly what `ContextBuilder.request()` gives."""
    transcript = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    session = ContextBuilder(
        model="gpt-4o", max_tokens=5_000, tools=transcript["tools"]
    )
    session.extend(transcript["messages"], format="openai")

    result = run("build", EXAMPLE, *TIGHT)

    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout) == session.request("openai")
    assert result.stderr == ""


def test_json_of_build_is_one_line(hello: Path) -> None:
    """`build --json` says the same request on a single line."""
    pretty, compact = run("build", hello, *MODEL), run("build", hello, *MODEL, "--json")

    assert compact.stdout.count("\n") == 1
    assert json.loads(compact.stdout) == json.loads(pretty.stdout)


def test_explain_prints_the_report_of_the_facade() -> None:
    """`explain` prints the report as a table, `--json` as data."""
    transcript = json.loads(EXAMPLE.read_text(encoding="utf-8"))
    session = ContextBuilder(
        model="gpt-4o", max_tokens=5_000, tools=transcript["tools"]
    )
    session.extend(transcript["messages"], format="openai")
    report = session.explain("openai")

    table, data = (
        run("explain", EXAMPLE, *TIGHT),
        run("explain", EXAMPLE, *TIGHT, "--json"),
    )

    assert table.stdout == f"{report}\n"
    assert json.loads(data.stdout) == json.loads(json.dumps(report.to_dict()))


def test_explain_all_says_which_records_do_not_fit(tmp_path: Path) -> None:
    """`explain --all` goes over every record; one that does not fit stops no other."""
    file = write_jsonl(
        tmp_path / "many.jsonl",
        record("big", "word " * 5_000),
        record("small", "hello"),
    )

    text = run("explain", file, "--all", "--max-tokens", "300")
    data = run("explain", file, "--all", "--max-tokens", "300", "--json")

    assert text.exit_code == data.exit_code
    assert [entry["id"] for entry in json.loads(data.stdout)] == ["big", "small"]
    assert "big\n" in text.stdout
    assert "small\n" in text.stdout


def test_count_adds_up(hello: Path) -> None:
    """`count` says the tokens of every message, of the tools, and of all together."""
    counts = json.loads(run("count", hello, *MODEL, "--json").stdout)

    parts = [message["tokens"] for message in counts["messages"]]
    assert len(parts) == len(HELLO)
    assert all(parts)
    assert counts["total_tokens"] == (
        sum(parts) + counts["tools_tokens"] + counts["overhead_tokens"]
    )
    assert counts["is_exact"]
    table = run("count", hello, *MODEL).stdout
    assert f"{counts['total_tokens']:,}" in table
    assert counts["counter"] in table


def test_count_tells_an_estimate(hello: Path) -> None:
    """`count` says when the model has no public tokenizer."""
    result = run("count", hello, "--model", "claude-sonnet-4-5")

    assert "an estimate" in result.stdout


@pytest.mark.parametrize(
    ("model", "target", "counter"),
    [
        ("claude-sonnet-4-5", "anthropic", "estimate:claude"),
        ("claude-opus-5-5", "anthropic", "estimate:claude-new"),
        ("gemini-3.5-flash", "gemini", "estimate:gemini"),
        ("anthropic.claude-sonnet-4-6", "bedrock", "estimate:claude"),
        ("kimi-k2.6", "kimi", "estimate:generic"),
        ("ollama/llama3.1", "ollama", "estimate:generic"),
        ("groq/openai/gpt-oss-120b", "openai", "o200k_harmony"),
    ],
)
def test_count_counts_as_the_models_vendor_does(
    hello: Path, model: str, target: str, counter: str
) -> None:
    """By that vendor's estimate and framing, unless another vendor is named."""
    counts = json.loads(run("count", hello, "--model", model, "--json").stdout)
    assert counts["counter"] == counter
    same = run("count", hello, "--model", model, "--to", target, "--json").stdout
    assert json.loads(same) == counts


def test_count_goes_over_all_records(tmp_path: Path) -> None:
    """`count` of JSONL says a line a record, and the sum."""
    file = write_jsonl(
        tmp_path / "many.jsonl", record("a", "one"), record("b", "x", "y")
    )

    every = json.loads(run("count", file, *MODEL, "--json").stdout)
    one = json.loads(run("count", file, *MODEL, "--json", "--id", "b").stdout)
    table = run("count", file, *MODEL).stdout

    assert [counts["id"] for counts in every] == ["a", "b"]
    assert every[1] == one
    total = sum(counts["total_tokens"] for counts in every)
    assert table.splitlines()[3].split() == ["total", "3", f"{total}"]


def test_validate_accepts_what_the_vendor_accepts(hello: Path) -> None:
    """`validate` says so, and exits with 0, where no rule is broken."""
    result = run("validate", hello)

    assert result.exit_code == 0, result.stdout
    assert result.stdout == f"{hello}: valid for openai\n"
    assert run("validate", hello, "--quiet").stdout == ""


def test_validate_names_rule_and_remedy(tmp_path: Path) -> None:
    """`validate` says where which rule is broken and what to do, and exits with 1."""
    orphan = [*HELLO, {"role": "tool", "tool_call_id": "call_1", "content": "42"}]
    file = write_jsonl(tmp_path / "two.jsonl", record("good", "hello"), orphan)

    text, data = run("validate", file), run("validate", file, "--json")

    assert text.exit_code == data.exit_code == 1
    assert f"{file}: line 2: messages[2]" in text.stdout
    (problem, *_) = json.loads(data.stdout)
    assert problem["id"] == "2"
    assert problem["where"].startswith("messages[2]")
    assert problem["rule"]
    assert problem["fix"]


def test_built_requests_are_valid(tmp_path: Path) -> None:
    """What `build` writes, `validate` accepts."""
    request = tmp_path / "request.json"

    assert run("build", EXAMPLE, *TIGHT, "--out", request).exit_code == 0
    assert run("validate", request).exit_code == 0


def test_convert_keeps_the_whole_transcript() -> None:
    """`convert` leaves nothing out and names no model that nobody asked for."""
    transcript = json.loads(EXAMPLE.read_text(encoding="utf-8"))

    body = json.loads(run("convert", EXAMPLE).stdout)

    assert "model" not in body
    assert body["tools"] == transcript["tools"]
    assert [message["role"] for message in body["messages"]] == [
        message["role"] for message in transcript["messages"]
    ]
    assert json.loads(run("convert", EXAMPLE, *MODEL).stdout)["model"] == "gpt-4o"


def test_system_takes_the_place_of_the_transcripts_own(hello: Path) -> None:
    """`--system` replaces the system prompt; there are never two."""
    result = run("build", hello, *MODEL, "--system", "You are kind.")

    system, user = json.loads(result.stdout)["messages"]
    assert system["content"] == "You are kind."
    assert user == HELLO[1]


def test_version_is_printed() -> None:
    """`--version` prints name and version."""
    result = run("--version")

    assert result.exit_code == 0
    assert result.stdout.startswith("context-builder 0.")


# --- What they read


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(HELLO),
        json.dumps(HELLO, indent=2),
        json.dumps({"messages": HELLO}),
        json.dumps({"messages": HELLO, "tools": None}),
        "\ufeff" + json.dumps(HELLO),
        json.dumps(record("other", "x"))
        + "\n"
        + json.dumps({"id": "0", "messages": HELLO}),
        "\r\n".join(["", json.dumps([]), json.dumps({"id": 0, "messages": HELLO}), ""]),
    ],
    ids=[
        "list",
        "indented",
        "object",
        "null tools",
        "byte order mark",
        "jsonl",
        "crlf",
    ],
)
def test_every_shape_gives_the_same_request(text: str, tmp_path: Path) -> None:
    """A list, an object and a JSONL record are read alike, from a file and a pipe."""
    path = tmp_path / "in.json"
    path.write_bytes(text.encode())
    choice = ("--id", "0") if "\n{" in text else ()

    from_file = run("build", path, *MODEL, *choice)
    from_pipe = run("build", "-", *MODEL, *choice, stdin=text.encode())

    assert from_file.exit_code == 0, from_file.stderr
    assert json.loads(from_file.stdout) == {"model": "gpt-4o", "messages": HELLO}
    assert from_pipe.stdout == from_file.stdout


def test_a_record_may_name_its_model(tmp_path: Path) -> None:
    """The model of a recorded request is used, unless another one is asked for."""
    file = write_json(tmp_path / "in.json", {"model": "gpt-4.1", "messages": HELLO})

    assert json.loads(run("build", file).stdout)["model"] == "gpt-4.1"
    assert json.loads(run("build", file, *MODEL).stdout)["model"] == "gpt-4o"


def test_line_separators_within_a_text_do_not_end_a_record(tmp_path: Path) -> None:
    """JSONL lines end at a line feed, not at what Unicode also calls a line."""
    text = "a\u2028b\u0085c"
    file = write_jsonl(tmp_path / "in.jsonl", record("a", text), record("b", "x"))

    result = run("build", file, *MODEL, "--id", "a")

    assert json.loads(result.stdout)["messages"][0]["content"] == text


@pytest.mark.parametrize("command", ["build", "convert", "explain"])
def test_one_of_several_records_has_to_be_chosen(command: str, tmp_path: Path) -> None:
    """Where there are several records, the error says how to choose one of them."""
    names = [f"conversation-{number}" for number in range(8)]
    file = write_jsonl(tmp_path / "in.jsonl", *(record(name, "x") for name in names))

    result = run(command, file, *COMMANDS[command])

    assert_refused(result, "in.jsonl", "8 records", "--id", "conversation-0", "3 more")


def test_an_unknown_id_is_said(tmp_path: Path) -> None:
    """An id that no record has is an error that shows some that exist."""
    file = write_jsonl(tmp_path / "in.jsonl", record("a", "x"), record("b", "x"))

    assert_refused(run("count", file, "--id", "c"), "'c'", "a, b")


def test_a_number_names_a_record_that_has_an_id_of_its_own(tmp_path: Path) -> None:
    """An id wins over a number: there `2` is the first record, and `3` the third."""
    file = write_jsonl(
        tmp_path / "in.jsonl", record("2", "x"), record("b", "y"), record("c", "z")
    )
    options = ("--to", "anthropic", "--model", "claude-sonnet-4-5")
    said = {
        n: json.loads(run("convert", file, "--id", n, *options).stdout)["messages"]
        for n in ("1", "2", "3")
    }
    assert said["1"] == said["2"] != said["3"]
    for n in ("0", "4", "9" * 30, "\u00b2"):
        assert_refused(run("convert", file, "--id", n, *options), "no record has")


def test_an_id_of_several_records_is_refused(tmp_path: Path) -> None:
    """Rather than the first of them shown, as if it were the only one."""
    twice = write_jsonl(tmp_path / "in.jsonl", *(record("a", text) for text in "xyz"))
    options = ("--id", "a", "--max-tokens", "99")

    assert_refused(run("explain", twice, *options), "3 records", "'a'", "line 3")


# --- What they refuse


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("nosuch",), "no such command 'nosuch'; see "),
        (("explain",), "error: explain: missing argument 'FILE'; see "),
        (("explain", "x", "y"), "error: explain: got unexpected extra argument"),
        (("explain", "x", "--nosuch"), "error: explain: no such option: --nosuch"),
        (("build", "x", "--max-tokens", "-1"), "'--max-tokens'"),
        (("build", "x", "--max-tokens", "x"), "'--max-tokens'"),
        (("count", "x", "--from", "nosuch"), "'--from'"),
        (("sessions", "list", "--limit", "0"), "error: sessions list: invalid value"),
        (("sessions", "delete"), "error: sessions delete: missing argument"),
        (("users", "add"), "error: users add: missing argument 'NAME'; see "),
        (("serve", "--port", "99999"), "error: serve: invalid value for '--port'"),
        (("chat", "--max-tokens", "0"), "error: chat: invalid value"),
    ],
)
def test_a_wrong_option_is_one_line(words: tuple[str, ...], said: str) -> None:
    """As every other error: which command, what is wrong, where the help is."""
    assert_refused(run(*words), said)


def test_nothing_asked_for_is_answered_by_the_help() -> None:
    """Of the program, and of a group of commands."""
    for words in ((), ("sessions",), ("users",)):
        assert "Commands:" in run(*words).output


def test_the_models_own_question_has_its_own_way_out(hello: Path) -> None:
    """Who counts has no use for a window: the hint is one that can be followed."""
    said = run("count", hello, "--model", "gpt-4p").stderr
    assert said.endswith("; name one that counts as it does with --model\n")
    assert "close to it: gpt-4" in said
    built = run("build", hello, "--model", "gpt-4p").stderr
    assert "--context-window" in built


@pytest.mark.parametrize("nothing", [[], {"messages": []}])
def test_a_transcript_of_nothing(nothing: object, tmp_path: Path) -> None:
    """Makes no request, as an empty file makes none; looked at, it is empty."""
    file = write_json(tmp_path / "in.json", nothing)
    for command in (("build", file, *MODEL), ("convert", file)):
        assert_refused(run(*command), "in.json", "no message in it says anything")
    assert run("explain", file, *MODEL).exit_code == 0
    assert json.loads(run("count", file, "--json").stdout)["messages"] == []


def assert_refused(result: Result, *fragments: str) -> None:
    """Check that input was refused: exit code 2, one line that says all this."""
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    for fragment in fragments:
        assert fragment in line


SHAPE_ERRORS: dict[str, tuple[str | bytes, str]] = {
    "empty": ("", "nothing in it"),
    "blank": (" \n\t", "nothing in it"),
    "cut off": ('[{"role": "user",', "line 1"),
    "syntax": ('[\n {"role": "user",\n  "content": "x" "y"}\n]', "line 3, column 18"),
    "number": ("3", "not a number"),
    "text": ('"hello"', "not a text"),
    "message alone": (json.dumps(HELLO[1]), "messages: missing"),
    "no messages": ('{"tools": []}', "messages: missing"),
    "messages is null": ('{"messages": null}', "messages: not a list but null"),
    "message is text": (json.dumps([*HELLO, "hi"]), "messages[2]: not an object"),
    "tools is text": (
        json.dumps({"messages": HELLO, "tools": "x"}),
        "tools: not a list",
    ),
    "tool is number": (
        json.dumps({"messages": HELLO, "tools": [1]}),
        "tools[0]: not an",
    ),
    "nan": ('[{"role": "user", "content": NaN}]', "NaN"),
    "nested": ("[" * 200_000, "line 1"),
    "endless number": ("[" + "9" * 5_000 + "]", "line 1"),
    "not utf-8": (b'[\n{"role": "user", "content": "\xff"}]', "line 2: not UTF-8"),
    "jsonl syntax": (json.dumps(HELLO) + "\n{]\n", "line 2, column 2"),
    "jsonl shape": (json.dumps(HELLO) + "\n\n7\n", "line 3: a list of messages"),
}
MESSAGE_ERRORS: dict[str, tuple[object, str]] = {
    "no role": ([*HELLO, {"content": "x"}], "messages[2].role"),
    "strange role": ([*HELLO, *HELLO[1:], {"role": "nobody"}], "messages[3].role"),
    "role is number": ([{"role": 5, "content": "x"}], "messages[0].role"),
    "content is number": ([{"role": "user", "content": 5}], "messages[0].content"),
    "part is unknown": (
        [{"role": "user", "content": [{"type": "hologram"}]}],
        "messages[0].content[0].type",
    ),
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("case", SHAPE_ERRORS)
def test_bad_files_are_refused(command: str, case: str, tmp_path: Path) -> None:
    """A file of the wrong shape: one line says file, line and field; nothing else."""
    text, fragment = SHAPE_ERRORS[case]
    file = tmp_path / "bad.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    out = write_json(tmp_path / "out.json", "as before")
    choice = ("--id", "7") if case.startswith("jsonl") else ()

    result = run(command, file, *COMMANDS[command], *choice, "--out", out)

    assert_refused(result, f"{file}: ", fragment)
    assert json.loads(out.read_text(encoding="utf-8")) == "as before"
    assert {path.name for path in tmp_path.iterdir()} == {"bad.json", "out.json"}


@pytest.mark.parametrize("command", ["build", "explain", "count", "convert"])
@pytest.mark.parametrize("case", MESSAGE_ERRORS)
def test_bad_messages_are_refused(command: str, case: str, tmp_path: Path) -> None:
    """A message that is none: one line with the file and the field; nothing written."""
    messages, fragment = MESSAGE_ERRORS[case]
    file = write_json(tmp_path / "bad.json", messages)
    out = tmp_path / "out.json"

    result = run(command, file, *COMMANDS[command], "--out", out)

    assert_refused(result, f"{file}: {fragment}")
    assert not out.exists()


def test_bad_messages_of_a_record_are_refused_with_their_line(tmp_path: Path) -> None:
    """In JSONL the line is named beside the field."""
    bad = [*HELLO, {"role": "nobody", "content": "x"}]
    file = write_jsonl(tmp_path / "bad.jsonl", HELLO, bad)

    assert_refused(run("count", file), "bad.jsonl: line 2: messages[2].role")


def test_validate_lists_bad_messages_as_problems(tmp_path: Path) -> None:
    """To `validate` a message that is none is a finding, not an error."""
    file = write_json(tmp_path / "bad.json", MESSAGE_ERRORS["strange role"][0])

    result = run("validate", file)

    assert result.exit_code == 1
    assert "messages[3].role" in result.stdout


@pytest.mark.parametrize("command", COMMANDS)
def test_missing_files_are_refused(command: str, tmp_path: Path) -> None:
    """A file that is not there, or is a folder, is named."""
    missing = run(command, tmp_path / "no.json", *COMMANDS[command])
    folder = run(command, tmp_path, *COMMANDS[command])

    assert_refused(missing, "no.json", "No such file")
    assert_refused(folder, str(tmp_path), "directory")


def test_an_unknown_model_is_refused_with_names_close_to_it(hello: Path) -> None:
    """An unknown model is an error that says what it may have meant and what helps."""
    result = run("build", hello, "--model", "gtp-4o")

    assert_refused(result, "'gtp-4o'", "gpt-4o", "--context-window")


def test_a_request_needs_a_model_and_a_report_a_budget(hello: Path) -> None:
    """What is not said is asked for, never guessed."""
    assert_refused(run("build", hello, "--max-tokens", "500"), "--model")
    assert_refused(run("explain", hello), "--model", "--max-tokens")
    assert run("explain", hello, "--max-tokens", "500").exit_code == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--to", "nobody"),
        ("--max-tokens", "0"),
        ("--max-tokens", "many"),
        ("--nonsense",),
    ],
)
def test_bad_options_are_refused(options: tuple[str, ...], hello: Path) -> None:
    """An option that cannot be used ends with exit code 2 and writes nothing."""
    result = run("build", hello, *MODEL, *options)

    assert result.exit_code == 2
    assert result.stdout == ""
    assert options[0] in result.stderr


def test_a_budget_that_is_too_small_is_one_line() -> None:
    """What cannot fit ends with exit code 1 and the sizes, in one line."""
    result = run("build", EXAMPLE, *MODEL, "--max-tokens", "100")

    assert result.exit_code == 1
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"error: {EXAMPLE}: ")
    assert "100" in line


# --- How they write


def test_out_says_where_the_request_is(hello: Path, tmp_path: Path) -> None:
    """With `--out` the result is in the file, and a line on standard error says so."""
    out = tmp_path / "new/folder/request.json"

    result = run("build", hello, *MODEL, "--out", out)

    assert result.stdout == ""
    assert str(out) in result.stderr
    assert out.read_text(encoding="utf-8") == run("build", hello, *MODEL).stdout
    assert [path.name for path in out.parent.iterdir()] == ["request.json"]
    assert run("build", hello, *MODEL, "--out", out, "--quiet").stderr == ""


def test_out_keeps_permissions_and_links(hello: Path, tmp_path: Path) -> None:
    """A file that is replaced keeps its permissions and the links to it."""
    target = write_json(tmp_path / "target.json", "before")
    target.chmod(0o640)
    link = tmp_path / "link.json"
    link.symlink_to(target)

    assert run("build", hello, *MODEL, "--out", link).exit_code == 0

    assert link.is_symlink()
    assert json.loads(target.read_text(encoding="utf-8"))["messages"] == HELLO
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_failed_write_leaves_everything_as_it_was(tmp_path: Path) -> None:
    """When the disk takes no more, the old file is whole and nothing lies beside it."""
    out = write_json(tmp_path / "out.json", "as before")

    done = program("convert", EXAMPLE, "--out", out, shell_prefix="ulimit -f 4")

    assert done.returncode == 1
    assert done.stderr.decode() == f"error: {out}: File too large\n"
    assert json.loads(out.read_text(encoding="utf-8")) == "as before"
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("out", ["/dev/full", "/proc/nowhere/out.json"])
def test_an_output_that_cannot_be_written_is_one_line(hello: Path, out: str) -> None:
    """A full device or an impossible folder: one line, exit code 1, no traceback."""
    done = program("build", hello, *MODEL, "--out", out)

    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith(f"error: {out}: ")


def test_a_full_standard_output_is_one_line(hello: Path) -> None:
    """Standard output that takes no more is told like a file that does not."""
    done = program("build", hello, *MODEL, shell_prefix="exec >/dev/full")

    assert done.returncode == 1
    assert done.stderr.decode().startswith("error: <stdout>: No space left")


def test_a_reader_that_stops_early_gets_no_traceback() -> None:
    """`build ... | head -1` ends quietly."""
    command = f"{sys.executable} -m context_builder.cli convert {EXAMPLE} | head -c 10"

    done = subprocess.run(["bash", "-c", command], capture_output=True, check=False)

    assert len(done.stdout) == 10
    assert done.stderr == b""


def test_pipes_carry_utf8_whatever_the_locale(hello: Path) -> None:
    """Letters arrive as letters, also where the locale knows only ASCII."""
    done = program(
        "build",
        "-",
        *MODEL,
        stdin=hello.read_bytes(),
        LC_ALL="C",
        PYTHONUTF8="0",
        PYTHONCOERCECLOCALE="0",
        PYTHONIOENCODING="ascii",
    )

    assert done.returncode == 0, done.stderr
    assert "Grüße, 世界" in done.stdout.decode("utf-8")


def test_half_a_character_is_written_as_an_escape(tmp_path: Path) -> None:
    """A lone surrogate, which UTF-8 cannot say, stays what it was in JSON."""
    name = "half \ud83d, whole \U0001f600"
    file = write_json(tmp_path / "in.json", record(name, "x"))

    done = program("count", file, *MODEL, "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.decode("utf-8"))["id"] == name
    assert "\U0001f600" in done.stdout.decode("utf-8")
    assert program("build", file, *MODEL).returncode == 0


def test_a_pipe_gets_plain_and_whole_lines() -> None:
    """Into a pipe the table goes without colours, at the same width as anywhere."""
    done = program("explain", EXAMPLE, *TIGHT, COLUMNS="20", TERM="xterm-256color")

    assert done.returncode == 0, done.stderr
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stdout.decode() == run("explain", EXAMPLE, *TIGHT).stdout


def test_a_long_file_shows_progress_to_people_only(tmp_path: Path) -> None:
    """On a terminal a bar on standard error moves; a pipe and `--quiet` see nothing."""
    file = write_jsonl(
        tmp_path / "in.jsonl", *(record(str(n), "x") for n in range(300))
    )
    command = [sys.executable, "-m", "context_builder.cli", "count", str(file)]

    def stderr_on_a_terminal(*options: str) -> bytes:
        ours, theirs = pty.openpty()
        env = os.environ | {"TERM": "xterm-256color", "COLUMNS": "200"}
        process = subprocess.Popen(
            [*command, *options], stdout=subprocess.DEVNULL, stderr=theirs, env=env
        )
        os.close(theirs)
        seen = b""
        while chunk := _read(ours):
            seen += chunk
        os.close(ours)
        assert process.wait() == 0
        return seen

    assert b"in.jsonl" in stderr_on_a_terminal()
    assert stderr_on_a_terminal("--quiet") == b""
    assert program("count", file).stderr == b""


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65_536)
    except OSError:  # the other side has hung up
        return b""


def test_without_its_extra_the_command_says_what_to_install() -> None:
    """Where typer is not installed, one line says how to get it."""
    code = (
        "import sys; sys.modules['typer'] = None\n"
        "from context_builder.cli import main; main()"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=False
    )

    assert done.returncode == 1
    assert b"pip install 'context-builder[cli]'" in done.stderr
    assert b"Traceback" not in done.stderr
