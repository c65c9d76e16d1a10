"""SQL of who may get a node: the tenant that held it last, and what its cleaning changed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from gpuaas_contract.capacity import AllocationCreate
from gpuaas_platform.kernel.database import Connection, Record


@dataclass(frozen=True)
class Wanted:
    """A machine wanted for an allocation of a tenant."""

    allocation_id: str
    org_id: str
    body: AllocationCreate


async def node_take(conn: Connection, wanted: Wanted) -> str | None:
    """Give a free node of the wanted kind to an allocation; None when there is none.

    One statement decides and takes: a node this tenant held last, else one no tenant has marked.
    """
    free = (
        "SELECT id FROM nodes WHERE region = $1 AND sku = $2 AND status = 'ready'"
        " AND allocation_id IS NULL AND ($3::text IS NULL OR id = $3)"
    )
    taken: str | None = await conn.fetchval(
        "UPDATE nodes SET allocation_id = $4, last_org_id = $5, warm_until = NULL,"  # noqa: S608 - a text of this file
        " revision = revision + 1 WHERE id = coalesce("
        f"({free} AND last_org_id = $5 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED),"
        f" ({free} AND last_org_id IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED))"
        " RETURNING id",
        wanted.body.region, wanted.body.sku, wanted.body.node_id, wanted.allocation_id,
        wanted.org_id,
    )  # fmt: skip
    return taken


async def node_give_back(conn: Connection, node_id: str, warm_until: datetime | None) -> None:
    """Free a node; its last tenant stays noted."""
    await conn.execute(
        "UPDATE nodes SET allocation_id = NULL, warm_until = $2, revision = revision + 1"
        " WHERE id = $1",
        node_id, warm_until,
    )  # fmt: skip


async def node_depart(conn: Connection, node_id: str, reason: str, correlation_id: str) -> None:
    """A node leaves its tenant."""
    await conn.execute(
        "UPDATE nodes SET departed_as = CASE status WHEN 'cordoned' THEN 'cordoned'"
        " WHEN 'set_aside' THEN departed_as ELSE 'ready' END,"
        " status = 'cleaning', status_reason = $2, departed_by = $3, warm_until = NULL,"
        " departing = true,"
        " revision = revision + 1 WHERE id = $1",
        node_id, reason, correlation_id,
    )  # fmt: skip


async def node_generation(conn: Connection, node_id: str) -> int:
    """The generation of a node."""
    found: int = await conn.fetchval("SELECT generation FROM nodes WHERE id = $1", node_id)
    return found


async def node_generation_next(conn: Connection, node_id: str) -> None:
    """What was given to the node's agent before belongs to an earlier tenant from now on."""
    await conn.execute("UPDATE nodes SET generation = generation + 1 WHERE id = $1", node_id)


async def node_cleaned(conn: Connection, node_id: str, status: str) -> None:
    """No tenant's traces are on the machine of a node."""
    await conn.execute(
        "UPDATE nodes SET status = $2, status_reason = '', last_org_id = NULL, warm_until = NULL,"
        " revision = revision + 1 WHERE id = $1",
        node_id, status,
    )  # fmt: skip


async def nodes_warm_over(conn: Connection, now: datetime, limit: int) -> list[Record]:
    """Free nodes that were kept for their tenant long enough."""
    return await conn.fetch(
        "SELECT id, departed_by FROM nodes WHERE warm_until <= $1 AND allocation_id IS NULL"
        " ORDER BY warm_until LIMIT $2",
        now, limit,
    )  # fmt: skip


async def nodes_departing(conn: Connection, limit: int) -> list[Record]:
    """Nodes that have left a tenant and have no cleaning yet, with what made them leave."""
    return await conn.fetch(
        "SELECT id, departed_by FROM nodes WHERE departing ORDER BY id LIMIT $1", limit
    )


async def node_departed(conn: Connection, node_id: str) -> None:
    """A node that left its tenant has its cleaning."""
    await conn.execute("UPDATE nodes SET departing = false WHERE id = $1", node_id)


async def node_made_for(conn: Connection, node_id: str) -> Record | None:
    """The allocation a machine was made for, while the machine has not been taken away."""
    return await conn.fetchrow(
        "SELECT a.id, a.status, a.status_reason FROM nodes n"
        " JOIN allocations a ON a.id = n.allocation_id WHERE n.id = $1",
        node_id,
    )


async def region_read(conn: Connection, name: str) -> Record | None:
    """One region with how its machines are cleaned."""
    return await conn.fetchrow("SELECT * FROM regions WHERE name = $1", name)


async def region_lock(conn: Connection, name: str) -> Record | None:
    """The same, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM regions WHERE name = $1 FOR UPDATE", name)


@dataclass(frozen=True)
class NewCleaning:
    """How the machines of a region are cleaned from now on."""

    region: str
    method: str
    keep_warm_seconds: int
    hook: dict[str, Any] | None
    secret: bytes | None


async def region_cleaning_set(conn: Connection, new: NewCleaning) -> Record | None:
    """Set how the machines of a region are cleaned."""
    return await conn.fetchrow(
        "UPDATE regions SET cleaning = $2, keep_warm_seconds = $3, reimage_hook = $4,"
        " reimage_secret = $5, revision = revision + 1 WHERE name = $1 RETURNING *",
        new.region, new.method, new.keep_warm_seconds, new.hook, new.secret,
    )  # fmt: skip
