"""Routes of enrolments, agents and facts, for operators."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request, Response

from gpuaas_contract.cleaning import (
    Cleaning,
    CleaningConfirm,
    CleaningRetire,
    CleaningRetry,
)
from gpuaas_contract.common import Page
from gpuaas_contract.fleet import (
    Enrolment,
    EnrolmentCreate,
    EnrolmentCreated,
    EnrolmentRevoke,
    NodeAccess,
    NodeAgent,
    NodeFacts,
    NodeUnenrol,
)
from gpuaas_contract.states import CleaningStatus, EnrolmentStatus
from gpuaas_platform.fleet import agents, cleanings, enrolments, node_access
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.public_url import port_of
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["fleet"])
Id = Annotated[str, Path(max_length=64)]


@router.post(
    "/enrolments",
    operation_id="enrolment_create",
    status_code=201,
    response_model=EnrolmentCreated,
)
async def enrolment_create(call: CallDep, request: Request, body: EnrolmentCreate) -> Response:
    """Let one host enrol; the answer holds the command to run there, once."""
    port = port_of(call.platform.settings, request)
    handler = partial(enrolments.enrolment_create, body=body, port=port)
    return await mutate(call, "fleet.enrolment.create", handler)


@router.get("/enrolments", operation_id="enrolment_list")
async def enrolment_list(
    call: CallDep,
    status: EnrolmentStatus | None = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[Enrolment]:
    """List enrolments, newest first; tokens are never shown."""
    query = enrolments.EnrolmentQuery(status, cursor, limit)
    return await enrolments.enrolment_list(call, query)


@router.get("/enrolments/{enrolment_id}", operation_id="enrolment_read")
async def enrolment_read(call: CallDep, enrolment_id: Id) -> Enrolment:
    """Read one enrolment."""
    return await enrolments.enrolment_read(call, enrolment_id)


@router.post(
    "/enrolments/{enrolment_id}/revoke",
    operation_id="enrolment_revoke",
    response_model=Enrolment,
)
async def enrolment_revoke(call: CallDep, enrolment_id: Id, body: EnrolmentRevoke) -> Response:
    """End an enrolment nobody has used."""
    handler = partial(enrolments.enrolment_revoke, enrolment_id=enrolment_id, body=body)
    return await mutate(call, "fleet.enrolment.revoke", handler)


@router.get("/nodes/{node_id}/agent", operation_id="node_agent_read")
async def node_agent_read(call: CallDep, node_id: Id) -> NodeAgent:
    """Read the agent of a node."""
    return await agents.agent_read(call, node_id)


@router.get("/nodes/{node_id}/access", operation_id="node_access_read")
async def node_access_read(call: CallDep, node_id: Id) -> NodeAccess:
    """Read whether a node lets in whom it should, and who brings it there."""
    return await node_access.access_read(call, node_id)


@router.get("/nodes/{node_id}/facts", operation_id="node_facts_read")
async def node_facts_read(call: CallDep, node_id: Id) -> NodeFacts:
    """Read what a node's agent last said of its machine."""
    return await agents.facts_read(call, node_id)


@router.post("/nodes/{node_id}/unenrol", operation_id="node_unenrol", response_model=NodeAgent)
async def node_unenrol(call: CallDep, node_id: Id, body: NodeUnenrol) -> Response:
    """Have a host cleaned and let go; refused while an allocation holds it."""
    handler = partial(agents.node_unenrol, node_id=node_id, body=body)
    return await mutate(call, "fleet.node.unenrol", handler)


@router.get("/cleanings", operation_id="cleaning_list")
async def cleaning_list(
    call: CallDep,
    node_id: Annotated[str | None, Query(max_length=64)] = None,
    status: CleaningStatus | None = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[Cleaning]:
    """List cleanings of nodes between tenants, newest first."""
    query = cleanings.CleaningQuery(node_id, status, cursor, limit)
    return await cleanings.cleaning_list(call, query)


@router.get("/cleanings/{cleaning_id}", operation_id="cleaning_read")
async def cleaning_read(call: CallDep, cleaning_id: Id) -> Cleaning:
    """Read one cleaning with its steps."""
    return await cleanings.cleaning_read(call, cleaning_id)


@router.post(
    "/cleanings/{cleaning_id}/confirm", operation_id="cleaning_confirm", response_model=Cleaning
)
async def cleaning_confirm(call: CallDep, cleaning_id: Id, body: CleaningConfirm) -> Response:
    """Confirm that a machine was cleaned by hand."""
    handler = partial(cleanings.cleaning_confirm, cleaning_id=cleaning_id, body=body)
    return await mutate(call, "fleet.cleaning.confirm", handler)


@router.post(
    "/cleanings/{cleaning_id}/retry", operation_id="cleaning_retry", response_model=Cleaning
)
async def cleaning_retry(call: CallDep, cleaning_id: Id, body: CleaningRetry) -> Response:
    """Try a cleaning that was set aside again."""
    handler = partial(cleanings.cleaning_retry, cleaning_id=cleaning_id, body=body)
    return await mutate(call, "fleet.cleaning.retry", handler)


@router.post(
    "/cleanings/{cleaning_id}/retire", operation_id="cleaning_retire", response_model=Cleaning
)
async def cleaning_retire(call: CallDep, cleaning_id: Id, body: CleaningRetire) -> Response:
    """Give a node up: no tenant gets it again."""
    handler = partial(cleanings.cleaning_retire, cleaning_id=cleaning_id, body=body)
    return await mutate(call, "fleet.cleaning.retire", handler)
