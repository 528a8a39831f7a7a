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


async def test_threads_and_tasks_wait_in_one_line() -> None:
    """One holder at a time, however they wait, give up or are cancelled."""
    gate, inside, most, held = Gate(), 0, 0, 0
    chance = random.Random(1)  # noqa: S311

    def enter() -> None:
        nonlocal inside, most, held
        inside += 1
        held += 1
        most = max(most, inside)

    def in_thread() -> None:
        nonlocal inside
        for _ in range(50):
            if gate.enter("k", wait_seconds=0.05):
                enter()
                inside -= 1
                gate.leave("k")

    async def in_task() -> None:
        nonlocal inside
        for _ in range(50):
            if await gate.aenter("k", wait_seconds=0.05):
                enter()
                try:
                    await asyncio.sleep(0)
                finally:
                    inside -= 1
                    gate.leave("k")

    threads = [threading.Thread(target=in_thread) for _ in range(4)]
    for thread in threads:
        thread.start()
    tasks = [asyncio.create_task(in_task()) for _ in range(20)]
    while not all(task.done() for task in tasks):
        await asyncio.sleep(0.001)
        if chance.random() < 0.3:
            chance.choice(tasks).cancel()
    for thread in threads:
        await asyncio.to_thread(thread.join)
    assert most == 1
    assert held > 50
    assert len(gate) == 0
