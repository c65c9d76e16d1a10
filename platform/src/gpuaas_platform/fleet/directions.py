"""What an agent is told when it asks: tasks, what to stop, whom to let in, whether to go.

A poll is also the sign of life. It changes nothing anybody decides by, so it leaves no audit row;
what it answers is computed from the state each time, and a change wakes it.
"""

import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from gpuaas_contract.fleet import NodeTask
from gpuaas_contract.fleet_agent import (
    AgentDirections,
    AgentPoll,
    LeaveDirection,
    Signed,
    TaskDirection,
    UpdateDirection,
)
from gpuaas_contract.states import AgentStatus, NodeTaskStatus
from gpuaas_platform.capacity.holdings import CLEANING_TOPIC
from gpuaas_platform.capacity.nodes import node_holder, node_seen, node_topic
from gpuaas_platform.custody.authority import TOPIC as CA_TOPIC
from gpuaas_platform.custody.authority import authority_require
from gpuaas_platform.fleet.access import access_direction, access_wanted
from gpuaas_platform.fleet.agent_file import agent_file
from gpuaas_platform.fleet.reports import task_lost, task_orphan
from gpuaas_platform.fleet.signing import direction_sign, signers_direction, signers_revision
from gpuaas_platform.fleet.speaking import agent_gone, agent_heard_require
from gpuaas_platform.fleet.store import agents as agent_rows
from gpuaas_platform.fleet.store import tasks as task_rows
from gpuaas_platform.kernel.call import Call, Platform, system_call
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.work import Answer, Undone, mutate

ABSENCE_TOPIC: Final = "fleet.sweep"
_LOOK_AGAIN_SECONDS: Final = 30.0
# A task the machine does not know of is given up only when it cannot be on its way there.
_ON_ITS_WAY: Final = timedelta(seconds=60)


async def agent_poll(call: Call, body: AgentPoll, wait_seconds: float) -> AgentDirections:
    """Hear an agent, and wait until there is something to tell it."""
    node_id = await agent_heard_require(call, "fleet.agent.poll")
    platform = call.platform
    await authority_require(platform)  # the authority exists before any host is told to trust it
    until = time.monotonic() + wait_seconds
    first = True
    while True:
        with platform.signals.expect(node_topic(node_id), CA_TOPIC) as expected:
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
        holder = await node_holder(conn, node_id)
    if (agent["access_revision"], agent["access_error"]) != (
        body.access_revision, body.access_error,
    ):  # fmt: skip
        call.platform.signals.send((CLEANING_TOPIC,))  # a cleaning may have waited for it
    if agent["absent_since"] is not None:
        call.platform.signals.send((ABSENCE_TOPIC,))
    holds = None if holder is None else holder.allocation_id
    for row in rows:
        if row["status"] == NodeTaskStatus.QUEUED and row["allocation_id"] != holds:
            await _settle(call, row, "fleet.task.orphan", task_orphan)
        late = row["status"] == NodeTaskStatus.RUNNING and row["started_at"] < now - _ON_ITS_WAY
        if late and row["id"] not in body.held:
            await _settle(call, row, "fleet.task.lose", task_lost)


async def _settle(
    call: Call, row: Record, action: str, handler: Callable[..., Awaitable[Answer[NodeTask]]]
) -> None:
    own = system_call(call.platform, "/fleet/tasks", row["correlation_id"])
    with suppress(Undone):  # it is no longer so
        await mutate(own, action, partial(handler, task_id=row["id"]))


async def _directions(platform: Platform, node_id: str, body: AgentPoll) -> AgentDirections:
    now = platform.clock.now()
    if body.signers_revision != await signers_revision(platform):
        # First whose word counts; what they say comes with the next poll.
        signers = await signers_direction(platform, node_id, body.signers_revision)
        return AgentDirections(now=now, tasks=[], cancel=[], signers=signers)
    async with platform.db.connection() as conn:
        agent = await agent_rows.agent_read(conn, node_id)
        rows = await task_rows.tasks_open(conn, node_id)
        holder = await node_holder(conn, node_id)
        access = await access_wanted(conn, node_id)
    if agent is None or agent["status"] == AgentStatus.LEFT:
        raise agent_gone()
    holds = None if holder is None else holder.allocation_id
    told = access.revision == body.access_revision
    return AgentDirections(
        now=now,
        tasks=[await _task(platform, row) for row in rows if _to_begin(row, body, holds, now)],
        cancel=[row["id"] for row in rows if _to_stop(row, body, holds)],
        access=None if told else await access_direction(platform, node_id, access),
        leave=await _leave(platform, agent),
        update=await _update(platform, node_id, body.agent_version),
    )


def _to_begin(row: Record, body: AgentPoll, holds: str | None, now: datetime) -> bool:
    """A task of whoever holds the machine now, that may still begin and that the agent lacks."""
    waits = row["status"] == NodeTaskStatus.QUEUED and row["begin_before"] > now
    return waits and row["allocation_id"] == holds and row["id"] not in body.held


def _to_stop(row: Record, body: AgentPoll, holds: str | None) -> bool:
    """A task that somebody cancelled, or whose allocation holds the machine no more."""
    unwanted = row["cancel_requested_at"] is not None or row["allocation_id"] != holds
    return unwanted and row["id"] in body.held and row["id"] not in body.stopping


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


async def _update(platform: Platform, node_id: str, version: str) -> Signed | None:
    """The release this platform serves, for an older agent. It rides along and wakes nobody."""
    served = agent_file(platform)
    if not served.newer_than(version):
        return None
    direction = UpdateDirection(node_id=node_id, version=served.version, digest=served.digest)
    return await direction_sign(platform, direction)


def _says_something(directions: AgentDirections) -> bool:
    return bool(
        directions.tasks
        or directions.cancel
        or directions.access
        or directions.signers
        or directions.leave
    )
