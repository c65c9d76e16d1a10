"""Rules of the capacity room: kinds of machines, nodes, and quotas."""

from typing import Any

from gpuaas_contract.capacity import (
    CLEANING_MEANING,
    Node,
    NodeCreate,
    NodeUpdate,
    Quota,
    QuotaSet,
    Region,
    RegionCreate,
    Sku,
    SkuCreate,
    SkuUpdate,
)
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import NODE
from gpuaas_platform.capacity.holdings import SHUT
from gpuaas_platform.capacity.providers import provider_names
from gpuaas_platform.capacity.store import machines as store
from gpuaas_platform.identity.places import project_place, tenant_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.etag import etag_headers, match_require
from gpuaas_platform.kernel.paging import cursor_decode, page_of
from gpuaas_platform.kernel.problems import Denied, PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work


async def region_create(work: Work, body: RegionCreate) -> Answer[Region]:
    """Make a region known."""
    work.require(Permission.REGION_MANAGE, PLATFORM)
    providers = provider_names(work.call.platform)
    if body.provider not in providers:
        known = ", ".join(sorted(providers))
        raise invalid("/provider", f"is not installed here; there are: {known}")
    row = await store.region_insert(work.conn, work.new_id(Prefix.REGION), body, work.now)
    if row is None:
        raise name_taken("region", body.name)
    region = region_view(row)
    work.audit(Target("region", region.id, after=region))
    work.emit(Happened("capacity.region.created", region.id, PLATFORM, {"name": region.name}))
    return Answer(region, 201)


async def region_list(call: Call, cursor: str | None, limit: int) -> Page[Region]:
    """Regions by name: any caller who may read regions somewhere sees them all."""
    _require_anywhere(call, Permission.REGION_READ)
    async with call.db.connection() as conn:
        rows = await store.region_list(conn, cursor_decode(cursor), limit + 1)
    return page_of([region_view(row) for row in rows], limit, lambda region: region.name)


def region_view(row: Record) -> Region:
    """A region with its cleaning in words."""
    return Region(**dict(row), cleaning_meaning=CLEANING_MEANING[row["cleaning"]])


async def sku_create(work: Work, body: SkuCreate) -> Answer[Sku]:
    """Offer a kind of machine at a price."""
    work.require(Permission.SKU_MANAGE, PLATFORM)
    row = await store.sku_insert(work.conn, work.new_id(Prefix.SKU), body, work.now)
    if row is None:
        raise name_taken("SKU", body.name)
    sku = Sku(**dict(row))
    work.audit(Target("sku", sku.id, after=sku))
    work.emit(Happened("capacity.sku.created", sku.id, PLATFORM, _sku_told(sku)))
    return Answer(sku, 201, etag_headers(sku.revision))


async def sku_update(work: Work, name: str, body: SkuUpdate) -> Answer[Sku]:
    """Change the price or the label of a kind of machine."""
    work.require(Permission.SKU_MANAGE, PLATFORM)
    row = await store.sku_lock(work.conn, name)
    if row is None:
        raise not_found("SKU", name)
    before = Sku(**dict(row))
    match_require(work.call, before.revision)
    price = before.price_per_hour if body.price_per_hour is None else body.price_per_hour
    changed = await store.sku_update(
        work.conn, name, price, body.display_name or before.display_name
    )
    sku = Sku(**dict(_present(changed)))
    work.audit(Target("sku", sku.id, before=before, after=sku))
    work.emit(Happened("capacity.sku.updated", sku.id, PLATFORM, _sku_told(sku)))
    return Answer(sku, 200, etag_headers(sku.revision))


async def sku_list(call: Call, cursor: str | None, limit: int) -> Page[Sku]:
    """SKUs by name, with prices."""
    _require_anywhere(call, Permission.SKU_READ)
    async with call.db.connection() as conn:
        rows = await store.sku_list(conn, cursor_decode(cursor), limit + 1)
    return page_of([Sku(**dict(row)) for row in rows], limit, lambda sku: sku.name)


async def sku_find(conn: Connection, name: str) -> Sku | None:
    """One SKU for a room above, by its name."""
    row = await store.sku_read(conn, name)
    return None if row is None else Sku(**dict(row))


def _sku_told(sku: Sku) -> dict[str, Any]:
    """What an event says of a SKU: enough to know its price without asking."""
    return {
        "name": sku.name,
        "price_per_hour": str(sku.price_per_hour),
        "currency": sku.currency,
        "gpus": sku.gpus,
    }


async def node_create(work: Work, body: NodeCreate) -> Answer[Node]:
    """Make an existing host known, with the host keys it must show."""
    work.require(Permission.NODE_MANAGE, PLATFORM)
    await kinds_require(work.conn, body.region, body.sku)
    node_id = work.new_id(Prefix.NODE)
    row = await store.node_insert(work.conn, node_id, body, "enrolled", work.now)
    if row is None:
        raise name_taken("node", body.name)
    node = Node(**dict(row))
    work.audit(Target("node", node.id, after=node))
    work.emit(Happened("capacity.node.created", node.id, PLATFORM, {"name": node.name}))
    return Answer(node, 201, etag_headers(node.revision))


async def node_update(work: Work, node_id: str, body: NodeUpdate) -> Answer[Node]:
    """Cordon a node or open it again; what runs on it is not touched."""
    work.require(Permission.NODE_MANAGE, PLATFORM)
    row = await store.node_lock(work.conn, node_id)
    if row is None:
        raise not_found("node", node_id)
    before = Node(**dict(row))
    match_require(work.call, before.revision)
    if not NODE.allows(before.status, body.status) or before.status in SHUT:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The node {before.name} is {before.status.value.replace('_', ' ')}: its cleaning"
            " decides when it is given out again. Confirm, retry or retire that.",
            context={"status": before.status},
        )
    changed = await store.node_update(work.conn, node_id, body.status, body.reason)
    node = Node(**dict(_present(changed)))
    work.audit(Target("node", node.id, before=before, after=node, reason=body.reason))
    work.emit(Happened(f"capacity.node.{node.status}", node.id, PLATFORM, {"name": node.name}))
    return Answer(node, 200, etag_headers(node.revision))


async def node_list(call: Call, cursor: str | None, limit: int) -> Page[Node]:
    """Nodes, newest first: an operator's view."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    async with call.db.connection() as conn:
        rows = await store.node_list(conn, cursor_decode(cursor), limit + 1)
    return page_of([Node(**dict(row)) for row in rows], limit, lambda node: node.id)


async def node_read(call: Call, node_id: str) -> Node:
    """One node."""
    call.caller.require(Permission.NODE_READ, PLATFORM)
    async with call.db.connection() as conn:
        row = await store.node_read(conn, node_id)
    if row is None:
        raise not_found("node", node_id)
    return Node(**dict(row))


async def quota_set(
    work: Work, org_id: str, project_id: str | None, body: QuotaSet
) -> Answer[Quota]:
    """Limit how many allocations a tenant or project may hold.

    A tenant's quota is set by the platform, a project's by its tenant: nobody raises their own.
    """
    place = await _quota_place(work.conn, org_id, project_id)
    if not work.call.caller.knows(place):  # of another tenant not even its existence is told
        raise Denied(Permission.QUOTA_MANAGE, hidden=True)
    work.require(Permission.QUOTA_MANAGE, PLATFORM if project_id is None else Place(org_id))
    await store.quota_set(work.conn, place, body.sku, body.limit)
    quotas = [Quota(**dict(row)) for row in await store.quota_list(work.conn, place)]
    quota = next(q for q in quotas if q.project_id == project_id and q.sku == body.sku)
    work.audit(Target("quota", project_id or org_id, place, after=quota))
    work.emit(
        Happened("capacity.quota.set", project_id or org_id, place, quota.model_dump(mode="json"))
    )
    return Answer(quota)


async def quota_list(call: Call, org_id: str, project_id: str | None) -> list[Quota]:
    """Quotas that hold at a place, with their present use."""
    async with call.db.transaction() as conn:
        place = await _quota_place(conn, org_id, project_id)
        call.caller.require(Permission.ALLOCATION_READ, place)
        rows = await store.quota_list(conn, place)
    return [Quota(**dict(row)) for row in rows]


async def kinds_require(conn: Connection, region: str, sku: str) -> None:
    """The region and the SKU exist, or a clear refusal of the field that is wrong."""
    has_region, has_sku = await store.kinds_exist(conn, region, sku)
    if not has_region:
        raise invalid("/region", f"there is no region {region}")
    if not has_sku:
        raise invalid("/sku", f"there is no SKU {sku}")


def name_taken(what: str, name: str) -> PlatformError:
    """The answer for a name somebody else has."""
    return PlatformError(ErrorCode.NAME_TAKEN, f"There is a {what} named {name} already.")


async def _quota_place(conn: Connection, org_id: str, project_id: str | None) -> Place:
    if project_id is None:
        return await tenant_place(conn, org_id)
    place = await project_place(conn, project_id)
    if place.org_id != org_id:
        raise not_found("project", project_id)
    return place


def _require_anywhere(call: Call, permission: Permission) -> None:
    """Platform-wide reading matter: a caller who may read it in any place may read it."""
    reach = call.caller.reach(permission)
    if not (reach.everywhere or reach.org_ids or reach.project_ids):
        call.caller.require(permission, PLATFORM)


def _present(row: Record | None) -> Record:
    if row is None:
        raise RuntimeError("a locked row cannot vanish")
    return row
