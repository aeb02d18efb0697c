"""The Model Context Protocol's side of `headway mcp`: functions become tools, over stdio or HTTP. Decides nothing.

A tool is a function with annotations and a docstring, which become its schema and description. What it raises as a
`HeadwayError` is the tool's error, in the same words as on the command line.
"""

import functools
from collections.abc import Callable, Sequence
from typing import Any

from headway import __version__
from headway.core.errors import CouldNotRun, HeadwayError

LOOPBACK = ("127.0.0.1", "::1", "localhost")

Tool = Callable[..., dict[str, Any]]


def check_address(host: str) -> None:
    """Raises HeadwayError for an address that other machines can reach: nobody is asked who he is."""
    if host not in LOOPBACK:
        raise HeadwayError(
            f"{host} can be reached from other machines, and nobody who calls is asked who he is.",
            f"Give one of {', '.join(LOOPBACK)}, and a tunnel that asks.",
        )


def serve(tools: Sequence[Tool], instructions: str, http: tuple[str, int] | None) -> None:
    """Serve until the client is gone (stdio) or the process is ended (HTTP, at `/mcp`).

    Raises CouldNotRun without the `mcp` extra.
    """
    try:
        from mcp.server import MCPServer
    except ImportError as missing:
        raise CouldNotRun("`headway mcp` needs the MCP SDK.", "pip install 'headway[mcp]'") from missing
    server: Any = MCPServer("headway", instructions=instructions, version=__version__, log_level="WARNING")
    for tool in tools:
        server.tool(structured_output=True)(_in_words(tool))
    if http is None:
        server.run("stdio")
    else:
        check_address(http[0])
        server.run("streamable-http", host=http[0], port=http[1])


def _in_words(tool: Tool) -> Tool:
    from mcp.server.mcpserver.exceptions import ToolError

    @functools.wraps(tool)
    def call(*args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return tool(*args, **kwargs)
        except HeadwayError as refusal:
            raise ToolError(str(refusal)) from refusal

    return call
