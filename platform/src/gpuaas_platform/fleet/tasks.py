"""Rules of node tasks as their makers see them: asked for on an allocation, read, stopped.

A task begins at most once: the agent says so before it does anything (`reports.py`). What has not
begun can be ended here; what has begun ends by the machine's own word.
"""

import base64
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from gpuaas_contract.capacity import Allocation
from gpuaas_contract.common import Page
from gpuaas_contract.custody import CustodyStatus
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.fleet import (
    OUTPUT_MAX_BYTES,
    DeliverArtifact,
    DeliverSecret,
    NodeTask,
    NodeTaskCancel,
    NodeTaskCreate,
    PrincipalsSet,
    TaskOutput,
    TaskResult,
)
from gpuaas_contract.fleet_agent import MAX_HELD_TASKS
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import NODE_TASK, AgentStatus, AllocationStatus, NodeTaskStatus
from gpuaas_platform.artifacts.deliveries import deliverable_require
from gpuaas_platform.artifacts.rules import read_require
from gpuaas_platform.capacity.allocations import allocation_find
from gpuaas_platform.capacity.nodes import allocation_node, node_topic
from gpuaas_platform.capacity.trust import trust_touch
from gpuaas_platform.custody.node_delivery import secret_find
from gpuaas_platform.fleet.store import agents as agent_rows
from gpuaas_platform.fleet.store import tasks as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work

_LOOK_AGAIN_SECONDS: Final = 5.0
# A machine whose cleaning could not be verified is still its holder's to clean.
_WORKABLE: Final = frozenset({AllocationStatus.ACTIVE, AllocationStatus.CLEANUP_BLOCKED})


def task_topic(task_id: str) -> str:
    """Woken when a task has moved or has more output."""
    return f"task.{task_id}"


async def task_create(work: Work, allocation_id: str, body: NodeTaskCreate) -> Answer[NodeTask]:
    """Work for the machine of an allocation."""
    allocation = await allocation_find(work.conn, allocation_id)
    place = Place(allocation.org_id, allocation.project_id)
    work.require(Permission.NODE_TASK_CREATE, place)
    node_id = await _workable(work.conn, allocation)
    await _spec_require(work, allocation, body)
    if isinstance(body.spec, PrincipalsSet):
        await store.principals_set(work.conn, allocation_id, body.spec.users)
        await trust_touch(work, allocation_id)
    new = store.NewTask(
        id=work.new_id(Prefix.TASK),
        place=place,
        allocation_id=allocation_id,
        node_id=node_id,
        kind=body.spec.kind,
        spec=body.spec.model_dump(mode="json"),
        label=body.label,
        begin_before=work.now + timedelta(seconds=body.begin_within_seconds),
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
    )
    row = await store.task_insert(work.conn, new, work.now)
    task = task_view(row_present(row))
    work.audit(Target("node_task", task.id, place, after=task, detail={"kind": task.kind}))
    task_tell(work, task)
    work.signal(node_topic(node_id))
    return Answer(task, 201)


@dataclass(frozen=True)
class TaskQuery:
    """What a list of tasks was asked for."""

    allocation_id: str | None
    status: NodeTaskStatus | None
    cursor: str | None
    limit: int


async def task_list(call: Call, query: TaskQuery) -> Page[NodeTask]:
    """Tasks in reach, newest first."""
    reach = call.caller.reach(Permission.NODE_TASK_READ)
    async with call.db.connection() as conn:
        wanted = store.TaskFilter(reach, query.allocation_id, query.status)
        after = cursor_decode(query.cursor)
        rows = await store.task_list(conn, wanted, after, query.limit + 1)
    return page_of([task_view(row) for row in rows], query.limit, lambda found: found.id)


async def task_read(call: Call, task_id: str, wait_seconds: float, after: int | None) -> NodeTask:
    """One task; waits until it is at another revision than `after`, or has ended."""
    until = time.monotonic() + wait_seconds
    while True:
        with call.platform.signals.expect(task_topic(task_id)) as expected:
            task = task_view(await _readable(call, task_id))
            left = until - time.monotonic()
            done = task.status in NODE_TASK.terminal or task.revision != after
            if done or left <= 0 or call.platform.signals.finishing:
                return task
            await expected.wait(min(left, _LOOK_AGAIN_SECONDS))


async def task_output(call: Call, task_id: str, offset: int, wait_seconds: float) -> TaskOutput:
    """Output from an offset on; waits for more while the task may still write."""
    until = time.monotonic() + wait_seconds
    while True:
        with call.platform.signals.expect(task_topic(task_id)) as expected:
            row = await _readable(call, task_id)
            async with call.db.connection() as conn:
                data = await store.output_read(conn, task_id, offset, OUTPUT_MAX_BYTES)
            ended = row["status"] in NODE_TASK.terminal
            left = until - time.monotonic()
            if data or ended or left <= 0 or call.platform.signals.finishing:
                break
            await expected.wait(min(left, _LOOK_AGAIN_SECONDS))
    next_offset = offset + len(data)
    return TaskOutput(
        task_id=task_id,
        offset=offset,
        data=base64.b64encode(data).decode(),
        next_offset=next_offset,
        complete=ended and next_offset >= row["output_bytes"],
        cut=row["output_cut"],
    )


async def task_cancel(work: Work, task_id: str, body: NodeTaskCancel) -> Answer[NodeTask]:
    """Stop a task: at once if it has not begun, else as soon as the machine has stopped it."""
    row = await store.task_lock(work.conn, task_id)
    if row is None:
        raise not_found("node task", task_id)
    before = task_view(row)
    work.require(Permission.NODE_TASK_CREATE, _place(row))
    if before.status in NODE_TASK.terminal:
        raise PlatformError(ErrorCode.STATE_CONFLICT, f"The task has {before.status}.")
    marked = row_present(await store.task_cancel_mark(work.conn, task_id, work.now))
    task = task_view(marked)
    if before.status is NodeTaskStatus.QUEUED:
        result = TaskResult(code="cancelled", message="It was cancelled before it began.")
        task = await task_ended(work, marked, NodeTaskStatus.CANCELLED, result)
    work.audit(Target("node_task", task_id, _place(row), before, task, body.reason))
    work.signal(node_topic(row["node_id"]))
    work.signal(task_topic(task_id))
    return Answer(task)


async def task_expire(work: Work, task_id: str) -> Answer[NodeTask]:
    """End a task that has not begun in time."""
    row = await store.task_lock(work.conn, task_id)
    if row is None or row["status"] != NodeTaskStatus.QUEUED or row["begin_before"] > work.now:
        raise Undone
    result = TaskResult(code="expired", message="The machine did not begin it in time.")
    task = await task_ended(work, row, NodeTaskStatus.EXPIRED, result)
    target = Target("node_task", task_id, _place(row), task_view(row), task)
    work.audit(target)
    return Answer(task)


async def task_ended(
    work: Work, row: Record, status: NodeTaskStatus, result: TaskResult, *, cut: bool = False
) -> NodeTask:
    """Move a task that is held to its end, and tell."""
    if not NODE_TASK.allows(row["status"], status):
        raise PlatformError(
            ErrorCode.STATE_CONFLICT, f"A task that is {row['status']} cannot become {status}."
        )
    ending = store.Ending(status, result.model_dump(mode="json"), cut)
    task = task_view(row_present(await store.task_end(work.conn, row["id"], ending, work.now)))
    task_tell(work, task)
    work.signal(task_topic(task.id))
    return task


async def tasks_give_up(work: Work, node_id: str, why: str) -> None:
    """End what a machine will never report any more; what had begun has an unknown outcome."""
    for row in await store.tasks_open(work.conn, node_id):
        held = row_present(await store.task_lock(work.conn, row["id"]))
        if held["status"] in NODE_TASK.terminal:
            continue
        result = TaskResult(code="agent_gone", message=why)
        task = await task_ended(work, held, NodeTaskStatus.FAILED, result)
        work.audit(Target("node_task", task.id, _place(held), task_view(held), task, why))


def task_tell(work: Work, task: NodeTask) -> None:
    """An event for the state a task has come to."""
    place = Place(task.org_id, task.project_id)
    data: dict[str, Any] = {
        "allocation_id": task.allocation_id,
        "kind": task.kind,
        "label": task.label,
        "code": None if task.result is None else task.result.code,
    }
    event = Happened(
        f"fleet.task.{task.status}", task.id, place, data, correlation_id=task.correlation_id
    )
    work.emit(event)


def task_view(row: Record) -> NodeTask:
    """A task as the contract says it."""
    return NodeTask(**{name: row[name] for name in NodeTask.model_fields})


def row_present(row: Record | None) -> Record:
    """A row that was just locked or written."""
    if row is None:
        raise RuntimeError("what was just locked or written cannot be missing")
    return row


async def _workable(conn: Connection, allocation: Allocation) -> str:
    """The node to work on, if there is one whose agent could."""
    if allocation.status not in _WORKABLE:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The allocation is {allocation.status}; only an active one can be worked on.",
            context={"allocation_id": allocation.id, "status": allocation.status},
        )
    node_id = await allocation_node(conn, allocation.id)
    agent = await agent_rows.agent_lock(conn, node_id)
    if agent is None or agent["status"] != AgentStatus.ENROLLED:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            "The machine of this allocation has no agent; reach it with an access grant.",
            context={"allocation_id": allocation.id},
        )
    if len(await store.tasks_open(conn, node_id)) >= MAX_HELD_TASKS:
        raise PlatformError(
            ErrorCode.OPERATION_IN_PROGRESS,
            f"{MAX_HELD_TASKS} tasks wait for this machine already.",
            retry_after=5,
        )
    return node_id


async def _spec_require(work: Work, allocation: Allocation, body: NodeTaskCreate) -> None:
    """What a task moves is in reach of whoever asks for it."""
    spec = body.spec
    if isinstance(spec, DeliverSecret):
        secret = await secret_find(work.conn, spec.secret_id)
        work.require(Permission.SECRET_DELIVER, Place(secret.org_id, secret.project_id))
        if secret.project_id != allocation.project_id:
            raise not_found("runtime secret", spec.secret_id)
        if secret.status is not CustodyStatus.ACTIVE:
            raise PlatformError(ErrorCode.STATE_CONFLICT, "The secret has ended.")
    if isinstance(spec, DeliverArtifact):
        place = Place(allocation.org_id, allocation.project_id)
        work.require(Permission.ARTIFACT_DELIVER, place)
        row = await deliverable_require(work.conn, place, spec.artifact_id)
        read_require(work.call.caller, Permission.ARTIFACT_READ, row)
    if isinstance(spec, PrincipalsSet):
        for names in spec.users.values():
            for name in names:
                if name != allocation.id and not name.startswith(f"{allocation.id}:"):
                    raise invalid("/spec/users", f"{name} is no principal of {allocation.id}")


async def _readable(call: Call, task_id: str) -> Record:
    async with call.db.connection() as conn:
        row = await store.task_read(conn, task_id)
    if row is None:
        raise not_found("node task", task_id)
    call.caller.require(Permission.NODE_TASK_READ, _place(row))
    return row


def _place(row: Record) -> Place:
    return Place(row["org_id"], row["project_id"])
