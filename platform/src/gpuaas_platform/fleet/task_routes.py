"""Routes of node tasks, for apps and people who hold allocations."""

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from gpuaas_contract.common import Page
from gpuaas_contract.fleet import (
    OUTPUT_MAX_BYTES,
    NodeTask,
    NodeTaskCancel,
    NodeTaskCreate,
    TaskOutput,
)
from gpuaas_contract.states import NodeTaskStatus
from gpuaas_platform.fleet import tasks
from gpuaas_platform.kernel.call import CallDep
from gpuaas_platform.kernel.paging import Cursor, Limit
from gpuaas_platform.kernel.waiting import WaitFor, wait_seconds
from gpuaas_platform.kernel.work import mutate

router = APIRouter(tags=["fleet"])
Id = Annotated[str, Path(max_length=64)]


@router.post(
    "/allocations/{allocation_id}/tasks",
    operation_id="node_task_create",
    status_code=201,
    response_model=NodeTask,
)
async def node_task_create(call: CallDep, allocation_id: Id, body: NodeTaskCreate) -> Response:
    """Give work to the machine of an allocation; its agent pulls it."""
    handler = partial(tasks.task_create, allocation_id=allocation_id, body=body)
    return await mutate(call, "fleet.task.create", handler)


@router.get("/node-tasks", operation_id="node_task_list")
async def node_task_list(
    call: CallDep,
    allocation_id: Annotated[str | None, Query(max_length=64)] = None,
    status: NodeTaskStatus | None = None,
    cursor: Cursor = None,
    limit: Limit = 100,
) -> Page[NodeTask]:
    """List node tasks in reach, newest first."""
    query = tasks.TaskQuery(allocation_id, status, cursor, limit)
    return await tasks.task_list(call, query)


@router.get("/node-tasks/{task_id}", operation_id="node_task_read")
async def node_task_read(
    call: CallDep,
    task_id: Id,
    wait: WaitFor = "0s",
    after: Annotated[int | None, Query(ge=0, le=2**31 - 1, description="Known revision")] = None,
) -> NodeTask:
    """Read one task; with `wait`, once it is at another revision or has ended."""
    return await tasks.task_read(call, task_id, wait_seconds(wait), after)


@router.get("/node-tasks/{task_id}/output", operation_id="node_task_output_read")
async def node_task_output_read(
    call: CallDep,
    task_id: Id,
    offset: Annotated[int, Query(ge=0, le=OUTPUT_MAX_BYTES)] = 0,
    wait: WaitFor = "0s",
) -> TaskOutput:
    """Read a task's output from an offset on; with `wait`, once there is more."""
    return await tasks.task_output(call, task_id, offset, wait_seconds(wait))


@router.post(
    "/node-tasks/{task_id}/cancel", operation_id="node_task_cancel", response_model=NodeTask
)
async def node_task_cancel(call: CallDep, task_id: Id, body: NodeTaskCancel) -> Response:
    """Stop a task; one that runs has ended when its machine says so."""
    handler = partial(tasks.task_cancel, task_id=task_id, body=body)
    return await mutate(call, "fleet.task.cancel", handler)
