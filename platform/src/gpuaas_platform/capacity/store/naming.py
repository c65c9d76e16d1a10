"""SQL of names: what people call nodes and allocations."""

from collections.abc import Sequence

from gpuaas_platform.kernel.database import Connection, Record


async def nodes_read(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Nodes by id."""
    return await conn.fetch("SELECT id, name FROM nodes WHERE id = ANY($1::text[])", list(ids))


async def allocations_read(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Allocations by id, with their places."""
    return await conn.fetch(
        "SELECT id, name, org_id, project_id FROM allocations WHERE id = ANY($1::text[])", list(ids)
    )
