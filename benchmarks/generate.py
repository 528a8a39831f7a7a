"""Makes conversations of any length, the same ones for the same seed.

A turn is a question, a tool call, its result as JSON and an answer, English and Chinese
in turn: user 60 tokens, result 600, answer 150, behind a system prompt of 300.
"""

from __future__ import annotations

import json
import random
from typing import Any

__all__ = ["conversation", "system_prompt", "turn"]

_EN = [
    "budget",
    "report",
    "invoice",
    "total",
    "customer",
    "order",
    "shipment",
    "delayed",
    "because",
    "warehouse",
    "reported",
    "missing",
    "items",
    "please",
    "check",
    "status",
    "again",
    "before",
    "friday",
    "and",
    "answer",
    "with",
    "numbers",
    "dates",
    "names",
    "only",
    "when",
    "they",
    "matter",
    "to",
    "the",
    "question",
    "at",
    "hand",
    "today",
]
_ZH = (
    "请检查订单状态并在周五之前回复客户"
    "关于仓库缺货和发票总额的问题我们需要准确的数字日期和姓名"
)


def _words(chance: random.Random, tokens: int, *, chinese: bool) -> str:
    if chinese:
        count = int(tokens * 1.3)
        return "".join(chance.choice(_ZH) for _ in range(count))
    return " ".join(chance.choice(_EN) for _ in range(tokens))


def system_prompt(seed: int = 1) -> dict[str, Any]:
    """Return a system message of about 300 tokens."""
    return {
        "role": "system",
        "content": _words(random.Random(seed), 300, chinese=False),
    }


def turn(number: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return the four messages of one turn, about 830 tokens."""
    chance = random.Random(f"{seed}/{number}")
    chinese = number % 2 == 1
    rows = [
        {
            "id": f"ord_{number}_{row}",
            "total": chance.randrange(10_000),
            "note": _words(chance, 22, chinese=chinese),
        }
        for row in range(14)
    ]
    call = {
        "id": f"call_{number}",
        "type": "function",
        "function": {"name": "orders", "arguments": json.dumps({"page": number})},
    }
    return [
        {"role": "user", "content": _words(chance, 60, chinese=chinese)},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {
            "role": "tool",
            "tool_call_id": call["id"],
            "content": json.dumps({"rows": rows}, ensure_ascii=False),
        },
        {"role": "assistant", "content": _words(chance, 150, chinese=chinese)},
    ]


def conversation(messages: int, seed: int = 1) -> list[dict[str, Any]]:
    """Return a conversation of so many messages, the system prompt included."""
    made = [system_prompt(seed)]
    number = 0
    while len(made) < messages:
        made += turn(number, seed)
        number += 1
    return made[:messages]
