"""The tables, the plot, and where they are put."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchmarks import bench_peers
from benchmarks.peers import vocabulary
from benchmarks.peers.catalogue import EAGER, LAZY, OURS, PEERS, REFERENCE
from benchmarks.peers.chart import draw
from benchmarks.peers.judge import COLUMNS, Verdict
from benchmarks.peers.publish import BEGIN, END, placed, publish
from benchmarks.peers.results import Figure, Plan, Results
from benchmarks.peers.table import goals, report

PNG_BYTES = 150_000
OTHER = "haystack"


@pytest.fixture
def results() -> Results:
    """Make up a run in which everything is round numbers."""
    made = Results(Plan(), PEERS)
    right = Verdict(4, dict.fromkeys(COLUMNS, 1.0), 0.9, 0.8)
    seconds = {OURS: 0.001, EAGER: 0.0005, LAZY: 0.0004, REFERENCE: 0.01, OTHER: 0.004}
    for peer in PEERS:
        made.versions[peer.name] = {"tiktoken": "0.0"}
        made.memory[peer.name] = 20_000.0
        made.verdicts[peer.name] = right
        for task in ("cold", "first", "warm", "rebuild", "view"):
            for length in made.plan.lengths:
                taken = seconds.get(peer.name, 1.0)
                made.figures[task][peer.name][length] = Figure([taken], [taken * 2])
    return made


def test_ratios_are_those_of_one_run(results: Results) -> None:
    """Each goal stands beside what was found, and is met or missed by it."""
    rows = {row[0]: row[1:] for row in goals(results)}
    key = "append and build, 100: times faster than R"
    assert rows[key] == (">= 2 (3)", "10.0", "met")
    key = "append and build, 10,000: times faster than R"
    assert rows[key] == (">= 30 (60)", "10.0", "**missed**")
    key = "append and build, 100: over the eager floor"
    assert rows[key] == ("<= 1.5", "2.00", "**missed**")
    key = "append and build, 10,000 over 100"
    assert rows[key] == ("<= 1.5", "1.00", "met")
    assert rows["memory of a session over its texts, kB"][1:] == ("20.0", "met")
    key = f"append and build, 100: times faster than {OTHER}"
    assert rows[key] == ("the fastest correct one", "4.0", "")


def test_a_peer_that_is_wrong_is_nobodys_rival(results: Results) -> None:
    """Speed counts only among those whose requests are right."""
    wrong = Verdict(4, dict.fromkeys(COLUMNS, 0.5), 0.9, 0.8)
    results.verdicts[OTHER] = wrong
    assert not [row for row in goals(results) if OTHER in row[0]]


def test_a_failure_is_not_told_as_a_time(results: Results) -> None:
    """Who raised has no figure at all."""
    results.figures["warm"][OTHER][100] = Figure(problem="ValueError")
    rows = [row for row in report(results).splitlines() if row.startswith(f"| {OTHER}")]
    assert any("failed" in row for row in rows)


def test_a_run_can_be_told_again_by_the_other_clock(results: Results) -> None:
    """What was written is read back whole; times of the processor are twice as long."""
    again = Results.from_json(results.to_json())
    assert report(again) == report(results)
    again.by("cpu")
    assert "of the processor" in report(again)
    assert again.figures["warm"][OURS][100].mean == 0.002
    assert list(goals(again)) == list(goals(results))  # ratios stay


def test_the_plot_is_small(results: Results, tmp_path: Path) -> None:
    """A picture that a repository can hold."""
    draw(results, tmp_path / "peers.png")
    content = (tmp_path / "peers.png").read_bytes()
    assert content.startswith(b"\x89PNG")
    assert 10_000 < len(content) < PNG_BYTES


def test_tables_go_between_the_marks_and_nowhere_else(
    results: Results, tmp_path: Path
) -> None:
    """What stood there before is replaced; the page around it stays."""
    page = tmp_path / "benchmarks" / "README.md"
    (tmp_path / "benchmarks" / "peers").mkdir(parents=True)
    page.write_text(f"# Head\n\n{BEGIN}\nold\n{END}\n\nTail\n", encoding="utf-8")
    publish(results, "NEW", tmp_path)
    publish(results, "NEW", tmp_path)
    written = page.read_text(encoding="utf-8")
    assert written.startswith(f"# Head\n\n{BEGIN}\n")
    assert written.endswith(f"NEW\n\n{END}\n\nTail\n")
    assert "old" not in written
    assert (tmp_path / "docs" / "images" / "peers.png").exists()


@pytest.mark.parametrize("page", ["", BEGIN, END, f"{END} {BEGIN}"])
def test_a_page_without_marks_is_refused(page: str) -> None:
    """Nothing is written where nobody said that it may be."""
    with pytest.raises(ValueError, match="no place for the tables"):
        placed(page, "NEW")


def test_peers_get_the_vocabulary_that_is_shipped(tmp_path: Path) -> None:
    """Byte for byte the files that tiktoken would fetch, under its names for them."""
    vocabulary.write_vocabularies(tmp_path)
    names = {path.name for path in tmp_path.iterdir()}
    assert len(names) == 2
    sums = {
        hashlib.sha256((tmp_path / name).read_bytes()).hexdigest()[:8] for name in names
    }
    assert sums == {"446a9538", "223921b7"}


def test_the_command_tells_an_earlier_run(
    results: Results,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It prints the tables, and writes the figures and the plot where it is told."""
    earlier, file, plot = (tmp_path / name for name in ("a.json", "b.json", "c.png"))
    earlier.write_text(results.to_json(), encoding="utf-8")
    asked = ["--again", str(earlier), "--json", str(file), "--plot", str(plot)]
    monkeypatch.setattr("sys.argv", ["bench_peers", *asked])
    bench_peers.main()
    assert capsys.readouterr().out == report(results) + "\n"
    assert Results.from_json(file.read_text(encoding="utf-8")).peers == PEERS
    assert plot.exists()


def test_only_known_peers_can_be_asked_for() -> None:
    """The library and the floors always go along; an unknown name is an error."""
    names = [peer.name for peer in bench_peers.chosen([OTHER])]
    assert names == [OURS, EAGER, LAZY, OTHER]
    with pytest.raises(SystemExit, match="no such peer: nobody"):
        bench_peers.chosen(["nobody"])


def test_every_peer_has_a_module_and_a_note() -> None:
    """The catalogue names files that are there, each peer once."""
    root = Path(__file__).parents[2]
    assert len({peer.name for peer in PEERS}) == len(PEERS)
    for peer in PEERS:
        assert (root / f"{peer.module.replace('.', '/')}.py").is_file()
        assert peer.note
