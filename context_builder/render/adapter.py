"""What every vendor's adapter is: the protocol, and what vendors differ in, as data.

An adapter says a finished decision in one vendor's words. It gets items that are whole
and paired (each call is followed by its results, in the order of the calls) and decides
nothing but form: it never chooses what stays. It imports no SDK and calls nobody.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

from context_builder.items import ContextItem, Mark
from context_builder.settings import RequestOptions

if TYPE_CHECKING:
    from context_builder.tokens import TokenCounter

__all__ = [
    "Capabilities",
    "Count",
    "Problem",
    "Prompt",
    "ProviderAdapter",
    "Rendering",
]

Count = Callable[[str], int]
"""Tokens of a text, by the counter of the model that the request is for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Capabilities:
    """What a vendor takes, as data. The defaults are OpenAI Chat Completions."""

    providers: tuple[str, ...] = ()
    """Whose models this target serves, by their name in the table of models; empty:
    anybody's, as behind an OpenAI-compatible address. A model that a request does not
    name itself must be one of theirs, or not be in the table."""
    system: Literal["message", "field", "fold_into_user"] = "message"
    """Where the system prompt lives; `fold_into_user`: before the first user text."""
    notes: Literal["message", "user"] = "message"
    """How a system message in mid-conversation is said; `user`: as marked user text."""
    merges_neighbours: bool = False
    """Whether messages of one role that follow each other must become one."""
    user_first: bool = False
    """Whether the first message must be the user's."""
    assistant_last: bool = True
    """Whether the assistant may have the last word."""
    tool_role: Literal["tool", "user_block", "user_text"] = "tool"
    """How a result is said: its own role, a block in a user message, or plain text."""
    arguments: Literal["string", "object"] = "string"
    """How the arguments of a call are said."""
    id_pattern: str = r"^[^\x00-\x1f]+$"
    """What a call's id must match."""
    id_chars: int = 40
    """The longest id, in characters."""
    id_exact_chars: int | None = None
    """The only length an id may have, where there is one."""
    ids_are_unique: bool = False
    """Whether no id may stand for two calls of one conversation."""
    name_chars: int = 64
    """The longest tool name, in characters; always letters, digits, `_` and `-`."""
    images: bool = True
    """Whether a user message may hold pictures."""
    images_in_results: bool = False
    """Whether a tool's result may hold pictures."""
    files: bool = True
    audio: bool = True
    error_flag: bool = False
    """Whether a result can be flagged as an error; otherwise its text says so."""
    blank_text: bool = False
    """Whether blank text is accepted anywhere. It is never sent; validators ask."""
    reasoning: str | None = None
    """The provider whose reasoning goes back; None: there is no place for it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Prompt:
    """What is to be said, in no vendor's words."""

    items: tuple[ContextItem, ...]
    """Oldest first, paired, without the system prompt."""
    system: ContextItem | None = None
    tools: tuple[Mapping[str, Any], ...] = ()
    """As OpenAI function tools."""
    model: str | None = None
    options: RequestOptions = dataclasses.field(default_factory=RequestOptions)
    stable_items: int = 0
    """How many of the items, from the first on, stay as they are until the next
    compaction: where a vendor is told that a prompt-cache prefix ends."""
    moved_items: int = 0
    """How many of the items, from the first on, were there when something before or
    among them last changed: reasoning that is bound to its prefix is void there."""


@dataclasses.dataclass(frozen=True, slots=True)
class Rendering:
    """A prompt in a vendor's words."""

    messages: list[dict[str, Any]]
    """The conversation: what `build()` gives."""
    request: dict[str, Any]
    """Keyword arguments of the SDK call, without the model where none is set."""
    repairs: tuple[Mark, ...] = ()
    """What had to be put in, moved or left out because of the vendor."""
    spans: tuple[tuple[str, int], ...] = ()
    """Which message (index in `messages`) holds which item (its id)."""


@dataclasses.dataclass(frozen=True, slots=True)
class Problem:
    """A rule of a vendor that a request breaks."""

    where: str
    """The path, such as `messages[3].tool_calls[0].id`."""
    rule: str
    """What the vendor demands."""
    fix: str
    """What to do about it."""

    def __str__(self) -> str:
        return f"{self.where}: {self.rule}. {self.fix}"


class ProviderAdapter(Protocol):
    """Turns a prompt into one vendor's arguments; shared between sessions."""

    @property
    def name(self) -> str:
        """The name by which a target is asked for, such as `"openai"`."""

    @property
    def capabilities(self) -> Capabilities:
        """What this vendor takes."""

    def render(self, prompt: Prompt) -> Rendering:
        """Say the prompt. The result is fresh: it belongs to the caller.

        A part of the conversation is said in the same words whatever follows it, so
        that the next request begins with this one.

        Raises:
            AdapterError: If the vendor cannot express it.
        """

    def counter(self, model: str | None) -> TokenCounter:
        """Return the counter for a model of this vendor; never asks the network."""

    def item_tokens(
        self, item: ContextItem, count: Count, *, model: str | None, calls: int = 1
    ) -> int:
        """Return what one item adds to a request, framing and bridges included.

        `calls` is how many calls were made at once where the item is a call or its
        result. The sum over all items and `fixed_tokens` is never less than
        `request_tokens` of the finished request.
        """

    def fixed_tokens(self, prompt: Prompt, count: Count) -> Mapping[str, int]:
        """Return what there is besides the items: `system`, `tools`, `overhead`."""

    def request_tokens(self, request: Mapping[str, Any], count: Count) -> int:
        """Count a finished request from nothing but its body."""

    def validate(self, request: Mapping[str, Any]) -> Sequence[Problem]:
        """Return the rules that a request breaks; empty: it is accepted."""
