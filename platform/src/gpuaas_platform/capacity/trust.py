"""What the sshd of a machine made to order trusts: asked for here, confirmed by its provider.

Machines without an agent are told by their provider. Rooms above say what a machine is to trust
(`WANTED_PART`) and mark, in their own transactions, the machines for which that changed;
`trusting.py` brings it there. Nothing here is said to hold that no provider has confirmed.
"""

import base64
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from gpuaas_contract.capacity import Node
from gpuaas_contract.common import Condition
from gpuaas_platform.capacity.nodes import node_condition_put
from gpuaas_platform.capacity.store import machines as node_rows
from gpuaas_platform.capacity.store import trust as store
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work

TOPIC: Final = "capacity.trust"
WANTED_PART: Final = "capacity.trust_wanted"
"""Where the room above says what the machine of an allocation is to trust."""
OUTSTANDING: Final = "access_outstanding"
# Whatever changed on a machine by itself is set right so often.
REPAIR: Final = timedelta(minutes=15)
_SETTLED: Final = timedelta(seconds=5)


@dataclass(frozen=True)
class Trust:
    """What a machine's sshd is to trust: exactly this."""

    revision: str
    authorities: Sequence[str]
    principals: Mapping[str, Sequence[str]]
    krl: bytes

    def told(self) -> dict[str, Any]:
        """The same in plain values, for a provider."""
        return {
            "revision": self.revision,
            "authorities": list(self.authorities),
            "principals": {user: list(names) for user, names in self.principals.items()},
            "krl": base64.b64encode(self.krl).decode(),
        }


Wanted = Callable[[str], Awaitable[Trust]]


@dataclass(frozen=True)
class MachineTrust:
    """What is known of a made machine's trust."""

    revision: str
    confirmed_at: datetime | None
    error: str


async def trust_wanted(platform: Platform, allocation_id: str) -> Trust | None:
    """What the machine of an allocation is to trust now; None while nobody can say it yet."""
    wanted: Wanted | None = platform.parts.get(WANTED_PART)
    return None if wanted is None else await wanted(allocation_id)


async def trust_touch(work: Work, allocation_id: str) -> None:
    """Something changed for the machine of an allocation, if one was made for it."""
    if await store.trust_touch(work.conn, allocation_id, work.now):
        work.signal(TOPIC)


async def trust_touch_all(work: Work) -> None:
    """Something changed for every made machine."""
    if await store.trust_touch_all(work.conn, work.now):
        work.signal(TOPIC)


async def trust_begin(work: Work, node_id: str, revision: str) -> None:
    """A machine was made and holds this; without a revision it has still to be told.

    It is told once more soon: what changed while it was being made marked no row.
    """
    due_at = work.now + _SETTLED if revision else work.now
    await store.trust_begin(work.conn, node_id, revision, work.now, due_at)
    work.signal(TOPIC)


async def trust_read(conn: Connection, node_id: str) -> MachineTrust | None:
    """What was confirmed of a made machine; None for a host that was there already."""
    row = await store.trust_read(conn, node_id)
    if row is None:
        return None
    return MachineTrust(row["revision"], row["confirmed_at"], row["error"])


async def trust_outstanding(
    work: Work, row: Record, error: str, *, permanent: bool
) -> Answer[Node]:
    """Say that a change has not reached a machine; a permanent error is its provider's."""
    node = await _held(work, row["node_id"], outstanding=False)
    await store.trust_outstanding_set(work.conn, node.id, work.now)
    await node_condition_put(work, node.id, OUTSTANDING, _outstanding(work.now, error, permanent))
    return _told(work, node, OUTSTANDING, {"error": error})


async def trust_arrived(work: Work, row: Record) -> Answer[Node]:
    """Say that what was outstanding has reached the machine."""
    node = await _held(work, row["node_id"], outstanding=True)
    await store.trust_outstanding_set(work.conn, node.id, None)
    await node_condition_put(work, node.id, OUTSTANDING, None)
    since = row["outstanding_since"].isoformat()
    return _told(work, node, "access_confirmed", {"outstanding_since": since})


async def _held(work: Work, node_id: str, *, outstanding: bool) -> Node:
    """The node, locked, if it is still there and still as it was seen."""
    node = await node_rows.node_lock(work.conn, node_id)
    row = await store.trust_read(work.conn, node_id)
    if node is None or row is None or (row["outstanding_since"] is not None) != outstanding:
        raise Undone
    return Node(**dict(node))


def _told(work: Work, node: Node, word: str, detail: Mapping[str, str]) -> Answer[Node]:
    data = {"name": node.name, "allocation_id": node.allocation_id or "", **detail}
    work.audit(Target("node", node.id, detail=data), f"capacity.node.{word}")
    work.emit(Happened(f"capacity.node.{word}", node.id, PLATFORM, data))
    return Answer(node)


def _outstanding(since: datetime, error: str, permanent: bool) -> Condition:
    look = "Look whether the machine is on and its provider reaches it."
    return Condition(
        type=OUTSTANDING,
        since=since,
        reason="provider_cannot" if permanent else "not_confirmed",
        message="Whom this machine lets in has changed, and it has not been told: what was revoked"
        f" may open it until it expires. {error}",
        next_action="Bring the provider's plug-in up to date." if permanent else look,
    )
