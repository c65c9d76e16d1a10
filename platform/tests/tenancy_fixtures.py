"""Tenants and projects put straight into the database, for rooms above identity."""

from datetime import UTC, datetime

from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place

_BORN = datetime(2026, 1, 1, tzinfo=UTC)


async def project_make(platform: Platform, tenant: str, project: str) -> Place:
    """A project in a tenant; the tenant is made when it is new."""
    org_id, project_id = f"org_{tenant}", f"proj_{tenant}_{project}"
    await platform.db.execute(
        "INSERT INTO tenants (id, name, display_name, created_at) VALUES ($1, $2, $2, $3)"
        " ON CONFLICT (id) DO NOTHING",
        org_id, tenant, _BORN,
    )  # fmt: skip
    await platform.db.execute(
        "INSERT INTO projects (id, org_id, name, display_name, created_at)"
        " VALUES ($1, $2, $3, $3, $4)",
        project_id, org_id, project, _BORN,
    )  # fmt: skip
    return Place(org_id, project_id)
