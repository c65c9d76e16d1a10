"""Routes of enrolments, agents and facts, for operators."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

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
from gpuaas_contract.states import EnrolmentStatus
from gpuaas_platform.fleet import agents, enrolments, node_access
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
