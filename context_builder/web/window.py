"""The endpoints of the window: what the model sees of a conversation, and why."""

from __future__ import annotations

import dataclasses
import time
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, HTTPException, Query, Response

from context_builder.inspector import (
    difference,
    item_text,
    model_for,
    plan_of,
    window_of,
)
from context_builder.web.bodies import Requests, WindowAnswer
from context_builder.web.service import Asked, User, apart

if TYPE_CHECKING:
    from context_builder.builder import ContextBuilder
    from context_builder.report import Report

__all__ = ["router"]

router = APIRouter(prefix="/api/sessions/{session_id}", tags=["window"])

Target = Annotated[str | None, Query(max_length=64, description="The vendor.")]
Model = Annotated[str | None, Query(max_length=200, description="Another model.")]
Budget = Annotated[int | None, Query(ge=1, le=10**9, description="In tokens.")]


@router.get("/window")
async def read_window(
    service: Asked,
    user: User,
    session_id: str,
    *,
    target: Target = None,
    model: Model = None,
    max_tokens: Budget = None,
) -> WindowAnswer:
    """Return all items, and what the next request shows of each."""
    view = await service.view(user, session_id)
    target = target or service.settings.target
    answer = await apart(
        lambda: window_of(
            view.followed(), target=target, model=model, max_tokens=max_tokens
        )
    )
    return WindowAnswer.model_validate(answer)


@router.get("/plan")
async def read_plan(
    service: Asked,
    user: User,
    session_id: str,
    answer: Response,
    max_tokens: Annotated[int, Query(ge=1, le=10**9)],
) -> dict[str, Any]:
    """Return what would be shown of each item if the budget were that, in tokens.

    The header `Server-Timing` says how long it took to decide: on the clock, and of
    the processor's time, in milliseconds.
    """
    view = await service.view(user, session_id)
    target = service.settings.target

    def planned() -> Report:
        session = view.followed()
        started, worked = time.perf_counter(), time.thread_time()
        report = session.plan(target, what_if_max_tokens=max_tokens)
        clock = 1e3 * (time.perf_counter() - started)
        cpu = 1e3 * (time.thread_time() - worked)
        answer.headers["Server-Timing"] = f"replan;dur={clock:.1f}, cpu;dur={cpu:.1f}"
        return report

    report = await apart(planned)
    return plan_of(report)


@router.get("/report")
async def read_report(
    service: Asked,
    user: User,
    session_id: str,
    *,
    target: Target = None,
    model: Model = None,
    max_tokens: Budget = None,
) -> dict[str, Any]:
    """Return the library's own report about the next request."""
    view = await service.view(user, session_id)
    target = target or service.settings.target
    report = await apart(
        lambda: view.followed().explain(target, model=model, max_tokens=max_tokens)
    )
    return report.to_dict()


@router.get("/request")
async def read_request(
    service: Asked,
    user: User,
    session_id: str,
    *,
    target: Target = None,
    model: Model = None,
    max_tokens: Budget = None,
) -> dict[str, Any]:
    """Return the request exactly as a vendor would get it.

    It is the next one; or, where the model has the last word, the one that it answered.
    """
    view = await service.view(user, session_id)
    target = target or service.settings.target

    def asked() -> dict[str, Any]:
        timeline = view.followed()
        session = timeline.asking(timeline)
        named = model or model_for(target, session.model)
        return session.request(target, model=named, max_tokens=max_tokens)

    return await apart(asked)


@router.get("/timeline")
async def read_timeline(service: Asked, user: User, session_id: str) -> Requests:
    """Return which requests were sent so far, what they took, and what of it again."""
    view = await service.view(user, session_id)
    sent = (await apart(view.followed)).requests
    return Requests(requests=[dataclasses.asdict(request) for request in sent])


@router.get("/differences/{number}")
async def read_difference(
    service: Asked, user: User, session_id: str, number: int
) -> dict[str, Any]:
    """Return how a request differs from the one before it."""
    view = await service.view(user, session_id)
    timeline = await apart(view.followed)
    sent = timeline.requests
    if not 0 < number < len(sent):
        raise HTTPException(404, "there are no two such requests")
    target = service.settings.target

    def compared() -> dict[str, Any]:
        former, latter = (
            _request(timeline.until(sent[n].position), target)
            for n in (number - 1, number)
        )
        return dataclasses.asdict(difference(former, latter, target=target))

    return await apart(compared)


@router.get("/items/{item_id}")
async def read_item(
    service: Asked, user: User, session_id: str, item_id: str
) -> dict[str, str]:
    """Return all that an item says."""
    session = (await service.view(user, session_id)).session
    for item in session.items:
        if item.id == item_id:
            return {"id": item.id, "text": item_text(item)}
    raise HTTPException(404, "there is no such item")


def _request(session: ContextBuilder, target: str) -> dict[str, Any]:
    return session.request(target, model=model_for(target, session.model))
