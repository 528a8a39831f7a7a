"""The endpoints of the chat: conversations, and the turns in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, HTTPException, Query, Response

from context_builder.inspector import item_text
from context_builder.unicode import repair_text
from context_builder.web.bodies import (
    Conversation,
    NewMessage,
    NewSession,
    SaidItem,
    SessionLine,
    SessionList,
)
from context_builder.web.service import Asked, User, new_session_id
from context_builder.web.streaming import EventStream
from context_builder.web.turns import Turn
from context_builder.web.views import NoSuchSessionError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from context_builder.items import ContextItem
    from context_builder.sessions import SessionInfo
    from context_builder.web.service import Service

__all__ = ["router"]

_TITLE_CHARS = 80

router = APIRouter(prefix="/api/sessions", tags=["conversations"])


@router.get("")
async def list_sessions(
    service: Asked, user: User, limit: int = Query(50, ge=1, le=200)
) -> SessionList:
    """List your conversations, the one used last first."""
    found = await service.sessions_of(user).alist()
    newest = sorted(found, key=lambda info: info.updated_at, reverse=True)[:limit]
    lines = [await _line(service, user, info) for info in newest]
    return SessionList(sessions=lines, total=len(found))


@router.post("", status_code=201)
async def create_session(
    service: Asked, user: User, asked: NewSession | None = None
) -> SessionLine:
    """Begin a conversation."""
    session_id = new_session_id()
    prompt = (asked or NewSession()).system_prompt or service.settings.system_prompt
    async with service.sessions_of(user).open(session_id) as session:
        session.add_system_prompt(prompt)
        now = session.items[-1].timestamp or 0.0
    return SessionLine(
        id=session_id, title="", created_at=now, updated_at=now, records=1
    )


@router.get("/{session_id}")
async def read_session(service: Asked, user: User, session_id: str) -> Conversation:
    """Return all that was said in a conversation, whatever the model sees of it."""
    view = await service.view(user, session_id)
    return Conversation(
        id=session_id,
        items=[_said(item) for item in view.session.conversation],
        was_interrupted=view.was_interrupted,
    )


@router.delete("/{session_id}", status_code=204)
async def delete_session(service: Asked, user: User, session_id: str) -> Response:
    """Delete a conversation for good."""
    await service.view(user, session_id)  # an id of nobody's makes no lease
    if not await service.sessions_of(user).adelete(session_id):
        raise NoSuchSessionError
    return Response(status_code=204)


@router.post(
    "/{session_id}/messages",
    status_code=200,
    response_class=EventStream,
    responses={
        200: {
            "description": "Server-sent events: `accepted` once the message is stored; "
            "`request`, `text`, `reasoning`, `tool_started`, `tool_finished`, `usage` "
            "while the turn goes on; `finished` once all of it is stored, or `error`.",
            "content": {"text/event-stream": {}},
        },
        409: {"description": "Another turn of this conversation is running."},
    },
)
async def say(
    service: Asked, user: User, session_id: str, message: NewMessage
) -> Response:
    """Say something, and listen to what follows. Who stops listening stops the turn."""
    most = service.settings.max_message_chars
    if len(message.text) > most:
        detail = f"a message may have {most:,} characters at most"
        raise HTTPException(413, detail)
    if not message.text.strip():
        raise HTTPException(422, "there is nothing in this message")
    turn = Turn(
        service.agent,
        service.sessions_of(user),
        session_id,
        message.text,
        metrics=service.metrics,
        turn_seconds=service.settings.turn_seconds,
    )
    await turn.opened()
    return EventStream(
        turn.events,
        stop=turn.stop,
        keep_alive_seconds=service.settings.keep_alive_seconds,
    )


async def _line(service: Service, user: str, info: SessionInfo) -> SessionLine:
    try:
        view = await service.view(user, info.session_id)
    except NoSuchSessionError:  # deleted just now
        title = ""
    else:
        title = _title(view.session.conversation)
    return SessionLine(
        id=info.session_id,
        title=title,
        created_at=info.created_at,
        updated_at=info.updated_at,
        records=info.records,
    )


def _title(items: Iterable[ContextItem]) -> str:
    first = next((item.text for item in items if item.is_spoken), "")
    return repair_text(" ".join(first.split())[:_TITLE_CHARS])


def _said(item: ContextItem) -> SaidItem:
    calls: list[dict[str, Any]] = [
        {"id": call.id, "name": call.name, "arguments": repair_text(call.arguments)}
        for call in item.tool_calls
    ]
    return SaidItem(
        id=item.id,
        role=item.role,
        source=item.source,
        text=repair_text(item.text) if item.tool_calls else item_text(item),
        tool=item.tool_name,
        tool_call_id=item.tool_call_id,
        tool_calls=calls,
        is_error=item.is_error,
        partial=item.partial,
        timestamp=item.timestamp,
    )
