"""What people call tenants, projects, people and service accounts, and where those belong."""

from collections.abc import Sequence
from typing import Final

from gpuaas_contract.permissions import Permission
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.naming import NamedRows

PROJECTS: Final = NamedRows(
    "projects", Permission.PROJECT_READ, name="display_name", project_id="id"
)
# Where somebody holds a role, as pairs of tenant and project.
_HELD: Final = (
    "array(SELECT ARRAY[b.org_id, b.project_id] FROM role_bindings b"
    " WHERE b.principal_id = p.id) AS held"
)
_USERS: Final = (
    "SELECT p.id, p.display_name AS name, p.org_id, NULL::text AS project_id,"  # noqa: S608 - code, no values
    f" {_HELD} FROM users p WHERE p.id = ANY($1::text[])"
)
_ACCOUNTS: Final = (
    f"SELECT p.id, p.display_name AS name, p.org_id, p.project_id, {_HELD}"  # noqa: S608 - code, no values
    " FROM service_accounts p WHERE p.id = ANY($1::text[])"
)


async def tenants_read(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Tenants by id."""
    return await conn.fetch(
        "SELECT id, display_name AS name FROM tenants WHERE id = ANY($1::text[])", list(ids)
    )


async def users_read(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """People by id, with who manages them and where they hold a role."""
    return await conn.fetch(_USERS, list(ids))


async def accounts_read(conn: Connection, ids: Sequence[str]) -> list[Record]:
    """Service accounts by id, with their project and where they hold a role."""
    return await conn.fetch(_ACCOUNTS, list(ids))
