"""SQL of figures for operators: how many operations are open, which controllers are at work."""

from datetime import datetime

from gpuaas_platform.kernel.database import Connection, Record


async def operations_open(conn: Connection) -> list[Record]:
    """Operations that are not at their end, by status, by an index that holds no others."""
    return await conn.fetch(
        "SELECT status, count(*) AS number FROM operations"
        " WHERE status IN ('requested', 'accepted', 'running') GROUP BY status"
    )


async def claimable_oldest(conn: Connection, now: datetime) -> datetime | None:
    """Since when the oldest operation waits that a controller could claim."""
    oldest: datetime | None = await conn.fetchval(
        "SELECT min(not_before) FROM operations"
        " WHERE status = 'requested' AND ready AND not_before <= $1",
        now,
    )
    return oldest


async def controllers_count(conn: Connection, since: datetime) -> list[Record]:
    """Replicas of controllers by app: seen since then, and not."""
    return await conn.fetch(
        "SELECT app_slug, count(*) FILTER (WHERE seen > $1) AS present,"
        " count(*) FILTER (WHERE seen <= $1) AS absent FROM"
        " (SELECT app_slug, max(last_seen) AS seen FROM app_controllers"
        " GROUP BY app_slug, service_account_id, replica) AS replicas"
        " GROUP BY app_slug ORDER BY app_slug LIMIT 200",
        since,
    )
