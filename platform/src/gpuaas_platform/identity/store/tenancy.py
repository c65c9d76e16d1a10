"""SQL of tenants and projects."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.database import Connection, Record

LAST = "zzzz"  # sorts after every id: the cursor of a first page


@dataclass(frozen=True)
class NewPlace:
    """A tenant or project to be; `org_id` where it is a project."""

    id: str
    name: str
    display_name: str
    now: datetime
    org_id: str | None = None


async def tenant_insert(conn: Connection, new: NewPlace) -> Record | None:
    """The new tenant, or None when the name is taken."""
    return await conn.fetchrow(
        "INSERT INTO tenants (id, name, display_name, created_at) VALUES ($1, $2, $3, $4)"
        " ON CONFLICT (name) DO NOTHING RETURNING *",
        new.id,
        new.name,
        new.display_name,
        new.now,
    )


async def tenant_read(conn: Connection, org_id: str) -> Record | None:
    """A tenant."""
    return await conn.fetchrow("SELECT * FROM tenants WHERE id = $1", org_id)


async def tenant_lock(conn: Connection, org_id: str) -> Record | None:
    """A tenant, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM tenants WHERE id = $1 FOR UPDATE", org_id)


async def tenant_write(conn: Connection, org_id: str, change: dict[str, object]) -> Record:
    """Change a tenant that is held."""
    row = await conn.fetchrow(
        "UPDATE tenants SET display_name = coalesce($2, display_name),"
        " active = coalesce($3, active),"
        " second_factor_required = coalesce($4, second_factor_required),"
        " revision = revision + 1"
        " WHERE id = $1 RETURNING *",
        org_id,
        change.get("display_name"),
        change.get("active"),
        change.get("second_factor_required"),
    )
    return _present(row)


async def tenants_page(
    conn: Connection, reach: Reach, before: str | None, count: int
) -> list[Record]:
    """Tenants in reach, newest first."""
    return await conn.fetch(
        "SELECT * FROM tenants WHERE ($1 OR id = ANY ($2::text[])) AND id < $3"
        " ORDER BY id DESC LIMIT $4",
        reach.everywhere,
        list(reach.org_ids),
        before or LAST,
        count,
    )


async def project_insert(conn: Connection, new: NewPlace) -> Record | None:
    """The new project, or None when the tenant is not there or has one by this name."""
    return await conn.fetchrow(
        "INSERT INTO projects (id, org_id, name, display_name, created_at)"
        " SELECT $1, t.id, $3, $4, $5::timestamptz FROM tenants t WHERE t.id = $2 AND t.active"
        " ON CONFLICT (org_id, name) DO NOTHING RETURNING *",
        new.id,
        new.org_id,
        new.name,
        new.display_name,
        new.now,
    )


async def project_read(conn: Connection, project_id: str) -> Record | None:
    """A project."""
    return await conn.fetchrow("SELECT * FROM projects WHERE id = $1", project_id)


async def project_lock(conn: Connection, project_id: str) -> Record | None:
    """A project, held until the transaction ends."""
    return await conn.fetchrow("SELECT * FROM projects WHERE id = $1 FOR UPDATE", project_id)


async def project_write(
    conn: Connection, project_id: str, display_name: str, active: bool
) -> Record:
    """Change a project that is held."""
    row = await conn.fetchrow(
        "UPDATE projects SET display_name = $2, active = $3, revision = revision + 1"
        " WHERE id = $1 RETURNING *",
        project_id,
        display_name,
        active,
    )
    return _present(row)


@dataclass(frozen=True)
class ProjectFilter:
    """Which projects a list shows."""

    reach: Reach
    org_id: str | None
    before: str | None
    count: int


async def projects_page(conn: Connection, wanted: ProjectFilter) -> list[Record]:
    """Projects in reach, newest first, of one tenant if asked."""
    return await conn.fetch(
        "SELECT * FROM projects"
        " WHERE ($1 OR org_id = ANY ($2::text[]) OR id = ANY ($3::text[]))"
        " AND ($4::text IS NULL OR org_id = $4) AND id < $5 ORDER BY id DESC LIMIT $6",
        wanted.reach.everywhere,
        list(wanted.reach.org_ids),
        list(wanted.reach.project_ids),
        wanted.org_id,
        wanted.before or LAST,
        wanted.count,
    )


async def project_org(conn: Connection, project_id: str) -> str | None:
    """The tenant of a project that is active, in a tenant that is."""
    found: str | None = await conn.fetchval(
        "SELECT p.org_id FROM projects p JOIN tenants t ON t.id = p.org_id"
        " WHERE p.id = $1 AND p.active AND t.active",
        project_id,
    )
    return found


async def names(conn: Connection, org_ids: list[str], project_ids: list[str]) -> dict[str, str]:
    """Display names of tenants and projects, by id."""
    rows = await conn.fetch(
        "SELECT id, display_name FROM tenants WHERE id = ANY ($1::text[])"
        " UNION ALL SELECT id, display_name FROM projects WHERE id = ANY ($2::text[])",
        org_ids,
        project_ids,
    )
    return {row["id"]: row["display_name"] for row in rows}


def _present(row: Record | None) -> Record:
    if row is None:
        raise RuntimeError("a row that is held by this transaction is gone")
    return row
