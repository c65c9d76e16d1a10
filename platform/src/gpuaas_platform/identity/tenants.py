"""Rules of tenants and projects: the tree and its changes."""

from typing import Final

from fastapi import Response

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.identity import (
    Project,
    ProjectCreate,
    ProjectUpdate,
    Tenant,
    TenantCreate,
    TenantUpdate,
)
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_platform.identity.administrators import admin_remains
from gpuaas_platform.identity.bindings import first_admin_bind
from gpuaas_platform.identity.places import tenant_place
from gpuaas_platform.identity.store import tenancy as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.paging import cursor_decode, page_response
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work

_TENANT: Final = tuple(Tenant.model_fields)
_PROJECT: Final = tuple(Project.model_fields)


async def tenant_create(given: TenantCreate, work: Work) -> Answer[Tenant]:
    """A new tenant; its first administrator may be named with it."""
    work.require(Permission.TENANT_CREATE, PLATFORM)
    display = given.display_name or given.name
    new = store.NewPlace(work.new_id(Prefix.TENANT), given.name, display, work.now)
    row = await store.tenant_insert(work.conn, new)
    if row is None:
        raise PlatformError(ErrorCode.NAME_TAKEN, f"There is a tenant named {given.name}.")
    tenant = _tenant(row)
    place = Place(tenant.id)
    work.audit(Target("tenant", tenant.id, place, after=tenant))
    work.emit(Happened("identity.tenant.created", tenant.id, place, _told(tenant)))
    if given.admin_user_id is not None:
        await first_admin_bind(given.admin_user_id, place, work)
    return Answer(tenant, 201, etag_headers(tenant.revision))


async def tenant_list(call: Call, cursor: str | None, limit: int) -> Response:
    """Tenants the caller may read."""
    reach = call.caller.reach(Permission.TENANT_READ)
    async with call.db.connection() as conn:
        rows = await store.tenants_page(conn, reach, cursor_decode(cursor), limit + 1)
    return page_response(rows, limit, _TENANT)


async def tenant_read(call: Call, org_id: str) -> Tenant:
    """One tenant."""
    async with call.db.connection() as conn:
        row = await store.tenant_read(conn, org_id)
    if row is None:
        raise not_found("tenant", org_id)
    call.caller.require(Permission.TENANT_READ, Place(org_id))
    return _tenant(row)


async def tenant_update(org_id: str, given: TenantUpdate, work: Work) -> Answer[Tenant]:
    """Rename a tenant, or (platform administrators) close and reopen it."""
    row = await store.tenant_lock(work.conn, org_id)
    if row is None:
        raise not_found("tenant", org_id)
    place = Place(org_id)
    work.require(Permission.TENANT_UPDATE, place)
    active = row["active"] if given.active is None else given.active
    if active != row["active"]:
        work.require(Permission.TENANT_CREATE, PLATFORM)
    match_require(work.call, row["revision"])
    before = _tenant(row)
    async with admin_remains(work.conn, concerned=before.active and not active):
        change = given.model_dump(exclude_none=True)
        after = _tenant(await store.tenant_write(work.conn, org_id, change))
    work.audit(Target("tenant", org_id, place, before, after))
    kind = _change(before.active, after.active)
    work.emit(Happened(f"identity.tenant.{kind}", org_id, place, _told(after)))
    return Answer(after, 200, etag_headers(after.revision))


async def project_create(org_id: str, given: ProjectCreate, work: Work) -> Answer[Project]:
    """A new project of a tenant."""
    if not work.call.caller.allows(Permission.PROJECT_CREATE, Place(org_id)):
        work.require(Permission.PROJECT_CREATE, await tenant_place(work.conn, org_id))
    display = given.display_name or given.name
    new = store.NewPlace(work.new_id(Prefix.PROJECT), given.name, display, work.now, org_id)
    row = await store.project_insert(work.conn, new)
    if row is None:
        await tenant_place(work.conn, org_id)
        raise PlatformError(ErrorCode.NAME_TAKEN, f"The tenant has a project named {given.name}.")
    project = _project(row)
    place = Place(org_id, project.id)
    work.audit(Target("project", project.id, place, after=project))
    work.emit(Happened("identity.project.created", project.id, place, _told(project)))
    return Answer(project, 201, etag_headers(project.revision))


async def project_list(call: Call, org_id: str | None, cursor: str | None, limit: int) -> Response:
    """Projects the caller may read, of one tenant if asked."""
    reach = call.caller.reach(Permission.PROJECT_READ)
    wanted = store.ProjectFilter(reach, org_id, cursor_decode(cursor), limit + 1)
    async with call.db.connection() as conn:
        rows = await store.projects_page(conn, wanted)
    return page_response(rows, limit, _PROJECT)


async def tenant_project_list(call: Call, org_id: str, cursor: str | None, limit: int) -> Response:
    """A tenant's projects the caller may read; a tenant out of reach does not exist."""
    async with call.db.connection() as conn:
        known = await store.tenant_read(conn, org_id)
    if known is None or not call.caller.knows(Place(org_id)):
        raise not_found("tenant", org_id)
    return await project_list(call, org_id, cursor, limit)


async def project_read(call: Call, project_id: str) -> Project:
    """One project."""
    async with call.db.connection() as conn:
        row = await store.project_read(conn, project_id)
    if row is None:
        raise not_found("project", project_id)
    call.caller.require(Permission.PROJECT_READ, Place(row["org_id"], project_id))
    return _project(row)


async def project_update(project_id: str, given: ProjectUpdate, work: Work) -> Answer[Project]:
    """Rename a project, or (who may create one) close and reopen it."""
    row = await store.project_lock(work.conn, project_id)
    if row is None:
        raise not_found("project", project_id)
    place = Place(row["org_id"], project_id)
    work.require(Permission.PROJECT_UPDATE, place)
    active = row["active"] if given.active is None else given.active
    if active != row["active"]:
        work.require(Permission.PROJECT_CREATE, Place(row["org_id"]))
    match_require(work.call, row["revision"])
    before = _project(row)
    display = given.display_name or before.display_name
    after = _project(await store.project_write(work.conn, project_id, display, active))
    work.audit(Target("project", project_id, place, before, after))
    kind = _change(before.active, after.active)
    work.emit(Happened(f"identity.project.{kind}", project_id, place, _told(after)))
    return Answer(after, 200, etag_headers(after.revision))


def _change(before: bool, after: bool) -> str:
    if before == after:
        return "updated"
    return "activated" if after else "deactivated"


def _told(place: Tenant | Project) -> dict[str, object]:
    return {"name": place.name, "display_name": place.display_name, "active": place.active}


def _tenant(row: Record) -> Tenant:
    return Tenant(**{name: row[name] for name in _TENANT})


def _project(row: Record) -> Project:
    return Project(**{name: row[name] for name in _PROJECT})
