"""Routes of the policy room."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gpuaas_contract.common import Page
from gpuaas_contract.policy import (
    Dimension,
    EffectivePolicy,
    Overlay,
    OverlayCreate,
    OverlayUpdate,
)
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.work import mutate
from gpuaas_platform.policy import service

router = APIRouter(tags=["policy"])
Id = Annotated[str, Path(max_length=64)]
DimensionQuery = Annotated[Dimension | None, Query(description="With `value`: explain this")]
ValueQuery = Annotated[str | None, Query(max_length=300, description="The value to explain")]


@router.post(
    "/policy-overlays",
    operation_id="platform_overlay_create",
    status_code=201,
    response_model=Overlay,
)
async def platform_overlay_create(call: CallDep, body: OverlayCreate) -> Response:
    """Add a global overlay; what it denies is denied everywhere."""
    handler = partial(service.overlay_create, place_id=PLATFORM, body=body)
    return await mutate(call, "policy.overlay.create", handler)


@router.get("/policy-overlays", operation_id="platform_overlay_list")
async def platform_overlay_list(
    call: CallDep, cursor: Cursor = None, limit: Limit = 100
) -> Page[Overlay]:
    """List the global overlays by name."""
    return await service.overlay_list(call, PLATFORM, cursor, limit)


@router.post(
    "/tenants/{org_id}/policy-overlays",
    operation_id="tenant_overlay_create",
    status_code=201,
    response_model=Overlay,
)
async def tenant_overlay_create(call: CallDep, org_id: Id, body: OverlayCreate) -> Response:
    """Add an overlay for a tenant and all its projects."""
    handler = partial(service.overlay_create, place_id=Place(org_id), body=body)
    return await mutate(call, "policy.overlay.create", handler)


@router.get("/tenants/{org_id}/policy-overlays", operation_id="tenant_overlay_list")
async def tenant_overlay_list(
    call: CallDep, org_id: Id, cursor: Cursor = None, limit: Limit = 100
) -> Page[Overlay]:
    """List a tenant's own overlays by name."""
    return await service.overlay_list(call, Place(org_id), cursor, limit)


@router.get("/tenants/{org_id}/effective-policy", operation_id="tenant_effective_policy_read")
async def tenant_effective_policy_read(
    call: CallDep, org_id: Id, dimension: DimensionQuery = None, value: ValueQuery = None
) -> EffectivePolicy:
    """Read what a tenant may use, merged from every overlay, and why."""
    return await service.effective_policy(call, Place(org_id), dimension, value)


@router.post(
    "/projects/{project_id}/policy-overlays",
    operation_id="project_overlay_create",
    status_code=201,
    response_model=Overlay,
)
async def project_overlay_create(call: CallDep, project_id: Id, body: OverlayCreate) -> Response:
    """Add an overlay for one project."""
    handler = partial(service.overlay_create, place_id=Place(None, project_id), body=body)
    return await mutate(call, "policy.overlay.create", handler)


@router.get("/projects/{project_id}/policy-overlays", operation_id="project_overlay_list")
async def project_overlay_list(
    call: CallDep, project_id: Id, cursor: Cursor = None, limit: Limit = 100
) -> Page[Overlay]:
    """List a project's own overlays by name."""
    return await service.overlay_list(call, Place(None, project_id), cursor, limit)


@router.get("/projects/{project_id}/effective-policy", operation_id="project_effective_policy_read")
async def project_effective_policy_read(
    call: CallDep, project_id: Id, dimension: DimensionQuery = None, value: ValueQuery = None
) -> EffectivePolicy:
    """Read what a project may use, merged from every overlay, and why."""
    return await service.effective_policy(call, Place(None, project_id), dimension, value)


@router.get("/policy-overlays/{overlay_id}", operation_id="overlay_read")
async def overlay_read(call: CallDep, overlay_id: Id, response: Response) -> Overlay:
    """Read one overlay."""
    overlay = await service.overlay_read(call, overlay_id)
    response.headers.update(etag_headers(overlay.revision))
    return overlay


@router.put("/policy-overlays/{overlay_id}", operation_id="overlay_update", response_model=Overlay)
async def overlay_update(call: CallDep, overlay_id: Id, body: OverlayUpdate) -> Response:
    """Replace an overlay's rules; `If-Match` guards against a change in between."""
    handler = partial(service.overlay_update, overlay_id=overlay_id, body=body)
    return await mutate(call, "policy.overlay.update", handler)


@router.delete(
    "/policy-overlays/{overlay_id}",
    operation_id="overlay_delete",
    status_code=204,
    response_class=Response,
)
async def overlay_delete(call: CallDep, overlay_id: Id) -> Response:
    """Remove an overlay."""
    handler = partial(service.overlay_delete, overlay_id=overlay_id)
    return await mutate(call, "policy.overlay.delete", handler)
