"""The agent: a client, tools and limits. The session is the caller's."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import weakref
from typing import TYPE_CHECKING, Any

from context_builder.agent.awaiting import adrive
from context_builder.agent.blocking import drive
from context_builder.agent.calls import Toolbox
from context_builder.agent.drivers import driver_for, open_line
from context_builder.agent.events import AgentEvent, TurnFinished, TurnResult
from context_builder.agent.nesting import one_deeper
from context_builder.agent.own_tools import own_tools
from context_builder.agent.preparing import Preparing
from context_builder.agent.subagents import subagent_tool
from context_builder.agent.tools import Tool, as_tools
from context_builder.agent.turn import Plan, Turn
from context_builder.builder import ContextBuilder
from context_builder.collect import read_tools
from context_builder.errors import ContextBuilderError, InvalidItemError

if TYPE_CHECKING:
    from collections.abc import (
        AsyncGenerator,
        Callable,
        Iterable,
        Iterator,
        Mapping,
        Sequence,
    )

__all__ = ["Agent"]


class Agent:
    """Runs turns: asks a model, runs the tools that it calls, and asks again.

    One agent may serve any number of sessions, at the same time; it keeps nothing of
    them.

    Args:
        client: A client of the target's SDK, sync or async, or an `OfflineModel`. None:
            one is made for each turn, from what the environment says.
        model: For another model than the session's.
        target: The vendor, such as `"openai"`; it says which SDK the client is of.
        tools: What the model may call: `Tool` values, or typed functions.
        max_rounds: Rounds of tool calls in a turn, at most. After the last the model is
            asked once more, and may only answer.
        tool_timeout_seconds: How long a call may take, where its tool does not say.
        max_parallel_calls: Calls of one round that run at the same time.
        prepare_summaries: Prepare the session's next summary when a turn is over.
        recall_tool: Offer the model a tool that finds what left its context.
        compact_tool: Offer the model a tool that makes room in its context.

    Raises:
        AdapterError: If no SDK is known that takes this target's requests.
        InvalidItemError: If a setting is not what it has to be.
    """

    def __init__(
        self,
        client: Any = None,
        *,
        model: str | None = None,
        target: str = "openai",
        tools: Iterable[Tool | Callable[..., Any]] = (),
        max_rounds: int = 5,
        tool_timeout_seconds: float = 60.0,
        max_parallel_calls: int = 8,
        prepare_summaries: bool = True,
        recall_tool: bool = False,
        compact_tool: bool = False,
    ) -> None:
        self._driver = driver_for(target)
        self._client = client
        self._model = model
        self._target = target
        self._tools = as_tools(list(tools))
        self._max_rounds = _positive(max_rounds, "max_rounds")
        self._tool_timeout_seconds = _positive(
            tool_timeout_seconds, "tool_timeout_seconds"
        )
        self._max_parallel_calls = _positive(max_parallel_calls, "max_parallel_calls")
        preparing = Preparing(target=target, model=model)
        self._preparing = preparing if prepare_summaries else None
        self._recall_tool = recall_tool
        self._compact_tool = compact_tool
        self._definitions: Sequence[Mapping[str, Any]] | None = None
        self._busy: weakref.WeakSet[ContextBuilder] = weakref.WeakSet()
        self._lock = threading.Lock()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """What the model may call."""
        return self._tools

    def run(
        self,
        ctx: ContextBuilder,
        content: object = None,
        *,
        on_event: Callable[[AgentEvent], None] | None = None,
        keeps_answer: bool = True,
    ) -> TurnResult:
        """Run one turn to its end.

        Args:
            ctx: The session. What is said, called and returned enters it.
            content: What the user says, text or parts; None: go on with what is there.
            on_event: Called with what happens as it happens, pieces of the answer too.
                The turn waits for it, and ends with what it raises.
            keeps_answer: Make the answer durable before this returns. False: whoever
                calls leaves the session's block at once, and that keeps it.

        Raises:
            ContextBuilderError: If an event loop is running here: use `arun`.
            InvalidItemError: If the message is blank, or a turn is running already.
            BudgetExceededError: If what may not be left out is larger than the budget.
            StoreError: If the session could not be kept.

        What the SDK raises is raised as it is; the session stays whole.
        """
        _refuse_in_loop()
        with self._held(ctx):
            turn = self._turn(ctx, content, on_event, keeps_answer=keeps_answer)
            line = open_line(self._driver, self._client, is_async=False)
            try:
                result = drive(turn, line)
            finally:
                line.close()
        if self._preparing is not None:
            self._preparing.start(ctx)
        return result

    async def arun(
        self,
        ctx: ContextBuilder,
        content: object = None,
        *,
        on_event: Callable[[AgentEvent], None] | None = None,
        keeps_answer: bool = True,
    ) -> TurnResult:
        """Run one turn to its end, as `run`, without holding up the event loop.

        A cancellation leaves the session whole: calls that were not answered are
        answered by a stand-in in the next request.
        """
        with self._held(ctx):
            turn = self._turn(ctx, content, on_event, keeps_answer=keeps_answer)
            line = open_line(self._driver, self._client, is_async=True)
            try:
                result = await adrive(turn, line)
            finally:
                await line.aclose()
        if self._preparing is not None:
            self._preparing.astart(ctx)
        return result

    async def astream(
        self, ctx: ContextBuilder, content: object = None
    ) -> AsyncGenerator[AgentEvent]:
        """Run one turn, and yield what happens as it happens; the result comes last.

        Closing the iterator cancels the turn. What the model had said by then is kept,
        marked as partial.
        """
        queue: asyncio.Queue[AgentEvent | None] = asyncio.Queue()
        running = asyncio.create_task(
            self.arun(ctx, content, on_event=queue.put_nowait)
        )
        running.add_done_callback(lambda _: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            yield TurnFinished(await running)
        finally:
            await _stopped(running)

    def as_tool(
        self,
        name: str,
        description: str,
        *,
        system_prompt: str | None = None,
        max_tokens: int | None = None,
        new_context: Callable[[], ContextBuilder] | None = None,
        max_depth: int = 3,
        timeout_seconds: float | None = None,
    ) -> Tool:
        """Return this agent as a tool of another: a sub-agent.

        Each call has a session of its own, which is let go afterwards, and this agent's
        limits. The one who calls gets the text of the answer, and nothing else.

        Args:
            name: For the model that calls.
            description: What may be left to it.
            system_prompt: Of its sessions.
            max_tokens: Their input budget; None: as its model allows.
            new_context: Makes a session for each call, in place of these settings.
            max_depth: How deep agents may be nested; a call beyond is an error.
            timeout_seconds: How long a task may take; None: as the one who calls says.

        Raises:
            InvalidItemError: If nothing says how large its sessions' budget is.
            UnknownModelError: If its model's window is not known, and no budget given.
        """
        model = self._model

        def made() -> ContextBuilder:
            return ContextBuilder(
                model=model, max_tokens=max_tokens, system_prompt=system_prompt
            )

        if new_context is None:
            made()  # fails now, not in the middle of another's turn
        return subagent_tool(
            self,
            name,
            description,
            new_context=new_context or made,
            max_depth=max_depth,
            timeout_seconds=timeout_seconds,
            can_block=not hasattr(self._client, "__aenter__"),
        )

    # --- inside ---------------------------------------------------------------------

    def _turn(
        self,
        ctx: ContextBuilder,
        content: object,
        on_event: Callable[[AgentEvent], None] | None,
        *,
        keeps_answer: bool,
    ) -> Turn:
        own = own_tools(
            ctx, self._target, recall=self._recall_tool, compact=self._compact_tool
        )
        tools = as_tools([*self._tools, *own])
        if self._definitions is None:  # the same at every turn, whatever the session
            self._definitions = read_tools([tool.definition for tool in tools])
        toolbox = Toolbox(tools, timeout_seconds=self._tool_timeout_seconds)
        plan = Plan(
            target=self._target,
            model=self._model,
            toolbox=toolbox,
            definitions=self._definitions,
            max_rounds=self._max_rounds,
            max_parallel_calls=self._max_parallel_calls,
            keeps_answer=keeps_answer,
        )
        is_watched = on_event is not None
        return Turn(ctx, content, plan, emit=on_event or _nobody, streams=is_watched)

    @contextlib.contextmanager
    def _held(self, ctx: ContextBuilder) -> Iterator[None]:
        """Hold a session for one turn.

        Raises:
            InvalidItemError: If a turn of it is running already.
        """
        with self._lock:
            if ctx in self._busy:
                message = "a turn of this session is running already: wait for its end"
                raise InvalidItemError(message, field="ctx")
            self._busy.add(ctx)
        try:
            with one_deeper():
                yield
        finally:
            with self._lock:
                self._busy.discard(ctx)


def _nobody(_: AgentEvent) -> None:
    """Show nothing to nobody."""


def _positive(value: Any, field: str) -> Any:
    if isinstance(value, bool) or not isinstance(value, int | float) or value <= 0:
        message = f"{field} must be more than 0; it is {value!r}"
        raise InvalidItemError(message, field=field, value=value)
    return value


def _refuse_in_loop() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    message = "run() would hold up the event loop that is running here: await arun()"
    raise ContextBuilderError(message)


async def _stopped(task: asyncio.Task[TurnResult]) -> None:
    """Cancel a task that still runs, and wait for its end."""
    if not task.done():
        task.cancel()
        await asyncio.wait([task])
    if not task.cancelled():
        task.exception()  # it was told where the task was awaited, or nobody asks
