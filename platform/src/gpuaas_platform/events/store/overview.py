"""SQL of what operators ask of events: those of a correlation id, what waits, what failed."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.correlation import CorrelatedRows, CorrelationQuery, correlated_sql
from gpuaas_platform.kernel.database import Connection, Record

_CORRELATED: Final = CorrelatedRows(
    "events", "at", "lpad(seq::text, 20, '0')", Permission.EVENT_READ
)


@dataclass(frozen=True)
class Backlog:
    """Events that wait for their number (counted up to a bound), and webhooks in trouble."""

    depth: int
    oldest: datetime | None
    webhooks_failing: int
    deliveries_dead: int


async def events_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Events that carry a correlation id, for its timeline."""
    sql, args = correlated_sql(_CORRELATED, query)
    return await conn.fetch(sql, *args)


async def backlog_read(conn: Connection) -> Backlog:
    """What waits and what failed, by indexes alone."""
    row = await conn.fetchrow(
        "SELECT (SELECT count(*) FROM (SELECT FROM outbox LIMIT 10000) AS counted) AS depth,"
        " (SELECT at FROM outbox ORDER BY position LIMIT 1) AS oldest,"
        " (SELECT count(*) FROM webhooks WHERE failures > 0) AS webhooks_failing,"
        " (SELECT count(*) FROM webhooks w JOIN webhook_deliveries d"
        " ON d.webhook_id = w.id AND d.status = 'dead') AS deliveries_dead"
    )
    return Backlog(0, None, 0, 0) if row is None else Backlog(**dict(row))
