"""Routes of node agents: how a host gets its agent, and all that agents say."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Response

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.fleet import AGENT_FILE, AgentIdentity, NodeAgent, NodeFacts, NodeTask
from gpuaas_contract.fleet_agent import (
    AgentArtifact,
    AgentChallenge,
    AgentDirections,
    AgentEnrol,
    AgentEnrolled,
    AgentFacts,
    AgentIdentityRotate,
    AgentLeaving,
    AgentLeft,
    AgentPoll,
    AgentSecret,
    AgentTaskEnd,
    AgentTaskOutput,
    AgentToken,
    AgentTokenCreate,
)
from gpuaas_platform.fleet import agents, directions, enrolments, identities, reports
from gpuaas_platform.fleet.agent_file import agent_file
from gpuaas_platform.kernel.call import CallDep, OpenCallDep
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.waiting import WaitFor, wait_seconds
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["fleet"])
Id = Annotated[str, Path(max_length=64)]
_FILE = "application/octet-stream"
_PEM = "application/x-pem-file"


@router.get(
    f"/agent/{AGENT_FILE}",
    operation_id="agent_file_read",
    response_class=Response,
    responses={200: {"content": {_FILE: {}}, "description": "A Python zip application"}},
)
async def agent_file_read(call: OpenCallDep) -> Response:
    """Fetch the agent; hosts run it only if its digest is the one in their command."""
    made = agent_file(call.platform)
    headers = {"X-Content-Digest": f"sha256:{made.digest}"}
    return Response(made.content, 200, headers, _FILE)


@router.get(
    "/agent/ca.pem",
    operation_id="agent_ca_read",
    response_class=Response,
    responses={200: {"content": {_PEM: {}}, "description": "Certificates to trust"}},
)
async def agent_ca_read(call: OpenCallDep) -> Response:
    """Fetch the authority of the platform's certificate; its digest is in the command."""
    text = enrolments.ca_text(call.platform)
    if text is None:
        raise PlatformError(ErrorCode.NOT_FOUND, "Agents trust the system's authorities here.")
    return Response(text, 200, media_type=_PEM)


@router.post(
    "/agent/enrol", operation_id="agent_enrol", status_code=201, response_model=AgentEnrolled
)
async def agent_enrol(call: OpenCallDep, body: AgentEnrol) -> Response:
    """Become a node by a one-time token."""
    return await enrolments.node_enrol(call, body)


@router.post("/agent/challenges", operation_id="agent_challenge_create", status_code=201)
async def agent_challenge_create(call: OpenCallDep) -> AgentChallenge:
    """Get something to sign."""
    return await identities.challenge_make(call)


@router.post("/agent/tokens", operation_id="agent_token_create", status_code=201)
async def agent_token_create(call: OpenCallDep, body: AgentTokenCreate) -> AgentToken:
    """Get a token of some minutes for a challenge signed with the node's identity."""
    return await identities.token_create(call, body)


@router.post(
    "/agent/identities",
    operation_id="agent_identity_rotate",
    status_code=201,
    response_model=AgentIdentity,
)
async def agent_identity_rotate(call: CallDep, body: AgentIdentityRotate) -> Response:
    """Name the identity that takes over when it is first used."""
    handler = partial(identities.identity_rotate, body=body)
    return await mutate(call, "fleet.identity.rotate", handler)


@router.post("/agent/poll", operation_id="agent_poll")
async def agent_poll(call: CallDep, body: AgentPoll, wait: WaitFor = "0s") -> AgentDirections:
    """Say that one is there, and hear what is to be done; waits for something new."""
    return await directions.agent_poll(call, body, wait_seconds(wait))


@router.post("/agent/facts", operation_id="agent_facts_report")
async def agent_facts_report(call: CallDep, body: AgentFacts) -> NodeFacts:
    """Tell the facts of the machine."""
    return await agents.facts_report(call, body)


@router.post(
    "/agent/tasks/{task_id}/start", operation_id="agent_task_start", response_model=NodeTask
)
async def agent_task_start(call: CallDep, task_id: Id) -> Response:
    """Say that a task is about to begin, before anything is done."""
    return await reports.task_start(call, task_id)


@router.post("/agent/tasks/{task_id}/output", operation_id="agent_task_output")
async def agent_task_output(call: CallDep, task_id: Id, body: AgentTaskOutput) -> NodeTask:
    """Send a piece of a task's output."""
    return await reports.output_add(call, task_id, body)


@router.post(
    "/agent/tasks/{task_id}/secret", operation_id="agent_task_secret", response_model=AgentSecret
)
async def agent_task_secret(call: CallDep, task_id: Id) -> Response:
    """Get the secret of a running task, sealed to this machine."""
    return await reports.secret_fetch(call, task_id)


@router.post(
    "/agent/tasks/{task_id}/artifact",
    operation_id="agent_task_artifact",
    response_model=AgentArtifact,
)
async def agent_task_artifact(call: CallDep, task_id: Id) -> Response:
    """Get the place where the artifact of a running task is fetched."""
    handler = partial(reports.artifact_fetch, task_id=task_id)
    return await mutate(call, "artifacts.delivery.create", handler)


@router.post("/agent/tasks/{task_id}/end", operation_id="agent_task_end", response_model=NodeTask)
async def agent_task_end(call: CallDep, task_id: Id, body: AgentTaskEnd) -> Response:
    """Say how a task ended."""
    return await reports.task_end(call, task_id, body)


@router.post("/agent/leaving", operation_id="agent_leaving", response_model=NodeAgent)
async def agent_leaving(call: CallDep, body: AgentLeaving) -> Response:
    """Ask to be let go, by the host's own administrator."""
    return await mutate(call, "fleet.node.leave", partial(agents.agent_leaving, body=body))


@router.post("/agent/left", operation_id="agent_left", response_model=NodeAgent)
async def agent_left(call: CallDep, body: AgentLeft) -> Response:
    """Say that the host is clean; the last word of an agent."""
    return await mutate(call, "fleet.node.left", partial(agents.agent_left, body=body))
