"""Writes the window as one HTML file that needs nothing else: no server, no network.

The data stands in the file as JSON, in which no `<` is left, so that nothing that was
said can end the script element that holds it. The file's own policy lets run only the
script that stands in it, by its digest.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["page", "static_file"]

_MODULES = (
    "elements.js",
    "reasons.js",
    "words.js",
    "panels.js",
    "view.js",
    "report.js",
)
"""In the order in which they need one another."""
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)
_PAGE = """<!doctype html>
<html lang="en" data-theme="auto">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body class="report">
<header>
<h1 id="title">{title}</h1>
<span id="choices"></span>
</header>
<main id="window" aria-labelledby="title"></main>
<script id="data" type="application/json">{data}</script>
<script type="module">{script}</script>
</body>
</html>
"""


@cache
def static_file(name: str) -> str:
    """Return a file of the window's page, as text."""
    return (files("context_builder.inspector") / "static" / name).read_text("utf-8")


@cache
def _script() -> str:
    """Return all modules as one: without imports there is nothing to fetch."""
    texts = [_EXPORT.sub("", _IMPORT.sub("", static_file(name))) for name in _MODULES]
    return "\n".join(texts)


def page(data: Mapping[str, Any], *, name: str) -> str:
    """Return the window as a page of its own.

    Args:
        data: `window`, `timeline`, `differences`, `bodies`, `texts` and `plans`, as
            `report.js` reads them.
        name: Whose window it is, for the title.
    """
    script, style = _script(), static_file("view.css")
    policy = (
        "default-src 'none'; base-uri 'none'; form-action 'none'; "
        f"script-src '{_digest(script)}'; style-src '{_digest(style)}'"
    )
    return _PAGE.format(
        policy=escape(policy, quote=True),
        title=escape(name),
        style=style,
        data=_embedded({**data, "name": name}),
        script=script,
    )


def _embedded(data: Mapping[str, Any]) -> str:
    """Write data so that it can stand in a script element, whatever it says."""
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)  # in ASCII
    for mark in "<>&":
        text = text.replace(mark, f"\\u{ord(mark):04x}")
    return text


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
