"""How a room names its own: where things of a kind are, and who may know what they are called.

A room's store says it as `NamedRows`; the name of a thing is told to whoever may read the thing.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.caller import Caller, Place
from gpuaas_platform.kernel.database import Connection


@dataclass(frozen=True)
class NamedRows:
    """Where things of a kind are, what reads them, and SQL of their names and places."""

    table: str
    permission: Permission
    name: str = "name"
    org_id: str = "org_id"
    project_id: str = "project_id"


async def names_seen(
    conn: Connection, caller: Caller, source: NamedRows, ids: Sequence[str]
) -> dict[str, str]:
    """Names by id, of those that stand where the caller holds the permission."""
    if not ids:
        return {}
    rows = await conn.fetch(
        f"SELECT id, {source.name} AS name, {source.org_id} AS org_id,"  # noqa: S608 - code, values are arguments
        f" {source.project_id} AS project_id FROM {source.table} WHERE id = ANY($1::text[])",
        list(ids),
    )
    return {
        row["id"]: row["name"]
        for row in rows
        if caller.allows(source.permission, Place(row["org_id"], row["project_id"]))
    }
