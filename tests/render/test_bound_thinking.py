"""The newest Claude models bind a thought to the exact prefix that stood before it."""

from __future__ import annotations

import contextlib
import itertools
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from context_builder import AdapterError, BudgetExceededError, ContextBuilder
from context_builder.render import adapter_for, validate
from context_builder.testing import tool_call, turns
from tests import strategies
from tests.operations import Op, Session
from tests.render.anthropic_helpers import unmarked

if TYPE_CHECKING:
    from collections.abc import Iterator

MODELS = {
    "anthropic": "claude-opus-5-5",
    "bedrock": "us.anthropic.claude-opus-5-5-v1:0",
}
UNBOUND = {"anthropic": "claude-opus-5", "bedrock": "us.anthropic.claude-opus-5-v1:0"}
both = pytest.mark.parametrize("target", MODELS)

Json = dict[str, Any]


def tool(name: str) -> Json:
    """Return a tool without parameters."""
    return {"type": "function", "function": {"name": name}}


def answer(target: str, number: int, *, calls: bool = False, model: str = "") -> Json:
    """Return an answer that thought something, signed, in the vendor's form."""
    sign, call_id = f"sign-{number:04}", f"toolu_{number}"
    if target == "bedrock":
        thought = {"text": f"thought {number}", "signature": sign}
        content: list[Json] = [
            {"reasoningContent": {"reasoningText": thought}},
            {"text": f"said {number}"},
        ]
        if calls:
            call = {"toolUseId": call_id, "name": "look", "input": {}}
            content.append({"toolUse": call})
        message = {"role": "assistant", "content": content}
        stop = "tool_use" if calls else "end_turn"
        return {"output": {"message": message}, "stopReason": stop}
    content = [
        {"type": "thinking", "thinking": f"thought {number}", "signature": sign},
        {"type": "text", "text": f"said {number}"},
    ]
    if calls:
        said = {"type": "tool_use", "id": call_id, "name": "look", "input": {}}
        content.append(said)
    return {
        "type": "message",
        "role": "assistant",
        "model": model or MODELS["anthropic"],
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }


def parts_of(request: Json) -> list[str]:
    """Return all that is said, in order, cache marks left out."""
    head = [request.get("tools"), request.get("toolConfig"), request.get("system")]
    said = [json.dumps(unmarked(part), default=str) for part in head]
    for message in unmarked(request["messages"]):
        said += [
            f"{message['role']} {json.dumps(block, default=str)}"
            for block in message["content"]
            if "cachePoint" not in block
        ]
    return said


def thoughts_in(parts: list[str]) -> Iterator[tuple[int, str]]:
    """Yield where the thoughts are, and their signatures."""
    for place, part in enumerate(parts):
        if "sign-" in part:
            yield place, part[part.index("sign-") :][:9]


class Vendor:
    """Plays a vendor that refuses a thought behind another prefix than its own."""

    def __init__(self, ctx: ContextBuilder, target: str) -> None:
        self.ctx = ctx
        self.target = target
        self.number = 0
        self.behind: dict[str, list[str]] = {}

    def ask(self, *, calls: bool = False) -> list[str]:
        """Check a request, answer it, and return the signatures that it held."""
        request = self.ctx.request(self.target, model=MODELS[self.target])
        assert validate(request, self.target) == []
        parts = parts_of(request)
        held = []
        for place, sign in thoughts_in(parts):
            assert parts[:place] == self.behind[sign], f"{sign} has another prefix"
            held.append(sign)
        self.number += 1
        self.behind[f"sign-{self.number:04}"] = parts
        self.ctx.add_response(answer(self.target, self.number, calls=calls))
        if calls:
            call_id = f"toolu_{self.number}"
            self.ctx.add_tool_result("look", "calm", tool_call_id=call_id)
        return held


def session(target: str, max_tokens: int = 4_000) -> Vendor:
    """Return a session with a tool, and the vendor."""
    ctx = ContextBuilder(max_tokens=max_tokens, system_prompt="Be terse.")
    ctx.set_tools([tool("look")])
    return Vendor(ctx, target)


Step = Op | tuple[int, bool]
"""Something happens, or the user says so many words and is answered, with calls."""


def steps() -> st.SearchStrategy[list[Step]]:
    """Return steps, most of which are talk."""
    odd = strategies.odd_ops() | strategies.takebacks()
    talk = st.tuples(st.integers(0, 60), st.booleans())
    return st.lists(odd | talk | talk, min_size=3, max_size=14)


@both
@given(happens=steps(), budget=st.sampled_from([350, 700, 4_000]))
def test_a_thought_goes_back_behind_its_own_prefix_only(
    target: str, happens: list[Step], budget: int
) -> None:
    """Whatever is edited, compacted or replaced, and whenever a request was built."""
    vendor = session(target, budget)
    done = Session(vendor.ctx)
    for step in happens:
        if isinstance(step, Op):
            done.step(step)
            continue
        words, calls = step
        known = len(vendor.ctx.items)
        if words:
            vendor.ctx.add_user_message("word " * words)
        with contextlib.suppress(BudgetExceededError, AdapterError):
            vendor.ask(calls=calls)
        done.live += [item.id for item in vendor.ctx.items[known:]]
        done.has_begun = done.has_begun or bool(done.live)


CHANGES = {
    "a new system prompt": lambda ctx: ctx.add_system_prompt("Be kind."),
    "an edit": lambda ctx: ctx.edit("i2", content="Look at the other sea."),
    "new tools": lambda ctx: ctx.set_tools([tool("look"), tool("find")]),
}


@both
@pytest.mark.parametrize("change", CHANGES)
def test_after_a_change_the_thoughts_behind_it_are_left_out(
    target: str, change: str
) -> None:
    """The report says so; what is thought afterwards goes back again."""
    vendor = session(target)
    vendor.ctx.add_user_message("Look at the sea.")
    vendor.ask(calls=True)
    assert vendor.ask(calls=True) == ["sign-0001"]
    CHANGES[change](vendor.ctx)
    assert vendor.ask(calls=True) == []
    assert vendor.ask(calls=True) == ["sign-0003"]
    told = vendor.ctx.explain(target, model=MODELS[target]).repairs
    assert sum("bound to what stood before it" in repair for repair in told) == 2


@both
def test_a_compaction_lets_go_of_bound_thoughts(target: str) -> None:
    """What the compaction left in place was thought behind what it took away."""
    vendor = session(target, 700)
    vendor.ctx.extend(turns(12, words=30))
    vendor.ctx.add_user_message("Go.")
    held = [len(vendor.ask(calls=True)) for _ in range(30)]
    grows = [later for one, later in itertools.pairwise(held) if later > one]
    assert len(grows) > 10
    assert held.count(0) > 1  # it was compacted more than once


@both
def test_other_models_keep_their_thoughts(target: str) -> None:
    """A thought that is not bound goes back whatever stands before it."""
    vendor = session(target)
    vendor.ctx.add_user_message("Look at the sea.")
    vendor.ctx.request(target, model=UNBOUND[target])
    said = answer(target, 1, calls=True, model=UNBOUND["anthropic"])
    vendor.ctx.add_response(said)
    vendor.ctx.add_tool_result("look", "calm", tool_call_id="toolu_1")
    vendor.ctx.add_system_prompt("Be kind.")
    request = vendor.ctx.request(target, model=UNBOUND[target])
    assert [sign for _, sign in thoughts_in(parts_of(request))] == ["sign-0001"]


def test_an_answer_of_converse_is_by_the_model_that_was_asked() -> None:
    """The answer does not say whose it is; bound models take their own thoughts."""
    vendor = session("bedrock")
    vendor.ctx.add_user_message("Look at the sea.")
    vendor.ask()
    vendor.ctx.add_user_message("And?")
    other = vendor.ctx.request("bedrock", model="anthropic.claude-sonnet-5-5-v1:0")
    assert list(thoughts_in(parts_of(other))) == []
    own = vendor.ctx.request("bedrock", model=MODELS["bedrock"])
    assert [sign for _, sign in thoughts_in(parts_of(own))] == ["sign-0001"]


def test_who_answered_can_be_said() -> None:
    """As where another process built the request."""
    ctx = ContextBuilder(max_tokens=900)
    ctx.add_user_message("Look.")
    item = ctx.add_response(answer("bedrock", 1), model="amazon.nova-2-lite-v1:0")
    assert item is not None
    assert [part.model for part in item.reasoning] == ["amazon.nova-2-lite-v1:0"]
    unknown = ctx.add_response(answer("bedrock", 2))
    assert unknown is not None
    assert [part.model for part in unknown.reasoning] == [None]


def test_a_restored_session_leaves_out_the_same() -> None:
    """What is stale follows from the log."""
    vendor = session("anthropic", 700)
    vendor.ctx.extend(turns(12, words=30))
    vendor.ctx.add_user_message("Go.")
    for _ in range(12):
        vendor.ask(calls=True)
        model = MODELS["anthropic"]
        again = ContextBuilder.load(vendor.ctx.dump(), max_tokens=700)
        assert again.request("anthropic", model=model) == vendor.ctx.request(
            "anthropic", model=model
        )


def test_a_call_in_progress_is_said_without_its_thought() -> None:
    """These models think adaptively: no thought is demanded before their calls."""
    vendor = session("anthropic")
    vendor.ctx.add_user_message("Look at the sea.")
    vendor.ask(calls=True)
    vendor.ctx.edit("i2", content="Look at the other sea.")
    request = vendor.ctx.request("anthropic", model=MODELS["anthropic"])
    assert request.get("thinking", {}).get("type") != "enabled"
    assert "tool_use" in str(request["messages"][-2])
    assert list(adapter_for("anthropic").validate(request)) == []


def test_an_answer_thought_behind_a_stand_in_is_let_go_once_the_result_comes() -> None:
    """The late result takes the place of the stand-in, and the prefix is another."""
    vendor = session("anthropic")
    vendor.ctx.add_user_message("Look at the sea.")
    vendor.ctx.add_assistant_message(tool_calls=[tool_call("late", name="look")])
    vendor.ask()
    vendor.ctx.add_tool_result("look", "calm", tool_call_id="late")
    vendor.ctx.add_user_message("And?")
    assert vendor.ask() == []
