"""An MCP server with a few tools: run as a program, it speaks over stdin and stdout."""

from __future__ import annotations

import base64

from mcp.server.mcpserver import Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 16


def make_server() -> MCPServer:
    """Return the server."""
    server = MCPServer("cities")

    @server.tool()
    def people(city: str) -> dict[str, int]:
        """Say how many people live in a city."""
        known = {"Rome": 2_800_000, "Bern": 134_000}
        if city not in known:
            message = f"{city} is not known"
            raise ToolError(message)
        return {"people": known[city]}

    @server.tool(name="city.map")
    def city_map(city: str) -> Image:
        """Draw a map."""
        del city
        return Image(data=PNG, format="png")

    @server.tool()
    def note(text: str) -> list[str]:
        """Return two notes."""
        return [text, base64.b64encode(text.encode()).decode()]

    return server


if __name__ == "__main__":
    make_server().run()
