"""Puts the service together: pages, endpoints, errors, and what guards them."""

from __future__ import annotations

import importlib.metadata
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, PlainTextResponse

from context_builder.errors import (
    ContextBuilderError,
    SessionConflictError,
    SessionCorruptedError,
    StoreError,
)
from context_builder.inspector import static_file
from context_builder.render import adapter_names
from context_builder.unicode import repair_text
from context_builder.web import conversations, window
from context_builder.web.bodies import Me
from context_builder.web.guard import Guard
from context_builder.web.pages import pages
from context_builder.web.service import Asked, Service, User
from context_builder.web.settings import WebSettings
from context_builder.web.views import NoSuchSessionError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from context_builder.accounts import Accounts
    from context_builder.agent import Agent
    from context_builder.sessions import SessionManager

__all__ = ["create_app"]

_TITLE = "context_builder"


def create_app(
    *,
    sessions: SessionManager,
    accounts: Accounts,
    agent: Agent,
    settings: WebSettings | None = None,
    builder: Mapping[str, Any] | None = None,
    on_ready: Callable[[], None] | None = None,
) -> FastAPI:
    """Return the chatbot as an ASGI application. It closes the sessions at its end.

    Args:
        sessions: Where conversations are kept. Each user has a namespace of their own.
        accounts: Who may use it.
        agent: Answers. It has to be usable by several turns at once.
        settings: What is served and how much it takes at a time.
        builder: The settings of a session's builder that `sessions` was given, such as
            `model` or `max_tokens`: the window looks at sessions as they are.
        on_ready: Called once all is loaded, before the first request.
    """

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        await app.state.service.warm_up()
        if on_ready is not None:
            on_ready()
        yield
        await sessions.aclose()

    app = FastAPI(
        title=_TITLE,
        version=importlib.metadata.version("context-builder"),
        summary="A chatbot, and the window into what its model sees.",
        docs_url=None,  # they would load scripts from elsewhere
        redoc_url=None,
        lifespan=life,
    )
    settings = settings or WebSettings()
    app.state.service = Service(
        sessions=sessions,
        accounts=accounts,
        agent=agent,
        settings=settings,
        builder=builder or {},
    )
    app.include_router(conversations.router)
    app.include_router(window.router)
    _add_facts(app)
    app.include_router(pages(static_file))
    _add_errors(app)
    app.add_middleware(Guard, max_body_bytes=settings.max_body_bytes)
    return app


def _add_facts(app: FastAPI) -> None:
    @app.get("/api/me", tags=["service"])
    async def read_me(service: Asked, user: User) -> Me:
        """Say who you are, and what is served."""
        return _me(service, user)

    @app.head("/healthz", include_in_schema=False)
    @app.get("/healthz", tags=["service"])
    async def read_health() -> dict[str, str]:
        """Say that the process answers."""
        return {"status": "ok"}

    @app.head("/readyz", include_in_schema=False)
    @app.get("/readyz", tags=["service"])
    async def read_readiness(service: Asked) -> dict[str, str]:
        """Say that the store answers as well; 503 where it does not."""
        await service.sessions.alist(limit=1)
        return {"status": "ok"}

    @app.get("/metrics", tags=["service"], response_class=PlainTextResponse)
    async def read_metrics(service: Asked) -> Response:
        """Return what was counted, in Prometheus' text format."""
        return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")


def _me(service: Service, user: str) -> Me:
    settings = service.settings
    return Me(
        user=user,
        is_offline=settings.is_offline,
        target=settings.target,
        model=settings.model,
        budget_tokens=service.budget_tokens,
        targets=list(adapter_names()),
        tools=[tool.name for tool in service.agent.tools],
        version=importlib.metadata.version("context-builder"),
    )


_STATUS: tuple[tuple[type[Exception], int], ...] = (
    (SessionConflictError, 409),
    (SessionCorruptedError, 500),
    (StoreError, 503),
    (ContextBuilderError, 422),
)


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(NoSuchSessionError)
    async def tell_missing(_: Request, __: Exception) -> JSONResponse:
        return JSONResponse({"detail": "there is no such conversation"}, 404)

    @app.exception_handler(ContextBuilderError)
    async def tell(_: Request, error: Exception) -> JSONResponse:
        status = next(code for kind, code in _STATUS if isinstance(error, kind))
        return JSONResponse({"detail": _detail(error)}, status)

    @app.exception_handler(RequestValidationError)
    async def tell_invalid(_: Request, error: Exception) -> JSONResponse:
        # What was sent is not sent back: it may be what a user said.
        found = error.errors() if isinstance(error, RequestValidationError) else ()
        told = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in found]
        return JSONResponse({"detail": repair_text("; ".join(told))}, 422)


def _detail(error: Exception) -> str:
    if isinstance(error, SessionConflictError):
        return (
            "another turn of this conversation is running: wait for its end, or stop "
            "it, and try again"
        )
    return str(error)
