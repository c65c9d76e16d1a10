"""SQL of service accounts and their keys."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.identity.store.tenancy import LAST
from gpuaas_platform.kernel.database import Connection, Record

# A service account with the roles it holds, as every reader wants it.
_ACCOUNT = (
    "SELECT s.*, ARRAY (SELECT coalesce(b.role_name, b.role_id) FROM role_bindings b"
    " WHERE b.principal_id = s.id ORDER BY b.id) AS roles FROM service_accounts s"
)


@dataclass(frozen=True)
class NewAccount:
    """A service account to be."""

    id: str
    org_id: str
    project_id: str
    name: str
    display_name: str
    description: str
    public_key: bytes | None
    now: datetime


async def account_insert(conn: Connection, new: NewAccount) -> bool:
    """Make a service account; False when the name is taken in its project."""
    made = await conn.fetchval(
        "INSERT INTO service_accounts (id, org_id, project_id, name, display_name, description,"
        " public_key, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
        " ON CONFLICT (project_id, name) DO NOTHING RETURNING true",
        new.id,
        new.org_id,
        new.project_id,
        new.name,
        new.display_name,
        new.description,
        new.public_key,
        new.now,
    )
    return bool(made)


async def account_read(conn: Connection, account_id: str) -> Record | None:
    """A service account with its roles."""
    return await conn.fetchrow(f"{_ACCOUNT} WHERE s.id = $1", account_id)


async def account_lock(conn: Connection, account_id: str) -> Record | None:
    """A service account, held until the transaction ends."""
    held = await conn.fetchval(
        "SELECT id FROM service_accounts WHERE id = $1 FOR UPDATE", account_id
    )
    return None if held is None else await account_read(conn, account_id)


async def account_write(conn: Connection, account_id: str, change: dict[str, object]) -> None:
    """Change a service account that is held."""
    await conn.execute(
        "UPDATE service_accounts SET display_name = coalesce($2, display_name),"
        " description = coalesce($3, description), active = coalesce($4, active),"
        " public_key = coalesce($5, public_key), revision = revision + 1 WHERE id = $1",
        account_id,
        change.get("display_name"),
        change.get("description"),
        change.get("active"),
        change.get("public_key"),
    )


@dataclass(frozen=True)
class AccountFilter:
    """Which service accounts a list shows."""

    project_id: str
    role: str | None
    before: str | None
    count: int


async def accounts_page(conn: Connection, wanted: AccountFilter) -> list[Record]:
    """Service accounts of a project, newest first, with a certain role if asked."""
    return await conn.fetch(
        f"{_ACCOUNT} WHERE s.project_id = $1 AND ($2::text IS NULL OR EXISTS ("
        " SELECT FROM role_bindings b WHERE b.principal_id = s.id"
        " AND coalesce(b.role_name, b.role_id) = $2))"
        " AND s.id < $3 ORDER BY s.id DESC LIMIT $4",
        wanted.project_id,
        wanted.role,
        wanted.before or LAST,
        wanted.count,
    )


@dataclass(frozen=True)
class NewKey:
    """A key to be."""

    id: str
    service_account_id: str
    name: str
    secret_hash: bytes
    predecessor_id: str | None
    created_by: str
    now: datetime
    expires_at: datetime


async def key_insert(conn: Connection, new: NewKey) -> Record | None:
    """The new key, or None when its predecessor has a successor already."""
    return await conn.fetchrow(
        "INSERT INTO service_account_keys (id, service_account_id, name, secret_hash,"
        " predecessor_id, created_by, created_at, expires_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
        " ON CONFLICT (predecessor_id) WHERE revoked_at IS NULL DO NOTHING RETURNING *",
        new.id,
        new.service_account_id,
        new.name,
        new.secret_hash,
        new.predecessor_id,
        new.created_by,
        new.now,
        new.expires_at,
    )


async def key_read(conn: Connection, key_id: str) -> Record | None:
    """A key with the state of its service account, project and tenant."""
    return await conn.fetchrow(
        "SELECT k.*, s.org_id, s.project_id, s.active AND p.active AND t.active AS usable"
        " FROM service_account_keys k JOIN service_accounts s ON s.id = k.service_account_id"
        " JOIN projects p ON p.id = s.project_id JOIN tenants t ON t.id = s.org_id"
        " WHERE k.id = $1",
        key_id,
    )


async def key_lock(conn: Connection, key_id: str) -> Record | None:
    """A key, held until the transaction ends."""
    return await conn.fetchrow(
        "SELECT * FROM service_account_keys WHERE id = $1 FOR UPDATE", key_id
    )


async def key_expire(conn: Connection, key_id: str, at: datetime) -> None:
    """Let a key end at a time, or at its own if that is earlier; its tokens end with it."""
    await conn.execute(
        "UPDATE service_account_keys SET expires_at = least(expires_at, $2) WHERE id = $1",
        key_id,
        at,
    )


async def key_revoke(conn: Connection, key_id: str, now: datetime) -> Record | None:
    """Revoke a key that is held; the first time counts."""
    return await conn.fetchrow(
        "UPDATE service_account_keys SET revoked_at = coalesce(revoked_at, $2) WHERE id = $1"
        " RETURNING *",
        key_id,
        now,
    )


async def key_used(conn: Connection, key_id: str, now: datetime) -> None:
    """Remember when a key was last exchanged."""
    await conn.execute(
        "UPDATE service_account_keys SET last_used_at = $2 WHERE id = $1", key_id, now
    )


async def keys_in_force(conn: Connection, account_id: str, now: datetime) -> int:
    """How many keys of a service account work now."""
    found: int = await conn.fetchval(
        "SELECT count(*) FROM service_account_keys WHERE service_account_id = $1"
        " AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)",
        account_id,
        now,
    )
    return found


async def keys_page(
    conn: Connection, account_id: str, before: str | None, count: int
) -> list[Record]:
    """Keys of a service account, newest first."""
    return await conn.fetch(
        "SELECT * FROM service_account_keys WHERE service_account_id = $1 AND id < $2"
        " ORDER BY id DESC LIMIT $3",
        account_id,
        before or LAST,
        count,
    )
