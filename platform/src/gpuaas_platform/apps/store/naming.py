"""SQL of names: what people call instances, members and operations."""

from collections.abc import Sequence

from gpuaas_platform.kernel.database import Connection, Record


async def instances_read(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Instances by id, with their places; by their names where nobody gave them another."""
    return await conn.fetch(
        "SELECT id, coalesce(nullif(display_name, ''), resource_name) AS name, org_id, project_id"
        " FROM app_instances WHERE id = ANY($1::text[])",
        list(ids),
    )


async def members_read(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Members by id, with their places and the allocations they are on."""
    return await conn.fetch(
        "SELECT id, component_key AS name, org_id, project_id, allocation_id FROM app_members"
        " WHERE id = ANY($1::text[])",
        list(ids),
    )


async def operations_read(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Operations by id, with their places."""
    return await conn.fetch(
        "SELECT id, kind AS name, org_id, project_id FROM operations WHERE id = ANY($1::text[])",
        list(ids),
    )
