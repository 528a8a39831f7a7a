"""Which peers there are, what each is made of, and how it is called.

Versions are pinned, so that a run can be repeated; what they need in turn is not. A
peer whose environment is not there is left out of the run, and the run says so.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

__all__ = ["ENVIRONMENTS", "PEERS", "REFERENCE", "Peer", "python_of"]

FOLDER = Path(__file__).resolve().parents[2] / ".venv-peers"


@dataclass(frozen=True, slots=True)
class Peer:
    """One way to keep a conversation within a budget."""

    name: str
    """How it is called in the tables."""
    module: str
    """Whose `open_session` opens one."""
    variant: str = ""
    """What `open_session` is told."""
    environment: str = ""
    """The folder of its environment; empty: this one."""
    packages: tuple[str, ...] = ()
    """Whose versions are told."""
    note: str = ""
    """How it is set up, in a few words."""
    has_view: bool = False
    """Whether it also has a shared form that is only read."""


OURS = "context_builder"
NO_RECALL = "context_builder, no recall"
EAGER, LAZY = "eager floor", "lazy floor"
REFERENCE = "langchain-core, memo"
"""R: the fastest peer that is correct."""

ENVIRONMENTS: dict[str, tuple[str, ...]] = {
    "langchain": ("langchain-core==1.8.3", "tiktoken==0.14.0"),
    "litellm": ("litellm==1.110.2", "tiktoken==0.14.0"),
    "llamaindex": ("llama-index-core==0.14.25", "tiktoken==0.14.0"),
    "autogen": ("autogen-core==0.7.5", "autogen-ext[openai]==0.7.5"),
    "agentframework": ("agent-framework-core==1.23.0", "tiktoken==0.14.0"),
    "promptpoet": ("prompt-poet==0.0.52",),
    "haystack": ("haystack-ai==3.4.1", "tiktoken==0.14.0"),
    "harness": ("pydantic-ai-harness==0.62.0", "tiktoken==0.14.0"),
}
"""What each environment is made of."""

_PACKAGE = "benchmarks.peers."
_LANGCHAIN = ("langchain-core", "tiktoken")

PEERS = (
    Peer(
        OURS,
        _PACKAGE + "ours",
        packages=("tiktoken",),
        note="default settings",
        has_view=True,
    ),
    Peer(
        NO_RECALL,
        _PACKAGE + "ours",
        "no recall",
        packages=("tiktoken",),
        note="`recall_share=0`: no passages are looked up for a user message",
    ),
    Peer(
        EAGER,
        _PACKAGE + "floor",
        "eager",
        packages=("tiktoken",),
        note="counts each new text once, cuts a window",
    ),
    Peer(
        LAZY,
        _PACKAGE + "floor",
        "lazy",
        packages=("tiktoken",),
        note="newest first, stops when the budget is full",
    ),
    Peer(
        REFERENCE,
        _PACKAGE + "langchain_trim",
        "memo",
        "langchain",
        _LANGCHAIN,
        "`trim_messages`, its caller remembers each message's count",
    ),
    Peer(
        "langchain-core, tiktoken",
        _PACKAGE + "langchain_trim",
        "tiktoken",
        "langchain",
        _LANGCHAIN,
        "`trim_messages`, counted whenever it asks",
    ),
    Peer(
        "langchain-core, approximate",
        _PACKAGE + "langchain_trim",
        "approximate",
        "langchain",
        _LANGCHAIN,
        "`trim_messages`, its own rule of four characters a token",
    ),
    Peer(
        "litellm",
        _PACKAGE + "litellm_trim",
        "",
        "litellm",
        ("litellm", "tiktoken"),
        "`trim_messages`",
    ),
    Peer(
        "llama-index",
        _PACKAGE + "llama_index_memory",
        "",
        "llamaindex",
        ("llama-index-core", "tiktoken"),
        "`Memory` on its in-memory SQLite",
    ),
    Peer(
        "autogen",
        _PACKAGE + "autogen_context",
        "",
        "autogen",
        ("autogen-core", "autogen-ext", "tiktoken"),
        "`TokenLimitedChatCompletionContext`",
    ),
    Peer(
        "agent-framework",
        _PACKAGE + "agent_framework_truncation",
        "",
        "agentframework",
        ("agent-framework-core", "tiktoken"),
        "`TruncationStrategy`",
    ),
    Peer(
        "prompt-poet",
        _PACKAGE + "prompt_poet_truncation",
        "",
        "promptpoet",
        ("prompt-poet", "tiktoken"),
        "a template whose messages have truncation priorities",
    ),
    Peer(
        "haystack",
        _PACKAGE + "haystack_window",
        "",
        "haystack",
        ("haystack-ai", "tiktoken"),
        "`CompactionHook` with `SlidingWindowCompactor`",
    ),
    Peer(
        "pydantic-ai-harness",
        _PACKAGE + "pydantic_harness_window",
        "",
        "harness",
        ("pydantic-ai-harness", "pydantic-ai-slim", "tiktoken"),
        "`SlidingWindowCompaction`",
    ),
)
"""In the order of the tables: the library, the floors, R, and the others."""


def python_of(peer: Peer, folder: Path = FOLDER) -> Path | None:
    """Return the Python that runs a peer; None: its environment is not there."""
    if not peer.environment:
        return Path(sys.executable)
    home = folder / peer.environment
    for name in ("bin/python", "Scripts/python.exe"):
        if (home / name).exists() and (home / ".installed").exists():
            return home / name
    return None
