"""prompt-poet: a template of messages, truncated in steps from the oldest.

The system prompt has no truncation priority, so it stays. A part is text only, so calls
go in as JSON; what they stand for is shown for them. The step of a tenth of the budget
is the cache-aware way that its authors describe.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import tiktoken
from prompt_poet import Prompt

from benchmarks.peers.session import REPLY_TOKENS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.peers.session import Message

__all__ = ["open_session"]

_ENCODE = tiktoken.get_encoding("o200k_base").encode_ordinary
_TEMPLATE = """
{%- for message in messages %}
- name: m{{ loop.index0 }}
  role: {{ message.role }}
  truncation_priority: {{ 0 if message.role == "system" else 1 }}
  content: '{{ escape_special_characters(message.text) }}'
{%- endfor %}
"""


class _Templated:
    def __init__(self, budget_tokens: int) -> None:
        self._limit_tokens = budget_tokens - REPLY_TOKENS
        self._step_tokens = budget_tokens // 10
        self._messages: list[Message] = []
        self._texts: list[dict[str, str]] = []

    def extend(self, messages: Iterable[Message]) -> None:
        for message in messages:
            text = message["content"] or json.dumps(message["tool_calls"])
            self._messages.append(message)
            self._texts.append({"role": message["role"], "text": text})

    def build(self) -> list[Any]:
        prompt = Prompt(
            raw_template=_TEMPLATE,
            template_data={"messages": self._texts},
            encode_func=_ENCODE,
            token_limit=self._limit_tokens,
            truncation_step=self._step_tokens,
        )
        prompt.tokenize()
        prompt.truncate()
        return prompt.parts

    def shown(self, built: list[Any]) -> list[Message]:
        return [self._messages[int(part.name[1:])] for part in built]


def open_session(variant: str, budget_tokens: int) -> _Templated:  # noqa: ARG001 - one kind
    """Open a conversation that is rendered before each request."""
    return _Templated(budget_tokens)
