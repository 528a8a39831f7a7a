"""Makes the application of one worker from what `context-builder serve` has set."""

from __future__ import annotations

import functools
import gc
from typing import TYPE_CHECKING, Any

from context_builder.accounts import Account, Accounts, AccountsFile
from context_builder.agent import Agent, OfflineModel
from context_builder.agent.drivers import driver_for
from context_builder.agent.named_tools import tools_named
from context_builder.sessions import SessionManager
from context_builder.summarizers import OpenAISummarizer
from context_builder.web.app import create_app
from context_builder.web.settings import WebSettings
from context_builder.web.tools import BUILT_IN

if TYPE_CHECKING:
    from fastapi import FastAPI

__all__ = ["Everybody", "app_from_environment", "app_of"]


class Everybody(Accounts):
    """Users of a file, and tokens that were made for this run alone."""

    def __init__(self, kept: Accounts, more: Accounts) -> None:
        super().__init__()
        self._kept = kept
        self._more = more

    def __len__(self) -> int:
        return len(self._kept) + len(self._more)

    def user_of(self, token: str) -> str | None:
        """Return whose token it is; None: nobody's."""
        kept, more = self._kept.user_of(token), self._more.user_of(token)
        return kept if kept is not None else more


def app_from_environment() -> FastAPI:
    """Return the application that the environment describes: a worker starts here.

    Raises:
        ContextBuilderError: If something in it cannot be used.
    """
    return app_of(WebSettings.from_environment())


def app_of(settings: WebSettings) -> FastAPI:
    """Return the application of some settings.

    Raises:
        ContextBuilderError: If one of them cannot be used.
    """
    builder = builder_settings(settings)
    sessions = SessionManager(
        store=settings.store,
        max_awake=settings.max_awake,
        wait_seconds=settings.wait_seconds,
        summarizer=_summarizer(settings.summary_model),
        **builder,
    )
    client: Any = OfflineModel(delay_seconds=settings.offline_delay_seconds)
    if not settings.is_offline:
        client = driver_for(settings.target).make_client(is_async=True)
    agent = Agent(
        client,
        target=settings.target,
        tools=BUILT_IN if settings.tools is None else tools_named(settings.tools),
        max_rounds=settings.max_rounds,
    )
    more = Accounts(Account(*account) for account in settings.accounts)
    kept = AccountsFile(settings.users) if settings.users else Accounts()
    return create_app(
        sessions=sessions,
        accounts=Everybody(kept, more),
        agent=agent,
        settings=settings,
        builder=builder,
        on_ready=functools.partial(_settle, settings.gc_full_every),
    )


def _settle(full_every: int) -> None:
    """Have the garbage collector look at what is new, and seldom at all there is.

    What was loaded stays anyway. Looking at that and at every conversation that is
    ready would hold up all turns for 20 to 100 ms, once in a few hundred turns; and it
    finds nothing: a turn leaves no cycles that live as long.
    """
    gc.collect()
    gc.freeze()
    young, middle, _ = gc.get_threshold()
    gc.set_threshold(young, middle, full_every)


def _summarizer(model: str | None) -> OpenAISummarizer | None:
    return None if model is None else OpenAISummarizer(model=model)


def builder_settings(settings: WebSettings) -> dict[str, Any]:
    """Return what each session's builder is made with, to look into it as well.

    No summariser: who only looks asks nobody.
    """
    return {
        "model": settings.model or OfflineModel.name,
        "max_tokens": settings.max_tokens,
        "context_window": settings.context_window,
    }
