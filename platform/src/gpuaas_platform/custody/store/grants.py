"""SQL of access grants."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.caller import Place, Reach
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions, Listing, listing_sql


@dataclass(frozen=True)
class NewGrant:
    """A grant to be."""

    id: str
    place: Place
    allocation_id: str
    principal: str
    login: str
    username: str
    fingerprint: str
    source_address: list[str]
    force_command: str | None
    pty: bool
    valid_after: datetime
    valid_before: datetime
    created_by: str
    correlation_id: str


async def grants_insert(
    conn: Connection, news: Sequence[NewGrant], ca_key_id: str, now: datetime
) -> list[Record]:
    """Keep grants, each with a serial no other ever had; none when the key is not current."""
    one = news[0]
    return await conn.fetch(
        "INSERT INTO access_grants (id, serial, org_id, project_id, allocation_id, principal,"
        " ca_key_id, fingerprint, source_address, force_command, pty, valid_after, valid_before,"
        " created_by, correlation_id, created_at, login, username)"
        " SELECT n.id, nextval('ssh_serials'), n.org_id, n.project_id, n.allocation_id,"
        " n.principal, k.id, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17 FROM ssh_ca_keys k,"
        " unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[])"
        " WITH ORDINALITY AS n (id, org_id, project_id, allocation_id, principal, position)"
        " WHERE k.id = $6 AND k.status = 'current' ORDER BY n.position RETURNING *",
        [new.id for new in news], [new.place.org_id for new in news],
        [new.place.project_id for new in news], [new.allocation_id for new in news],
        [new.principal for new in news], ca_key_id, one.fingerprint, one.source_address,
        one.force_command, one.pty, one.valid_after, one.valid_before, one.created_by,
        one.correlation_id, now, one.login, one.username,
    )  # fmt: skip


async def grant_read(conn: Connection, grant_id: str) -> Record | None:
    """One grant."""
    return await conn.fetchrow("SELECT * FROM access_grants WHERE id = $1", grant_id)


async def grant_lock(conn: Connection, grant_id: str) -> Record | None:
    """One grant, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM access_grants WHERE id = $1 FOR UPDATE", grant_id)


async def grant_revoke(conn: Connection, grant_id: str, reason: str, now: datetime) -> Record:
    """Mark a grant that is held as revoked."""
    [row] = await conn.fetch(
        "UPDATE access_grants SET revoked_at = $2, revoke_reason = $3,"
        " revocation = nextval('ssh_revocations') WHERE id = $1 RETURNING *",
        grant_id, now, reason,
    )  # fmt: skip
    return row


@dataclass(frozen=True)
class GrantFilter:
    """Which grants a list shows."""

    reach: Reach
    project_id: str | None
    allocation_id: str | None


async def grant_list(
    conn: Connection, wanted: GrantFilter, after: str | None, limit: int
) -> list[Record]:
    """Grants in reach, newest first."""
    conditions = Conditions()
    conditions.add_given("project_id = {}", wanted.project_id)
    narrow = conditions.add_given("allocation_id = {}", wanted.allocation_id)
    conditions.add_given("id < {}", after)
    narrow = narrow or wanted.project_id is not None
    listing = Listing("access_grants", "id", limit, narrow=narrow)
    return await conn.fetch(listing_sql(listing, conditions, wanted.reach), *conditions.args)


async def grants_revoked(
    conn: Connection, alive_at: datetime, allocation_id: str | None
) -> tuple[int, list[Record]]:
    """How often anything was revoked, and revoked grants whose certificate would still live."""
    version = await revocations_count(conn, allocation_id)
    rows = await conn.fetch(
        "SELECT g.serial, k.public_key FROM access_grants g JOIN ssh_ca_keys k"
        " ON k.id = g.ca_key_id WHERE g.revoked_at IS NOT NULL AND g.valid_before > $1"
        " AND k.status <> 'retired' AND ($2::text IS NULL OR g.allocation_id = $2)",
        alive_at, allocation_id,
    )  # fmt: skip
    return version, rows


async def revocations_count(conn: Connection, allocation_id: str | None) -> int:
    """How often anything was revoked, of one allocation or at all."""
    if allocation_id is None:
        return int(await conn.fetchval("SELECT max(revocation) FROM access_grants") or 0)
    sql = "SELECT max(revocation) FROM access_grants WHERE allocation_id = $1"
    return int(await conn.fetchval(sql, allocation_id) or 0)
