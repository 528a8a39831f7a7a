"""One session, two vendors: a question to OpenAI's API, the next one to Anthropic's.

    pip install context-builder openai anthropic
    python examples/anthropic_switch.py gpt-4o-mini claude-sonnet-5

The keys are in `OPENAI_API_KEY` and `ANTHROPIC_API_KEY`.
`OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` lead to other addresses of the same shape.
"""

from __future__ import annotations

import sys

from anthropic import Anthropic
from openai import OpenAI

from context_builder import ContextBuilder

FIRST = "Name one river in Europe, and nothing else."
SECOND = "Which countries does it flow through?"


def main() -> None:
    """Ask both, and say what each was sent."""
    if len(sys.argv) != 3:  # noqa: PLR2004  the program and two models
        sys.exit("usage: python examples/anthropic_switch.py OPENAI_MODEL CLAUDE_MODEL")
    openai_model, claude_model = sys.argv[1:]
    ctx = ContextBuilder(
        max_tokens=8_000,
        max_output_tokens=500,
        system_prompt="You are a geographer. Answer in one sentence.",
    )

    ctx.add_user_message(FIRST)
    request = ctx.request("openai", model=openai_model)
    ctx.add_response(OpenAI().chat.completions.create(**request))

    ctx.add_user_message(SECOND)
    request = ctx.request("anthropic", model=claude_model)
    report = ctx.explain("anthropic", model=claude_model)
    ctx.add_response(Anthropic().messages.create(**request))

    for item in ctx.items:
        print(f"{item.role}: {item.text}")  # noqa: T201  it is what was said
    print(report)  # noqa: T201  what became of every item, for the second vendor


if __name__ == "__main__":
    main()
