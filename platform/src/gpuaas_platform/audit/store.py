"""SQL of the audit room: the chain's step, lists, and reading the chain in order.

The platform's role can insert and read here and nothing else.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from gpuaas_contract.audit import AuditFilter, ChainHead
from gpuaas_contract.ids import RANDOM_BYTES, Prefix, id_make
from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.correlation import CorrelatedRows, CorrelationQuery, correlated_sql
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions, Kind, Listing, listing_sql

# An id is made at the end of the mutation whose beginning is `at`: no transaction lasts longer.
_ID_AFTER_AT_MS: Final = 600_000
_LAST_MS: Final = 2**48 - 1


async def unchained_take(conn: Connection, batch: int) -> list[Record]:
    """Entries that wait for their place, oldest first, with their position in the queue."""
    return await conn.fetch(
        "SELECT u.position, e.* FROM audit_unchained u JOIN audit_entries e ON e.id = u.entry_id"
        " ORDER BY u.position LIMIT $1",
        batch,
    )


async def chain_tail(conn: Connection) -> Record | None:
    """The last link."""
    return await conn.fetchrow("SELECT seq, hash FROM audit_chain ORDER BY seq DESC LIMIT 1")


async def chain_begun_at(conn: Connection) -> datetime:
    """When the entry at the chain's start was made."""
    at: datetime = await conn.fetchval(
        "SELECT at FROM audit_entries WHERE id ="
        " (SELECT entry_id FROM audit_chain ORDER BY seq LIMIT 1)"
    )
    return at


async def chain_append(
    conn: Connection, links: Sequence[tuple[int, str, bytes]], positions: Sequence[int]
) -> None:
    """Append links and take their entries out of the queue."""
    await conn.execute(
        "WITH taken AS (DELETE FROM audit_unchained WHERE position = ANY($4::bigint[]))"
        " INSERT INTO audit_chain (seq, entry_id, hash)"
        " SELECT * FROM unnest($1::bigint[], $2::text[], $3::bytea[])",
        [seq for seq, _, _ in links],
        [entry_id for _, entry_id, _ in links],
        [digest for _, _, digest in links],
        list(positions),
    )


async def chain_read(conn: Connection, after: int, limit: int) -> list[Record]:
    """Links behind a number, in order, each with its entry (whose `id` is null if it is gone)."""
    return await conn.fetch(
        "SELECT c.seq, c.hash, c.entry_id, e.* FROM"
        " (SELECT * FROM audit_chain WHERE seq > $1 ORDER BY seq LIMIT $2) c"
        " LEFT JOIN audit_entries e ON e.id = c.entry_id ORDER BY c.seq",
        after,
        limit,
    )


async def chain_hash(conn: Connection, seq: int) -> bytes | None:
    """The hash at one place of the chain."""
    digest: bytes | None = await conn.fetchval("SELECT hash FROM audit_chain WHERE seq = $1", seq)
    return digest


async def unchained_count(conn: Connection) -> int:
    """How many entries wait for their place."""
    return int(await conn.fetchval("SELECT count(*) FROM audit_unchained"))


async def unchained_stray(conn: Connection, after: str, limit: int) -> tuple[str | None, list[str]]:
    """Of the next entries by id: the last one looked at, and those no chain or queue knows."""
    rows = await conn.fetch(
        "SELECT e.id, c.entry_id IS NULL AND NOT EXISTS (SELECT FROM audit_unchained u"
        " WHERE u.entry_id = e.id) AS stray FROM"
        " (SELECT id FROM audit_entries WHERE id > $1 ORDER BY id LIMIT $2) e"
        " LEFT JOIN audit_chain c ON c.entry_id = e.id ORDER BY e.id",
        after,
        limit,
    )
    return (rows[-1]["id"] if rows else None), [row["id"] for row in rows if row["stray"]]


async def head_last(conn: Connection) -> Record | None:
    """The newest signed head."""
    return await conn.fetchrow("SELECT * FROM audit_heads ORDER BY seq DESC LIMIT 1")


async def head_add(conn: Connection, head: ChainHead) -> None:
    """Keep a signed head."""
    await conn.execute(
        "INSERT INTO audit_heads (seq, hash, at, key_id, public_key, signature)"
        " VALUES ($1, $2, $3, $4, $5, $6)",
        head.seq,
        bytes.fromhex(head.hash),
        head.at,
        head.key_id,
        bytes.fromhex(head.public_key),
        bytes.fromhex(head.signature),
    )


async def heads_read(conn: Connection, after: int, limit: int) -> list[Record]:
    """Signed heads behind a number, in order, each with the chain's hash there (null: no link)."""
    return await conn.fetch(
        "SELECT h.*, c.hash AS chain_hash FROM audit_heads h LEFT JOIN audit_chain c USING (seq)"
        " WHERE h.seq > $1 ORDER BY h.seq LIMIT $2",
        after,
        limit,
    )


async def unchained_lost(conn: Connection) -> str | None:
    """An entry that waited for its place in the chain and is gone."""
    lost: str | None = await conn.fetchval(
        "SELECT u.entry_id FROM audit_unchained u LEFT JOIN audit_entries e ON e.id = u.entry_id"
        " WHERE e.id IS NULL ORDER BY u.position LIMIT 1"
    )
    return lost


async def head_tell(conn: Connection, event_id: str, head: ChainHead) -> None:
    """Put the head among the events, so that others keep it too."""
    await conn.execute(
        "INSERT INTO outbox (id, type, subject, at, correlation_id, data)"
        " VALUES ($1, 'audit.chain.head', $2, $3, $4, $5)",
        event_id,
        f"audit-chain:{head.seq}",
        head.at,
        f"audit-head-{head.seq}",
        head.model_dump(mode="json"),
    )


async def entries_list(
    conn: Connection, wanted: AuditFilter, reach: Reach, page: tuple[str | None, int]
) -> list[Record]:
    """Entries in reach, newest first, behind the page's key, with their place in the chain."""
    before, limit = page
    conditions = Conditions()
    kind = _kind_add(conditions, wanted.action)
    narrow = _conditions_add(conditions, wanted)
    conditions.add_given("id < {}", before)
    listing = Listing("audit_entries", "id", limit, narrow=narrow, kind=kind)
    inner = listing_sql(listing, conditions, reach)
    return await conn.fetch(
        f"SELECT e.*, c.seq, c.hash FROM ({inner}) e"  # noqa: S608 - built of code, values are arguments
        " LEFT JOIN audit_chain c ON c.entry_id = e.id ORDER BY e.id DESC",
        *conditions.args,
    )


async def entries_export(
    conn: Connection, wanted: AuditFilter, reach: Reach, page: tuple[str | None, int]
) -> list[Record]:
    """Chained entries in reach, oldest first, behind the page's key, with their links."""
    after, limit = page
    conditions = Conditions()
    kind = _kind_add(conditions, wanted.action)
    narrow = _conditions_add(conditions, wanted)
    conditions.add_given("id > {}", after)
    listing = Listing("audit_entries", "id", limit, descending=False, narrow=narrow, kind=kind)
    inner = listing_sql(listing, conditions, reach)
    return await conn.fetch(
        f"SELECT e.*, c.seq, c.hash, p.hash AS prev_hash FROM ({inner}) e"  # noqa: S608 - built of code, values are arguments
        " LEFT JOIN audit_chain c ON c.entry_id = e.id"
        " LEFT JOIN audit_chain p ON p.seq = c.seq - 1 ORDER BY e.id",
        *conditions.args,
    )


def _kind_add(conditions: Conditions, action: str | None) -> Kind | None:
    if action is None:
        return None
    text = conditions.add("(action = {} OR starts_with(action, {} || '.'))", action)
    return Kind("action", text)


def _conditions_add(conditions: Conditions, wanted: AuditFilter) -> bool:
    """Add what is asked for; says whether an index leads to few rows."""
    conditions.add_given("outcome = {}", wanted.outcome)
    conditions.add_given("target_kind = {}", wanted.target_kind)
    if wanted.since is not None:
        conditions.add("at >= {}", wanted.since)
        conditions.add("id >= {}", _id_at(wanted.since, 0))
    if wanted.until is not None:
        conditions.add("at < {}", wanted.until)
        conditions.add("id < {}", _id_at(wanted.until, _ID_AFTER_AT_MS))
    return any(
        [
            conditions.add_given("org_id = {}", wanted.org_id),
            conditions.add_given("project_id = {}", wanted.project_id),
            conditions.add_given("actor_id = {}", wanted.actor_id),
            conditions.add_given("target_id = {}", wanted.target_id),
            conditions.add_given("correlation_id = {}", wanted.correlation_id),
        ]
    )


def _id_at(at: datetime, later_ms: int) -> str:
    """The least id of an entry made at a moment (or so much later)."""
    milliseconds = int(at.timestamp() * 1000) + later_ms
    return id_make(Prefix.AUDIT, min(max(milliseconds, 0), _LAST_MS), bytes(RANDOM_BYTES))


async def entries_correlated(conn: Connection, query: CorrelationQuery) -> list[Record]:
    """Entries that carry a correlation id, for its timeline."""
    sql, args = correlated_sql(_CORRELATED, query)
    return await conn.fetch(sql, *args)


_CORRELATED: Final = CorrelatedRows("audit_entries", "at", "id", Permission.AUDIT_READ)
