"""A node of LangGraph that sends what fits: the graph keeps all, the model sees less.

    pip install context-builder langgraph
    OPENAI_API_KEY=... OPENAI_BASE_URL=... python examples/langgraph_node.py MODEL

`OPENAI_BASE_URL` may be left out.
"""

from __future__ import annotations

import sys
from typing import Any

from langchain_core.messages import convert_to_messages, convert_to_openai_messages
from langchain_core.tools import tool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from openai import OpenAI

from context_builder import ContextBuilder

BUDGET_TOKENS = 4_000


@tool
def people_in(city: str) -> int:
    """Say how many people live in a city."""
    return {"Bern": 134_000, "Rome": 2_800_000}.get(city, 0)


def make_graph(model: str) -> Any:
    """Return a graph: the model, its tools, and the model again."""
    client = OpenAI()
    tools = [convert_to_openai_tool(people_in)]

    def ask(state: MessagesState) -> dict[str, Any]:
        """Send what fits of the state, and return the answer to it."""
        ctx = ContextBuilder(
            model=model,
            max_tokens=BUDGET_TOKENS,
            system_prompt="You compare cities.",
            tools=tools,
        )
        ctx.extend(convert_to_openai_messages(state["messages"]))
        reply = client.chat.completions.create(**ctx.request("openai"))
        said = reply.choices[0].message.model_dump(exclude_none=True)
        return {"messages": convert_to_messages([{"content": "", **said}])}

    graph = StateGraph(MessagesState)
    graph.add_node("ask", ask)
    graph.add_node("tools", ToolNode([people_in]))
    graph.add_edge(START, "ask")
    graph.add_conditional_edges("ask", tools_condition)
    graph.add_edge("tools", "ask")
    return graph.compile()


def main() -> None:
    """Ask one question, and say what was said."""
    if len(sys.argv) != 2:  # noqa: PLR2004  the program and the model
        sys.exit("usage: python examples/langgraph_node.py MODEL")
    question = {"role": "user", "content": "Which is larger, Bern or Rome?"}
    state = make_graph(sys.argv[1]).invoke({"messages": [question]})
    for message in state["messages"]:
        print(f"{message.type}: {message.text}")  # noqa: T201  it is what was said


if __name__ == "__main__":
    main()
