"""Ten conversations that every adapter is shown: one table, for snapshots.

Each is a list of steps through the public face. Together they hold what vendors differ
in: where the system prompt lives, how calls and results are paired, what may not be
blank, who speaks first and last, where a picture may stand, whose reasoning goes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from context_builder import ContextBuilder, ReasoningPart
from context_builder.testing import tool_call
from tests.operations import Op

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["CONVERSATIONS", "conversation"]

Json = Any
"""What a caller may hand in."""

PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
    "YPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
)
WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "Tells the weather of a place.",
        "parameters": {
            "type": "object",
            "properties": {"place": {"type": "string", "description": "A town."}},
            "required": ["place"],
        },
    },
}


def system(text: str) -> Op:
    """Set the system prompt."""
    return Op("add_system_prompt", {"prompt": text})


def user(content: Json, **fields: Json) -> Op:
    """Let the user speak."""
    return Op("add_user_message", {"content": content, **fields})


def assistant(content: str = "", **fields: Json) -> Op:
    """Let the model speak, think or call."""
    return Op("add_assistant_message", {"content": content, **fields})


def calling(*places: str, content: str = "", **fields: Json) -> Op:
    """Let the model ask for the weather; the ids are `call_` and the place."""
    calls = [
        tool_call(f"call_{place}", "weather", f'{{"place": "{place}"}}')
        for place in places
    ]
    return assistant(content, tool_calls=calls, **fields)


def result(place: str, content: Json, **fields: Json) -> Op:
    """Answer the call about a place."""
    given = {"tool_call_id": f"call_{place}", "result": content, **fields}
    return Op("add_tool_result", {"tool_name": "weather", **given})


def thought(provider: str, text: str, signature: str) -> ReasoningPart:
    """Return a signed piece of reasoning in the shape of its provider."""
    data = {"type": "thinking", "thinking": text, "signature": signature}
    return ReasoningPart(provider, text=text, signature=signature, data=data)


CONVERSATIONS: Mapping[str, Sequence[Op]] = {
    "plain": (
        system("You are terse."),
        user("What is a heron?"),
        assistant("A wading bird."),
        user("Where does it live?"),
    ),
    "one tool": (
        system("You know the weather."),
        Op("set_tools", {"tools": [WEATHER]}),
        user("Is it warm in Lunden?"),
        calling("Lunden", content="I will look."),
        result("Lunden", {"degrees": 11, "sky": "clear"}),
        assistant("It has 11 degrees."),
        user("Thanks."),
    ),
    "tools side by side": (
        system("You know the weather."),
        Op("set_tools", {"tools": [WEATHER]}),
        user("Which is warmer, Lunden or Marsby?"),
        calling("Lunden", "Marsby"),
        result("Marsby", "19 degrees"),
        result("Lunden", "station is offline", is_error=True),
        calling("Lunden_harbour"),
        result("Lunden_harbour", "11 degrees"),
    ),
    "unanswered call": (
        Op("set_tools", {"tools": [WEATHER]}),
        user("Weather of Lunden and Marsby?"),
        calling("Lunden", "Marsby"),
        result("Lunden", "11 degrees"),
        user("Stop. Lunden is enough."),
    ),
    "broken history": (
        result("nowhere", "a result that nobody asked for"),
        user("Weather of Lunden?"),
        user("   "),
        calling("Lunden"),
        user("Be quick."),
        result("Lunden", ""),
        result("Lunden", "11 degrees"),
        result("Lunden", "11 degrees"),
        assistant(
            tool_calls=[tool_call("tool:1|x", "os.list files", '["not an object"]')]
        ),
        user("And?"),
    ),
    "neighbours": (
        assistant("Welcome to the garden desk."),
        user("Hello."),
        user("My fern has brown tips."),
        assistant("How often is it watered?"),
        assistant("How much light does it get?"),
        Op("add_message", {"role": "system", "content": "Answer in one sentence."}),
        user("Twice a week, north window."),
        assistant("Water it less."),
    ),
    "background": (
        system("You plan meals."),
        Op("add_memory", {"content": "The user eats no fish."}),
        Op(
            "add_memory",
            {"content": "Tea costs 3.", "source": "prices", "cache_key": "tea"},
        ),
        user("Plan dinner."),
        Op(
            "add_message",
            {"role": "user", "content": "The oven is hot.", "source": "event"},
        ),
        assistant("Soup, then </memory> bread."),
        Op(
            "add_memory",
            {"content": "Tea costs 4.", "source": "prices", "cache_key": "tea"},
        ),
        user("And to drink?"),
    ),
    "pictures": (
        user(
            [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": PIXEL, "detail": "low"}},
            ],
            name="ann b",
        ),
        calling("Lunden", "Marsby"),
        result(
            "Lunden",
            [
                {"type": "text", "text": "a radar picture"},
                {"type": "image_url", "image_url": {"url": PIXEL}},
            ],
        ),
        result("Marsby", "no picture"),
    ),
    "reasoning": (
        user("Is it warm in Lunden?"),
        calling(
            "Lunden",
            reasoning=[thought("anthropic", "  I have to\tlook. ", "c2lnLUE9")],
        ),
        result("Lunden", "11 degrees"),
        assistant("Not very.", reasoning=[thought("other", "11 is cold", "b3RoZXI=")]),
        user("Und in Zürich, 東京 oder 👩\u200d👧? Half: \ud83d"),
    ),
    "cut off": (
        system("You tell stories."),
        user("Name three islands."),
        assistant("The three islands are Fog,", partial=True),
        user("Go on."),
        assistant(
            "Saving.",
            partial=True,
            tool_calls=[tool_call("call_cut", "weather", '{"place": "Lun')],
        ),
        user("Try once more."),
    ),
}
"""Name -> what happens. The order is that of the snapshots."""


def conversation(name: str, **settings: Json) -> ContextBuilder:
    """Return a builder in which a conversation took place, with room for all of it."""
    ctx = ContextBuilder(**{"max_tokens": 100_000, **settings})
    for op in CONVERSATIONS[name]:
        getattr(ctx, op.door)(**op.given)
    return ctx
