"""Routes of permissions, roles, role bindings, explanations and break-glass."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Query, Response

from gpuaas_contract.access import (
    BreakGlass,
    BreakGlassOpen,
    ExplainRequest,
    Explanation,
    PermissionInfo,
    Role,
    RoleBinding,
    RoleBindingCreate,
    RoleBindingQuery,
    RoleCreate,
    RoleUpdate,
)
from gpuaas_contract.common import Page
from gpuaas_platform.identity import bindings, break_glass, explain, roles
from gpuaas_platform.identity.routes.users import OrgFilter
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate

router = APIRouter()


@router.get("/permissions", operation_id="permission_list")
async def permission_list(_: CallDep) -> Page[PermissionInfo]:
    """List every permission key and what it allows."""
    return Page(items=roles.permission_list())


@router.get("/roles", operation_id="role_list")
async def role_list(
    call: CallDep, org_id: OrgFilter = None, cursor: Cursor = None, limit: Limit = 50
) -> Page[Role]:
    """List the built-in roles, and the custom ones in the caller's reach."""
    return await roles.role_list(call, org_id, cursor, limit)


@router.post(
    "/tenants/{org_id}/roles", operation_id="role_create", status_code=201, response_model=Role
)
async def role_create(call: CallDep, org_id: str, given: RoleCreate) -> Response:
    """Make a role of a tenant's own."""
    return await mutate(call, "identity.role.create", partial(roles.role_create, org_id, given))


@router.get("/roles/{role_id}", operation_id="role_read")
async def role_read(call: CallDep, role_id: str, response: Response) -> Role:
    """Read a role."""
    role = await roles.role_read(call, role_id)
    response.headers.update(etag_headers(role.revision))
    return role


@router.patch("/roles/{role_id}", operation_id="role_update", response_model=Role)
async def role_update(call: CallDep, role_id: str, given: RoleUpdate) -> Response:
    """Change a custom role, for everybody who holds it."""
    return await mutate(call, "identity.role.update", partial(roles.role_update, role_id, given))


@router.delete("/roles/{role_id}", operation_id="role_delete", status_code=204)
async def role_delete(call: CallDep, role_id: str) -> Response:
    """Remove a custom role nobody holds."""
    return await mutate(call, "identity.role.delete", partial(roles.role_delete, role_id))


@router.post(
    "/role-bindings",
    operation_id="role_binding_create",
    status_code=201,
    response_model=RoleBinding,
)
async def role_binding_create(call: CallDep, given: RoleBindingCreate) -> Response:
    """Give somebody a role at a place."""
    handler = partial(bindings.binding_create, given)
    return await mutate(call, "identity.role_binding.create", handler)


@router.get("/role-bindings", operation_id="role_binding_list")
async def role_binding_list(
    call: CallDep, wanted: Annotated[RoleBindingQuery, Query()]
) -> Page[RoleBinding]:
    """List the role bindings in the caller's reach."""
    return await bindings.binding_list(call, wanted)


@router.get("/role-bindings/{binding_id}", operation_id="role_binding_read")
async def role_binding_read(call: CallDep, binding_id: str) -> RoleBinding:
    """Read a role binding."""
    return await bindings.binding_read(call, binding_id)


@router.delete("/role-bindings/{binding_id}", operation_id="role_binding_delete", status_code=204)
async def role_binding_delete(call: CallDep, binding_id: str) -> Response:
    """Take a role away."""
    handler = partial(bindings.binding_delete, binding_id)
    return await mutate(call, "identity.role_binding.delete", handler)


@router.post("/authorization/explain", operation_id="authorization_explain")
async def authorization_explain(call: CallDep, asked: ExplainRequest) -> Explanation:
    """Say whether somebody may do something somewhere, and why."""
    return await explain.authorization_explain(call, asked)


@router.post(
    "/admin/break-glass",
    operation_id="break_glass_open",
    status_code=201,
    response_model=BreakGlass,
)
async def break_glass_open(call: CallDep, given: BreakGlassOpen) -> Response:
    """Enter a tenant as its administrator, for a while and with a reason."""
    handler = partial(break_glass.break_glass_open, given)
    return await mutate(call, "identity.break_glass.open", handler)


@router.get("/admin/break-glass", operation_id="break_glass_list")
async def break_glass_list(
    call: CallDep, cursor: Cursor = None, limit: Limit = 50
) -> Page[BreakGlass]:
    """List the glass that is broken now."""
    return await break_glass.break_glass_list(call, cursor, limit)


@router.delete("/admin/break-glass/{binding_id}", operation_id="break_glass_close", status_code=204)
async def break_glass_close(call: CallDep, binding_id: str) -> Response:
    """Leave a tenant before the time is up."""
    handler = partial(break_glass.break_glass_close, binding_id)
    return await mutate(call, "identity.break_glass.close", handler)
