"""The command line, `context-builder`: the library's main job on transcripts in files.

It reads, asks the facade, and writes. It decides nothing, and nothing imports it.
"""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which extra has to be installed for it."""
    try:
        from context_builder.cli.commands import app  # noqa: PLC0415 (an extra)
    except ModuleNotFoundError as error:
        if error.name not in {"rich", "typer"}:
            raise
        sys.exit(
            "context-builder: the command line is an extra: "
            "pip install 'context-builder[cli]'"
        )
    app(prog_name="context-builder")
