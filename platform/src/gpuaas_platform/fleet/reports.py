"""What an agent reports of its tasks. It may say everything twice; the second changes nothing.

A task is started here before anything is done on the machine, so that one that expired has never
begun. Output comes in pieces, in order, and is bounded.
"""

import base64
import binascii
from functools import partial
from typing import Final

from fastapi import Response

from gpuaas_contract.artifacts import ArtifactDeliveryCreate
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.fleet import OUTPUT_MAX_BYTES, NodeTask, TaskKind, TaskResult
from gpuaas_contract.fleet_agent import AgentArtifact, AgentTaskEnd, AgentTaskOutput
from gpuaas_contract.states import NODE_TASK, NodeTaskStatus
from gpuaas_platform.artifacts.deliveries import delivery_issue
from gpuaas_platform.capacity.nodes import node_holder
from gpuaas_platform.custody.node_delivery import NodeReader, secret_seal_for
from gpuaas_platform.fleet.speaking import agent_gone, agent_heard_require, agent_require
from gpuaas_platform.fleet.store import agents as agent_rows
from gpuaas_platform.fleet.store import tasks as store
from gpuaas_platform.fleet.tasks import (
    row_present,
    task_ended,
    task_tell,
    task_topic,
    task_view,
)
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Handler, Target, Undone, Work, mutate

_OUTPUT: Final = "fleet.task.output"


async def task_start(call: Call, task_id: str) -> Response:
    """The agent is about to begin; from now on the task runs."""
    return await _once(call, "fleet.task.start", partial(_start, task_id=task_id), task_id)


async def task_end(call: Call, task_id: str, body: AgentTaskEnd) -> Response:
    """The machine says how a task ended."""
    handler = partial(_end, task_id=task_id, body=body)
    return await _once(call, "fleet.task.end", handler, task_id)


async def output_add(call: Call, task_id: str, body: AgentTaskOutput) -> NodeTask:
    """A piece of output; the answer says how much there is."""
    node_id = await agent_heard_require(call, _OUTPUT)
    try:
        data = base64.b64decode(body.data, validate=True)
    except binascii.Error:
        raise invalid("/data", "is not base64") from None
    async with call.db.transaction() as conn:
        row = _own(await store.task_lock(conn, task_id), node_id, task_id)
        if row["status"] != NodeTaskStatus.RUNNING:
            raise PlatformError(ErrorCode.STATE_CONFLICT, f"The task is {row['status']}.")
        known = row["output_bytes"]
        if body.offset > known:
            raise PlatformError(
                ErrorCode.CONFLICT,
                f"Output is known up to {known}; go on from there.",
                context={"output_bytes": str(known)},
            )
        fresh = data[known - body.offset :][: OUTPUT_MAX_BYTES - known]
        if fresh:
            await store.output_add(conn, task_id, known, fresh)
        row = row_present(await store.task_read(conn, task_id))
    call.platform.signals.send((task_topic(task_id),))
    return task_view(row)


async def secret_fetch(call: Call, task_id: str) -> Response:
    """The secret of a task that runs, sealed to the machine it runs on."""
    node_id = await agent_heard_require(call, "custody.secret.deliver")
    async with call.db.connection() as conn:
        row = _own(await store.task_read(conn, task_id), node_id, task_id)
        await _held_require(conn, row)
        identity = await agent_rows.identity_read(conn, call.caller.token_id or "")
    if row["kind"] != TaskKind.DELIVER_SECRET or row["status"] != NodeTaskStatus.RUNNING:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "This task has no secret to deliver now.")
    if identity is None:
        raise agent_gone()
    reader = NodeReader(
        node_id=node_id,
        allocation_id=row["allocation_id"],
        task_id=task_id,
        secret_id=row["spec"]["secret_id"],
        public_key=bytes(identity["sealing_key"]),
        correlation_id=row["correlation_id"],
    )
    return await secret_seal_for(call, reader)


async def artifact_fetch(work: Work, task_id: str) -> Answer[AgentArtifact]:
    """Where the machine fetches the artifact of a task that runs, for a while."""
    node_id = agent_require(work.call)
    row = _own(await store.task_lock(work.conn, task_id), node_id, task_id)
    if row["kind"] != TaskKind.DELIVER_ARTIFACT or row["status"] != NodeTaskStatus.RUNNING:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "This task has no artifact to fetch now.")
    await _held_require(work.conn, row)
    wish = ArtifactDeliveryCreate(artifact_id=row["spec"]["artifact_id"], purpose=task_id)
    issued = await delivery_issue(work, row["allocation_id"], wish)
    delivery = issued.delivery
    answer = AgentArtifact(
        task_id=task_id, path=issued.path, digest=delivery.digest, size=delivery.size
    )
    return Answer(answer, secret=True)


async def task_lost(work: Work, task_id: str) -> Answer[NodeTask]:
    """End a task that runs, they say, on a machine that does not know of it."""
    row = await store.task_lock(work.conn, task_id)
    if row is None or row["status"] != NodeTaskStatus.RUNNING:
        raise Undone
    why = "The machine has no memory of this task; whether it did anything is not known."
    result = TaskResult(code="interrupted", message=why)
    task = await task_ended(work, row, NodeTaskStatus.FAILED, result)
    work.audit(Target("node_task", task_id, _place(row), task_view(row), task))
    return Answer(task)


async def task_orphan(work: Work, task_id: str) -> Answer[NodeTask]:
    """End a task that has not begun and whose allocation holds the machine no more."""
    row = await store.task_lock(work.conn, task_id)
    if row is None or row["status"] != NodeTaskStatus.QUEUED:
        raise Undone
    result = TaskResult(code="allocation_ended", message="The allocation ended before it began.")
    task = await task_ended(work, row, NodeTaskStatus.CANCELLED, result)
    work.audit(Target("node_task", task_id, _place(row), task_view(row), task))
    return Answer(task)


async def _once(call: Call, action: str, handler: Handler[NodeTask], task_id: str) -> Response:
    """Do it, or answer with the task as it is when it was done before."""
    try:
        return await mutate(call, action, handler)
    except _SaidBefore:
        async with call.db.connection() as conn:
            task = await _view(conn, task_id)
        return Response(task.model_dump_json(), 200, media_type="application/json")


class _SaidBefore(Undone):
    """The agent said this before; its answer was lost."""


async def _start(work: Work, task_id: str) -> Answer[NodeTask]:
    node_id = agent_require(work.call)
    row = _own(await store.task_lock(work.conn, task_id), node_id, task_id)
    if row["status"] == NodeTaskStatus.RUNNING:
        raise _SaidBefore
    if row["status"] != NodeTaskStatus.QUEUED or row["begin_before"] <= work.now:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "The task is not to be begun any more.",
            context={"status": row["status"]},
        )
    await _held_require(work.conn, row)
    task = task_view(row_present(await store.task_start(work.conn, task_id, work.now)))
    _audit(work, row, task)
    task_tell(work, task)
    work.signal(task_topic(task_id))
    return Answer(task)


async def _end(work: Work, task_id: str, body: AgentTaskEnd) -> Answer[NodeTask]:
    node_id = agent_require(work.call)
    row = _own(await store.task_lock(work.conn, task_id), node_id, task_id)
    if row["status"] in NODE_TASK.terminal:
        raise _SaidBefore
    result = TaskResult(
        code=body.code,
        message=body.message,
        exit_status=body.exit_status,
        digest=body.digest,
        size=body.size,
        seconds=body.seconds,
    )
    task = await task_ended(work, row, NodeTaskStatus(body.status), result, cut=body.output_cut)
    _audit(work, row, task)
    return Answer(task)


async def _held_require(conn: Connection, row: Record) -> None:
    """The machine is still held by the allocation the task is for, and by nobody else."""
    holder = await node_holder(conn, row["node_id"])
    if holder is None or holder.allocation_id != row["allocation_id"]:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The allocation of this task has ended.")


def _audit(work: Work, before: Record, after: NodeTask) -> None:
    target = Target(
        "node_task", after.id, _place(before), task_view(before), after,
        correlation_id=after.correlation_id,
    )  # fmt: skip
    work.audit(target)


async def _view(conn: Connection, task_id: str) -> NodeTask:
    return task_view(row_present(await store.task_read(conn, task_id)))


def _own(row: Record | None, node_id: str, task_id: str) -> Record:
    """A task of the node whose agent calls; of another's not even its existence is told."""
    if row is None or row["node_id"] != node_id:
        raise not_found("node task", task_id)
    return row


def _place(row: Record) -> Place:
    return Place(row["org_id"], row["project_id"])
