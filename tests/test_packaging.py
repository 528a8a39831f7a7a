"""What is published has all it needs, and says truly what it is."""

from __future__ import annotations

import importlib.metadata
import re
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

from tests.packaging import EXTRAS, build, extras_declared
from tests.test_docs import rows_of, section

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Build both kinds once."""
    return build(tmp_path_factory.mktemp("dist"))


def test_the_wheel_has_what_the_package_needs(built: tuple[Path, Path]) -> None:
    """Every file of the package, its licence and its command; nothing else."""
    with zipfile.ZipFile(built[0]) as wheel:
        names = set(wheel.namelist())
        metadata = next(name for name in names if name.endswith("/METADATA"))
        said = wheel.read(metadata).decode()
    package = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "context_builder").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == package
    assert any(name.endswith("/licenses/LICENSE") for name in names)
    assert any(name.endswith("/entry_points.txt") for name in names)
    assert "Requires-Python: >=3.11\n" in said


def test_the_source_builds_tests_and_documents_itself(
    built: tuple[Path, Path],
) -> None:
    """What a fresh clone has to have for `make check` and `make docs`."""
    with tarfile.open(built[1]) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    for name in (
        "Makefile",
        "README.zh-CN.md",
        "benchmarks/README.md",
        "constraints.txt",
        "docs/images/tiers.svg",
        "mkdocs.yml",
        "tests/test_docs.py",
    ):
        assert name in names


def test_every_extra_is_tried_and_explained() -> None:
    """By `make package`, and in the table of the README."""
    assert set(EXTRAS) == extras_declared()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    cells = " ".join(row[0] for row in rows_of(section(readme, "Install")))
    assert set(re.findall(r"`(\w+)`", cells)) == set(EXTRAS)


def test_the_metadata_names_the_versions_of_python() -> None:
    """From the oldest that is asked for, without a gap."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = settings["project"]
    minors = [
        int(found[1])
        for line in project["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: 3\.(\d+)", line))
    ]
    assert project["requires-python"] == f">=3.{minors[0]}"
    assert minors == list(range(minors[0], minors[-1] + 1))


def test_what_is_pinned_runs_on_the_oldest_python_that_is_promised() -> None:
    """3.11 means 3.11.0 too: a pin that asks for more stops `make setup` there."""
    asked = {
        found.metadata["Name"]: ",".join(
            found.metadata.get_all("Requires-Python") or ()
        )
        for found in importlib.metadata.distributions()
    }
    assert len(asked) > 50
    assert [
        name for name, python in asked.items() if "3.11.0" not in SpecifierSet(python)
    ] == []
