"""Rules of agents as operators see them: facts, presence, and how a node is let go.

Absent is not gone: an agent that is not heard is said to be absent, and nothing is concluded from
it. A node is let go when its host has said that it is clean, or an operator says it never will.
"""

from datetime import datetime, timedelta
from typing import Final

from gpuaas_contract.capacity import Node
from gpuaas_contract.common import Condition
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.fleet import (
    AgentIdentity,
    NodeAgent,
    NodeFacts,
    NodeUnenrol,
)
from gpuaas_contract.fleet_agent import AgentFacts, AgentLeaving, AgentLeft
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import AgentStatus, NodeStatus
from gpuaas_platform.capacity import nodes
from gpuaas_platform.fleet.access import access_wanted
from gpuaas_platform.fleet.speaking import agent_gone, agent_heard_require, agent_require
from gpuaas_platform.fleet.store import agents as store
from gpuaas_platform.fleet.tasks import tasks_give_up
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work

ABSENT: Final = "agent_absent"


async def agent_read(call: Call, node_id: str) -> NodeAgent:
    """The agent of a node."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    async with call.db.connection() as conn:
        return await _agent(conn, node_id)


async def facts_read(call: Call, node_id: str) -> NodeFacts:
    """What a node's agent last said of its machine."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    async with call.db.connection() as conn:
        row = await store.agent_read(conn, node_id)
    if row is None:
        raise not_found("agent of the node", node_id)
    return NodeFacts(node_id=node_id, reported_at=row["facts_at"], facts=row["facts"])


async def facts_report(call: Call, body: AgentFacts) -> NodeFacts:
    """Keep the newest facts; a machine describes itself all the time, so no audit row."""
    node_id = await agent_heard_require(call, "fleet.facts.report")
    now = call.platform.clock.now()
    async with call.db.connection() as conn:
        await store.facts_put(conn, node_id, body.facts, now)
    return NodeFacts(node_id=node_id, reported_at=now, facts={})


async def node_unenrol(work: Work, node_id: str, body: NodeUnenrol) -> Answer[NodeAgent]:
    """Have a host cleaned and let go; by force, give up on a host that will not come back."""
    work.require(Permission.NODE_MANAGE, PLATFORM)
    node = await nodes.node_hold(work.conn, node_id)
    row = await store.agent_lock(work.conn, node_id)
    if row is None or row["status"] == AgentStatus.LEFT:
        raise PlatformError(ErrorCode.STATE_CONFLICT, f"The node {node.name} has no agent.")
    _free_require(node, force=body.force)
    before = await _agent(work.conn, node_id)
    if body.force:
        await _holder_warn(work, node, "unenrolled", "An operator un-enrolled the machine by force")
        await _left(work, node, f"Un-enrolled by force, not cleaned: {body.reason}")
    else:
        await store.agent_status_set(work.conn, node_id, AgentStatus.LEAVING, body.reason)
        await nodes.node_open(work, node, NodeStatus.CORDONED, f"Un-enrolling: {body.reason}")
        told = {"name": node.name, "force": False, "allocation_id": None}
        work.emit(Happened("fleet.node.leaving", node_id, PLATFORM, told))
    after = await _agent(work.conn, node_id)
    detail = {"force": body.force}
    work.audit(Target("node", node_id, PLATFORM, before, after, body.reason, detail))
    work.signal(nodes.node_topic(node_id))
    return Answer(after)


async def agent_leaving(work: Work, body: AgentLeaving) -> Answer[NodeAgent]:
    """A host's own administrator lets the node go."""
    node_id = agent_require(work.call)
    node = await nodes.node_hold(work.conn, node_id)
    row = await store.agent_lock(work.conn, node_id)
    if row is None or row["status"] == AgentStatus.LEFT:
        raise agent_gone()
    _free_require(node, force=body.force)
    await store.agent_status_set(work.conn, node_id, AgentStatus.LEAVING, body.reason)
    await nodes.node_open(work, node, NodeStatus.CORDONED, f"Un-enrolling: {body.reason}")
    await _holder_warn(work, node, "left", "The machine's own root took its agent away by force")
    work.audit(Target("node", node_id, reason=body.reason, detail={"force": body.force}))
    told = {"name": node.name, "force": body.force, "allocation_id": node.allocation_id}
    work.emit(Happened("fleet.node.leaving", node_id, PLATFORM, told))
    return Answer(await _agent(work.conn, node_id))


async def agent_left(work: Work, body: AgentLeft) -> Answer[NodeAgent]:
    """The host is clean, as far as it says; its identity ends with this word."""
    node_id = agent_require(work.call)
    node = await nodes.node_hold(work.conn, node_id)
    row = await store.agent_lock(work.conn, node_id)
    if row is None or row["status"] != AgentStatus.LEAVING:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "This node is not about to leave.")
    residue = "; ".join(body.residue)
    await _left(work, node, f"Un-enrolled. {residue}".strip())
    work.audit(
        Target("node", node_id, reason=row["leave_reason"], detail={"residue": body.residue})
    )
    return Answer(await _agent(work.conn, node_id))


async def absence_settle(work: Work, node_id: str, patience: timedelta) -> Answer[NodeAgent]:
    """Say that an agent is absent, or that it is back."""
    await nodes.node_hold(work.conn, node_id)
    row = await store.agent_lock(work.conn, node_id)
    if row is None or row["status"] == AgentStatus.LEFT:
        raise Undone
    silent = row["last_seen_at"] < work.now - patience
    if silent == (row["absent_since"] is not None):
        raise Undone
    since = row["last_seen_at"] if silent else None
    await store.agent_absent_set(work.conn, node_id, since)
    absent = None if since is None else _absent(since)
    await nodes.node_condition_put(work, node_id, ABSENT, absent)
    word = ABSENT if silent else "agent_back"
    seen = {"last_seen_at": row["last_seen_at"].isoformat()}
    work.audit(Target("node", node_id, detail=seen), f"fleet.node.{word}")
    work.emit(Happened(f"fleet.node.{word}", node_id, PLATFORM, seen))
    return Answer(await _agent(work.conn, node_id))


async def _left(work: Work, node: Node, reason: str) -> None:
    await store.agent_status_set(work.conn, node.id, AgentStatus.LEFT, reason)
    await store.identities_end(work.conn, node.id)
    await nodes.node_agent_forget(work, node.id)
    await nodes.node_condition_put(work, node.id, ABSENT, None)  # none is there to be absent
    held = await nodes.node_hold(work.conn, node.id)
    await nodes.node_open(work, held, NodeStatus.CORDONED, reason)
    await tasks_give_up(work, node.id, "The machine was un-enrolled before it told the outcome.")
    told = {"name": node.name, "allocation_id": node.allocation_id}
    work.emit(Happened("fleet.node.left", node.id, PLATFORM, told))


async def _holder_warn(work: Work, node: Node, reason: str, what: str) -> None:
    """Set the condition `agent_left` on a held node; its allocation shows it too."""
    holder = await nodes.node_holder(work.conn, node.id)
    if holder is None or _warned(node):
        return
    condition = Condition(
        type=nodes.AGENT_LEFT,
        since=work.now,
        reason=reason,
        message=f"{what} while the allocation {holder.allocation_id} holds it: no access,"
        " revocation or task reaches the machine any more. The allocation stays active and is"
        " billed.",
        next_action="Enrol the machine again, or release the allocation.",
    )
    await nodes.node_condition_put(work, node.id, nodes.AGENT_LEFT, condition)
    told = {"allocation_id": holder.allocation_id, "node": node.name, "reason": reason}
    event = Happened("fleet.allocation.agent_left", holder.allocation_id, holder.place, told)
    work.emit(event)
    work.audit(Target("allocation", holder.allocation_id, holder.place, detail=told), event.type)


async def holder_reassure(work: Work, node: Node) -> None:
    """End the condition `agent_left`: the node has an agent again."""
    if not _warned(node):
        return
    await nodes.node_condition_put(work, node.id, nodes.AGENT_LEFT, None)
    holder = await nodes.node_holder(work.conn, node.id)
    if holder is not None:
        told = {"allocation_id": holder.allocation_id, "node": node.name}
        event = Happened("fleet.allocation.agent_back", holder.allocation_id, holder.place, told)
        work.emit(event)


def _warned(node: Node) -> bool:
    return any(one.type == nodes.AGENT_LEFT for one in node.conditions)


def _free_require(node: Node, *, force: bool) -> None:
    if node.allocation_id is not None and not force:
        raise PlatformError(
            ErrorCode.IN_USE,
            f"The node {node.name} is held by the allocation {node.allocation_id}; release it"
            " first.",
            context={"allocation_id": node.allocation_id},
        )


def _absent(since: datetime) -> Condition:
    return Condition(
        type=ABSENT,
        since=since,
        reason="silent",
        message="The agent of this node has not been heard since then; what runs there may run on.",
        next_action="Look whether the machine is on and reaches the platform.",
    )


async def _agent(conn: Connection, node_id: str) -> NodeAgent:
    row = await store.agent_read(conn, node_id)
    if row is None:
        raise not_found("agent of the node", node_id)
    node = await nodes.node_find(conn, node_id)
    wanted = await access_wanted(conn, node_id)
    identities = await store.identities_usable(conn, node_id)
    applied = row["access_revision"] == wanted.revision and not row["access_error"]
    return NodeAgent(
        node_id=node_id,
        status=row["status"],
        agent_version=node.agent_version or "",
        identities=[_identity(one) for one in identities],
        last_seen_at=row["last_seen_at"],
        boot_id=row["boot_id"],
        enrolled_at=row["enrolled_at"],
        access_applied=applied and row["status"] != AgentStatus.LEFT,
        access_error=row["access_error"],
    )


def _identity(row: Record) -> AgentIdentity:
    return AgentIdentity(**{name: row[name] for name in AgentIdentity.model_fields})
