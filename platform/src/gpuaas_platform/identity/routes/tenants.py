"""Routes of tenants and projects."""

from functools import partial

from fastapi import APIRouter, Response

from gpuaas_contract.common import Page
from gpuaas_contract.identity import (
    Project,
    ProjectCreate,
    ProjectUpdate,
    Tenant,
    TenantCreate,
    TenantUpdate,
)
from gpuaas_platform.identity import tenants as service
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter()


@router.post("/tenants", operation_id="tenant_create", status_code=201, response_model=Tenant)
async def tenant_create(call: CallDep, given: TenantCreate) -> Response:
    """Make a tenant, and its first administrator if one is named."""
    return await mutate(call, "identity.tenant.create", partial(service.tenant_create, given))


@router.get("/tenants", operation_id="tenant_list", response_model=Page[Tenant])
async def tenant_list(call: CallDep, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List the tenants in the caller's reach."""
    return await service.tenant_list(call, cursor, limit)


@router.get("/tenants/{org_id}", operation_id="tenant_read")
async def tenant_read(call: CallDep, org_id: str, response: Response) -> Tenant:
    """Read a tenant."""
    tenant = await service.tenant_read(call, org_id)
    response.headers.update(etag_headers(tenant.revision))
    return tenant


@router.patch("/tenants/{org_id}", operation_id="tenant_update", response_model=Tenant)
async def tenant_update(call: CallDep, org_id: str, given: TenantUpdate) -> Response:
    """Rename, close or reopen a tenant."""
    handler = partial(service.tenant_update, org_id, given)
    return await mutate(call, "identity.tenant.update", handler)


@router.post(
    "/tenants/{org_id}/projects",
    operation_id="project_create",
    status_code=201,
    response_model=Project,
)
async def project_create(call: CallDep, org_id: str, given: ProjectCreate) -> Response:
    """Make a project in a tenant."""
    handler = partial(service.project_create, org_id, given)
    return await mutate(call, "identity.project.create", handler)


@router.get(
    "/tenants/{org_id}/projects",
    operation_id="tenant_project_list",
    response_model=Page[Project],
)
async def tenant_project_list(
    call: CallDep, org_id: str, cursor: Cursor = None, limit: Limit = 50
) -> Response:
    """List a tenant's projects in the caller's reach."""
    return await service.tenant_project_list(call, org_id, cursor, limit)


@router.get("/projects", operation_id="project_list", response_model=Page[Project])
async def project_list(call: CallDep, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List all projects in the caller's reach."""
    return await service.project_list(call, None, cursor, limit)


@router.get("/projects/{project_id}", operation_id="project_read")
async def project_read(call: CallDep, project_id: str, response: Response) -> Project:
    """Read a project."""
    project = await service.project_read(call, project_id)
    response.headers.update(etag_headers(project.revision))
    return project


@router.patch("/projects/{project_id}", operation_id="project_update", response_model=Project)
async def project_update(call: CallDep, project_id: str, given: ProjectUpdate) -> Response:
    """Rename, close or reopen a project."""
    handler = partial(service.project_update, project_id, given)
    return await mutate(call, "identity.project.update", handler)
