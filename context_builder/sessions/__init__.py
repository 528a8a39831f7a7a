"""Sessions: many users, many processes, nothing lost, nothing mixed.

A manager gives each conversation a builder of its own, one writer at a time, and keeps
what came in: in memory, in a SQLite file, in Redis or in PostgreSQL.
"""

from context_builder.sessions.codec import Damage
from context_builder.sessions.encryption import generate_key
from context_builder.sessions.files import FileSession, load_session, save_session
from context_builder.sessions.manager import SessionManager
from context_builder.sessions.memory import MemoryStore
from context_builder.sessions.session import Session
from context_builder.sessions.store import (
    Lease,
    SessionInfo,
    SessionKey,
    Store,
    StoredRecords,
)

__all__ = [
    "Damage",
    "FileSession",
    "Lease",
    "MemoryStore",
    "Session",
    "SessionInfo",
    "SessionKey",
    "SessionManager",
    "Store",
    "StoredRecords",
    "generate_key",
    "load_session",
    "save_session",
]
