"""SQL of kinds of machines, nodes, allocations and quotas."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import asyncpg

from gpuaas_contract.capacity import (
    AllocationCreate,
    NodeCreate,
    RegionCreate,
    SkuCreate,
)
from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.caller import Place, Reach
from gpuaas_platform.kernel.correlation import CorrelatedRows, CorrelationQuery, correlated_sql
from gpuaas_platform.kernel.database import Connection, Record

# The holder of a node sees that its agent was taken away; other conditions are the operators'.
_ALLOCATION = (
    "SELECT a.*, n.address, coalesce(n.host_keys, '[]') AS host_keys,"
    " CASE WHEN n.allocation_id = a.id"
    "  THEN jsonb_path_query_array(n.conditions, '$[*] ? (@.type == \"agent_left\")')"
    "  ELSE '[]' END AS conditions"
    " FROM allocations a LEFT JOIN nodes n ON n.id = a.node_id"
)


async def region_insert(
    conn: Connection, region_id: str, body: RegionCreate, now: datetime
) -> Record | None:
    """A new region; None when the name is taken."""
    return await conn.fetchrow(
        "INSERT INTO regions"
        " (id, name, display_name, provider, provider_options, cleaning, created_at)"
        " VALUES ($1, $2, $3, $4, $5, CASE $4 WHEN 'enrolled' THEN 'same_tenant_only'"
        " ELSE 'recreate' END, $6) ON CONFLICT (name) DO NOTHING RETURNING *",
        region_id, body.name, body.display_name, body.provider, body.provider_options, now,
    )  # fmt: skip


async def region_provider(conn: Connection, name: str) -> str | None:
    """Who has a region's machines; None when there is no such region."""
    found: str | None = await conn.fetchval("SELECT provider FROM regions WHERE name = $1", name)
    return found


async def region_list(conn: Connection, after: str | None, limit: int) -> list[Record]:
    """Regions by name."""
    return await conn.fetch(
        "SELECT * FROM regions WHERE ($1::text IS NULL OR name > $1) ORDER BY name LIMIT $2",
        after, limit,
    )  # fmt: skip


async def sku_insert(
    conn: Connection, sku_id: str, body: SkuCreate, now: datetime
) -> Record | None:
    """A new SKU; None when the name is taken."""
    return await conn.fetchrow(
        "INSERT INTO skus (id, name, display_name, cpus, memory_mib, gpus, gpu_model,"
        " price_per_hour, currency, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
        " ON CONFLICT (name) DO NOTHING RETURNING *",
        sku_id, body.name, body.display_name, body.cpus, body.memory_mib, body.gpus,
        body.gpu_model, body.price_per_hour, body.currency, now,
    )  # fmt: skip


async def sku_list(conn: Connection, after: str | None, limit: int) -> list[Record]:
    """SKUs by name."""
    return await conn.fetch(
        "SELECT * FROM skus WHERE ($1::text IS NULL OR name > $1) ORDER BY name LIMIT $2",
        after, limit,
    )  # fmt: skip


async def sku_read(conn: Connection, name: str) -> Record | None:
    """One SKU."""
    return await conn.fetchrow("SELECT * FROM skus WHERE name = $1", name)


async def sku_lock(conn: Connection, name: str) -> Record | None:
    """One SKU, locked for an update."""
    return await conn.fetchrow("SELECT * FROM skus WHERE name = $1 FOR UPDATE", name)


async def sku_update(conn: Connection, name: str, price: Any, display: str) -> Record | None:  # noqa: ANN401 - a Decimal
    """Set price and display name."""
    return await conn.fetchrow(
        "UPDATE skus SET price_per_hour = $2, display_name = $3, revision = revision + 1"
        " WHERE name = $1 RETURNING *",
        name, price, display,
    )  # fmt: skip


async def kinds_exist(conn: Connection, region: str, sku: str) -> tuple[bool, bool]:
    """Whether the region and the SKU exist."""
    row = await conn.fetchrow(
        "SELECT EXISTS (SELECT FROM regions WHERE name = $1) AS region,"
        " EXISTS (SELECT FROM skus WHERE name = $2) AS sku",
        region, sku,
    )  # fmt: skip
    return (row["region"], row["sku"]) if row is not None else (False, False)


async def node_insert(
    conn: Connection, node_id: str, body: NodeCreate, provider: str, now: datetime
) -> Record | None:
    """A new node; None when the name is taken."""
    return await conn.fetchrow(
        "INSERT INTO nodes"
        " (id, name, region, sku, provider, status, address, host_keys, created_at)"
        " VALUES ($1, $2, $3, $4, $5, 'ready', $6, $7, $8)"
        " ON CONFLICT (name) DO NOTHING RETURNING *",
        node_id, body.name, body.region, body.sku, provider, body.address, body.host_keys, now,
    )  # fmt: skip


async def node_list(conn: Connection, after: str | None, limit: int) -> list[Record]:
    """Nodes, newest first."""
    return await conn.fetch(
        "SELECT * FROM nodes WHERE ($1::text IS NULL OR id < $1) ORDER BY id DESC LIMIT $2",
        after, limit,
    )  # fmt: skip


async def node_read(conn: Connection, node_id: str) -> Record | None:
    """One node."""
    return await conn.fetchrow("SELECT * FROM nodes WHERE id = $1", node_id)


async def node_lock(conn: Connection, node_id: str) -> Record | None:
    """One node, locked for an update."""
    return await conn.fetchrow("SELECT * FROM nodes WHERE id = $1 FOR UPDATE", node_id)


async def node_update(conn: Connection, node_id: str, status: str, reason: str) -> Record | None:
    """Set a node's status."""
    return await conn.fetchrow(
        "UPDATE nodes SET status = $2, status_reason = $3, revision = revision + 1"
        " WHERE id = $1 RETURNING *",
        node_id, status, reason,
    )  # fmt: skip


async def node_seen(conn: Connection, node_id: str, agent_version: str, now: datetime) -> None:
    """A node's agent spoke."""
    await conn.execute(
        "UPDATE nodes SET agent_version = $2, last_seen_at = $3 WHERE id = $1",
        node_id, agent_version, now,
    )  # fmt: skip


async def node_agent_forget(conn: Connection, node_id: str) -> None:
    """A node has no agent any more."""
    await conn.execute("UPDATE nodes SET agent_version = NULL WHERE id = $1", node_id)


async def node_conditions_set(
    conn: Connection, node_id: str, conditions: list[dict[str, Any]]
) -> None:
    """What holds of a node beside its status."""
    await conn.execute("UPDATE nodes SET conditions = $2 WHERE id = $1", node_id, conditions)


async def node_host_keys_set(conn: Connection, node_id: str, host_keys: Sequence[str]) -> None:
    """The keys a machine's sshd shows."""
    await conn.execute(
        "UPDATE nodes SET host_keys = $2, revision = revision + 1 WHERE id = $1",
        node_id, list(host_keys),
    )  # fmt: skip


async def node_allocation(conn: Connection, node_id: str) -> Record | None:
    """The allocation that holds a node now."""
    return await conn.fetchrow(
        "SELECT a.* FROM nodes n JOIN allocations a ON a.id = n.allocation_id WHERE n.id = $1",
        node_id,
    )


async def allocation_node(conn: Connection, allocation_id: str) -> str | None:
    """The node an allocation is on."""
    found: str | None = await conn.fetchval(
        "SELECT node_id FROM allocations WHERE id = $1", allocation_id
    )
    return found


@dataclass(frozen=True)
class NewAllocation:
    """What a new allocation is made of."""

    id: str
    place: Place
    body: AllocationCreate
    node_id: str | None
    correlation_id: str
    now: datetime

    @property
    def status(self) -> str:
        """Active with its machine; requested as long as there is none."""
        return "requested" if self.node_id is None else "active"


async def allocation_insert(conn: Connection, new: NewAllocation) -> bool:
    """A new allocation; False when the project has a live one of that name."""
    return bool(
        await conn.fetchval(
            "INSERT INTO allocations (id, name, org_id, project_id, sku, region, node_id, status,"
            " scheduler_type, integration, correlation_id, created_at)"
            " VALUES ($1, $2, $3, $4, $5, $6, $7, $12, $8, $9, $10, $11)"
            " ON CONFLICT (project_id, name) WHERE status <> 'released' DO NOTHING RETURNING true",
            new.id, new.body.name, new.place.org_id, new.place.project_id, new.body.sku,
            new.body.region, new.node_id, new.body.scheduler_type, new.body.integration,
            new.correlation_id, new.now, new.status,
        )
    )  # fmt: skip


async def allocation_read(conn: Connection, allocation_id: str) -> Record | None:
    """One allocation with its machine's address."""
    return await conn.fetchrow(f"{_ALLOCATION} WHERE a.id = $1", allocation_id)


async def allocation_read_many(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Allocations by id with their machines' addresses, in no order."""
    return await conn.fetch(f"{_ALLOCATION} WHERE a.id = ANY($1)", list(ids))


async def allocations_in(conn: Connection, status: str) -> list[Record]:
    """Every allocation in a state."""
    return await conn.fetch(f"{_ALLOCATION} WHERE a.status = $1", status)


async def allocation_lock_many(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Allocations by id, locked in a stable order."""
    return await conn.fetch(
        f"{_ALLOCATION} WHERE a.id = ANY($1) ORDER BY a.id FOR UPDATE OF a", list(ids)
    )


@dataclass(frozen=True)
class AllocationFilter:
    """Which allocations a list shows."""

    reach: Reach
    project_id: str | None = None
    status: Sequence[str] = ()


async def allocation_list(
    conn: Connection, wanted: AllocationFilter, after: str | None, limit: int
) -> list[Record]:
    """Allocations in reach, newest first."""
    return await conn.fetch(
        f"{_ALLOCATION} WHERE ($1 OR a.org_id = ANY($2) OR a.project_id = ANY($3))"
        " AND ($4::text IS NULL OR a.project_id = $4)"
        " AND ($5::text[] IS NULL OR a.status = ANY($5))"
        " AND ($6::text IS NULL OR a.id < $6) ORDER BY a.id DESC LIMIT $7",
        wanted.reach.everywhere, list(wanted.reach.org_ids), list(wanted.reach.project_ids),
        wanted.project_id, list(wanted.status) or None, after, limit,
    )  # fmt: skip


async def allocation_set_status(
    conn: Connection, ids: Sequence[str], status: str, reason: str = ""
) -> None:
    """Move allocations to a status."""
    await conn.execute(
        "UPDATE allocations SET status = $2, status_reason = $3, revision = revision + 1"
        " WHERE id = ANY($1)",
        list(ids), status, reason,
    )  # fmt: skip


async def allocation_bind(conn: Connection, ids: Sequence[str], instance_id: str | None) -> None:
    """Bind allocations to an instance, or free them."""
    await conn.execute(
        "UPDATE allocations SET bound_instance_id = $2, revision = revision + 1 WHERE id = ANY($1)",
        list(ids), instance_id,
    )  # fmt: skip


async def allocation_settle(conn: Connection, allocation_id: str, node_id: str | None) -> None:
    """The node an allocation is on from now on, or that it is on none."""
    await conn.execute("UPDATE allocations SET node_id = $2 WHERE id = $1", allocation_id, node_id)
    if node_id is not None:
        await conn.execute(
            "UPDATE nodes n SET allocation_id = a.id, last_org_id = a.org_id"
            " FROM allocations a WHERE n.id = $1 AND a.id = $2",
            node_id, allocation_id,
        )  # fmt: skip


async def node_forget(conn: Connection, allocation_id: str, reason: str) -> None:
    """The made machine of an allocation is gone: so is its node, unless others remember it."""
    node_id = await conn.fetchval(
        "UPDATE nodes SET allocation_id = NULL, status = 'retired', status_reason = $2,"
        " revision = revision + 1 WHERE allocation_id = $1 RETURNING id",
        allocation_id, reason,
    )  # fmt: skip
    if node_id is None:
        return
    await conn.execute("DELETE FROM machine_trust WHERE node_id = $1", node_id)
    await conn.execute("UPDATE allocations SET node_id = NULL WHERE node_id = $1", node_id)
    with contextlib.suppress(asyncpg.ForeignKeyViolationError):
        async with conn.transaction():
            await conn.execute("DELETE FROM nodes WHERE id = $1", node_id)


async def quota_set(conn: Connection, place: Place, sku: str, limit: int) -> None:
    """Set a quota."""
    await conn.execute(
        'INSERT INTO quotas (org_id, project_id, sku, "limit") VALUES ($1, $2, $3, $4)'
        ' ON CONFLICT (org_id, project_id, sku) DO UPDATE SET "limit" = excluded."limit"',
        place.org_id, place.project_id or "", sku, limit,
    )  # fmt: skip


async def quota_list(conn: Connection, place: Place) -> list[Record]:
    """The quotas that hold at a place, with their present use."""
    return await conn.fetch(
        'SELECT q.org_id, nullif(q.project_id, \'\') AS project_id, q.sku, q."limit",'
        " (SELECT count(*) FROM allocations a WHERE a.org_id = q.org_id AND a.status <> 'released'"
        "  AND (q.project_id = '' OR a.project_id = q.project_id)"
        "  AND (q.sku = '*' OR a.sku = q.sku)) AS used"
        " FROM quotas q WHERE q.org_id = $1 AND (q.project_id = '' OR q.project_id = $2)"
        " ORDER BY q.project_id, q.sku",
        place.org_id, place.project_id or "",
    )  # fmt: skip


async def quota_lock(conn: Connection, place: Place) -> None:
    """Let one request at a time be counted against the quotas of a place.

    A statement of its own: one that waited for the lock would still count what it saw before.
    """
    await conn.execute(
        "SELECT 1 FROM quotas WHERE org_id = $1 AND (project_id = '' OR project_id = $2)"
        " ORDER BY project_id, sku FOR UPDATE",
        place.org_id, place.project_id or "",
    )  # fmt: skip


async def allocations_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Allocations made under a correlation id, for its timeline."""
    sql, args = correlated_sql(_CORRELATED, query)
    return await conn.fetch(sql, *args)


_CORRELATED = CorrelatedRows("allocations", "created_at", "id", Permission.ALLOCATION_READ)
