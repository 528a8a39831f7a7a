"""A scripted vendor for the step `send`, and the library's call with recovery on it."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from context_builder.recovery import call_with_recovery

if TYPE_CHECKING:
    from collections.abc import Mapping

    from context_builder import ContextBuilder

__all__ = ["VendorError", "send"]

Json = Any
"""A piece of a case file."""


class VendorError(Exception):
    """What an SDK would raise for an error body."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        super().__init__(body["message"])
        self.status_code = body["status"]
        self.body = body


def send(
    ctx: ContextBuilder, vendor: str, model: str, case: Json, responses: list[str]
) -> tuple[list[Json], Exception | None]:
    """Send a request to a vendor that answers as scripted.

    Returns:
        The requests that were made, and the error that came out of it.
    """
    waiting = list(responses)
    sent: list[Json] = []

    def call(**request: Any) -> str:
        sent.append(copy.deepcopy(request))
        kind, _, number = waiting.pop(0).partition(":")
        if kind != "ok":
            raise VendorError(case["input"][f"{kind}_errors"][int(number)])
        return "ok"

    try:
        call_with_recovery(ctx, call, target=vendor, model=model)
    except Exception as error:
        return sent, error
    return sent, None
