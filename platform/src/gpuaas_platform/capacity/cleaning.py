"""Rules of machines between tenants: how a region cleans, and when a node leaves its tenant.

A node that leaves goes to `cleaning` here, in the transaction that ends its use; the fleet room
does the cleaning and says through `node_cleaned` that it succeeded. Nothing else opens the node.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from fastapi import Response

from gpuaas_contract.capacity import (
    CLEANING_MEANING,
    CleaningMethod,
    Node,
    NodeClean,
    RegionCleaning,
    RegionCleaningSaved,
    RegionCleaningSet,
    ReimageHook,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import NODE, AllocationStatus, NodeStatus
from gpuaas_platform.capacity.holdings import (
    CLEANABLE,
    CLEANING_TOPIC,
    SHUT,
    departure,
    present,
)
from gpuaas_platform.capacity.orders import TOPIC as ORDERS_TOPIC
from gpuaas_platform.capacity.orders import OrderKind, order_put
from gpuaas_platform.capacity.providers import ENROLLED
from gpuaas_platform.capacity.store import holdings as store
from gpuaas_platform.capacity.store import machines as node_rows
from gpuaas_platform.events.signing import SECRET_BYTES, secret_text
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.keyring import Keyring, keyring_of
from gpuaas_platform.kernel.outbound import Guard
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Undone, Work, mutate

_REASON_MOST: Final = 2000
_LEFT: Final = "Its tenant has released it; it is being cleaned."
_TAKEN_AWAY: Final = "Its tenant has released it; its provider takes the machine away."
_KEPT: Final = "The time it was kept for its tenant is over; it is being cleaned."


async def region_cleaning_read(call: Call, name: str) -> RegionCleaning:
    """How the machines of a region are cleaned."""
    call.caller.require(Permission.REGION_MANAGE, PLATFORM)
    async with call.db.connection() as conn:
        row = await store.region_read(conn, name)
    if row is None:
        raise not_found("region", name)
    return _view(row)


async def region_cleaning_set(call: Call, name: str, body: RegionCleaningSet) -> Response:
    """Set how the machines of a region are cleaned."""
    keyring = await keyring_of(call.platform)
    handler = partial(_set, name=name, body=body, keyring=keyring)
    return await mutate(call, "capacity.region.cleaning_set", handler)


async def _set(
    work: Work, name: str, body: RegionCleaningSet, keyring: Keyring
) -> Answer[RegionCleaningSaved]:
    work.require(Permission.REGION_MANAGE, PLATFORM)
    row = await store.region_lock(work.conn, name)
    if row is None:
        raise not_found("region", name)
    match_require(work.call, row["revision"])
    _method_require(row, body)
    if body.reimage is not None:
        networks = work.call.platform.settings.webhook_allowed_networks
        wrong = Guard(networks).url_check(body.reimage.url)
        if wrong is not None:
            raise invalid("/reimage/url", wrong)
    secret, sealed = None, row["reimage_secret"]
    if body.reimage is not None and (sealed is None or body.secret_renew):
        key = work.call.platform.clock.randomness(SECRET_BYTES)
        secret, sealed = secret_text(key), keyring.seal(key, _context(row["id"]))
    new = store.NewCleaning(
        region=name,
        method=body.method,
        keep_warm_seconds=body.keep_warm_seconds,
        hook=None if body.reimage is None else body.reimage.model_dump(mode="json"),
        secret=None if body.reimage is None else sealed,
    )
    after = _view(present(await store.region_cleaning_set(work.conn, new)))
    work.audit(Target("region", row["id"], before=_view(row), after=after))
    data = {"name": name, "method": after.method, "keep_warm_seconds": after.keep_warm_seconds}
    work.emit(Happened("capacity.region.cleaning_set", row["id"], PLATFORM, data))
    saved = RegionCleaningSaved(cleaning=after, secret=secret)
    return Answer(saved, 200, etag_headers(after.revision), secret=secret is not None)


def _method_require(row: Record, body: RegionCleaningSet) -> None:
    made = row["provider"] != ENROLLED
    if made != (body.method is CleaningMethod.RECREATE):
        raise invalid(
            "/method",
            "is always recreate where a provider makes the machines"
            if made
            else "recreate needs a region whose provider makes the machines",
        )
    if (body.reimage is not None) != (body.method is CleaningMethod.REIMAGE):
        raise invalid("/reimage", "is given with the method reimage, and only with it")


async def node_given_back(work: Work, node_id: str) -> None:
    """A hand-registered machine was released: keep it for its tenant, or let it leave."""
    node = Node(**dict(present(await node_rows.node_lock(work.conn, node_id))))
    region = present(await store.region_read(work.conn, node.region))
    keep_warm = timedelta(seconds=region["keep_warm_seconds"])
    what = departure(CleaningMethod(region["cleaning"]), keep_warm, work.now)
    await store.node_give_back(work.conn, node_id, what.warm_until)
    if what.cleaned_now:
        await _depart(work, node, _LEFT)


async def node_recreated(work: Work, node_id: str) -> None:
    """A made machine was released: its provider takes it away, and its agent is refused now."""
    node = Node(**dict(present(await node_rows.node_lock(work.conn, node_id))))
    await store.node_generation_next(work.conn, node_id)
    await _depart(work, node, _TAKEN_AWAY)


async def node_warm_end(work: Work, node_id: str) -> Answer[Node]:
    """The time a node was kept for its tenant is over."""
    row = await node_rows.node_lock(work.conn, node_id)
    kept = None if row is None else row["warm_until"]
    if row is None or kept is None or kept > work.now or row["allocation_id"] is not None:
        raise Undone
    region = present(await store.region_read(work.conn, row["region"]))
    node = Node(**dict(row))
    if region["cleaning"] not in CLEANABLE:  # it was changed meanwhile: kept without an end
        await store.node_give_back(work.conn, node_id, None)
        work.audit(Target("node", node_id, reason=CLEANING_MEANING[region["cleaning"]]))
        return Answer(node)
    await _depart(work, node, _KEPT)
    work.audit(Target("node", node_id, before=node, reason=_KEPT))
    return Answer(node)


async def node_clean(work: Work, node_id: str, body: NodeClean) -> Answer[Node]:
    """Take a free node out of its last tenant's use and clean it now."""
    work.require(Permission.NODE_MANAGE, PLATFORM)
    row = await node_rows.node_lock(work.conn, node_id)
    if row is None:
        raise not_found("node", node_id)
    before = Node(**dict(row))
    region = present(await store.region_read(work.conn, before.region))
    _cleanable_require(before, CleaningMethod(region["cleaning"]))
    await _depart(work, before, body.reason or "An operator has it cleaned.")
    after = Node(**dict(present(await node_rows.node_read(work.conn, node_id))))
    work.audit(Target("node", node_id, before=before, after=after, reason=body.reason))
    return Answer(after, 202, etag_headers(after.revision))


def _cleanable_require(node: Node, method: CleaningMethod) -> None:
    if node.allocation_id is not None:
        raise PlatformError(
            ErrorCode.IN_USE,
            f"The node {node.name} is held by the allocation {node.allocation_id}; release it"
            " first.",
            context={"allocation_id": node.allocation_id},
        )
    if node.status in SHUT:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The node {node.name} is {node.status.value.replace('_', ' ')} already.",
            context={"status": node.status},
        )
    if method not in CLEANABLE:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The region {node.region} cleans no machine. {CLEANING_MEANING[method]} Set another"
            " method first.",
            context={"method": method},
        )


async def _depart(work: Work, node: Node, reason: str) -> None:
    """The node is given out to no tenant from now on; the fleet room cleans it."""
    story = work.call.correlation_id
    await store.node_depart(work.conn, node.id, reason, story)
    data = {"name": node.name, "last_org_id": node.last_org_id, "reason": reason}
    work.emit(Happened("capacity.node.cleaning", node.id, PLATFORM, data))
    work.signal(CLEANING_TOPIC)


@dataclass(frozen=True)
class Departed:
    """A node that has left its tenant, for the room that cleans it."""

    node: Node
    method: CleaningMethod
    opens_as: NodeStatus
    correlation_id: str


async def node_departed(work: Work, node_id: str) -> Departed:
    """A node that is to be cleaned, held until the transaction ends; its cleaning opens in it."""
    row = await node_rows.node_lock(work.conn, node_id)
    if row is None or not row["departing"]:
        raise Undone
    await store.node_departed(work.conn, node_id)
    work.signal(ORDERS_TOPIC)
    region = present(await store.region_read(work.conn, row["region"]))
    opens_as = NodeStatus(row["departed_as"])
    method = CleaningMethod(region["cleaning"])
    return Departed(Node(**dict(row)), method, opens_as, row["departed_by"])


async def nodes_departing(conn: Connection, limit: int) -> list[tuple[str, str]]:
    """Nodes that left a tenant: their ids, and the correlation id of what made them leave."""
    return [(row["id"], row["departed_by"]) for row in await store.nodes_departing(conn, limit)]


async def identities_refuse(work: Work, node_id: str) -> None:
    """Every identity and enrolment a node has is refused from the end of this transaction on."""
    await store.node_generation_next(work.conn, node_id)


async def node_cleaned(work: Work, node: Node, status: NodeStatus) -> None:
    """A node that is held has been cleaned, with evidence: any tenant may get it."""
    await store.node_cleaned(work.conn, node.id, status)
    data = {"name": node.name, "status": status}
    work.emit(Happened("capacity.node.cleaned", node.id, PLATFORM, data))


async def node_shut(work: Work, node: Node, status: NodeStatus, reason: str) -> None:
    """A node that is held is being cleaned again, was set aside or retired: for no tenant."""
    if status not in SHUT or not NODE.allows(node.status, status):
        raise RuntimeError(f"a node that is {node.status} cannot become {status} by its cleaning")
    await node_rows.node_update(work.conn, node.id, status, reason[:_REASON_MOST])
    if status is not node.status:
        data = {"name": node.name, "reason": reason}
        work.emit(Happened(f"capacity.node.{status}", node.id, PLATFORM, data))


@dataclass(frozen=True)
class Unmaking:
    """How far a provider is with taking a machine away."""

    gone: bool
    failed: str = ""


async def machine_unmaking(conn: Connection, node_id: str) -> Unmaking:
    """How far the provider is with the machine of a node that was made."""
    row = await store.node_made_for(conn, node_id)
    if row is None:
        return Unmaking(gone=True)
    blocked = row["status"] == AllocationStatus.CLEANUP_BLOCKED
    return Unmaking(gone=False, failed=row["status_reason"] if blocked else "")


async def machine_unmake_again(work: Work, node_id: str) -> None:
    """Have the provider take a machine away again that it could not take away."""
    row = await store.node_made_for(work.conn, node_id)
    if row is None or row["status"] != AllocationStatus.CLEANUP_BLOCKED:
        return
    await node_rows.allocation_set_status(work.conn, [row["id"]], AllocationStatus.RELEASING)
    await order_put(work, row["id"], OrderKind.UNMAKE)


@dataclass(frozen=True)
class Hook:
    """The hook of a region, with the key that signs what is sent to it."""

    url: str
    deadline: timedelta
    platform_url: str | None
    key: bytes


async def region_hook(conn: Connection, keyring: Keyring, region: str) -> Hook | None:
    """The hook that installs the machines of a region anew; None where there is none."""
    row = await store.region_read(conn, region)
    if row is None or row["reimage_hook"] is None:
        return None
    hook = ReimageHook(**row["reimage_hook"])
    key = keyring.unseal(row["reimage_secret"], _context(row["id"]))
    return Hook(hook.url, timedelta(seconds=hook.deadline_seconds), hook.platform_url, key)


async def nodes_warm_over(conn: Connection, now: datetime, limit: int) -> list[str]:
    """Ids of free nodes that were kept for their tenant long enough."""
    return [row["id"] for row in await store.nodes_warm_over(conn, now, limit)]


def _view(row: Record) -> RegionCleaning:
    hook = row["reimage_hook"]
    return RegionCleaning(
        region=row["name"],
        method=row["cleaning"],
        meaning=CLEANING_MEANING[row["cleaning"]],
        keep_warm_seconds=row["keep_warm_seconds"],
        reimage=None if hook is None else ReimageHook(**hook),
        revision=row["revision"],
    )


def _context(region_id: str) -> str:
    return f"reimage:{region_id}"
