from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs" / "adapters.md"
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```", DOCS.read_text("utf-8"), re.DOTALL | re.M)

ADAPTER = next(text for kind, text in BLOCKS if text.startswith("# acme_adapter.py"))
USE = next(text for _, text in BLOCKS if "ctx.request(" in text and "import" in text)
ENTRY = next(text for kind, text in BLOCKS if kind == "toml")

REPORT = """
import json, sys
from context_builder.render import adapter_for, adapter_names, validate

ctx.add_assistant_message("", tool_calls=[{"id": "c", "type": "function",
    "function": {"name": "look", "arguments": "{}"}}])
ctx.add_tool_result("look", "A poem.", tool_call_id="c")
ctx.add_memory("The user likes </memory> poems.")
ctx.add_assistant_message("", reasoning="Only a thought.")
ctx.add_user_message("And now?")
grown = ctx.request("acme")
adapter = adapter_for("acme")
json.dump({
    "names": adapter_names(),
    "request": request,
    "grown": grown,
    "problems": [str(problem) for problem in validate(grown, "acme")],
    "tokens": ctx.explain("acme").tokens,
    "repairs": ctx.explain("acme").repairs,
    "recount": adapter.request_tokens(grown, adapter.counter(None).count),
    "blank": [str(p) for p in validate({"turns": [{"text": ""}]}, "acme")],
    "openai": type(adapter_for("openai")).__name__,
}, sys.stdout)
"""


def install(folder: Path, *entries: str, code: str = ADAPTER) -> None:
    """Put a distribution into a folder, as an installer would."""
    (folder / "acme_adapter.py").write_text(code, "utf-8")
    about = folder / "acme_adapter-1.0.dist-info"
    about.mkdir()
    about.joinpath("METADATA").write_text(
        "Metadata-Version: 2.1\nName: acme-adapter\nVersion: 1.0\n", "utf-8"
    )
    group = re.search(r'entry-points\."([^"]+)"', ENTRY)
    assert group is not None
    lines = "\n".join([f"[{group[1]}]", *entries])
    about.joinpath("entry_points.txt").write_text(lines + "\n", "utf-8")


def run(folder: Path, code: str) -> subprocess.CompletedProcess[str]:
    """Run a program that finds the distribution of that folder."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": str(folder), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


OWN = "acme = acme_adapter:AcmeAdapter"


def test_the_example_of_the_docs_works(tmp_path: Path) -> None:
    """A package's own adapter is found by its entry point and serves requests."""
    install(tmp_path, OWN, "openai = acme_adapter:AcmeAdapter")
    result = run(tmp_path, USE + REPORT)
    assert result.returncode == 0, result.stderr
    told = json.loads(result.stdout)
    assert "acme" in told["names"]
    assert told["request"] == {
        "model": "acme-1",
        "turns": [{"speaker": "human", "text": "What is a sonnet?"}],
        "system": "Be terse.",
    }
    grown = told["grown"]["turns"]
    assert grown[:1] == told["request"]["turns"]
    assert grown[1:3] == [
        {"speaker": "bot", "text": "[calls look with {}]"},
        {"speaker": "human", "text": "A poem."},
    ]
    assert grown[3]["text"].startswith("<memory>")
    assert [turn["text"] for turn in grown[4:]] == ["And now?"]
    assert any("says nothing" in repair for repair in told["repairs"])
    assert told["problems"] == []
    assert told["recount"] <= told["tokens"]
    assert told["blank"] == ["turns[0]: a turn says something. Leave it out."]
    assert told["openai"] == "OpenAIChatAdapter"


def test_the_example_is_short() -> None:
    """It fits on a page."""
    code = [line for line in ADAPTER.splitlines() if line.strip()]
    assert len(code) <= 42


@pytest.mark.parametrize(
    ("entry", "code"),
    [
        ("acme = acme_adapter:Missing", ADAPTER),
        ("acme = not_there:AcmeAdapter", ADAPTER),
        (OWN, "import not_there_either\n" + ADAPTER),
    ],
)
def test_an_adapter_that_cannot_be_loaded_is_said_so(
    tmp_path: Path, entry: str, code: str
) -> None:
    """The error is the library's own and names the entry point."""
    install(tmp_path, entry, code=code)
    caught = (
        "from context_builder import AdapterError\n"
        "from context_builder.render import adapter_for\n"
        "try:\n    adapter_for('acme')\n"
        "except AdapterError as error:\n    print(error)\n"
    )
    result = run(tmp_path, caught)
    assert result.returncode == 0, result.stderr
    assert "acme" in result.stdout
    assert "cannot be loaded" in result.stdout
