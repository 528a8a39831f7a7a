"""The page itself: files of the package, named one by one."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from fastapi import APIRouter, Response

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["pages"]

_TYPES = {
    "css": "text/css; charset=utf-8",
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
_OWN = ("app.js", "chat.js", "service.js", "page.css", "icon.svg")
_SHARED = (
    "view.js",
    "words.js",
    "reasons.js",
    "elements.js",
    "panels.js",
    "view.css",
)


def pages(shared_file: Callable[[str], str]) -> APIRouter:
    """Return the routes of the page.

    Args:
        shared_file: Returns a file of the window, which this page shares with the one
            that stands alone.
    """
    router = APIRouter(include_in_schema=False)
    own = files("context_builder.web") / "static"
    served = {name: (own / name).read_text("utf-8") for name in ("index.html", *_OWN)}
    served |= {name: shared_file(name) for name in _SHARED}

    def add(path: str, name: str) -> None:
        media_type = _TYPES[name.rpartition(".")[2]]
        headers = {"Cache-Control": "no-cache"}

        @router.get(path)
        async def read() -> Response:
            return Response(served[name], media_type=media_type, headers=headers)

    add("/", "index.html")
    for name in (*_OWN, *_SHARED):
        add(f"/static/{name}", name)
    return router
