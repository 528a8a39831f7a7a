"""Setting up the environments of the peers, with a real pip and a wheel made here."""

from __future__ import annotations

import subprocess
import zipfile
from typing import TYPE_CHECKING

from benchmarks.peers.catalogue import ENVIRONMENTS, PEERS, Peer, python_of
from benchmarks.peers.environments import set_up

if TYPE_CHECKING:
    from pathlib import Path

RECORD = "tiny_peer-1.0.dist-info/"
FILES = {
    "tiny_peer.py": "ANSWER = 42\n",
    f"{RECORD}METADATA": "Metadata-Version: 2.1\nName: tiny-peer\nVersion: 1.0\n",
    f"{RECORD}WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    f"{RECORD}RECORD": "",
}


def test_what_does_not_install_is_said_and_what_does_is_used(tmp_path: Path) -> None:
    """A failure leaves no environment behind that would be taken for a whole one."""
    missing = tmp_path / "nowhere-1.0-py3-none-any.whl"
    problem = set_up("tiny", (str(missing),), tmp_path)
    peer = Peer("tiny", "tiny_peer", environment="tiny")
    assert "nowhere" in problem
    assert python_of(peer, tmp_path) is None

    wheel = tmp_path / "tiny_peer-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as packed:
        for name, text in FILES.items():
            packed.writestr(name, text)
    assert set_up("tiny", (str(wheel),), tmp_path) == ""
    python = python_of(peer, tmp_path)
    assert python is not None
    said = subprocess.check_output(
        [python, "-c", "import tiny_peer; print(tiny_peer.ANSWER)"], text=True
    )
    assert said.strip() == "42"

    wheel.unlink()  # what is there already is not installed again
    assert set_up("tiny", (str(wheel),), tmp_path) == ""


def test_every_peer_has_an_environment_and_every_environment_a_peer() -> None:
    """Each requirement is pinned, so that a run can be repeated."""
    assert {peer.environment for peer in PEERS} - {""} == set(ENVIRONMENTS)
    for requirements in ENVIRONMENTS.values():
        assert all("==" in each for each in requirements)
