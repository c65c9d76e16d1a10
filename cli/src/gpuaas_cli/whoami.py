"""`gpuaas whoami`: who the platform takes you for, and where you may do what."""

from collections.abc import Mapping
from typing import Any

from gpuaas_cli import later
from gpuaas_cli.options import Connection
from gpuaas_cli.output import show
from gpuaas_cli.session import Session, run


def whoami(*, connection: Connection | None = None) -> int:
    """Show who you are to the platform and which roles you hold where.

    Examples
    --------
    $ gpuaas whoami
    $ GPUAAS_KEY_FILE=operator.key gpuaas whoami -o json
    """

    async def command(session: Session) -> int:
        me = await session.read("/whoami")
        if session.options.output != "table" or session.options.field:
            show(me, session.options.output)
            return 0
        known = me.get("email") or me.get("display_name")
        later.tables.table_print(["who", "kind", "id"], [[known, me["kind"], me["id"]]])
        rows = [[one["role_name"], place(one["scope"]), one["source"]] for one in me["bindings"]]
        later.tables.table_print(["role", "where", "why"], rows)
        return 0

    return run(connection, command)


def place(scope: Mapping[str, Any]) -> str:
    """A place in the words people know it by."""
    if scope.get("org_id") is None:
        return "platform"
    tenant: str = scope.get("org_name") or scope["org_id"]
    if scope.get("project_id") is None:
        return tenant
    return f"{tenant}/{scope.get('project_name') or scope['project_id']}"
