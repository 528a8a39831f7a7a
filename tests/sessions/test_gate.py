from __future__ import annotations

import asyncio
import random
import threading

from context_builder.sessions.gate import Gate


def test_first_come_first_served() -> None:
    """Threads get the key in the order in which they asked."""
    gate, order, threads = Gate(), list[int](), list[threading.Thread]()
    assert gate.enter("k", wait_seconds=0)

    def wait(number: int) -> None:
        assert gate.enter("k", wait_seconds=10)
        order.append(number)
        gate.leave("k")

    for number in range(8):
        threads.append(threading.Thread(target=wait, args=(number,)))
        threads[-1].start()
        while len(gate._lines["k"]) <= number:
            pass
    gate.leave("k")
    for thread in threads:
        thread.join()
    assert order == list(range(8))
    assert len(gate) == 0


def test_waiting_has_a_bound() -> None:
    """Who waited in vain leaves the line."""
    gate = Gate()
    assert gate.enter("k", wait_seconds=None)
    assert not gate.enter("k", wait_seconds=0.01)
    assert gate.enter("other", wait_seconds=0)
    gate.leave("k")
    gate.leave("other")
    assert len(gate) == 0


class Room:
    """Counts who is in at the same time."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.inside = self.most = self.visits = 0

    def visit(self) -> None:
        """Go in, by a thread, again and again."""
        for _ in range(50):
            if self.gate.enter("k", wait_seconds=0.05):
                self._come()
                self._go()

    async def avisit(self) -> None:
        """Go in, by a task, again and again."""
        for _ in range(50):
            if await self.gate.aenter("k", wait_seconds=0.05):
                self._come()
                try:
                    await asyncio.sleep(0)
                finally:
                    self._go()

    def _come(self) -> None:
        self.inside += 1
        self.visits += 1
        self.most = max(self.most, self.inside)

    def _go(self) -> None:
        self.inside -= 1
        self.gate.leave("k")


async def test_threads_and_tasks_wait_in_one_line() -> None:
    """One holder at a time, however they wait, give up or are cancelled."""
    room = Room()
    chance = random.Random(1)  # noqa: S311
    threads = [threading.Thread(target=room.visit) for _ in range(4)]
    for thread in threads:
        thread.start()
    tasks = [asyncio.create_task(room.avisit()) for _ in range(20)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0.001)
        if chance.random() < 0.3:
            chance.choice(tasks).cancel()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert room.most == 1
    assert room.visits > 50
    assert len(room.gate) == 0
