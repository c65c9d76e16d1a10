"""What people call instances, members and operations, and where those are."""

from collections.abc import Sequence
from typing import Final

from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.naming import NamedRows

INSTANCES: Final = NamedRows(
    "app_instances",
    Permission.INSTANCE_READ,
    name="coalesce(nullif(display_name, ''), resource_name)",
)
MEMBERS: Final = NamedRows("app_members", Permission.INSTANCE_READ, name="component_key")
OPERATIONS: Final = NamedRows("operations", Permission.OPERATION_READ, name="kind")


async def members_allocations(conn: Connection, ids: Sequence[str]) -> dict[str, str]:
    """The allocations these members are on."""
    rows = await conn.fetch(
        "SELECT id, allocation_id FROM app_members WHERE id = ANY($1::text[])", list(ids)
    )
    return {row["id"]: row["allocation_id"] for row in rows}
