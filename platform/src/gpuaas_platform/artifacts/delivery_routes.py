"""Routes of resolving and delivering artifacts, and of the content machines fetch."""

from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Request, Response

from gpuaas_contract.artifacts import (
    CONTENT_MEDIA_TYPE,
    ArtifactDelivery,
    ArtifactDeliveryCreate,
    ArtifactDeliveryIssued,
    ArtifactResolution,
)
from gpuaas_contract.common import Page
from gpuaas_platform.artifacts import deliveries, resolving
from gpuaas_platform.artifacts.content_response import ContentResponse
from gpuaas_platform.kernel.call import CallDep, OpenCallDep
from gpuaas_platform.kernel.public_url import port_of
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["artifacts"])
Id = Annotated[str, Path(max_length=64)]
_CONTENT: dict[int | str, dict[str, Any]] = {
    200: {"content": {CONTENT_MEDIA_TYPE: {}}, "description": "The content"},
    206: {"content": {CONTENT_MEDIA_TYPE: {}}, "description": "The range that was asked for"},
    416: {"description": "There is no such range"},
}


@router.get("/projects/{project_id}/artifact-resolution", operation_id="artifact_resolve")
async def artifact_resolve(
    call: CallDep, project_id: Id, query: Annotated[resolving.ResolutionQuery, Query()]
) -> ArtifactResolution:
    """Find the artifact a name means in a project, through its effective policy."""
    return await resolving.artifact_resolve(call, project_id, query)


@router.post(
    "/allocations/{allocation_id}/artifact-deliveries",
    operation_id="artifact_delivery_create",
    status_code=201,
    response_model=ArtifactDeliveryIssued,
)
async def artifact_delivery_create(
    call: CallDep, request: Request, allocation_id: Id, body: ArtifactDeliveryCreate
) -> Response:
    """Get a URL by which the machine of an allocation fetches one artifact, for some minutes."""
    port = port_of(call.platform.settings, request)
    handler = partial(deliveries.delivery_answer, allocation_id=allocation_id, body=body, port=port)
    return await mutate(call, "artifacts.delivery.create", handler)


@router.get("/artifact-deliveries", operation_id="artifact_delivery_list")
async def artifact_delivery_list(
    call: CallDep, query: Annotated[deliveries.DeliveryQuery, Query()]
) -> Page[ArtifactDelivery]:
    """List deliveries in reach, newest first."""
    return await deliveries.delivery_list(call, query)


@router.get("/artifact-deliveries/{artifact_delivery_id}", operation_id="artifact_delivery_read")
async def artifact_delivery_read(call: CallDep, artifact_delivery_id: Id) -> ArtifactDelivery:
    """Read one delivery: whether and when its machine has fetched."""
    return await deliveries.delivery_read(call, artifact_delivery_id)


@router.post(
    "/artifact-deliveries/{artifact_delivery_id}/revoke",
    operation_id="artifact_delivery_revoke",
    response_model=ArtifactDelivery,
)
async def artifact_delivery_revoke(call: CallDep, artifact_delivery_id: Id) -> Response:
    """Close a delivery before its time."""
    handler = partial(deliveries.delivery_revoke, delivery_id=artifact_delivery_id)
    return await mutate(call, "artifacts.delivery.revoke", handler)


@router.get(
    "/artifact-deliveries/{artifact_delivery_id}/content",
    operation_id="artifact_content_read",
    response_class=Response,
    responses=_CONTENT,
)
async def artifact_content_read(
    call: OpenCallDep,
    artifact_delivery_id: Id,
    token: Annotated[str, Query(max_length=200)] = "",
    ranged: Annotated[str | None, Header(alias="Range")] = None,
    if_range: Annotated[str | None, Header(alias="If-Range")] = None,
) -> Response:
    """Fetch the content of a delivery, whole or from any byte on."""
    fetch = deliveries.Fetch(artifact_delivery_id, token, ranged, if_range)
    return ContentResponse(await deliveries.content_open(call, fetch))
