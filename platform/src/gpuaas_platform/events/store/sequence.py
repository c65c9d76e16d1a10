"""SQL of numbered events: the relay's step, reading on by number, lists, the sweep."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.events.interest import Interest
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions, Kind, Listing, listing_sql


@dataclass(frozen=True)
class Span:
    """A stretch of the sequence: behind `after`, up to and with `up_to`; how many rows at most."""

    limit: int
    after: int | None = None
    up_to: int | None = None
    descending: bool = False


async def outbox_relay(conn: Connection, batch: int) -> list[Record]:
    """Number up to `batch` events, all or none; the events, in order."""
    return await conn.fetch("SELECT * FROM relay($1)", batch)


async def event_head(conn: Connection) -> int:
    """The number of the newest event."""
    return int(await conn.fetchval("SELECT seq FROM event_head"))


async def event_first_kept(conn: Connection) -> int:
    """The number of the oldest event that is still kept, or the one that comes next."""
    return int(
        await conn.fetchval(
            "SELECT coalesce((SELECT min(seq) FROM events), (SELECT seq + 1 FROM event_head))"
        )
    )


async def events_after(conn: Connection, after: int, limit: int) -> list[Record]:
    """Every event behind a number, in order."""
    return await conn.fetch(
        "SELECT * FROM events WHERE seq > $1 ORDER BY seq LIMIT $2", after, limit
    )


async def events_of(conn: Connection, after: int, up_to: int, prefixes: list[str]) -> list[Record]:
    """Events of these kinds in a stretch of the sequence, in order."""
    return await conn.fetch(
        "SELECT * FROM events WHERE seq > $1 AND seq <= $2"
        " AND EXISTS (SELECT FROM unnest($3::text[]) AS prefix WHERE starts_with(type, prefix))"
        " ORDER BY seq",
        after, up_to, prefixes,
    )  # fmt: skip


async def event_reach(conn: Connection) -> Record:
    """The numbers of the newest event and of the oldest kept, and whether any waits for one."""
    row = await conn.fetchrow(
        "SELECT h.seq AS head, coalesce((SELECT min(seq) FROM events), h.seq + 1) AS first_kept,"
        " EXISTS (SELECT FROM outbox) AS waiting FROM event_head h"
    )
    if row is None:
        raise RuntimeError("the event head is one row from the first migration on")
    return row


async def events_list(conn: Connection, interest: Interest, span: Span) -> list[Record]:
    """Events somebody wants and may read, in order or newest first."""
    conditions = Conditions()
    kind = _kind_add(conditions, interest.wanted.type)
    narrow = _conditions_add(conditions, interest)
    conditions.add_given("seq > {}", span.after)
    conditions.add_given("seq <= {}", span.up_to)
    listing = Listing("events", "seq", span.limit, span.descending, narrow, kind)
    return await conn.fetch(listing_sql(listing, conditions, interest.reach), *conditions.args)


async def sweep_begin(conn: Connection, lock: int) -> bool:
    """Whether nobody else sweeps; holds until the end of the transaction."""
    return bool(await conn.fetchval("SELECT pg_try_advisory_xact_lock($1)", lock))


async def cursor_read(conn: Connection, name: str) -> int | None:
    """How far an outside bus has been told; None when it was never told anything."""
    seq: int | None = await conn.fetchval("SELECT seq FROM event_cursors WHERE name = $1", name)
    return seq


async def cursor_write(conn: Connection, name: str, seq: int) -> None:
    """Remember how far an outside bus has been told."""
    await conn.execute(
        "INSERT INTO event_cursors (name, seq) VALUES ($1, $2)"
        " ON CONFLICT (name) DO UPDATE SET seq = excluded.seq",
        name,
        seq,
    )


async def retention_sweep(conn: Connection, table: str, before: datetime, batch: int) -> int:
    """Delete up to `batch` of the oldest rows written before a moment; how many went."""
    status = await conn.execute(_SWEEPS[table], before, batch)
    return int(status.rsplit(" ", 1)[1])


# Events are found by their number and requests by their id, which follow time closely: only the
# oldest are looked at.
_SWEEPS = {
    "events": "DELETE FROM events WHERE seq IN (SELECT seq FROM"
    " (SELECT seq, at FROM events ORDER BY seq LIMIT $2) AS oldest WHERE at < $1)",
    "requests": "DELETE FROM requests WHERE id IN (SELECT id FROM"
    " (SELECT id, at FROM requests ORDER BY id LIMIT $2) AS oldest WHERE at < $1)",
    "idempotency": "DELETE FROM idempotency WHERE (caller, key_hash) IN"
    " (SELECT caller, key_hash FROM idempotency WHERE at < $1 ORDER BY at LIMIT $2)",
}


def _kind_add(conditions: Conditions, prefixes: list[str]) -> Kind | None:
    if not prefixes:
        return None
    text = conditions.add(
        "EXISTS (SELECT FROM unnest({}::text[]) AS prefix"
        " WHERE type = prefix OR starts_with(type, prefix || '.'))",
        prefixes,
    )
    return Kind("type", text)


def _conditions_add(conditions: Conditions, interest: Interest) -> bool:
    """Add what is asked for; says whether an index leads to few rows."""
    wanted = interest.wanted
    conditions.add_given("app_slug = {}", wanted.app_slug)
    project = "(project_id = {} OR project_id IS NULL)" if interest.above else "project_id = {}"
    return any(
        [
            conditions.add_given("org_id = {}", wanted.org_id),
            conditions.add_given(project, wanted.project_id),
            conditions.add_given("app_instance_id = {}", wanted.app_instance_id),
            conditions.add_given("correlation_id = {}", wanted.correlation_id),
        ]
    )
