"""What an agent is told when it asks: tasks, what to stop, whom to let in, whether to go.

A poll is also the sign of life. It changes nothing anybody decides by, so it leaves no audit row;
what it answers is computed from the state each time, and a change wakes it.
"""

import time
from datetime import timedelta
from functools import partial
from typing import Final

from gpuaas_contract.fleet_agent import (
    AgentDirections,
    AgentPoll,
    LeaveDirection,
    Signed,
    TaskDirection,
)
from gpuaas_contract.states import AgentStatus, NodeTaskStatus
from gpuaas_platform.capacity.nodes import node_seen, node_topic
from gpuaas_platform.custody.authority import TOPIC as CA_TOPIC
from gpuaas_platform.custody.authority import signing_key
from gpuaas_platform.custody.grants import KRL_TOPIC
from gpuaas_platform.fleet.access import access_direction, access_wanted
from gpuaas_platform.fleet.reports import task_lost
from gpuaas_platform.fleet.signing import direction_sign, signers_direction, signers_revision
from gpuaas_platform.fleet.speaking import agent_gone, agent_heard_require
from gpuaas_platform.fleet.store import agents as agent_rows
from gpuaas_platform.fleet.store import tasks as task_rows
from gpuaas_platform.kernel.call import Call, Platform, system_call
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.work import Undone, mutate

ABSENCE_TOPIC: Final = "fleet.sweep"
_LOOK_AGAIN_SECONDS: Final = 30.0
# A task the machine does not know of is given up only when it cannot be on its way there.
_ON_ITS_WAY: Final = timedelta(seconds=60)


async def agent_poll(call: Call, body: AgentPoll, wait_seconds: float) -> AgentDirections:
    """Hear an agent, and wait until there is something to tell it."""
    node_id = await agent_heard_require(call, "fleet.agent.poll")
    platform = call.platform
    await signing_key(platform)  # the authority exists before any host is told to trust it
    until = time.monotonic() + wait_seconds
    first = True
    while True:
        with platform.signals.expect(node_topic(node_id), KRL_TOPIC, CA_TOPIC) as expected:
            if first:
                await _heard(call, node_id, body)
                first = False
            directions = await _directions(platform, node_id, body)
            left = until - time.monotonic()
            if _says_something(directions) or left <= 0 or platform.signals.finishing:
                return directions
            await expected.wait(min(left, _LOOK_AGAIN_SECONDS))


async def _heard(call: Call, node_id: str, body: AgentPoll) -> None:
    """Note the sign of life, and give up what the machine has no memory of."""
    now = call.platform.clock.now()
    heard = agent_rows.Heard(node_id, body.boot_id, body.access_revision, body.access_error)
    async with call.db.transaction() as conn:
        agent = await agent_rows.agent_read(conn, node_id)
        if agent is None:
            raise agent_gone()
        await agent_rows.agent_heard(conn, heard, now)
        await node_seen(conn, node_id, body.agent_version, now)
        rows = await task_rows.tasks_open(conn, node_id)
    if agent["absent_since"] is not None:
        call.platform.signals.send((ABSENCE_TOPIC,))
    held = set(body.held)
    for row in rows:
        if row["id"] in held or row["status"] != NodeTaskStatus.RUNNING:
            continue
        if row["started_at"] < now - _ON_ITS_WAY:
            await _lost(call, row)


async def _lost(call: Call, row: Record) -> None:
    own = system_call(call.platform, "/fleet/tasks", row["correlation_id"])
    try:
        await mutate(own, "fleet.task.lose", partial(task_lost, task_id=row["id"]))
    except Undone:
        return


async def _directions(platform: Platform, node_id: str, body: AgentPoll) -> AgentDirections:
    now = platform.clock.now()
    if body.signers_revision != await signers_revision(platform):
        # First whose word counts; what they say comes with the next poll.
        signers = await signers_direction(platform, node_id, body.signers_revision)
        return AgentDirections(now=now, tasks=[], cancel=[], signers=signers)
    async with platform.db.connection() as conn:
        agent = await agent_rows.agent_read(conn, node_id)
        rows = await task_rows.tasks_open(conn, node_id)
        access = await access_wanted(conn, node_id)
    if agent is None or agent["status"] == AgentStatus.LEFT:
        raise agent_gone()
    held = set(body.held)
    queued = [
        row for row in rows
        if row["status"] == NodeTaskStatus.QUEUED and row["id"] not in held
        and row["begin_before"] > now
    ]  # fmt: skip
    stop = [row["id"] for row in rows if row["cancel_requested_at"] and row["id"] in held]
    told = access.revision == body.access_revision
    return AgentDirections(
        now=now,
        tasks=[await _task(platform, row) for row in queued],
        cancel=[task_id for task_id in stop if task_id not in body.stopping],
        access=None if told else await access_direction(platform, node_id, access),
        leave=await _leave(platform, agent),
    )


async def _task(platform: Platform, row: Record) -> Signed:
    direction = TaskDirection(
        node_id=row["node_id"],
        task_id=row["id"],
        allocation_id=row["allocation_id"],
        kind=row["kind"],
        spec=row["spec"],
        begin_before=row["begin_before"],
        correlation_id=row["correlation_id"],
    )
    return await direction_sign(platform, direction)


async def _leave(platform: Platform, agent: Record) -> Signed | None:
    if agent["status"] != AgentStatus.LEAVING:
        return None
    direction = LeaveDirection(node_id=agent["node_id"], reason=agent["leave_reason"])
    return await direction_sign(platform, direction)


def _says_something(directions: AgentDirections) -> bool:
    return bool(
        directions.tasks
        or directions.cancel
        or directions.access
        or directions.signers
        or directions.leave
    )
