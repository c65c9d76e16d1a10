"""SQL of the operate room: requests, lines and spans of a timeline, sessions, the gap log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from gpuaas_contract.operate import GapCategory, GapStatus
from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.correlation import CorrelatedRows, CorrelationQuery, correlated_sql
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions, Listing, listing_sql

# Whoever made a request learns of it, also where it was refused and stands in no place of theirs.
_REQUESTS: Final = CorrelatedRows(
    "requests", "at", "id", Permission.CORRELATION_READ, mine="actor_id"
)

# Lines and spans tell of operations. Those without a place are the platform's own: they are seen by
# whoever reads operations everywhere.
_TOLD: Final = CorrelatedRows("telemetry", "at", "key", Permission.OPERATION_READ)
_LOST: Final = CorrelatedRows(
    "(SELECT * FROM telemetry_shares WHERE dropped > 0)",
    "dropped_at",
    "'dropped.' || place",
    Permission.OPERATION_READ,
)


@dataclass(frozen=True)
class GapFilter:
    """Which gaps are wanted; every field that is given must match."""

    status: GapStatus | None = None
    category: GapCategory | None = None
    project_id: str | None = None


async def schema_revision(conn: Connection) -> int:
    """The revision the database is at."""
    return int(await conn.fetchval("SELECT coalesce(max(revision), 0) FROM schema_revisions"))


async def requests_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Mutations that were asked for under a correlation id."""
    sql, args = correlated_sql(_REQUESTS, query)
    return await conn.fetch(sql, *args)


async def told_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Lines and spans kept under a correlation id."""
    sql, args = correlated_sql(_TOLD, query)
    return await conn.fetch(sql, *args)


async def lost_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """How many lines and spans of a correlation id are not kept."""
    sql, args = correlated_sql(_LOST, query)
    return await conn.fetch(sql, *args)


async def told_insert(conn: Connection, rows: Sequence[Mapping[str, Any]]) -> list[Record]:
    """Keep lines and spans that are not kept yet; how much there is of each id and place now."""
    return await conn.fetch(
        "WITH added AS (INSERT INTO telemetry"
        " SELECT * FROM jsonb_populate_recordset(NULL::telemetry, $1)"
        " ON CONFLICT DO NOTHING RETURNING correlation_id, place, org_id, project_id, at)"
        " INSERT INTO telemetry_shares AS s"
        " (correlation_id, place, org_id, project_id, kept, first_at)"
        " SELECT correlation_id, place, max(org_id), max(project_id), count(*), min(at)"
        " FROM added GROUP BY correlation_id, place ORDER BY correlation_id, place"
        " ON CONFLICT (correlation_id, place) DO UPDATE SET kept = s.kept + excluded.kept,"
        " first_at = least(s.first_at, excluded.first_at)"
        " RETURNING s.correlation_id, s.place, s.kept",
        rows,
    )


async def lost_add(conn: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Count what was not kept, in the order in which `told_insert` takes its rows."""
    await conn.execute(
        "INSERT INTO telemetry_shares AS s"
        " (correlation_id, place, org_id, project_id, kept, dropped, dropped_at, first_at)"
        " SELECT correlation_id, place, max(org_id), max(project_id), 0, sum(dropped),"
        " max(dropped_at), max(dropped_at)"
        " FROM jsonb_populate_recordset(NULL::telemetry_shares, $1)"
        " GROUP BY correlation_id, place ORDER BY correlation_id, place"
        " ON CONFLICT (correlation_id, place) DO UPDATE SET dropped = s.dropped + excluded.dropped,"
        " dropped_at = greatest(s.dropped_at, excluded.dropped_at)",
        rows,
    )


async def told_drop(conn: Connection, correlation_id: str, place: str, count: int) -> None:
    """Let the oldest of an id and place go, and count them."""
    await conn.execute(
        "WITH old AS (SELECT key FROM telemetry WHERE correlation_id = $1 AND place = $2"
        " ORDER BY at, key LIMIT $3),"
        " gone AS (DELETE FROM telemetry t USING old WHERE t.correlation_id = $1 AND t.place = $2"
        " AND t.key = old.key RETURNING t.at)"
        " UPDATE telemetry_shares SET kept = kept - g.n, dropped = dropped + g.n,"
        " dropped_at = greatest(dropped_at, g.last), first_at = greatest(first_at, g.last)"
        " FROM (SELECT count(*) AS n, max(at) AS last FROM gone) AS g"
        " WHERE correlation_id = $1 AND place = $2 AND g.n > 0",
        correlation_id,
        place,
        count,
    )


async def told_sweep(conn: Connection, before: datetime, shares: int) -> int:
    """Forget what is older, of so many ids; how many of them there were."""
    rows = await conn.fetch(
        "SELECT correlation_id, place FROM telemetry_shares WHERE first_at < $1"
        " ORDER BY first_at LIMIT $2 FOR UPDATE SKIP LOCKED",
        before,
        shares,
    )
    for row in rows:
        await conn.execute(
            "WITH gone AS (DELETE FROM telemetry WHERE correlation_id = $1 AND place = $2"
            " AND at < $3 RETURNING 1)"
            " UPDATE telemetry_shares SET kept = kept - (SELECT count(*) FROM gone), first_at = $3"
            " WHERE correlation_id = $1 AND place = $2",
            row["correlation_id"],
            row["place"],
            before,
        )
    await conn.execute(
        "DELETE FROM telemetry_shares WHERE kept = 0 AND first_at <= $1"
        " AND coalesce(dropped_at, $1) <= $1",
        before,
    )
    return len(rows)


async def told_total(conn: Connection) -> int:
    """How many lines and spans there are."""
    return int(await conn.fetchval("SELECT coalesce(sum(kept), 0) FROM telemetry_shares"))


async def told_largest(conn: Connection) -> Record | None:
    """The oldest id of the place that keeps most: what goes first when there is no more room."""
    return await conn.fetchrow(
        "SELECT correlation_id, place, kept FROM telemetry_shares WHERE kept > 0 AND place ="
        " (SELECT place FROM telemetry_shares GROUP BY place ORDER BY sum(kept) DESC LIMIT 1)"
        " ORDER BY first_at LIMIT 1"
    )


async def sweep_begin(conn: Connection, lock: int) -> bool:
    """Whether nobody else sweeps; nobody else does until this transaction ends."""
    return bool(await conn.fetchval("SELECT pg_try_advisory_xact_lock($1)", lock))


async def sessions_read(conn: Connection) -> list[Record]:
    """Our sessions on this database by name, each with the keys of the session locks it holds."""
    return await conn.fetch(
        "SELECT a.application_name AS name,"
        " coalesce(array_agg((l.classid::bigint << 32) | l.objid::bigint)"
        "  FILTER (WHERE l.pid IS NOT NULL), '{}') AS locks"
        " FROM pg_stat_activity a LEFT JOIN pg_locks l ON l.pid = a.pid AND l.granted"
        " AND l.locktype = 'advisory' AND l.objsubid = 1 AND l.database = a.datid"
        " WHERE a.datname = current_database() AND starts_with(a.application_name, 'gpuaas-')"
        " GROUP BY a.pid, a.application_name ORDER BY a.application_name"
    )


async def gap_insert(conn: Connection, values: Mapping[str, object]) -> Record:
    """A new entry of the gap log."""
    names = ", ".join(values)
    marks = ", ".join(f"${n}" for n in range(1, len(values) + 1))
    row = await conn.fetchrow(
        f"INSERT INTO gaps ({names}) VALUES ({marks}) RETURNING *",  # noqa: S608 - names of columns, no input
        *values.values(),
    )
    assert row is not None  # noqa: S101 - an insert that returns, returned
    return row


async def gap_read(conn: Connection, gap_id: str, *, lock: bool = False) -> Record | None:
    """One gap, held until the transaction ends when asked for."""
    held = " FOR UPDATE" if lock else ""
    return await conn.fetchrow(f"SELECT * FROM gaps WHERE id = $1{held}", gap_id)  # noqa: S608 - code, no values


async def gap_save(conn: Connection, gap_id: str, values: Mapping[str, object]) -> Record:
    """Change a gap that is locked."""
    sets = ", ".join(f"{name} = ${n}" for n, name in enumerate(values, 2))
    row = await conn.fetchrow(
        f"UPDATE gaps SET {sets}, revision = revision + 1 WHERE id = $1 RETURNING *",  # noqa: S608 - names of columns, no input
        gap_id,
        *values.values(),
    )
    assert row is not None  # noqa: S101 - the row is locked
    return row


async def gap_list(
    conn: Connection, wanted: GapFilter, reach: Reach, page: tuple[str | None, int]
) -> list[Record]:
    """Gaps in reach, newest first."""
    before, limit = page
    conditions = Conditions()
    conditions.add_given("status = {}", wanted.status)
    conditions.add_given("category = {}", wanted.category)
    narrow = conditions.add_given("project_id = {}", wanted.project_id)
    conditions.add_given("id < {}", before)
    listing = Listing("gaps", "id", limit, narrow=narrow)
    return await conn.fetch(listing_sql(listing, conditions, reach), *conditions.args)
