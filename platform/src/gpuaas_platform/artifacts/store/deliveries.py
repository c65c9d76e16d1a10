"""SQL of deliveries."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.caller import Place, Reach
from gpuaas_platform.kernel.correlation import CorrelatedRows, CorrelationQuery, correlated_sql
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions, Listing, listing_sql

_COLUMNS = "d.*, a.name, a.version, a.digest, a.size, a.media_type, a.status, a.trust, a.platform"
_JOIN = "JOIN artifacts a ON a.id = d.artifact_id"


@dataclass(frozen=True)
class NewDelivery:
    """A delivery to be."""

    id: str
    place: Place
    allocation_id: str
    artifact_id: str
    purpose: str
    expires_at: datetime
    created_by: str
    correlation_id: str
    created_at: datetime


async def delivery_insert(conn: Connection, new: NewDelivery) -> None:
    """Record that a machine may fetch."""
    await conn.execute(
        "INSERT INTO artifact_deliveries (id, org_id, project_id, allocation_id, artifact_id,"
        " purpose, expires_at, created_by, correlation_id, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        new.id, new.place.org_id, new.place.project_id, new.allocation_id, new.artifact_id,
        new.purpose, new.expires_at, new.created_by, new.correlation_id, new.created_at,
    )  # fmt: skip


async def delivery_read(conn: Connection, delivery_id: str) -> Record | None:
    """One delivery with its artifact."""
    return await conn.fetchrow(
        f"SELECT {_COLUMNS} FROM artifact_deliveries d {_JOIN} WHERE d.id = $1",  # noqa: S608 - code
        delivery_id,
    )


async def delivery_lock(conn: Connection, delivery_id: str) -> Record | None:
    """One delivery, held until the transaction ends."""
    return await conn.fetchrow(
        f"SELECT {_COLUMNS} FROM artifact_deliveries d {_JOIN} WHERE d.id = $1 FOR UPDATE OF d",  # noqa: S608 - code
        delivery_id,
    )


@dataclass(frozen=True)
class DeliveryFilter:
    """Which deliveries a list shows."""

    reach: Reach
    project_id: str | None
    allocation_id: str | None
    artifact_id: str | None


async def delivery_list(
    conn: Connection, wanted: DeliveryFilter, after: str | None, limit: int
) -> list[Record]:
    """Deliveries in reach, newest first."""
    conditions = Conditions()
    conditions.add_given("project_id = {}", wanted.project_id)
    narrow = conditions.add_given("allocation_id = {}", wanted.allocation_id)
    narrow = conditions.add_given("artifact_id = {}", wanted.artifact_id) or narrow
    conditions.add_given("id < {}", after)
    narrow = narrow or wanted.project_id is not None
    listing = Listing("artifact_deliveries", "id", limit, narrow=narrow)
    rows = listing_sql(listing, conditions, wanted.reach)
    return await conn.fetch(
        f"SELECT {_COLUMNS} FROM ({rows}) AS d {_JOIN} ORDER BY d.id DESC",  # noqa: S608 - code
        *conditions.args,
    )


async def delivery_revoke(conn: Connection, delivery_id: str, now: datetime) -> None:
    """Let nothing be fetched by it any more."""
    await conn.execute(
        "UPDATE artifact_deliveries SET revoked_at = $2 WHERE id = $1", delivery_id, now
    )


async def fetch_record(conn: Connection, delivery_id: str, source: str, now: datetime) -> None:
    """Somebody with the URL has asked."""
    await conn.execute(
        "UPDATE artifact_deliveries SET fetches = fetches + 1, last_fetch_at = $3,"
        " last_fetch_from = $2 WHERE id = $1",
        delivery_id, source, now,
    )  # fmt: skip


async def delivery_finish(conn: Connection, delivery_id: str, now: datetime) -> bool:
    """The last byte was sent; False when it was sent before."""
    return bool(
        await conn.fetchval(
            "UPDATE artifact_deliveries SET finished_at = $2 WHERE id = $1"
            " AND finished_at IS NULL RETURNING true",
            delivery_id,
            now,
        )
    )


async def deliveries_forget(conn: Connection, before: datetime, limit: int) -> int:
    """Delete records of deliveries that ended long ago; how many."""
    done = await conn.execute(
        "DELETE FROM artifact_deliveries WHERE id IN (SELECT id FROM artifact_deliveries"
        " WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)",
        before,
        limit,
    )
    return int(done.rsplit(" ", 1)[1])


async def deliveries_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Deliveries made under a correlation id."""
    source = CorrelatedRows(
        rows=f"(SELECT {_COLUMNS} FROM artifact_deliveries d {_JOIN})",  # noqa: S608 - code
        at="created_at",
        key="id",
        permission=Permission.ARTIFACT_READ,
    )
    sql, args = correlated_sql(source, query)
    return await conn.fetch(sql, *args)
