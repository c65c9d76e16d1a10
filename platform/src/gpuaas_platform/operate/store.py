"""SQL of the operate room: requests of a timeline, sessions and duties, the gap log."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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
