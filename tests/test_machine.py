"""The public face in any order: every promise after every step, for every vendor."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

from tests.machine.face import Face

SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much)
SHORT = settings(
    max_examples=int(os.environ.get("MACHINE_EXAMPLES", "6")),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=SLOW,
)
"""What every run does. `python -m benchmarks.machine` goes on for as long as it is
asked to."""

TestFace = Face.TestCase
TestFace.settings = SHORT
