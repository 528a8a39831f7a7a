"""Turns the results of a run into Markdown: what held, how long it took, the goals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.peers.catalogue import EAGER, LAZY, NO_RECALL, OURS, REFERENCE
from benchmarks.peers.judge import COLUMNS
from benchmarks.peers.results import Figure

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.peers.results import Results

__all__ = ["goals", "report"]

SPEED_GOALS = {
    "warm": {100: (2.0, 3.0), 1_000: (8.0, 15.0), 10_000: (30.0, 60.0)},
    "cold": {1_000: (2.5, 8.0), 10_000: (20.0, 80.0)},
    "view": {1_000: (200.0, 200.0), 10_000: (1_000.0, 1_000.0)},
}
"""How many times faster than R: at least, and hoped for."""
FLOOR_GOAL = 1.5
"""Append and build over the eager floor, at most."""
GROWTH_GOAL = 1.5
"""Append and build at the greatest length over that at the smallest, at most."""
MEMORY_GOALS = (25_000, 15_000)
"""Bytes a session over its texts: at most, and hoped for."""

TASKS = {
    "warm": "append and build",
    "cold": "load and build",
    "view": "unchanged rebuild, shared form",
}


def report(results: Results) -> str:
    """Return all tables as Markdown."""
    parts = [
        "\n".join(_conditions(results)),
        table(("", "set up as", "version"), _setups(results)),
        _HELD + "\n\n" + table(_held_head(), _held(results)),
        _WARM + "\n\n" + table(_head(results), _warm(results)),
        _COLD + "\n\n" + table((*_head(results), "kB a session"), _cold(results)),
        _SAME + "\n\n" + table(_head(results), _rebuilds(results)),
        _GOALS + "\n\n" + table(("", "goal (hoped for)", "found", ""), goals(results)),
    ]
    return "\n\n".join(parts) + "\n"


_HELD = (
    "What held for the requests that a model's answer would follow, by a recount of "
    "their bodies. `from cache` is the share of tokens that stood in the same place in "
    "the request before."
)
_WARM = (
    "A message appended and a request built, compactions included, in milliseconds: "
    "median / 99th percentile / **mean**."
)
_COLD = (
    "A history loaded at once and a request built, in milliseconds (median). In "
    "brackets the slowest of the steps right after a load, which the table above "
    "leaves out. Memory is over the texts; below zero, what was left out is not kept "
    "at all."
)
_SAME = "A request built once more where nothing changed, in microseconds (median)."
_GOALS = "R is the fastest peer that is correct: langchain-core with a memo."


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column reads from the left."""
    lines = [f"| {' | '.join(head)} |", f"| --- |{' ---: |' * (len(head) - 1)}"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines)


def _conditions(results: Results) -> Iterator[str]:
    plan = results.plan
    clock = {"wall": "by the clock", "cpu": "of the processor, all threads together"}
    yield (
        f"Budget {plan.budget_tokens:,} tokens of o200k_base. "
        f"Times are {clock[plan.clock]}. "
        f"`> {plan.box_seconds:.0f} s`: no answer within that, by the clock."
    )
    for name, why in results.missing.items():
        yield f"\nNot in this run: {name} ({why})."


def _setups(results: Results) -> Iterator[tuple[str, ...]]:
    for peer in results.peers:
        versions = results.versions[peer.name].items()
        said = ", ".join(f"{name} {version}" for name, version in versions)
        yield peer.name, peer.note, said


def _head(results: Results) -> tuple[str, ...]:
    return ("messages", *(f"{length:,}" for length in results.plan.lengths))


def _held_head() -> tuple[str, ...]:
    return ("", *COLUMNS, "fill, median", "from cache", "requests")


def _held(results: Results) -> Iterator[tuple[str, ...]]:
    for peer in results.peers:
        verdict = results.verdicts.get(peer.name)
        if verdict is None:
            yield (peer.name, *["no answer"] * (len(COLUMNS) + 3))
            continue
        yield (
            peer.name,
            *(_share(verdict.held[name]) for name in COLUMNS),
            f"{verdict.fill_share:.0%}",
            f"{verdict.cached_share:.0%}",
            str(verdict.requests),
        )


def _share(held: float) -> str:
    return "yes" if held == 1.0 else f"**{held:.0%}**"


def _cell(results: Results, task: str, peer: str, length: int) -> Figure:
    return results.figures[task][peer].get(length, Figure())


def _told(figure: Figure, results: Results, value: str) -> str:
    if figure.problem:
        return "failed"
    if not figure.taken:
        return f"> {results.plan.box_seconds:.0f} s" if figure.is_over else "-"
    return value


def _warm(results: Results) -> Iterator[tuple[str, ...]]:
    for peer in results.peers:
        row = [peer.name]
        for length in results.plan.lengths:
            figure = _cell(results, "warm", peer.name, length)
            value = ""
            if figure.taken:
                p50, p99, mean = figure.p50, figure.p99, figure.mean
                value = f"{_ms(p50)} / {_ms(p99)} / **{_ms(mean)}**"
            row.append(_told(figure, results, value))
        yield tuple(row)


def _cold(results: Results) -> Iterator[tuple[str, ...]]:
    for peer in results.peers:
        row = [peer.name]
        for length in results.plan.lengths:
            figure = _cell(results, "cold", peer.name, length)
            first = _cell(results, "first", peer.name, length).taken
            value = _ms(figure.p50) if figure.taken else ""
            if first:
                value += f" ({_ms(max(first))})"
            row.append(_told(figure, results, value))
        taken = results.memory.get(peer.name)
        row.append("-" if taken is None else f"{taken / 1e3:,.0f}")
        yield tuple(row)


def _rebuilds(results: Results) -> Iterator[tuple[str, ...]]:
    for peer in results.peers:
        for task in ("rebuild", "view") if peer.has_view else ("rebuild",):
            row = [peer.name if task == "rebuild" else f"{peer.name}, `view()`"]
            for length in results.plan.lengths:
                figure = _cell(results, task, peer.name, length)
                value = f"{figure.p50 * 1e6:,.1f}" if figure.taken else ""
                row.append(_told(figure, results, value))
            yield tuple(row)


def _ms(seconds: float) -> str:
    value = seconds * 1e3
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.3f}"


# --- the goals ------------------------------------------------------------------------


def goals(results: Results) -> Iterator[tuple[str, ...]]:
    """Yield each goal with what was found, and whether it is met."""
    yield from _speed(results)
    yield from _floor(results)
    yield from _growth(results)
    yield from _rivals(results)
    memory = results.memory.get(OURS)
    if memory is not None:
        most, hoped = MEMORY_GOALS
        yield _row(
            "memory of a session over its texts, kB",
            f"<= {most / 1e3:.0f} ({hoped / 1e3:.0f})",
            f"{memory / 1e3:.1f}",
            is_met=memory <= most,
        )
    verdict = results.verdicts.get(OURS)
    if verdict is not None:
        worst = min(verdict.held.values())
        is_met = verdict.is_correct
        yield _row("every check holds", "100%", f"{worst:.0%}", is_met=is_met)


def _row(what: str, goal: str, found: str, *, is_met: bool) -> tuple[str, ...]:
    return what, goal, found, "met" if is_met else "**missed**"


def _speed(results: Results) -> Iterator[tuple[str, ...]]:
    for task, by_length in SPEED_GOALS.items():
        of_reference = "rebuild" if task == "view" else task
        for length, (least, hoped) in by_length.items():
            ours = _typical(results, task, OURS, length)
            theirs = _typical(results, of_reference, REFERENCE, length)
            if ours is None or theirs is None:
                continue
            ratio = theirs / ours
            yield _row(
                f"{TASKS[task]}, {length:,}: times faster than R",
                f">= {least:g} ({hoped:g})",
                f"{ratio:,.1f}",
                is_met=ratio >= least,
            )


def _floor(results: Results) -> Iterator[tuple[str, ...]]:
    for length in results.plan.lengths:
        ours = _typical(results, "warm", OURS, length)
        floor = _typical(results, "warm", EAGER, length)
        if ours is not None and floor is not None:
            yield _row(
                f"append and build, {length:,}: over the eager floor",
                f"<= {FLOOR_GOAL:g}",
                f"{ours / floor:.2f}",
                is_met=ours / floor <= FLOOR_GOAL,
            )


def _growth(results: Results) -> Iterator[tuple[str, ...]]:
    least, most = min(results.plan.lengths), max(results.plan.lengths)
    few = _typical(results, "warm", OURS, least)
    many = _typical(results, "warm", OURS, most)
    if few is not None and many is not None and least != most:
        yield _row(
            f"append and build, {most:,} over {least:,}",
            f"<= {GROWTH_GOAL:g}",
            f"{many / few:.2f}",
            is_met=many / few <= GROWTH_GOAL,
        )


def _rivals(results: Results) -> Iterator[tuple[str, ...]]:
    """Yield how the library stands to whichever correct peer is fastest, R or not."""
    rivals = [
        peer.name
        for peer in results.peers
        if peer.name not in {OURS, NO_RECALL, EAGER, LAZY}
        and (verdict := results.verdicts.get(peer.name)) is not None
        and verdict.is_correct
    ]
    for length in results.plan.lengths:
        ours = _typical(results, "warm", OURS, length)
        times = {
            name: taken
            for name in rivals
            if (taken := _typical(results, "warm", name, length)) is not None
        }
        if ours is not None and times:
            best = min(times, key=lambda name: times[name])
            what = f"append and build, {length:,}: times faster than {best}"
            yield what, "the fastest correct one", f"{times[best] / ours:,.1f}", ""


def _typical(results: Results, task: str, peer: str, length: int) -> float | None:
    """Return the mean of steps, which holds the compactions, or else the median."""
    figure = _cell(results, task, peer, length)
    if not figure.taken:
        return None
    return figure.mean if task == "warm" else figure.p50
