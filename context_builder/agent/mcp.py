"""Tools of an MCP server, through a client session of the official `mcp` package.

The package is an extra, and never imported here: a session that is handed in has all
that is needed. What servers say is read by its names on the wire.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from typing import TYPE_CHECKING, Any

from context_builder.agent.calls import Returned
from context_builder.agent.tools import Tool
from context_builder.collect import read_content, read_result
from context_builder.errors import InvalidItemError
from context_builder.messages import AudioPart, FilePart, ImagePart, Part, TextPart

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Mapping

    from context_builder.messages import Content

__all__ = ["mcp_tools"]

_NO_NAME = re.compile(r"[^A-Za-z0-9_-]+")
_MOST_CHARS = 64
_MOST_PAGES = 100


async def mcp_tools(
    session: Any, *, prefix: str = "", timeout_seconds: float | None = None
) -> tuple[Tool, ...]:
    """Return a server's tools, as an agent takes them.

        async with mcp.Client(server) as session:
            agent = Agent(client, tools=await mcp_tools(session))
            await agent.arun(ctx, "...")

    Calls go through the session, which has to stay open, in the event loop that it was
    opened in: that of the agent, or one that runs in another thread.

    Args:
        session: An `mcp.Client` or `mcp.ClientSession`, open.
        prefix: What names begin with, where two servers have tools of one name. What
            vendors do not take in a name becomes `_`.
        timeout_seconds: How long a call may take; None: what the agent says.

    Raises:
        InvalidItemError: If it is no session.
    """
    if not hasattr(session, "list_tools") or not hasattr(session, "call_tool"):
        message = f"{type(session).__name__} is no client session of the mcp package"
        raise InvalidItemError(message, field="session", value=session)
    loop = asyncio.get_running_loop()
    tools: dict[str, Tool] = {}
    async for listed in _listed(session):
        name = _name_of(prefix + listed["name"], tools)
        tools[name] = Tool(
            name=name,
            description=listed.get("description") or listed.get("title") or "",
            parameters=listed["inputSchema"],
            afunction=_caller(session, listed["name"], loop),
            timeout_seconds=timeout_seconds,
        )
    return tuple(tools.values())


async def _listed(session: Any) -> AsyncIterator[Mapping[str, Any]]:
    page = _wire(await session.list_tools())
    for _ in range(_MOST_PAGES):
        for listed in page["tools"]:
            yield listed
        cursor = page.get("nextCursor")
        if cursor is None:
            return
        page = _wire(await _next_page(session, cursor))


async def _next_page(session: Any, cursor: str) -> Any:
    if "cursor" in inspect.signature(session.list_tools).parameters:
        return await session.list_tools(cursor=cursor)
    from mcp.types import (  # noqa: PLC0415  the session is of this package
        PaginatedRequestParams,
    )

    return await session.list_tools(params=PaginatedRequestParams(cursor=cursor))


def _wire(value: Any) -> dict[str, Any]:
    """Return a message of the protocol as it is on the wire."""
    said: dict[str, Any] = value.model_dump(
        mode="json", by_alias=True, exclude_none=True
    )
    return said


def _name_of(name: str, taken: Mapping[str, Tool]) -> str:
    """Return a name that every vendor takes, and no other tool has."""
    allowed = _NO_NAME.sub("_", name)[:_MOST_CHARS] or "tool"
    number = 1
    chosen = allowed
    while chosen in taken:
        number += 1
        ending = f"_{number}"
        chosen = allowed[: _MOST_CHARS - len(ending)] + ending
    return chosen


def _caller(
    session: Any, name: str, loop: asyncio.AbstractEventLoop
) -> Callable[..., Any]:
    async def call(**arguments: Any) -> Returned:
        calling = session.call_tool(name, arguments)
        if asyncio.get_running_loop() is not loop:
            sent = asyncio.run_coroutine_threadsafe(calling, loop)
            return _returned(_wire(await asyncio.wrap_future(sent)))
        return _returned(_wire(await calling))

    return call


def _returned(result: Mapping[str, Any]) -> Returned:
    is_error = bool(result.get("isError"))
    blocks = result.get("content") or []
    content: Content
    if blocks:
        content = read_content([_part_of(block) for block in blocks])
    else:
        content = read_result(result.get("structuredContent"))
    return Returned(content, is_error=is_error)


def _part_of(block: Mapping[str, Any]) -> Part:
    match block.get("type"):
        case "text":
            return TextPart(text=block["text"])
        case "image":
            return ImagePart(data=block["data"], media_type=block["mimeType"])
        case "audio":
            return AudioPart(data=block["data"], media_type=block["mimeType"])
        case "resource":
            return _resource(block["resource"])
        case "resource_link":
            about = block.get("description") or block.get("title") or block["name"]
            return TextPart(text=f"{block['uri']}: {about}")
        case other:
            return TextPart(text=f"[content of kind {other!r}]")


def _resource(resource: Mapping[str, Any]) -> Part:
    uri = str(resource["uri"])
    if "text" in resource:
        return TextPart(text=f"{uri}\n{resource['text']}")
    kind = resource.get("mimeType")
    if kind is not None and kind.startswith("image/"):
        return ImagePart(data=resource["blob"], media_type=kind)
    filename = uri.rpartition("/")[2] or None
    return FilePart(data=resource["blob"], media_type=kind, filename=filename)
