"""`gpuaas mcp serve`: the command."""

from typing import Annotated

from gpuaas_cli.agents.server import serve_stdio
from gpuaas_cli.options import Connection
from gpuaas_cli.said import Parameter
from gpuaas_cli.session import Session, run


def serve(
    *,
    read_only: Annotated[
        bool, Parameter(negative="", help="offer only tools that change nothing")
    ] = False,
    connection: Connection | None = None,
) -> int:
    """Give an agent the platform's verbs as tools, on standard input and output.

    Every call is made as the context's identity, with its permissions and no more. Tools that
    destroy ask the person at the client first, or want the thing named twice where they cannot.

    Examples
    --------
    $ gpuaas mcp serve --read-only
    """

    async def command(session: Session) -> int:
        return await serve_stdio(session, read_only=read_only)

    return run(connection, command)
