from __future__ import annotations

import asyncio
import time
import unicodedata
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prompt_toolkit.input import create_pipe_input
from prompt_toolkit.output import DummyOutput

from context_builder.agent import OfflineModel, Tool
from context_builder.agent.offline import OfflineReply
from context_builder.cli.chat.asked import Asked
from context_builder.cli.chat.conversation import Conversation, NothingToDoError
from context_builder.cli.chat.lines import TerminalLines
from context_builder.cli.chat.loop import Chat
from context_builder.cli.chat.markdown import as_markdown
from context_builder.cli.chat.screen import Screen
from context_builder.cli.chat.tools import demo_tools
from context_builder.cli.chat.vendors import Answerer
from context_builder.cli.terminal import shown, shown_in_line
from context_builder.items import ContextItem
from tests.test_cli_chat import no_keys

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["no_keys"]

words = st.text(st.sampled_from("abc 你 "), min_size=1, max_size=8).filter(str.strip)


def offline(name: str = "s") -> Conversation:
    """Return a conversation that is kept nowhere."""
    return Conversation("memory:", Answerer.offline(), name=name)


def tool(name: str) -> Tool:
    """Return one of the tools."""
    return next(one for one in demo_tools(Path("notes.txt")) if one.name == name)


def calculated(expression: str) -> str:
    """Return what the calculator says."""
    return str(tool("calculator")(expression))


# --- What is shown


@given(st.text())
def test_nothing_that_is_shown_moves_the_cursor(text: str) -> None:
    """No control character, no change of direction, no half of a character."""
    left = shown(text).replace("\n", "").replace("\t", "")
    kinds = {unicodedata.category(char) for char in left}
    assert not kinds & {"Cc", "Cs", "Zl", "Zp"}
    assert not set(left) & set("\u202a\u202b\u202d\u202e\u2066\u2067\u2068")


@pytest.mark.parametrize(
    "text", ["你好\u3000世界", "👩\u200d💻 ok", "a\tb\nc", "naïve café", "\xa0x"]
)
def test_what_people_write_is_shown_as_it_is(text: str) -> None:
    """Wide spaces, joined emoji, tabs and accents are no controls."""
    assert shown(text) == text


def test_a_name_in_a_list_stays_in_its_line() -> None:
    """Whatever somebody called a session; wide blanks are no controls."""
    assert shown_in_line("a\nb\t\x1b[31m 你\u3000好") == "a\\nb\\t\\x1b[31m 你\u3000好"


@given(st.text())
def test_a_fence_holds_any_text(text: str) -> None:
    """A tool's result ends where its fence ends."""
    item = ContextItem(role="tool", content=f"x{text}", tool_call_id="c", tool_name="t")
    lines = as_markdown("s", [item]).split("\n")
    fence = lines[lines.index("## t returned") + 2]
    assert lines[-1] == fence
    assert lines.count(fence) == 2


# --- The calculator


@given(
    st.integers(-(10**6), 10**6),
    st.integers(-(10**6), 10**6),
    st.sampled_from(["+", "-", "*", "//", "%"]),
)
def test_it_calculates_as_python_does(left: int, right: int, sign: str) -> None:
    """Or says that there is no result."""
    expression = f"({left}) {sign} ({right})"
    if right == 0 and sign in {"//", "%"}:
        with pytest.raises(ValueError, match="there is no result"):
            calculated(expression)
    else:
        assert calculated(expression) == str(eval(expression))  # noqa: S307


@pytest.mark.parametrize(
    "expression",
    [
        "9**9**9",
        "9**999*9**999*9**999*9**999",
        "__import__('os').system('true')",
        "(1).real",
        "'a' * 10**9",
        "True + 1",
        "(-8) ** 0.5",
        "1e308 * 10 ** 400",
        "0 ** -1",
        "1 +",
        "1" * 201,
        "((((" * 40,
        "",
    ],
)
def test_it_refuses_what_is_no_arithmetic(expression: str) -> None:
    """At once, with a reason that a model can read."""
    started = time.perf_counter()
    with pytest.raises(ValueError, match=r"."):
        calculated(expression)
    assert time.perf_counter() - started < 2


def test_the_clock_knows_zones() -> None:
    """And says which it does not know, whatever is asked."""
    clock = tool("clock")
    assert clock("Asia/Shanghai").endswith("+08:00")
    for zone in ("Mars/Base", "../../etc/passwd", "/etc/passwd", "", "a\0b"):
        with pytest.raises(ValueError, match="no time zone"):
            clock(zone)


def test_notes_are_cut_where_they_are_long(tmp_path: Path) -> None:
    """And say how much is missing."""
    file = tmp_path / "notes.txt"
    file.write_text("x" * 25_000, encoding="utf-8")
    read = demo_tools(file)[2]()
    assert read.endswith("x\n[5,000 characters more]")


# --- A conversation


@settings(max_examples=20)
@given(st.lists(st.one_of(words, st.just(None), st.just(0)), max_size=8))
def test_undo_is_a_stack(steps: list[str | int | None]) -> None:
    """After any turns, undone and repeated, what is left is what was not undone."""

    async def play() -> tuple[list[str], list[str]]:
        chat, expected = offline(), list[str]()
        for step in steps:
            if isinstance(step, str):
                await chat.say(step, lambda _: None)
                expected.append(step)
                continue
            try:
                await (chat.undo() if step is None else chat.retry(lambda _: None))
            except NothingToDoError:
                assert not expected
            else:
                del expected[len(expected) - (step is None) :]
        items = await chat.said()
        await chat.close()
        assert [one.role for one in items] == ["user", "assistant"] * len(expected)
        return expected, [one.text for one in items if one.is_spoken]

    expected, said = asyncio.run(play())
    assert said == expected


async def test_keys_are_read_through_prompt_toolkit(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Ctrl-C at the prompt drops the line, and Ctrl-D on an empty one ends the chat."""
    chat = offline()
    with create_pipe_input() as pipe:

        def lines(commands: tuple[str, ...], below: Callable[[], str]) -> TerminalLines:
            return TerminalLines(
                commands, below=below, source=pipe, output=DummyOutput()
            )

        pipe.send_text("not this\x03你好\r/tokens\r/undo\r\x04")
        assert await Chat(chat, Screen(is_interactive=True), lines).run() == 0
    await chat.close()
    out = capsys.readouterr().out
    assert "Ctrl-D ends the chat" in out
    assert "[offline] You said: 你好\n" in out
    assert "last answer:" in out
    assert "taken back: 你好\n" in out
    assert "not this" not in out


@pytest.mark.parametrize("is_interactive", [True, False])
async def test_what_a_model_thinks_is_for_somebody_who_looks(
    capsys: pytest.CaptureFixture[str], *, is_interactive: bool
) -> None:
    """On lines of its own, and never in a pipe."""
    script = [OfflineReply("The answer.", reasoning="Let me think.")]
    chat = Conversation(
        "memory:", Answerer.offline(), name="s", client=OfflineModel(script)
    )
    lines = _Given("hello")
    await Chat(chat, Screen(is_interactive=is_interactive), lambda *_: lines).run()
    await chat.close()
    out = capsys.readouterr().out
    assert ("Let me think.\nThe answer.\n" in out) is is_interactive
    assert ("Let me think." in out) is is_interactive
    assert "The answer.\n" in out


class _Given:
    """Lines that are given."""

    def __init__(self, *lines: str) -> None:
        self._lines = list(lines)

    async def read(self, prompt: str) -> str:
        """Return the next one."""
        del prompt
        if not self._lines:
            raise EOFError
        return self._lines.pop(0)

    def remember(self, said: Iterable[str]) -> None:
        """Do nothing."""


async def test_a_switch_to_a_model_that_is_not_known_keeps_the_former() -> None:
    """The answerer is exchanged whole or not at all."""
    chat = offline()
    asked = Asked(chat, Screen(is_interactive=False), retry=_nothing, enter=_nothing)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XAI_API_KEY", "none")
        with pytest.raises(LookupError):
            await asked.run("/switch xai nobody-knows-1")
    assert chat.who == Answerer.offline()
    await chat.say("hello", lambda _: None)
    await chat.close()


async def _nothing() -> None:
    """Do nothing."""


async def test_a_cancelled_turn_leaves_the_session_whole() -> None:
    """Wherever it is cancelled: the next turn is answered, and nothing is doubled."""
    for pieces in range(6):
        chat = Conversation(
            "memory:",
            Answerer.offline(),
            name="s",
            client=OfflineModel(["one two three " * 20], delay_seconds=0.01),
        )
        seen = asyncio.Event()
        left = [pieces]

        def show(_: object, left: list[int] = left, seen: asyncio.Event = seen) -> None:
            left[0] -= 1
            if left[0] <= 0:
                seen.set()

        turn = asyncio.ensure_future(chat.say("count", show))
        await seen.wait()
        turn.cancel()
        await asyncio.wait([turn])
        assert turn.cancelled()
        assert await chat.was_interrupted()
        result = await chat.say("and now?", lambda _: None)
        assert result.stop_reason == "answered"
        said = [one.text for one in await chat.said() if one.is_spoken]
        assert said == ["count", "and now?"]
        await chat.close()
