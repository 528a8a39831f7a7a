"""What holds for every test: repeatable examples, no network, and in CI no skips.

The number of hypothesis examples is set by profile: `HYPOTHESIS_PROFILE=ci`, `dev`, or
`thorough`. In CI (`CI=true`) it is `ci`, which also makes every run draw the same ones.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

CI = os.environ.get("CI", "").lower() in {"1", "true"}

SLOW_FIRST_EXAMPLE = (HealthCheck.too_slow,)
"""The first example may load a vocabulary; how long that takes is not its fault."""

settings.register_profile(
    "dev", max_examples=30, deadline=None, suppress_health_check=SLOW_FIRST_EXAMPLE
)
settings.register_profile(
    "ci",
    max_examples=40,
    deadline=None,
    derandomize=True,
    print_blob=True,
    suppress_health_check=SLOW_FIRST_EXAMPLE,
)
settings.register_profile(
    "thorough",
    max_examples=1_000,
    deadline=None,
    suppress_health_check=SLOW_FIRST_EXAMPLE,
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if CI else "dev"))


# --- In CI a skipped test is a failed one: what nobody runs, nobody knows.


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    if CI and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[-1] if isinstance(report.longrepr, tuple) else ""
        report.outcome = "failed"
        report.longrepr = f"skipped, and CI skips nothing: {reason}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[
    None, pytest.TestReport, pytest.TestReport
]:
    """Turn a skipped test into a failure in CI; an expected failure stays one."""
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[
    None, pytest.CollectReport, pytest.CollectReport
]:
    """Turn a skipped module into a failure in CI."""
    report = yield
    _refuse_skip(report)
    return report


# --- No test talks to another machine.

LOOPBACK_NAMES = {"", "localhost", "::1", "0.0.0.0", "::"}  # noqa: S104 (compared, not bound)
WATCHED_EVENTS = {"socket.connect", "socket.sendto", "socket.getaddrinfo"}


class _Watch:
    """Remembers, for the running test, which other machines it reached for."""

    def __init__(self) -> None:
        self.active = False
        self.attempts: list[str] = []

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        if not self.active or event not in WATCHED_EVENTS:
            return
        address = args[0] if event == "socket.getaddrinfo" else args[1]
        if not _is_loopback(address):
            self.attempts.append(f"{event} {address!r}")
            message = f"a test may not leave this machine: {event} {address!r}"
            raise PermissionError(message)


def _is_loopback(address: object) -> bool:
    if address is None or (isinstance(address, tuple) and not address):
        return True
    host = address[0] if isinstance(address, tuple) else address
    if isinstance(host, bytes):
        host = host.decode("utf-8", "replace")
    if not isinstance(host, str) or host.startswith("/"):
        return True  # a Unix socket, which is a file
    return host in LOOPBACK_NAMES or host.startswith("127.")


WATCH = _Watch()
sys.addaudithook(WATCH)  # an audit hook sees what code does, however it was imported


@pytest.fixture(autouse=True)
def no_network() -> Iterator[None]:
    """Fail a test that reaches for another machine, even if it hid the error."""
    WATCH.attempts.clear()
    WATCH.active = True
    yield
    WATCH.active = False
    attempts = WATCH.attempts.copy()
    if attempts:
        pytest.fail(f"left this machine: {'; '.join(attempts)}", pytrace=False)
