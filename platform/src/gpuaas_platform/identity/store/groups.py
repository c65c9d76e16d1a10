"""SQL of what groups at an OIDC provider carry."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.identity.store.access import RoleRef
from gpuaas_platform.identity.store.tenancy import LAST
from gpuaas_platform.kernel.caller import Place, Reach
from gpuaas_platform.kernel.database import Connection, Record

_MAPPING = (
    "SELECT m.*, r.permissions, coalesce(m.role_name, r.name) AS role_title FROM group_mappings m"
    " LEFT JOIN roles r ON r.id = m.role_id"
)


@dataclass(frozen=True)
class NewMapping:
    """A mapping to be."""

    id: str
    issuer: str
    group: str
    role: RoleRef
    place: Place
    now: datetime
    provider_id: str | None


async def mapping_insert(conn: Connection, new: NewMapping) -> Record | None:
    """The new mapping, or None when there is one like it."""
    made = await conn.fetchval(
        "INSERT INTO group_mappings (id, issuer, group_name, role_name, role_id, org_id,"
        " project_id, created_at, provider_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        " ON CONFLICT DO NOTHING RETURNING id",
        new.id,
        new.issuer,
        new.group,
        new.role.name,
        new.role.id,
        new.place.org_id,
        new.place.project_id,
        new.now,
        new.provider_id,
    )
    return None if made is None else await mapping_read(conn, new.id)


async def mapping_read(conn: Connection, mapping_id: str) -> Record | None:
    """A mapping."""
    return await conn.fetchrow(f"{_MAPPING} WHERE m.id = $1", mapping_id)


async def mapping_lock(conn: Connection, mapping_id: str) -> Record | None:
    """A mapping, held until the transaction ends."""
    held = await conn.fetchval("SELECT id FROM group_mappings WHERE id = $1 FOR UPDATE", mapping_id)
    return None if held is None else await mapping_read(conn, mapping_id)


async def mapping_delete(conn: Connection, mapping_id: str) -> None:
    """Remove a mapping nobody's binding follows any more."""
    await conn.execute("DELETE FROM group_mappings WHERE id = $1", mapping_id)


async def mappings_of(
    conn: Connection, provider_id: str | None, issuer: str, groups: list[str]
) -> list[Record]:
    """Mappings that apply to somebody in these groups; none of them goes before the commit."""
    return await conn.fetch(
        f"{_MAPPING} LEFT JOIN tenants t ON t.id = m.org_id"
        " LEFT JOIN projects p ON p.id = m.project_id"
        " WHERE m.issuer = $1 AND m.group_name = ANY ($2::text[])"
        " AND m.provider_id IS NOT DISTINCT FROM $3"
        " AND coalesce(t.active, true) AND coalesce(p.active, true)"
        " ORDER BY m.id FOR SHARE OF m",
        issuer,
        groups,
        provider_id,
    )


@dataclass(frozen=True)
class MappingFilter:
    """Which mappings a list shows."""

    reach: Reach
    org_id: str | None
    before: str | None
    count: int


async def mappings_page(conn: Connection, wanted: MappingFilter) -> list[Record]:
    """Mappings in reach, newest first."""
    return await conn.fetch(
        f"{_MAPPING} WHERE ($1 OR m.org_id = ANY ($2::text[]) OR m.project_id = ANY ($3::text[]))"
        " AND ($4::text IS NULL OR m.org_id = $4) AND m.id < $5 ORDER BY m.id DESC LIMIT $6",
        wanted.reach.everywhere,
        list(wanted.reach.org_ids),
        list(wanted.reach.project_ids),
        wanted.org_id,
        wanted.before or LAST,
        wanted.count,
    )


async def bindings_followed(
    conn: Connection, user_id: str, provider_id: str | None
) -> dict[str, str]:
    """A user's bindings that follow groups of one provider, by their mapping."""
    rows = await conn.fetch(
        "SELECT b.id, b.mapping_id FROM role_bindings b"
        " JOIN group_mappings m ON m.id = b.mapping_id WHERE b.principal_id = $1"
        " AND m.provider_id IS NOT DISTINCT FROM $2 ORDER BY b.id",
        user_id,
        provider_id,
    )
    return {row["mapping_id"]: row["id"] for row in rows}


async def followers(conn: Connection, mapping_id: str) -> list[str]:
    """Bindings that follow a mapping."""
    rows = await conn.fetch(
        "SELECT id FROM role_bindings WHERE mapping_id = $1 ORDER BY id", mapping_id
    )
    return [row["id"] for row in rows]
