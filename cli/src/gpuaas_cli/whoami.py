"""`gpuaas whoami`: who the platform takes you for, and where you may do what."""

from typing import Annotated

from cyclopts import Parameter

from gpuaas_cli.output import Format, show_json, show_table
from gpuaas_cli.session import Connection, run
from gpuaas_contract.access import NamedScope, Whoami
from gpuaas_sdk import Client


def whoami(
    *,
    connection: Connection | None = None,
    output: Annotated[Format, Parameter(name=["--output", "-o"], help="table or json")] = "table",
) -> int:
    """Show who you are to the platform and which roles you hold where.

    Examples
    --------
    $ GPUAAS_TOKEN=gpp_… gpuaas whoami
    $ GPUAAS_KEY_FILE=operator.key gpuaas whoami -o json
    """

    async def show(client: Client) -> int:
        me = await client.get("/whoami", Whoami)
        if output == "json":
            show_json(me)
        else:
            rows = [[held.role_name, place(held.scope), held.source] for held in me.bindings]
            show_table(
                ["who", "kind", "id"], [[me.email or me.display_name or "-", me.kind, me.id]]
            )
            show_table(["role", "where", "why"], rows)
        return 0

    return run(connection, show)


def place(scope: NamedScope) -> str:
    """A place in the words people know it by."""
    if scope.org_id is None:
        return "platform"
    tenant = scope.org_name or scope.org_id
    return (
        tenant if scope.project_id is None else f"{tenant}/{scope.project_name or scope.project_id}"
    )
