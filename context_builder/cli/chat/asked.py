"""The commands behind a slash: what each does, and what it shows."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from pathlib import Path

from context_builder.cli.chat.conversation import Bill, Conversation, LookedAt
from context_builder.cli.chat.markdown import as_markdown
from context_builder.cli.chat.screen import Screen, in_columns, one_line
from context_builder.cli.chat.vendors import OFFLINE, Answerer, chosen
from context_builder.cli.errors import CannotDoError, InputError
from context_builder.cli.write import deliver
from context_builder.report import Report
from context_builder.sessions import SessionKey

__all__ = ["Asked", "is_command", "new_name"]

_EXPORT, _NEW, _SESSIONS, _SWITCH = "/export", "/new", "/sessions", "/switch"
_MOST_SESSIONS = 20
_ITEM_CHARS = 4_000
_UNDONE_CHARS = 60
_BAR = 20
"""Characters of a class's share that is used up."""


@dataclasses.dataclass(frozen=True, slots=True)
class Command:
    """One command."""

    usage: str
    help: str
    run: Callable[[str], Awaitable[None]]


def is_command(line: str) -> bool:
    """Say whether a line is no message; `//` begins a message that begins with `/`."""
    return line.startswith("/") and not line.startswith("//")


def new_name() -> str:
    """Return a name for a new session: when it began."""
    return f"{datetime.now():%Y-%m-%d-%H%M%S}"  # noqa: DTZ005  the user's own time


class Asked:
    """Carries commands out.

    Args:
        conversation: What they are about.
        screen: Where they show what was asked for.
        retry: Asks the model again; it shows the answer.
        enter: Is called when another session is talked in.
    """

    def __init__(
        self,
        conversation: Conversation,
        screen: Screen,
        *,
        retry: Callable[[], Awaitable[None]],
        enter: Callable[[], Awaitable[None]],
    ) -> None:
        self._chat = conversation
        self._screen = screen
        self._retry_turn = retry
        self._enter = enter
        self.is_over = False
        """Whether `/quit` was said."""
        self._commands: Mapping[str, Command] = {
            "/context": Command(
                "/context [ITEM]",
                "what the model sees now, and why; or one item of it",
                self._context,
            ),
            "/tokens": Command(
                "/tokens",
                "by class against its share, and what the last answer cost",
                self._tokens,
            ),
            "/compact": Command("/compact", "make room now", self._compact),
            _SWITCH: Command(
                "/switch VENDOR [MODEL]", "have another vendor answer", self._switch
            ),
            "/undo": Command("/undo", "take the last turn back", self._undo),
            "/retry": Command("/retry", "ask for another answer", self._retry),
            _NEW: Command("/new [NAME]", "begin another session", self._new),
            _SESSIONS: Command(
                "/sessions [NAME]", "list the sessions, or go on with one", self._list
            ),
            _EXPORT: Command(
                "/export FILE", "write the session: JSONL, or *.md", self._export
            ),
            "/help": Command("/help", "this list", self._help),
            "/quit": Command("/quit", "end (as Ctrl-D)", self._quit),
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The commands, for completion."""
        return tuple(self._commands)

    async def run(self, line: str) -> None:
        """Carry a command out.

        Raises:
            CommandError: If it cannot be used, or done.
            ContextBuilderError: As the library says.
            NothingToDoError: If nothing was said yet.
        """
        name, _, rest = line.strip().partition(" ")
        command = self._commands.get(name.lower())
        if command is None:
            raise InputError(one_line(name, 20), "there is no such command; see /help")
        rest = rest.strip()
        if rest and "[" not in command.usage and name == command.usage:
            raise InputError(name, "it takes nothing else")
        await command.run(rest)

    # --- what the model sees ----------------------------------------------------------

    async def _context(self, item_id: str) -> None:
        if item_id:
            self._screen.result(_about(await self._chat.look_at(item_id)))
            return
        looked = await self._chat.look()
        self._screen.result(str(looked.report))
        if looked.stand_in:
            self._screen.remark(
                f"{looked.stand_in} stands for your next message: "
                f"{looked.report.target} is asked only when you spoke last"
            )

    async def _tokens(self, _: str) -> None:
        report = (await self._chat.look()).report
        lines = [_shares(report), "", _parts(report)]
        if self._chat.last.requests:
            lines.append(f"last answer: {_billed(self._chat.last)}")
            lines.append(f"this run: {_billed(self._chat.total)}")
        self._screen.result("\n".join(lines))

    async def _compact(self, _: str) -> None:
        before, after = await self._chat.compact()
        if before.compactions == after.compactions:
            said = f"there is nothing to compact: {_used(after)}"
        else:
            said = (
                f"compacted from {before.tokens:,} to {_used(after)}; "
                f"{len(after.removed)} of {len(after.outcomes)} items not whole"
            )
        self._screen.result(said)

    async def _switch(self, rest: str) -> None:
        target, _, model = rest.partition(" ")
        if not target:
            raise InputError(_SWITCH, "to whom? Say /switch VENDOR [MODEL]")
        if target == OFFLINE:
            who = Answerer.offline()
        else:
            who = chosen(target, model.strip() or None, None)
        await self._chat.switch(who)
        self._screen.result(f"now answers: {who}")

    # --- the conversation -------------------------------------------------------------

    async def _undo(self, _: str) -> None:
        said = await self._chat.undo()
        self._screen.result(f"taken back: {one_line(said, _UNDONE_CHARS)}")

    async def _retry(self, _: str) -> None:
        await self._retry_turn()

    async def _new(self, name: str) -> None:
        name = _checked(name) or new_name()
        if any(info.session_id == name for info in await self._chat.sessions()):
            raise CannotDoError(_NEW, f"there is a session {name} already")
        self._chat.name = name
        await self._enter()

    async def _list(self, name: str) -> None:
        found = await self._chat.sessions()
        if name:
            if all(info.session_id != name for info in found):
                raise CannotDoError(_SESSIONS, f"there is no session {name}")
            self._chat.name = name
            await self._enter()
            return
        if not found:
            self._screen.result("no session is stored yet")
            return
        lines = [
            f"{'*' if info.session_id == self._chat.name else ' '} "
            f"{datetime.fromtimestamp(info.updated_at):%Y-%m-%d %H:%M}  "  # noqa: DTZ006
            f"{info.session_id}"
            for info in found[:_MOST_SESSIONS]
        ]
        if len(found) > _MOST_SESSIONS:
            lines.append(f"  and {len(found) - _MOST_SESSIONS:,} more")
        self._screen.result("\n".join(lines))

    async def _export(self, name: str) -> None:
        path = _new_file(name)
        if path.suffix.lower() == ".md":
            text = as_markdown(self._chat.name, await self._chat.said())
        else:
            text = (await self._chat.export()).rstrip("\n")
        deliver(text, str(path))
        self._screen.result(f"wrote {name}")

    async def _help(self, _: str) -> None:
        rows = [(command.usage, command.help) for command in self._commands.values()]
        rows.append(("//...", "a message that begins with /"))
        rows.append(("Ctrl-C", "stop the answer; what was said is kept"))
        self._screen.result(in_columns(rows))

    async def _quit(self, _: str) -> None:
        self.is_over = True


def _new_file(name: str) -> Path:
    """Return where to write to: a slip of the keyboard overwrites nothing.

    Raises:
        InputError: If no file is named.
        CannotDoError: If there is one of that name.
    """
    if not name:
        raise InputError(_EXPORT, "to which file? Say /export FILE")
    path = Path(name).expanduser()
    if path.exists():
        raise CannotDoError(_EXPORT, f"there is a file {name} already")
    return path


def _checked(name: str) -> str:
    """Return a session's name.

    Raises:
        InvalidItemError: If it is too long.
    """
    if name:
        SessionKey("chat", name)
    return name


# --- what is shown --------------------------------------------------------------------


def _about(looked: LookedAt) -> str:
    item = looked.item
    calls = [f"calls {call.name} {call.arguments}" for call in item.tool_calls]
    text = "\n".join([*([item.text] if item.text else []), *calls])
    if len(text) > _ITEM_CHARS:
        text = f"{text[:_ITEM_CHARS]}\n[{len(text) - _ITEM_CHARS:,} characters more]"
    lines = [str(looked.outcome), "", text]
    if looked.message is not None and not looked.outcome.is_whole:
        seen = json.dumps(looked.message, ensure_ascii=False, indent=2)
        lines += ["", "The model sees:", seen[:_ITEM_CHARS]]
    return "\n".join(lines)


def _shares(report: Report) -> str:
    rows = [("class", "tokens", "share", "")]
    for use in report.classes:
        full = min(1.0, use.tokens / use.share_tokens) if use.share_tokens else 0.0
        bar = "#" * round(full * _BAR)
        over = "+" if use.tokens > use.share_tokens else ""
        cells = (use.name, f"{use.tokens:,}", f"{use.share_tokens:,}")
        rows.append((*cells, f"[{bar.ljust(_BAR, '.')}]{over}"))
    return in_columns(rows, right=frozenset({1, 2}))


def _parts(report: Report) -> str:
    parts = ", ".join(f"{name} {tokens:,}" for name, tokens in report.parts.items())
    return f"{_used(report)} for {report.target} {report.model}: {parts}"


def _used(report: Report) -> str:
    share = report.tokens / report.budget_tokens if report.budget_tokens else 0
    about = "" if report.is_exact else "about "
    return f"{about}{report.tokens:,} of {report.budget_tokens:,} tokens ({share:.0%})"


def _billed(bill: Bill) -> str:
    share = bill.cached_tokens / bill.input_tokens if bill.input_tokens else 0
    return (
        f"{bill.input_tokens:,} tokens of input, {share:.0%} of them from the cache; "
        f"{bill.output_tokens:,} of output; "
        f"{bill.requests:,} request{'' if bill.requests == 1 else 's'}"
    )
