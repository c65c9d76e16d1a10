"""Where a project or tenant stands in the tree; every room above asks here before it authorises.

An inactive or unknown place is not found: the caller learns nothing about which.
"""

from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import not_found


async def project_place(conn: Connection, project_id: str) -> Place:
    """The place of an active project."""
    org_id = await conn.fetchval(
        "SELECT p.org_id FROM projects p JOIN tenants t ON t.id = p.org_id"
        " WHERE p.id = $1 AND p.active AND t.active",
        project_id,
    )
    if org_id is None:
        raise not_found("project", project_id)
    return Place(org_id, project_id)


async def tenant_place(conn: Connection, org_id: str) -> Place:
    """The place of an active tenant."""
    if not await conn.fetchval("SELECT true FROM tenants WHERE id = $1 AND active", org_id):
        raise not_found("tenant", org_id)
    return Place(org_id)
