"""SQL of access credentials."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.caller import Place, Reach
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.listing import Conditions, Listing, listing_sql


@dataclass(frozen=True)
class NewCredential:
    """A credential to be."""

    id: str
    place: Place
    name: str
    username: str
    public_key: str
    fingerprint: str
    secret_path: str
    predecessor_id: str | None
    deliveries_max: int
    expires_at: datetime
    created_by: str
    correlation_id: str


async def credential_insert(conn: Connection, new: NewCredential, now: datetime) -> Record | None:
    """Keep a credential; None when the project has an active one of that name."""
    return await conn.fetchrow(
        "INSERT INTO access_credentials (id, org_id, project_id, name, username, public_key,"
        " fingerprint, secret_path, predecessor_id, deliveries_max, expires_at, created_by,"
        " correlation_id, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)"
        " ON CONFLICT (project_id, name) WHERE status = 'active' AND NOT succeeded DO NOTHING"
        " RETURNING *",
        new.id, new.place.org_id, new.place.project_id, new.name, new.username, new.public_key,
        new.fingerprint, new.secret_path, new.predecessor_id, new.deliveries_max, new.expires_at,
        new.created_by, new.correlation_id, now,
    )  # fmt: skip


async def credential_read(conn: Connection, credential_id: str) -> Record | None:
    """One credential."""
    return await conn.fetchrow("SELECT * FROM access_credentials WHERE id = $1", credential_id)


async def credential_lock(conn: Connection, credential_id: str) -> Record | None:
    """One credential, held until the transaction ends."""
    return await conn.fetchrow(
        "SELECT * FROM access_credentials WHERE id = $1 FOR UPDATE", credential_id
    )


async def credential_succeed(conn: Connection, credential_id: str, expires_at: datetime) -> None:
    """Another takes over from a credential that is held."""
    await conn.execute(
        "UPDATE access_credentials SET succeeded = true, expires_at = least(expires_at, $2)"
        " WHERE id = $1",
        credential_id, expires_at,
    )  # fmt: skip


async def credential_count(conn: Connection, credential_id: str) -> None:
    """One more delivery of a credential that is held."""
    await conn.execute(
        "UPDATE access_credentials SET deliveries = deliveries + 1 WHERE id = $1", credential_id
    )


async def credential_end(conn: Connection, credential_id: str, status: str, reason: str) -> Record:
    """A credential that is held can be delivered no more."""
    [row] = await conn.fetch(
        "UPDATE access_credentials SET status = $2, ended_reason = $3 WHERE id = $1 RETURNING *",
        credential_id, status, reason,
    )  # fmt: skip
    return row


async def credentials_due(conn: Connection, now: datetime, limit: int) -> list[str]:
    """Credentials whose time is over."""
    rows = await conn.fetch(
        "SELECT id FROM access_credentials WHERE status = 'active' AND expires_at <= $1"
        " ORDER BY expires_at LIMIT $2",
        now, limit,
    )  # fmt: skip
    return [row["id"] for row in rows]


async def custody_list(
    conn: Connection, table: str, reach: Reach, project_id: str | None, page: tuple[str | None, int]
) -> list[Record]:
    """Rows of a table of this room in reach, newest first; the page is (after, limit)."""
    conditions = Conditions()
    narrow = conditions.add_given("project_id = {}", project_id)
    conditions.add_given("id < {}", page[0])
    listing = Listing(table, "id", page[1], narrow=narrow)
    return await conn.fetch(listing_sql(listing, conditions, reach), *conditions.args)
