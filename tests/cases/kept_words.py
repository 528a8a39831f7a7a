"""What the cases about kept sessions say in words, as code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from context_builder.sessions import Session, load_session, save_session
from tests.cases.results import Run, need
from tests.cases.runner import run_case

if TYPE_CHECKING:
    from context_builder import ContextBuilder

__all__ = ["evicted_sessions_come_back", "files_outlive_much"]

_READ_AND_WRITE = """
import sys
from context_builder.sessions import load_session, save_session
ctx = load_session(sys.argv[1], max_tokens=9_999)
ctx.add_user_message("Gr\\xf6\\xdfe \\u5c3a\\u5bf8")
save_session(ctx, sys.argv[1])
"""


def evicted_sessions_come_back(run: Run) -> None:
    """From the store, where there is one; else they start empty, and say so."""
    need(_is_new(run) is False and "walnut" in _texts(run.ctx), run.ctx.items)
    need(run.held_locks == 0, run.held_locks)
    forgetful: dict[str, Any] = {**run.case["input"]["manager"], "store": None}
    case = {**run.case, "input": {**run.case["input"], "manager": forgetful}}
    forgotten = run_case(case, run.vendor)
    need(_is_new(forgotten) is True and not forgotten.ctx.items, forgotten.ctx.items)
    need(forgotten.held_locks == 0, forgotten.held_locks)


def _is_new(run: Run) -> bool | None:
    return run.ctx.is_new if isinstance(run.ctx, Session) else None


def _texts(ctx: ContextBuilder) -> str:
    return "\n".join(item.text for item in ctx.items)


def files_outlive_much(run: Run) -> None:
    """Any locale, fields that nobody knows or that are missing; the history is full."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "new" / "session.jsonl"
        save_session(run.ctx, path)
        need(list(path.parent.iterdir()) == [path], "the save left something behind")
        text = path.read_text(encoding="utf-8")
        need(json.loads(text.partition("\n")[0])["version"] == 1, text)
        need("尺寸" in text, text)
        small = load_session(path, max_tokens=80)
        need(small.items == run.ctx.items, small.items)
        need(len(small.build()) < len(run.ctx.build()), "nothing was trimmed")
        save_session(small, path)
        need(path.read_text(encoding="utf-8") == text, "the trimmed build was saved")
        _try_ascii_locale(path, run.ctx)
        _try_strange_fields(path, run.ctx)


def _try_ascii_locale(path: Path, saved: ContextBuilder) -> None:
    env = os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    subprocess.run([sys.executable, "-c", _READ_AND_WRITE, path], check=True, env=env)
    loaded = load_session(path, max_tokens=9_999)
    need(loaded.items[:-1] == saved.items, loaded.items)
    need(loaded.items[-1].text == "Größe 尺寸", loaded.items[-1])


def _try_strange_fields(path: Path, saved: ContextBuilder) -> None:
    log = saved.dump()
    for entry in log[1:]:
        entry["mood"] = "unknown"
        if isinstance(entry.get("item"), dict):
            entry["item"]["mood"] = "unknown"
            entry["item"].pop("timestamp")
    path.write_text(json.dumps(log, ensure_ascii=False), encoding="utf-8")
    loaded = load_session(path, max_tokens=9_999)
    need(_texts(loaded) == _texts(saved), loaded.items)
