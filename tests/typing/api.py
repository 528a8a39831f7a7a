"""The public API as its users type it. Checked by mypy --strict, never run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, assert_type

from context_builder import (
    AdapterError,
    AudioPart,
    BudgetExceededError,
    ContextBuilder,
    ContextBuilderError,
    ContextItem,
    FilePart,
    ImagePart,
    InvalidItemError,
    Outcome,
    ReasoningPart,
    Report,
    RequestOptions,
    Settings,
    Shares,
    TextPart,
    TokenCounter,
    ToolCall,
    UnknownModelError,
    count,
    count_messages,
)
from context_builder.builtin_tools import BUILTIN_TOOLS, answer
from context_builder.comparing import RequestDiff
from context_builder.hooks import (
    LADDER,
    Compaction,
    ContextProvider,
    Hooks,
    Plan,
    Rules,
    Rung,
)
from context_builder.recovery import acall_with_recovery, call_with_recovery
from context_builder.report.item import ItemOutcome
from context_builder.testing import WordCounter, tool_call, turns


class Characters:
    """A counter of one's own: no base class is needed."""

    name = "characters"
    is_exact = False

    def count(self, text: str) -> int:
        """Count."""
        return len(text)


def sessions() -> None:
    """Ways to open one."""
    ContextBuilder(model="gpt-4o")
    ContextBuilder(max_tokens=4_096, counter=Characters())
    ContextBuilder(context_window=32_000, counter=WordCounter())
    ContextBuilder(model="gpt-4o", system_prompt=lambda: "now", clock=lambda: 0.0)
    ContextBuilder(
        model="gpt-4o",
        tools=[{"type": "function", "function": {"name": "search"}}],
        max_output_tokens=1_000,
        response_format={"type": "json_object"},
        tool_choice={"type": "function", "function": {"name": "search"}},
        thinking_budget_tokens=500,
        settings=Settings(low_water=0.5, shares=Shares(), keep_last_turns=4),
        options=RequestOptions(temperature=0.1, extra={"seed": 1}),
    )
    ContextBuilder("gpt-4o")  # type: ignore[call-arg]
    ContextBuilder(models="gpt-4o")  # type: ignore[call-arg]
    counter: TokenCounter = Characters()
    assert_type(counter.count("text"), int)


def doors(ctx: ContextBuilder, response: object) -> None:
    """What comes in."""
    assert_type(ctx.add_user_message("hello"), ContextItem | None)
    ctx.add_user_message(
        [TextPart(text="look"), ImagePart(url="https://example.org/a.png")]
    )
    ctx.add_user_message([AudioPart(data="AAAA"), FilePart(text="report")], pinned=True)
    assert_type(ctx.add_message("user", "hi", priority=40), ContextItem | None)
    assert_type(ctx.add_memory("likes tea", priority=20), ContextItem | None)
    assert_type(ctx.add_system_prompt("be brief"), ContextItem | None)
    assert_type(ctx.add_system_prompt(None), ContextItem | None)
    assert_type(
        ctx.add_assistant_message(
            "let me see",
            tool_calls=[ToolCall("a", "search"), tool_call("b")],
            reasoning=[ReasoningPart(provider="anthropic", text="hm", signature="s")],
        ),
        ContextItem | None,
    )
    assert_type(
        ctx.add_tool_result("search", {"found": 3}, tool_call_id="a", cache_key="k"),
        ContextItem,
    )
    assert_type(ctx.add_response(response), ContextItem | None)
    assert_type(ctx.add_response(response, model="amazon.nova-pro"), ContextItem | None)
    assert_type(ctx.extend(turns(3)), tuple[ContextItem, ...])
    assert_type(
        ctx.extend({"system": "x", "messages": []}, format="anthropic"),
        tuple[ContextItem, ...],
    )
    assert_type(
        ctx.add_turn([ContextItem(role="user", content="x")]), tuple[ContextItem, ...]
    )
    ctx.set_tools([])
    ctx.add_user_message("hello", 40)  # type: ignore[call-arg]


def changes(ctx: ContextBuilder, item: ContextItem) -> None:
    """What is taken back."""
    assert_type(ctx.edit(item.id, content="other", pinned=True), ContextItem)
    ctx.remove(item.id)
    ctx.rewind(item.id)
    ctx.clear()
    ctx.configure(max_tokens=8_000)
    item.content = "no"  # type: ignore[misc]


def requests(ctx: ContextBuilder) -> None:
    """What goes out."""
    assert_type(ctx.build(), list[dict[str, Any]])
    assert_type(ctx.build("strict", max_tokens=2_000), list[dict[str, Any]])
    assert_type(ctx.request("anthropic", model="claude-sonnet-5"), dict[str, Any])
    report = ctx.explain()
    assert_type(report, Report)
    assert_type(report.tokens, int)
    assert_type(report.is_exact, bool)
    assert_type(report.outcomes, tuple[Outcome, ...])
    assert_type(report.removed, tuple[Outcome, ...])
    assert_type(report.parts, Mapping[str, int])
    assert_type(report.prefix_moves, tuple[str, ...])
    assert_type(report.to_dict(), dict[str, Any])
    for outcome in report.removed:
        assert_type(outcome.item_id, str)
        assert_type(outcome.tokens_before, int)
    report.tokens = 3  # type: ignore[misc]


def state(ctx: ContextBuilder) -> None:
    """What a session knows of itself."""
    assert_type(ctx.items, tuple[ContextItem, ...])
    assert_type(ctx.revision, int)
    assert_type(ctx.is_dirty, bool)
    assert_type(ctx.model, str | None)
    assert_type(ctx.budget_tokens, int)
    assert_type(ctx.dump(), list[dict[str, Any]])
    assert_type(ContextBuilder.load(ctx.dump(), model="gpt-4o"), ContextBuilder)


def inspection(ctx: ContextBuilder) -> None:
    """Looking into a session."""
    assert_type(ctx.explain("anthropic", item_id="i7"), ItemOutcome)
    assert_type(ctx.plan(what_if_max_tokens=900), Report)
    assert_type(ctx.recall("words", max_tokens=300), str)
    assert_type(ctx.recall(handle="i7", lines=(1, 9)), str)
    told = ctx.diff(ctx.request())
    assert_type(told, RequestDiff)
    assert_type(told.path, str | None)
    ctx.plan()  # type: ignore[call-arg]


def hooks() -> None:
    """A caller's own code."""

    def rung(plan: Plan, rules: Rules) -> Plan:
        assert_type(rules.settings, Settings)
        return plan

    def rate(item: ContextItem, age: int, kind: str) -> int | None:
        return 75 if item.pinned or (age == 0 and kind == "message") else None

    told: list[Compaction] = []
    ctx = ContextBuilder(
        model="gpt-4o",
        hooks=Hooks(
            context_providers=(ContextProvider("time", lambda: "now"),),
            before_build=(lambda items: items[1:],),
            on_compaction=(told.append,),
            ladder=(Rung(rung), *LADDER),
            priority_rule=rate,
        ),
    )
    ctx.add_context_provider("mood", lambda: None, is_volatile=False)
    ctx.set_tools(BUILTIN_TOOLS)
    assert_type(answer(ctx, ToolCall("c", "recall")), str | None)


def counting() -> None:
    """Counting without a session."""
    assert_type(count("text", model="gpt-4o"), int)
    assert_type(count_messages([{"role": "user", "content": "x"}]), int)


def ask(**request: object) -> str:
    """Stand for a vendor's call."""
    return str(request)


async def ask_later(**request: object) -> bytes:
    """Stand for an awaitable one."""
    return str(request).encode()


async def recovery(ctx: ContextBuilder) -> None:
    """The answer keeps its type."""
    assert_type(call_with_recovery(ctx, ask), str)
    assert_type(await acall_with_recovery(ctx, ask_later, target="gemini"), bytes)


def errors(ctx: ContextBuilder) -> None:
    """Facts are attributes."""
    try:
        ctx.build()
    except BudgetExceededError as error:
        assert_type(error.needed_tokens, int)
        assert_type(error.parts, dict[str, int])
    except AdapterError as error:
        assert_type(error.adapter, str)
    except UnknownModelError as error:
        assert_type(error.close_matches, tuple[str, ...])
    except InvalidItemError as error:
        assert_type(error.field, str)
    except ContextBuilderError:
        pass
