"""The agent loop: a request, the tools that the model calls, and its answer."""

from context_builder.agent.agent import Agent
from context_builder.agent.events import (
    AgentEvent,
    ReasoningDelta,
    RequestSent,
    StopReason,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnResult,
    UsageReported,
)
from context_builder.agent.mcp import mcp_tools
from context_builder.agent.offline import OfflineModel
from context_builder.agent.tools import Tool, tool

__all__ = [
    "Agent",
    "AgentEvent",
    "OfflineModel",
    "ReasoningDelta",
    "RequestSent",
    "StopReason",
    "TextDelta",
    "Tool",
    "ToolFinished",
    "ToolStarted",
    "TurnFinished",
    "TurnResult",
    "UsageReported",
    "mcp_tools",
    "tool",
]
