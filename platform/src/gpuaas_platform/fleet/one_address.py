"""An agent's identity is heard from one address at a time; a second host that uses it is refused.

While a machine is held, its holder is root on it and can copy the identity. The copy is noticed as
soon as it is used beside the machine: the newcomer is refused, the node has a condition until the
agent's identity was replaced, and the agent is asked to replace it at its next sign-in.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

from gpuaas_contract.capacity import Node
from gpuaas_contract.common import Condition
from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.capacity import nodes
from gpuaas_platform.fleet.store import agents as store
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work, mutate

SHARED: Final = "identity_shared"


class SecondAddress(PlatformError):
    """An identity was used from another address than the one its machine speaks from."""

    def __init__(self, node_id: str, source: str) -> None:
        super().__init__(
            ErrorCode.UNAUTHENTICATED,
            "This identity is in use at another address; it serves one machine.",
        )
        self.node_id = node_id
        self.source = source


def address_require(platform: Platform, agent: Record, source: str, now: datetime) -> None:
    """Pass when the machine speaks from here, or has been silent: then it may have moved."""
    patience = timedelta(seconds=platform.settings.agent_absent_seconds)
    silent = agent["last_seen_at"] < now - patience
    if _bound(platform) and agent["address"] not in {"", source} and not silent:
        raise SecondAddress(agent["node_id"], source)


def token_address_require(platform: Platform, token: Record, source: str) -> None:
    """Pass when a token is used from the address it was given to."""
    if _bound(platform) and token["address"] not in {"", source}:
        raise SecondAddress(token["node_id"], source)


async def shared_told(platform: Platform, refused: SecondAddress) -> None:
    """Say that an identity was used from a second address: a condition, an audit row, an event."""
    call = system_call(platform, "/fleet/identities", f"shared-{refused.node_id}")
    handler = partial(_shared, node_id=refused.node_id, source=refused.source)
    with suppress(Undone):  # it is said already
        await mutate(call, "fleet.node.identity_shared", handler)


async def shared_end(platform: Platform, node_id: str) -> None:
    """The identity that was shared has been replaced."""
    call = system_call(platform, "/fleet/identities", f"shared-{node_id}")
    with suppress(Undone):
        await mutate(call, "fleet.node.identity_replaced", partial(_replaced, node_id=node_id))


async def is_shared(conn: Connection, node_id: str) -> bool:
    """Whether the identity of a node is known to be used by more than its machine."""
    node = await nodes.node_find(conn, node_id)
    return any(one.type == SHARED for one in node.conditions)


async def _shared(work: Work, node_id: str, source: str) -> Answer[Node]:
    node = await nodes.node_hold(work.conn, node_id)
    agent = await store.agent_read(work.conn, node_id)
    if agent is None or any(one.type == SHARED for one in node.conditions):
        raise Undone
    detail: dict[str, Any] = {"name": node.name, "address": agent["address"], "refused": source}
    condition = Condition(
        type=SHARED,
        since=work.now,
        reason="second_address",
        message=f"The identity of this node's agent was used from {source} while its machine speaks"
        f" from {agent['address']}. The newcomer was refused.",
        next_action="Find out who has read the identity on the machine. It ends when the agent"
        " takes its next one, and when the machine is cleaned.",
    )
    await nodes.node_condition_put(work, node_id, SHARED, condition)
    work.audit(Target("node", node_id, detail=detail))
    work.emit(Happened("fleet.node.identity_shared", node_id, PLATFORM, detail))
    return Answer(node)


async def _replaced(work: Work, node_id: str) -> Answer[Node]:
    node = await nodes.node_hold(work.conn, node_id)
    if not any(one.type == SHARED for one in node.conditions):
        raise Undone
    await nodes.node_condition_put(work, node_id, SHARED, None)
    work.audit(Target("node", node_id))
    work.emit(Happened("fleet.node.identity_replaced", node_id, PLATFORM, {"name": node.name}))
    return Answer(node)


def _bound(platform: Platform) -> bool:
    return platform.settings.agent_address_bound
