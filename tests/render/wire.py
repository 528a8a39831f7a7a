"""Lets an SDK's real client send a request to nobody, and shows what it would send."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import httpx

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Wire", "broken", "lost_on_the_way"]


class Wire:
    """Answers every request with the same body, and keeps what was sent."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self._answer = dict(answer)
        self.sent: dict[str, Any] = {}
        self.transport = httpx.MockTransport(self._take)

    def client(self) -> Any:
        """Return a client of httpx; the SDKs describe it more narrowly than it is."""
        return httpx.Client(transport=self.transport)

    def _take(self, request: httpx.Request) -> httpx.Response:
        self.sent = json.loads(request.content)
        return httpx.Response(200, json=self._answer)


def lost_on_the_way(said: object, sent: object, path: str = "") -> Iterator[str]:
    """Name what a client left out or changed; what it adds is its own business."""
    if isinstance(said, dict) and isinstance(sent, dict):
        for key, value in said.items():
            if key not in sent:
                yield f"{path}.{key}"
            else:
                yield from lost_on_the_way(value, sent[key], f"{path}.{key}")
    elif isinstance(said, list) and isinstance(sent, list) and len(said) == len(sent):
        for number, (one, other) in enumerate(zip(said, sent, strict=True)):
            yield from lost_on_the_way(one, other, f"{path}[{number}]")
    elif said != sent:
        yield path


def broken(body: Mapping[str, Any], path: str, value: object) -> dict[str, Any]:
    """Return a copy of a body in which the value at a path is another; None: none."""
    copy: dict[str, Any] = json.loads(json.dumps(body))
    *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
    place: Any = copy
    for step in steps:
        place = place[step]
    if value is None:
        del place[last]
    else:
        place[last] = value
    return copy
