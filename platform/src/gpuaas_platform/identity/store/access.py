"""SQL of roles, role bindings and what groups at an OIDC provider carry."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.identity.store.tenancy import LAST
from gpuaas_platform.kernel.caller import PLATFORM, Place, Reach
from gpuaas_platform.kernel.database import Connection, Record

_ADMINS_LOCK = 0x6964_656E_7469  # "identi": whoever may end the last administrator waits in line

# A binding as every reader wants it: with its role's keys and its principal's name.
_BINDING = (
    "SELECT b.*, r.permissions, coalesce(b.role_name, r.name) AS role_title,"
    " coalesce(u.email, s.name) AS principal_name FROM role_bindings b"
    " LEFT JOIN roles r ON r.id = b.role_id LEFT JOIN users u ON u.id = b.user_id"
    " LEFT JOIN service_accounts s ON s.id = b.service_account_id"
)


@dataclass(frozen=True)
class RoleRef:
    """A built-in role by its name, or a custom one by its id."""

    name: str | None
    id: str | None


@dataclass(frozen=True)
class NewBinding:
    """A binding to be."""

    id: str
    principal_id: str
    role: RoleRef
    place: Place
    created_by: str
    now: datetime
    source: str = "direct"
    mapping_id: str | None = None
    reason: str = ""
    expires_at: datetime | None = None


async def binding_insert(conn: Connection, new: NewBinding) -> bool:
    """Make a binding; False when the principal holds the role there already."""
    made = await conn.fetchval(
        "INSERT INTO role_bindings (id, principal_id, role_name, role_id, org_id, project_id,"
        " created_by, created_at, source, mapping_id, reason, expires_at)"
        " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)"
        " ON CONFLICT DO NOTHING RETURNING true",
        new.id,
        new.principal_id,
        new.role.name,
        new.role.id,
        new.place.org_id,
        new.place.project_id,
        new.created_by,
        new.now,
        new.source,
        new.mapping_id,
        new.reason,
        new.expires_at,
    )
    return bool(made)


async def binding_read(conn: Connection, binding_id: str) -> Record | None:
    """A binding."""
    return await conn.fetchrow(f"{_BINDING} WHERE b.id = $1", binding_id)


async def binding_delete(conn: Connection, binding_id: str) -> bool:
    """Remove a binding; False when it is gone already."""
    gone = await conn.fetchval("DELETE FROM role_bindings WHERE id = $1 RETURNING true", binding_id)
    return bool(gone)


async def bindings_expired_delete(conn: Connection, new: NewBinding) -> None:
    """Make room for a binding whose like has run out."""
    await conn.execute(
        "DELETE FROM role_bindings WHERE principal_id = $1 AND source = 'direct'"
        " AND role_name IS NOT DISTINCT FROM $2 AND role_id IS NOT DISTINCT FROM $3"
        " AND org_id IS NOT DISTINCT FROM $4 AND project_id IS NOT DISTINCT FROM $5"
        " AND expires_at <= $6",
        new.principal_id,
        new.role.name,
        new.role.id,
        new.place.org_id,
        new.place.project_id,
        new.now,
    )


async def bindings_of(conn: Connection, principal_id: str) -> list[Record]:
    """Everything a principal holds, oldest first, also what has run out."""
    return await conn.fetch(f"{_BINDING} WHERE b.principal_id = $1 ORDER BY b.id", principal_id)


@dataclass(frozen=True)
class BindingFilter:
    """Which bindings a list shows."""

    reach: Reach
    org_id: str | None
    project_id: str | None
    principal_id: str | None
    before: str | None
    count: int


async def bindings_page(conn: Connection, wanted: BindingFilter) -> list[Record]:
    """Bindings in reach, newest first."""
    return await conn.fetch(
        f"{_BINDING} WHERE ($1 OR b.org_id = ANY ($2::text[]) OR b.project_id = ANY ($3::text[]))"
        " AND ($4::text IS NULL OR b.org_id = $4) AND ($5::text IS NULL OR b.project_id = $5)"
        " AND ($6::text IS NULL OR b.principal_id = $6) AND b.id < $7"
        " ORDER BY b.id DESC LIMIT $8",
        wanted.reach.everywhere,
        list(wanted.reach.org_ids),
        list(wanted.reach.project_ids),
        wanted.org_id,
        wanted.project_id,
        wanted.principal_id,
        wanted.before or LAST,
        wanted.count,
    )


async def visits_page(
    conn: Connection, now: datetime, before: str | None, count: int
) -> list[Record]:
    """Glass that is broken now, newest first."""
    return await conn.fetch(
        f"{_BINDING} WHERE b.source = 'break_glass' AND b.expires_at > $1 AND b.id < $2"
        " ORDER BY b.id DESC LIMIT $3",
        now,
        before or LAST,
        count,
    )


async def tenant_has_admin(conn: Connection, org_id: str) -> bool:
    """Whether somebody was made administrator of a tenant."""
    found = await conn.fetchval(
        "SELECT true FROM role_bindings WHERE org_id = $1 AND project_id IS NULL"
        " AND role_name = 'tenant_admin' AND source <> 'break_glass' LIMIT 1",
        org_id,
    )
    return bool(found)


async def admins_lock(conn: Connection) -> None:
    """Stand in line with everybody else who may end an administrator."""
    await conn.execute("SELECT pg_advisory_xact_lock($1)", _ADMINS_LOCK)


async def admins_count(conn: Connection) -> int:
    """Platform administrators who can sign in and whose role does not run out."""
    found: int = await conn.fetchval(
        "SELECT count(DISTINCT u.id) FROM role_bindings b JOIN users u ON u.id = b.user_id"
        " LEFT JOIN tenants home ON home.id = u.org_id"
        " WHERE b.role_name = 'platform_admin' AND b.org_id IS NULL AND b.source = 'direct'"
        " AND b.expires_at IS NULL AND u.active AND coalesce(home.active, true)"
    )
    return found


@dataclass(frozen=True)
class NewRole:
    """A custom role to be."""

    id: str
    org_id: str
    name: str
    description: str
    permissions: list[str]
    now: datetime


async def role_insert(conn: Connection, new: NewRole) -> Record | None:
    """The new role, or None when the name is taken in its tenant."""
    return await conn.fetchrow(
        "INSERT INTO roles (id, org_id, name, description, permissions, created_at)"
        " VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (org_id, name) DO NOTHING RETURNING *",
        new.id,
        new.org_id,
        new.name,
        new.description,
        new.permissions,
        new.now,
    )


async def role_read(conn: Connection, role_id: str) -> Record | None:
    """A custom role."""
    return await conn.fetchrow("SELECT * FROM roles WHERE id = $1", role_id)


async def role_lock(conn: Connection, role_id: str) -> Record | None:
    """A custom role, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM roles WHERE id = $1 FOR UPDATE", role_id)


async def role_hold(conn: Connection, role_id: str) -> Record | None:
    """A custom role that stays as it is until the transaction ends; others may hold it too."""
    return await conn.fetchrow("SELECT * FROM roles WHERE id = $1 FOR SHARE", role_id)


async def role_write(
    conn: Connection, role_id: str, description: str | None, permissions: list[str] | None
) -> Record | None:
    """Change a role that is held."""
    return await conn.fetchrow(
        "UPDATE roles SET description = coalesce($2, description),"
        " permissions = coalesce($3, permissions), revision = revision + 1"
        " WHERE id = $1 RETURNING *",
        role_id,
        description,
        permissions,
    )


async def role_users(conn: Connection, role_id: str) -> int:
    """How many bindings and group mappings use a role."""
    found: int = await conn.fetchval(
        "SELECT (SELECT count(*) FROM role_bindings WHERE role_id = $1)"
        " + (SELECT count(*) FROM group_mappings WHERE role_id = $1)",
        role_id,
    )
    return found


async def role_delete(conn: Connection, role_id: str) -> None:
    """Remove a role nobody uses."""
    await conn.execute("DELETE FROM roles WHERE id = $1", role_id)


@dataclass(frozen=True)
class RoleFilter:
    """Which custom roles a list shows."""

    everywhere: bool
    org_ids: list[str]
    org_id: str | None
    before: str | None
    count: int


async def roles_page(conn: Connection, wanted: RoleFilter) -> list[Record]:
    """Custom roles of the given tenants, newest first."""
    return await conn.fetch(
        "SELECT * FROM roles WHERE ($1 OR org_id = ANY ($2::text[]))"
        " AND ($3::text IS NULL OR org_id = $3) AND id < $4 ORDER BY id DESC LIMIT $5",
        wanted.everywhere,
        wanted.org_ids,
        wanted.org_id,
        wanted.before or LAST,
        wanted.count,
    )


def place_of(row: Record) -> Place:
    """The place a row with `org_id` and `project_id` belongs to."""
    if row["org_id"] is None:
        return PLATFORM
    return Place(row["org_id"], row["project_id"])
