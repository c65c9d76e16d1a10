"""Whether a machine lets in whom it should, seen by operators: what was confirmed, and by whom.

Compared with what should hold at this moment. What nobody confirmed is not said to hold.
"""

from gpuaas_contract.capacity import Node
from gpuaas_contract.fleet import AccessCarrier, NodeAccess
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import AgentStatus
from gpuaas_platform.capacity import nodes
from gpuaas_platform.capacity.trust import MachineTrust, trust_read
from gpuaas_platform.fleet.access import access_wanted, made_wanted
from gpuaas_platform.fleet.store import agents as store
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Connection


async def access_read(call: Call, node_id: str) -> NodeAccess:
    """What is known of a node."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    async with call.db.connection() as conn:
        node = await nodes.node_find(conn, node_id)
        made = await trust_read(conn, node_id)
        if made is not None and node.allocation_id is not None:
            return await _made(conn, node, node.allocation_id, made)
        return await _enrolled(conn, node)


async def _made(
    conn: Connection, node: Node, allocation_id: str, known: MachineTrust
) -> NodeAccess:
    wanted = await made_wanted(conn, allocation_id)
    return NodeAccess(
        node_id=node.id,
        carrier=AccessCarrier.PROVIDER,
        applied=known.revision == wanted.revision,
        confirmed_at=known.confirmed_at,
        error=known.error,
    )


async def _enrolled(conn: Connection, node: Node) -> NodeAccess:
    row = await store.agent_read(conn, node.id)
    if row is None or row["status"] == AgentStatus.LEFT:
        return NodeAccess(
            node_id=node.id,
            carrier=AccessCarrier.NOBODY,
            applied=False,
            confirmed_at=None,
            error="",
        )
    wanted = await access_wanted(conn, node.id)
    return NodeAccess(
        node_id=node.id,
        carrier=AccessCarrier.AGENT,
        applied=row["access_revision"] == wanted.revision and not row["access_error"],
        confirmed_at=row["last_seen_at"],
        error=row["access_error"],
    )
