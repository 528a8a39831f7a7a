"""The library's logger: silent until the application configures logging.

Events hold counts, names, ids and sizes, never content.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structlog.stdlib import BoundLogger

__all__ = ["log_event"]

_LOGGER = logging.getLogger("context_builder")
_LOGGER.addHandler(logging.NullHandler())


def log_event(event: str, *, level: int = logging.DEBUG, **facts: Any) -> None:
    """Log one event with its facts, if anybody listens. Never pass content."""
    if not _LOGGER.isEnabledFor(level):
        return
    _bound().log(level, event, **facts)


def _bound() -> BoundLogger:
    """Wrap the logger with structlog; imported only when something is logged."""
    import structlog  # noqa: PLC0415  nobody pays for it who logs nothing

    bound: BoundLogger = structlog.wrap_logger(
        _LOGGER,
        wrapper_class=structlog.stdlib.BoundLogger,
        processors=[structlog.stdlib.render_to_log_kwargs],
    )
    return bound
