"""Where a project or tenant stands in the tree; every room above asks here before it authorises.

An inactive or unknown place is not found: the caller learns nothing about which.
"""

from gpuaas_contract.common import Scope, ScopeKind
from gpuaas_platform.identity.store import tenancy
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import invalid, not_found


async def project_place(conn: Connection, project_id: str) -> Place:
    """The place of an active project."""
    org_id = await tenancy.project_org(conn, project_id)
    if org_id is None:
        raise not_found("project", project_id)
    return Place(org_id, project_id)


async def tenant_place(conn: Connection, org_id: str) -> Place:
    """The place of an active tenant."""
    row = await tenancy.tenant_read(conn, org_id)
    if row is None or not row["active"]:
        raise not_found("tenant", org_id)
    return Place(org_id)


async def scope_place(conn: Connection, scope: Scope) -> Place:
    """The place a request's scope names; refuses one that contradicts itself."""
    match scope.kind:
        case ScopeKind.PLATFORM:
            if scope.org_id is not None or scope.project_id is not None:
                raise invalid("/scope", "the platform has no org_id and no project_id")
            return PLATFORM
        case ScopeKind.TENANT:
            if scope.org_id is None or scope.project_id is not None:
                raise invalid("/scope", "a tenant is named by org_id alone")
            return await tenant_place(conn, scope.org_id)
        case ScopeKind.PROJECT:
            if scope.project_id is None:
                raise invalid("/scope/project_id", "a project is named by project_id")
            place = await project_place(conn, scope.project_id)
            if scope.org_id not in {None, place.org_id}:
                raise not_found("project", scope.project_id)
            return place
