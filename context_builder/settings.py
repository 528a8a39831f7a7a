"""Every default once, named, with its unit.

`Settings` says how the decision is made; `RequestOptions` says what the vendor is asked
besides the messages. Both are immutable: a change of settings is another object, and a
new decision from the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

__all__ = [
    "MOST_TOKENS",
    "ContextClass",
    "ItemLimits",
    "RequestOptions",
    "Settings",
    "Shares",
]

MOST_TOKENS = 10**12
"""No number of tokens is larger: more is a mistake."""

ContextClass = Literal["system", "latest_turn", "tool_results", "history", "background"]
"""What the budget is shared between. `history` includes summaries."""


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


class Shares(_Settings):
    """Shares of the input budget, 0 to 1. Soft: what one leaves the others may use."""

    system: float = Field(default=0.15, ge=0, le=1)
    """System prompt, tool definitions and vendor overhead."""
    latest_turn: float = Field(default=0.25, ge=0, le=1)
    """The latest user message and everything after it."""
    tool_results: float = Field(default=0.30, ge=0, le=1)
    """Tool calls of earlier turns with their results."""
    history: float = Field(default=0.25, ge=0, le=1)
    """Earlier messages and summaries."""
    background: float = Field(default=0.05, ge=0, le=1)
    """Memories and recalled passages."""

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        total = sum(self.by_class().values())
        if abs(total - 1) > 0.001:  # noqa: PLR2004  rounding
            msg = f"the shares add up to {total:.3f}, not to 1"
            raise ValueError(msg)
        return self

    def by_class(self) -> dict[ContextClass, float]:
        """Return the shares by the name of their class."""
        return {
            "system": self.system,
            "latest_turn": self.latest_turn,
            "tool_results": self.tool_results,
            "history": self.history,
            "background": self.background,
        }


class ItemLimits(_Settings):
    """How much may come in. More is refused at the door, whole, and nothing is cut.

    The defaults are far above what a request can hold: they stop what would exhaust the
    memory or the time of the program, not what is merely long.
    """

    max_text_chars: int = Field(default=10_000_000, gt=0)
    """Characters of one item: its text, its calls, its reasoning and its data; also of
    all tool definitions together."""
    max_media_chars: int = Field(default=100_000_000, gt=0)
    """Characters of base64 in the pictures, files and sounds of one item."""
    max_parts: int = Field(default=10_000, gt=0)
    """Parts, calls and pieces of reasoning of one item, together."""
    max_name_chars: int = Field(default=65_536, gt=0)
    """Characters of an id, of a name, of a source or of a cache key."""
    max_data_values: int = Field(default=1_000_000, gt=0)
    """Values, keys included, in one piece of data: metadata, vendor marks, a tool."""
    max_nesting: int = Field(default=200, gt=0, le=200)
    """Levels of objects and lists within each other in such data."""
    max_items: int = Field(default=1_000_000, gt=0)
    """Items that a session takes in, those that left or were taken out included."""
    max_tools: int = Field(default=10_000, gt=0)
    """Tool definitions."""
    max_stream_pieces: int = Field(default=1_000_000, gt=0)
    """Pieces of one streamed answer; what came until then is kept."""


class Settings(_Settings):
    """How a session decides what the model sees."""

    budget_share: float = Field(default=0.70, gt=0, le=1)
    """The high-water mark: the input budget as a share of the context window."""
    low_water: float = Field(default=0.65, gt=0, le=1)
    """What a compaction goes down to, as a share of the input budget."""
    room_share: float = Field(default=0.50, gt=0, le=1)
    """Where the untouchable part is large, a compaction still leaves this share of what
    it can move at all; without it every message would compact again."""
    reserve_share: float = Field(default=0.30, ge=0, lt=1)
    """Most that is kept free for an output nobody limited, as a share of the window."""
    min_gain_share: float = Field(default=0.05, ge=0, lt=1)
    """A rung that frees less than this share of the budget is skipped while a later
    rung can reach the low mark."""
    shares: Shares = Shares()
    """How the budget is split between the classes."""
    decay_per_turn: int = Field(default=5, ge=0, le=100)
    """Priority points that history loses with every later turn."""
    history_floor: int = Field(default=30, ge=0, le=100)
    """History does not decay below this priority."""
    truncate_at: int = Field(default=80, ge=0, le=100)
    """From this priority up an item is shortened where it can be; below it is
    dropped."""
    keep_recent_rounds: int = Field(default=3, ge=1)
    """Most rounds of tool calls of the current turn whose results stay longest: those
    before the newest one only while all of them fit in half of the room."""
    min_shortened_tokens: int = Field(default=80, ge=16)
    """Results are not cut below this size while older rounds can be cleared instead."""
    recall_share: float = Field(default=0.60, ge=0, le=1)
    """Most of the budget that passages recalled for a user message take; 0: no
    recall."""
    digest_share: float = Field(default=0.45, ge=0, le=1)
    """Most of the budget that the digest of left-out messages takes; 0: only their
    number is told."""
    reference_facts_tokens: int = Field(default=120, ge=0)
    """Most tokens of names, ids, dates and amounts that a reference keeps."""
    compact_after_turns: int | None = Field(default=None, ge=1)
    """Compact at the user message that comes so many turns after the last compaction,
    whatever the budget is; None: the budget alone decides."""
    keep_first_messages: int = Field(default=0, ge=0)
    """The first so many messages stay longest; what left stands behind them, as a
    marker `[snipped n messages]`. 0: they are history as all else."""
    keep_last_turns: int | None = Field(default=None, ge=1)
    """Sliding window: only so many turns, a turn beginning at a user message; None: the
    budget alone decides."""
    keep_last_messages: int | None = Field(default=None, ge=1)
    """Sliding window: only so many messages; a call cut off from its results stays."""
    tool_result_max_chars: int | None = Field(default=None, ge=0)
    """Cut every tool result on entry to this many characters, head and tail; None: by
    the tokens that are left, by structure."""
    keep_tool_results: int | None = Field(default=None, ge=0)
    """Only so many of the newest tool results are shown whole, older ones as references
    at once; None: as the budget demands."""
    round_results_max_tokens: int | None = Field(default=None, ge=1)
    """The results of one round of calls may take so much: the largest are replaced by
    a preview and a handle until they do; None: no such limit."""
    preview_chars: int = Field(default=2_000, ge=0)
    """How much of a result such a preview shows."""
    item_limits: ItemLimits = ItemLimits()
    """How large and how many the things may be that come in."""

    @property
    def has_window(self) -> bool:
        """Whether a sliding window is asked for."""
        return self.keep_last_turns is not None or self.keep_last_messages is not None

    @property
    def has_standing_rules(self) -> bool:
        """Whether something goes whatever the budget is."""
        return self.has_window or self.keep_tool_results is not None


class RequestOptions(_Settings):
    """What a request asks of the vendor besides the messages. Counted in the budget."""

    max_output_tokens: int | None = Field(
        default=None, gt=0, le=MOST_TOKENS, strict=True
    )
    """The reply's limit; None: the model's own, of which at most 30 % of the window is
    kept free."""
    response_format: Mapping[str, Any] | None = None
    """The shape of the answer, as OpenAI's `response_format`."""
    tool_choice: str | Mapping[str, Any] | None = None
    """`auto`, `none`, `required`, or OpenAI's object that names a function."""
    parallel_tool_calls: bool | None = None
    thinking_budget_tokens: int | None = Field(
        default=None, gt=0, le=MOST_TOKENS, strict=True
    )
    """Tokens that the model may think, where the vendor takes a number."""
    reasoning_effort: str | None = None
    """Such as `low`, `medium`, `high`, where the vendor takes a word."""
    temperature: float | None = None
    prompt_cache_key: str | None = None
    """Routes requests with one prefix to one cache, where the vendor takes such a
    key."""
    extra: Mapping[str, Any] | None = None
    """Further arguments for the vendor's call, passed on as they are."""
