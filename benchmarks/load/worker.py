"""A process that serves turns: what the proofs start many of, and kill.

    python -m benchmarks.load.worker '{"store": "...", "mode": "isolation", ...}'

Each message names its session, its place and who wrote it. Once the library has
acknowledged a message, its place and its text go to a file of this worker's own. What
comes next in a session is read from the session itself, never remembered.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import os
import random
import sys
import uuid
from typing import TYPE_CHECKING, Any

from context_builder.errors import SessionConflictError
from context_builder.sessions import SessionManager

if TYPE_CHECKING:
    from context_builder.sessions import Session

__all__ = ["Job", "main"]


@dataclasses.dataclass(frozen=True)
class Job:
    """What a worker is told."""

    store: str
    namespace: str
    mode: str
    """`isolation`: many sessions; `writers`: one that everybody writes."""
    sessions: int
    turns: int
    """Turns of each session, or of each writer."""
    tasks: int
    acks: str
    """The file that acknowledged messages are appended to."""
    first_writer: int = 0
    lease_seconds: float = 2.0
    wait_seconds: float = 60.0


class Worker:
    """Serves turns until there is nothing left to do."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._chance = random.Random(uuid.uuid4().hex)
        self._acks = os.open(job.acks, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        self._finished: set[int] = set()

    async def run(self) -> None:
        """Serve with many tasks at once."""
        job = self._job
        async with SessionManager(
            store=job.store,
            namespace=job.namespace,
            max_tokens=4_096,
            max_sessions=50,
            lease_seconds=job.lease_seconds,
            wait_seconds=job.wait_seconds,
        ) as sessions:
            if job.mode == "isolation":
                await asyncio.gather(*(self._serve(sessions) for _ in range(job.tasks)))
            else:
                await asyncio.gather(
                    *(
                        self._write(sessions, job.first_writer + number)
                        for number in range(job.tasks)
                    )
                )

    def _acknowledged(self, session_id: str, place: int, text: str) -> None:
        line = json.dumps([session_id, place, text]) + "\n"
        os.write(self._acks, line.encode())

    # --- many sessions

    async def _serve(self, sessions: SessionManager) -> None:
        while left := set(range(self._job.sessions)) - self._finished:
            number = self._chance.choice(sorted(left))
            session_id = f"session {number}"
            try:
                async with sessions.open(session_id) as ctx:
                    done = await self._turn(ctx, session_id)
            except SessionConflictError:
                continue  # it was held up for longer than its lease
            for place, text in done:
                self._acknowledged(session_id, place, text)
            if not done:
                self._finished.add(number)

    async def _turn(self, ctx: Session, session_id: str) -> list[tuple[int, str]]:
        """Take one turn, or end one whose worker was killed."""
        place = len(ctx.items)
        if place >= 2 * self._job.turns:
            return []
        added = []
        if place % 2 == 0:
            text = self._text(session_id, place)
            ctx.add_user_message(text)
            await ctx.acommit()
            self._acknowledged(session_id, place, text)
            place += 1
        if self._chance.random() < 0.2:
            ctx.build()
        text = self._text(session_id, place)
        ctx.add_assistant_message(text)
        added.append((place, text))
        return added

    def _text(self, session_id: str, place: int) -> str:
        return f"{session_id} | {place} | {uuid.uuid4().hex} | " + "word " * (
            place % 40
        )

    # --- one session

    async def _write(self, sessions: SessionManager, writer: int) -> None:
        for turn in range(self._job.turns):
            while not await self._write_turn(sessions, f"writer {writer} | {turn}"):
                pass  # it waited in vain, and tries again

    async def _write_turn(self, sessions: SessionManager, name: str) -> bool:
        call_id = name.replace(" ", "")
        call = {
            "id": call_id,
            "function": {"name": "f", "arguments": "{}"},
        }
        try:
            async with sessions.open("one") as ctx:
                place = len(ctx.items)
                ctx.add_user_message(f"{name} | ask")
                ctx.add_assistant_message("", tool_calls=[call])
                await ctx.acommit()
                ctx.add_tool_result("f", f"{name} | result", tool_call_id=call_id)
                await asyncio.sleep(0)
                ctx.add_assistant_message(f"{name} | answer")
        except SessionConflictError:
            return False
        self._acknowledged("one", place, f"{name} | ask")
        self._acknowledged("one", place + 3, f"{name} | answer")
        return True


def main(told: str) -> None:
    """Do what one argument says."""
    facts: dict[str, Any] = json.loads(told)
    asyncio.run(Worker(Job(**facts)).run())


if __name__ == "__main__":
    main(sys.argv[1])
