"""What every endpoint works with: the user's sessions, the agent, the views."""

from __future__ import annotations

import asyncio
import secrets
import time
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from context_builder.agent import Agent, OfflineModel
from context_builder.builder import ContextBuilder
from context_builder.sessions import SessionKey
from context_builder.web.metrics import Metrics
from context_builder.web.views import View, Views

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from context_builder.accounts import Accounts
    from context_builder.sessions import SessionManager
    from context_builder.web.settings import WebSettings

__all__ = ["Asked", "Service", "User"]

T = TypeVar("T")

_BEARER = HTTPBearer(
    auto_error=False, description="The token that `serve --add-user` printed."
)


class Service:
    """The parts of one application. Nothing here belongs to one user."""

    def __init__(
        self,
        *,
        sessions: SessionManager,
        accounts: Accounts,
        agent: Agent,
        settings: WebSettings,
        builder: Mapping[str, Any],
    ) -> None:
        self.sessions = sessions
        self.accounts = accounts
        self.agent = agent
        self.settings = settings
        self.builder = dict(builder)
        self.budget_tokens = ContextBuilder(**self.builder).budget_tokens
        self.metrics = Metrics()
        self.views = Views(sessions.store, target=settings.target, settings=builder)

    async def warm_up(self) -> None:
        """Load what the first turn would otherwise wait for, by a turn of nobody's."""
        ctx = ContextBuilder(**self.builder)
        agent = Agent(OfflineModel(), tools=self.agent.tools, prepare_summaries=False)
        async for _ in agent.astream(ctx, "-"):
            pass
        ctx.explain(self.settings.target)

    def sessions_of(self, user: str) -> SessionManager:
        """Return the manager of one user's conversations, and of nobody else's."""
        return self.sessions.for_namespace(_namespace(user))

    async def view(self, user: str, session_id: str) -> View:
        """Return a conversation of a user, to be looked at.

        Raises:
            NoSuchSessionError: If that user has none of this id.
        """
        return await self.views.of(SessionKey(_namespace(user), session_id))


def _namespace(user: str) -> str:
    return f"web:{user}"


def new_session_id() -> str:
    """Return an id that nobody can guess; later ones are sorted behind earlier ones."""
    return f"{int(time.time() * 1000):011x}-{secrets.token_hex(16)}"


async def apart(work: Callable[[], T]) -> T:
    """Do what takes long in a thread, so that answers of others go on."""
    return await asyncio.to_thread(work)


async def service_of(request: Request) -> Service:  # not awaiting: no thread for it
    """Return the service that a request came to."""
    service: Service = request.app.state.service
    return service


async def user_of(
    service: Annotated[Service, Depends(service_of)],
    given: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)],
) -> str:
    """Return who asks.

    Raises:
        HTTPException: If they do not say so, or their token is nobody's.
    """
    user = service.accounts.user_of(given.credentials) if given else None
    if user is None:
        raise HTTPException(
            401,
            "say who you are: Authorization: Bearer TOKEN",
            {"WWW-Authenticate": "Bearer"},
        )
    return user


Asked = Annotated[Service, Depends(service_of)]
"""The service, in an endpoint."""
User = Annotated[str, Depends(user_of)]
"""Who asks, in an endpoint; nobody gets further without a token."""
