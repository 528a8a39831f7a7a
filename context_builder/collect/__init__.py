"""What came in: context items, the session log, units, vendor formats read."""

from context_builder.collect.content import is_blank, read_content, read_result
from context_builder.collect.entry_dicts import (
    LOG_VERSION,
    entry_from_dict,
    entry_to_dict,
    log_from_dicts,
    log_to_dicts,
)
from context_builder.collect.imports import (
    Imported,
    Reply,
    Usage,
    import_formats,
    read_messages,
    read_request,
    read_response,
    read_tools,
    read_usage,
)
from context_builder.collect.intake import Intake
from context_builder.collect.log import SessionLog
from context_builder.collect.recorder import SystemPrompt
from context_builder.collect.units import Grouper

__all__ = [
    "LOG_VERSION",
    "Grouper",
    "Imported",
    "Intake",
    "Reply",
    "SessionLog",
    "SystemPrompt",
    "Usage",
    "entry_from_dict",
    "entry_to_dict",
    "import_formats",
    "is_blank",
    "log_from_dicts",
    "log_to_dicts",
    "read_content",
    "read_messages",
    "read_request",
    "read_response",
    "read_result",
    "read_tools",
    "read_usage",
]
