"""SQL of orders: what a provider still has to make or unmake."""

from datetime import datetime

from gpuaas_platform.kernel.database import Connection, Record


async def order_put(conn: Connection, allocation_id: str, kind: str, now: datetime) -> None:
    """Have a machine made or unmade. Whoever works on it already ends that first."""
    await conn.execute(
        "INSERT INTO machine_orders (allocation_id, kind, due_at, created_at)"
        " VALUES ($1, $2, $3, $3) ON CONFLICT (allocation_id) DO UPDATE"
        " SET kind = excluded.kind, attempt = 0, due_at = excluded.due_at",
        allocation_id, kind, now,
    )  # fmt: skip


async def orders_claim(
    conn: Connection, token: str, now: datetime, until: datetime, limit: int
) -> list[Record]:
    """Take orders that are due and that nobody works on, with what a provider needs to know."""
    return await conn.fetch(
        "WITH due AS (SELECT allocation_id FROM machine_orders WHERE due_at <= $2"
        "  AND (leased_until IS NULL OR leased_until <= $2)"
        # A machine is taken away after its cleaning was opened, so that the record is complete.
        "  AND NOT EXISTS (SELECT FROM nodes n"
        "   WHERE n.allocation_id = machine_orders.allocation_id AND n.departing)"
        "  ORDER BY due_at LIMIT $4 FOR UPDATE SKIP LOCKED),"
        " taken AS (UPDATE machine_orders o SET token = $1, leased_until = $3,"
        "  attempt = o.attempt + 1 FROM due WHERE o.allocation_id = due.allocation_id"
        "  RETURNING o.*)"
        " SELECT t.*, a.name, a.region, a.sku, a.correlation_id, r.provider, r.provider_options,"
        "  s.cpus, s.memory_mib, s.gpus FROM taken t JOIN allocations a ON a.id = t.allocation_id"
        " JOIN regions r ON r.name = a.region JOIN skus s ON s.name = a.sku",
        token, now, until, limit,
    )  # fmt: skip


async def order_keep(conn: Connection, allocation_id: str, token: str, until: datetime) -> bool:
    """Go on working on an order; False when it is no longer ours."""
    sql = (
        "UPDATE machine_orders SET leased_until = $3"
        " WHERE allocation_id = $1 AND token = $2 RETURNING true"
    )
    return bool(await conn.fetchval(sql, allocation_id, token, until))


async def order_lock(conn: Connection, allocation_id: str, token: str) -> Record | None:
    """An order that is still ours, locked."""
    sql = "SELECT * FROM machine_orders WHERE allocation_id = $1 AND token = $2 FOR UPDATE"
    return await conn.fetchrow(sql, allocation_id, token)


async def order_let_go(
    conn: Connection, allocation_id: str, token: str, due: datetime | None
) -> None:
    """Stop working on an order; it is due again at a time, or as it was."""
    await conn.execute(
        "UPDATE machine_orders SET token = NULL, leased_until = NULL, due_at = coalesce($3, due_at)"
        " WHERE allocation_id = $1 AND token = $2",
        allocation_id, token, due,
    )  # fmt: skip


async def order_end(conn: Connection, allocation_id: str) -> None:
    """Nothing is left to do for an allocation's machine."""
    await conn.execute("DELETE FROM machine_orders WHERE allocation_id = $1", allocation_id)
