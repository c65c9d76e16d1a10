"""Nodes as the room above knows them, whose agents speak for them.

Called by the fleet room inside its own transactions; it authorises, audits and tells. Public routes
of nodes are in `service.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from gpuaas_contract.capacity import Node, NodeCreate
from gpuaas_contract.common import Condition
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.states import AllocationStatus, NodeStatus
from gpuaas_platform.capacity.holdings import SHUT
from gpuaas_platform.capacity.service import kinds_require, name_taken
from gpuaas_platform.capacity.store import holdings
from gpuaas_platform.capacity.store import machines as store
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Happened, Target, Work

AGENT_LEFT: Final = "agent_left"
"""The condition of a node whose agent was taken away while it was held; its holder sees it too."""
_ENROLLED: Final = "enrolled"
_REASON_MOST: Final = 2000
# While a machine is held, its holder may reach it; also to clean what could not be verified.
_REACHED: Final = frozenset(
    {
        AllocationStatus.PROVISIONING,
        AllocationStatus.ACTIVE,
        AllocationStatus.RELEASING,
        AllocationStatus.CLEANUP_BLOCKED,
    }
)


@dataclass(frozen=True)
class Holder:
    """The allocation that holds a node."""

    allocation_id: str
    place: Place


def node_topic(node_id: str) -> str:
    """Woken when something changes for a node: who holds it, what it is to do."""
    return f"node.{node_id}"


async def node_find(conn: Connection, node_id: str) -> Node:
    """One node, or 404."""
    row = await store.node_read(conn, node_id)
    if row is None:
        raise not_found("node", node_id)
    return Node(**dict(row))


async def node_hold_if_there(conn: Connection, node_id: str) -> Node | None:
    """One node, held until the transaction ends; None when it is gone."""
    row = await store.node_lock(conn, node_id)
    return None if row is None else Node(**dict(row))


async def node_hold(conn: Connection, node_id: str) -> Node:
    """One node, held until the transaction ends, or 404."""
    row = await store.node_lock(conn, node_id)
    if row is None:
        raise not_found("node", node_id)
    return Node(**dict(row))


async def node_generation(conn: Connection, node_id: str) -> int:
    """How many tenants' identities were ended on a node, and one: the generation of new ones."""
    return await holdings.node_generation(conn, node_id)


async def node_register(work: Work, body: NodeCreate) -> Node:
    """A node for a host whose enrolment was allowed before."""
    await kinds_require(work.conn, body.region, body.sku)
    node_id = work.new_id(Prefix.NODE)
    row = await store.node_insert(work.conn, node_id, body, _ENROLLED, work.now)
    if row is None:
        raise name_taken("node", body.name)
    node = Node(**dict(row))
    work.audit(Target("node", node.id, after=node), "capacity.node.create")
    work.emit(Happened("capacity.node.created", node.id, PLATFORM, {"name": node.name}))
    return node


async def host_keys_meet(work: Work, node: Node, host_keys: Sequence[str]) -> None:
    """The host shows every key that was recorded for the node; what it has beside is added."""
    shown = {_bare(line) for line in host_keys}
    if not {_bare(line) for line in node.host_keys} <= shown:
        raise PlatformError(
            ErrorCode.CONFLICT,
            f"This host does not have the host keys recorded for the node {node.name}: it is"
            " another machine, or it was installed anew.",
            context={"node_id": node.id},
        )
    if shown != {_bare(line) for line in node.host_keys}:
        await store.node_host_keys_set(work.conn, node.id, sorted(shown))


async def host_keys_renew(work: Work, node: Node, host_keys: Sequence[str]) -> None:
    """A cleaned host shows none of the keys it had: whoever was root there could read those."""
    shown = {_bare(line) for line in host_keys}
    if shown & {_bare(line) for line in node.host_keys}:
        raise PlatformError(
            ErrorCode.CONFLICT,
            f"This host still has a host key the node {node.name} had before: it was not installed"
            " anew.",
            context={"node_id": node.id},
        )
    await store.node_host_keys_set(work.conn, node.id, sorted(shown))


async def node_open(work: Work, node: Node, status: NodeStatus, reason: str) -> None:
    """Let a node be given out, or not; the newest reason is shown.

    A node that is being cleaned or was set aside stays so: evidence alone opens it.
    """
    reason = reason[:_REASON_MOST]
    if node.status in SHUT or (node.status, node.status_reason) == (status, reason):
        return
    await store.node_update(work.conn, node.id, status, reason)
    if node.status is not status:
        work.emit(Happened(f"capacity.node.{status}", node.id, PLATFORM, {"name": node.name}))


async def node_seen(conn: Connection, node_id: str, agent_version: str, now: datetime) -> None:
    """A node's agent spoke; told by reads, by no event."""
    await store.node_seen(conn, node_id, agent_version, now)


async def node_agent_forget(work: Work, node_id: str) -> None:
    """A node has no agent any more."""
    await store.node_agent_forget(work.conn, node_id)


async def node_condition_put(
    work: Work, node_id: str, kind: str, condition: Condition | None
) -> None:
    """What holds of a node, held by the caller, beside its status; None: it holds no longer."""
    node = await node_find(work.conn, node_id)
    kept = [one for one in node.conditions if one.type != kind]
    kept += [] if condition is None else [condition]
    told = [one.model_dump(mode="json") for one in kept]
    await store.node_conditions_set(work.conn, node_id, told)


async def node_holder(conn: Connection, node_id: str) -> Holder | None:
    """Who holds a node now."""
    row = await store.node_allocation(conn, node_id)
    if row is None or row["status"] not in _REACHED:
        return None
    return Holder(row["id"], Place(row["org_id"], row["project_id"]))


async def allocation_reached(conn: Connection, allocation_id: str) -> bool:
    """Whether the machine made for an allocation lets its holder in; not once it is given back."""
    row = await store.allocation_read(conn, allocation_id)
    given_back = row is not None and row["status"] == AllocationStatus.RELEASING
    return row is not None and row["status"] in _REACHED and not given_back


async def allocation_node(conn: Connection, allocation_id: str) -> str:
    """The node an allocation is on."""
    found = await store.allocation_node(conn, allocation_id)
    if found is None:
        raise not_found("allocation", allocation_id)
    return found


async def allocation_signal(work: Work, allocation_id: str) -> None:
    """Wake whoever waits for what concerns the machine of an allocation, where it has one."""
    found = await store.allocation_node(work.conn, allocation_id)
    if found is not None:
        work.signal(node_topic(found))


def _bare(line: str) -> str:
    """A host key without its comment."""
    return " ".join(line.split()[:2])
