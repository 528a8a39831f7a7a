"""The public face in any order: every promise after every step, for every vendor.

`python -m benchmarks.machine` goes on with the same machines for as long as asked.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

from context_builder import ContextBuilder
from context_builder.testing import WordCounter, tool_call
from tests.machine.face import Face
from tests.machine.kept import Kept
from tests.trials import Recorder

LONG = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
SHORT = settings(
    max_examples=100 if LONG else 3,
    stateful_step_count=40 if LONG else 10,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],  # to shrink takes minutes
    suppress_health_check=list(HealthCheck),
)

TestFace = Face.TestCase
TestFace.settings = SHORT
TestKept = Kept.TestCase
TestKept.settings = SHORT


# --- what the machines found ----------------------------------------------------------


def test_another_target_does_not_count_what_was_tried() -> None:
    """What was counted while something was shortened for one vendor is known to all."""
    counter = Recorder()
    ctx = ContextBuilder(max_tokens=60, counter=counter)
    for number in range(12):
        ctx.add_user_message(f"question {number} " + "why " * 20)
        ctx.add_assistant_message(f"answer {number} " + "because " * 20)
        ctx.build("openai")
    asked = counter.asked.copy()
    ctx.build("openai-compatible")
    again = {text for text, times in counter.asked.items() if times > asked[text] > 0}
    assert again == set()


def test_a_call_of_no_tool_has_one_name_everywhere() -> None:
    """A broken stream may leave a call without a name: it and its result agree."""
    ctx = ContextBuilder(max_tokens=900, counter=WordCounter())
    ctx.add_user_message("Look.")
    parts = [{"functionCall": {"args": {"at": "sea"}}}]
    said = {"content": {"role": "model", "parts": parts}, "finishReason": "STOP"}
    item = ctx.add_response({"candidates": [said]})
    assert item is not None
    (call,) = item.tool_calls
    ctx.add_tool_result(call.name, "calm", tool_call_id=call.id or None)
    request = ctx.request("gemini", model="gemini-3.5-flash")
    asked, answered = (each["parts"][0] for each in request["contents"][1:])
    assert asked["function_call"]["name"] == answered["function_response"]["name"]
    reasons = [outcome.reason for outcome in ctx.explain("gemini").outcomes]
    assert any("a call of no tool" in reason for reason in reasons)


def test_a_schema_that_requires_no_names_is_no_crash() -> None:
    """What is no name in a schema's `required` is left out for Claude."""
    parameters = {"type": "object", "properties": {}, "required": [{"a": 1}, "b"]}
    tool = {"type": "function", "function": {"name": "f", "parameters": parameters}}
    ctx = ContextBuilder(max_tokens=900, tools=[tool])
    ctx.add_user_message("Look.")
    (said,) = ctx.request("anthropic", model="claude-sonnet-4-6")["tools"]
    assert said["input_schema"]["required"] == ["b"]


def test_a_request_between_call_and_result_leaves_no_trace() -> None:
    """What left on the copy that it is decided on is told by nobody else."""
    ctx = ContextBuilder(max_tokens=500, counter=WordCounter())
    for number in range(4):
        ctx.add_user_message(f"Order N{number}00 at {number}:15. " + "why " * 20)
        ctx.add_assistant_message("because " * 20)
    ctx.add_assistant_message("so " * 290, tool_calls=[tool_call("call_1", "look")])
    ctx.build()
    assert ctx.explain().pending_calls == 1
    ctx.remove(ctx.items[0].id)
    ctx.add_tool_result("look", "calm " * 60, tool_call_id="call_1")
    ctx.add_user_message("And now? " + "then " * 30)
    ctx.add_assistant_message("and " * 60)
    anew = ContextBuilder.load(ctx.dump(), max_tokens=500, counter=WordCounter())
    assert ctx.build() == anew.build()
    assert "N000" not in str(ctx.build())


def test_a_prompt_before_a_notice_alone_is_a_reported_move() -> None:
    """Where all else has left, the notice is the beginning that a prompt moves."""
    ctx = ContextBuilder(max_tokens=60, counter=WordCounter())
    ctx.add_assistant_message("why " * 150)
    ctx.add_assistant_message("because " * 150)
    (notice,) = ctx.build()
    assert "2 earlier messages were left out" in notice["content"]
    ctx.add_system_prompt("You are terse.")
    assert ctx.explain().prefix_moves[-1] == "a new system prompt"
