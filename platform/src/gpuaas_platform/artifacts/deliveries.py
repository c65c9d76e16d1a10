"""Rules of deliveries: a URL by which the machine of one allocation fetches one artifact.

Made by callers who run things in the allocation's project, and by rooms above for their tasks
(`delivery_issue`, in their transaction). Policy, trust and state are asked when it is made;
trust, state and the allocation again at every fetch.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract.artifacts import (
    ArtifactDelivery,
    ArtifactDeliveryCreate,
    ArtifactDeliveryIssued,
)
from gpuaas_contract.capacity import Allocation
from gpuaas_contract.common import API_PREFIX, Model, Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.ids import Prefix
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import AllocationStatus, ArtifactStatus, ArtifactTrust
from gpuaas_platform.artifacts.lifecycle import untrusted
from gpuaas_platform.artifacts.ranges import span_of
from gpuaas_platform.artifacts.resolving import source_decisions
from gpuaas_platform.artifacts.rules import enabled_require, read_require, state_conflict
from gpuaas_platform.artifacts.sending import (
    Outgoing,
    Sending,
    delivery_told,
    sending_open,
)
from gpuaas_platform.artifacts.store import artifacts as artifact_rows
from gpuaas_platform.artifacts.store import deliveries as store
from gpuaas_platform.artifacts.tokens import token_make, token_require
from gpuaas_platform.capacity.allocations import allocation_find
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.keyring import keyring_of
from gpuaas_platform.kernel.paging import Cursor, Limit, cursor_decode, page_of
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.public_url import base_of
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work
from gpuaas_platform.policy import service as policy

_USABLE: Final = {ArtifactStatus.PUBLISHED, ArtifactStatus.PROMOTED, ArtifactStatus.DEPRECATED}
_AT_LEAST: Final = timedelta(seconds=1)


async def delivery_answer(
    work: Work, allocation_id: str, body: ArtifactDeliveryCreate, port: int
) -> Answer[ArtifactDeliveryIssued]:
    """What the route answers; the URL is not kept in the clear."""
    allocation = await allocation_find(work.conn, allocation_id)
    place = Place(allocation.org_id, allocation.project_id)
    work.require(Permission.ARTIFACT_DELIVER, place)
    artifact = await artifact_rows.artifact_read(work.conn, body.artifact_id)
    if artifact is not None:
        read_require(work.call.caller, Permission.ARTIFACT_READ, artifact)
    issued = await delivery_issue(work, allocation_id, body)
    base = base_of(work.call.platform.settings, port, allocation.address)
    return Answer(issued.model_copy(update={"url": f"{base}{issued.path}"}), 201, secret=True)


async def delivery_issue(
    work: Work, allocation_id: str, body: ArtifactDeliveryCreate
) -> ArtifactDeliveryIssued:
    """Let the machine of an allocation fetch an artifact for a while.

    For rooms above, which have authorised whoever wants it: policy, trust and state are minded
    here, the caller's permissions are not.
    """
    allocation = await allocation_find(work.conn, allocation_id)
    place = Place(allocation.org_id, allocation.project_id)
    _active_require(allocation)
    artifact = await deliverable_require(work.conn, place, body.artifact_id)
    new = store.NewDelivery(
        id=work.new_id(Prefix.ARTIFACT_DELIVERY),
        place=place,
        allocation_id=allocation_id,
        artifact_id=artifact["id"],
        purpose=body.purpose,
        expires_at=work.now + timedelta(seconds=body.ttl_seconds),
        created_by=work.call.caller.id,
        correlation_id=work.call.correlation_id,
        created_at=work.now,
    )
    await store.delivery_insert(work.conn, new)
    delivery = _view(_present(await store.delivery_read(work.conn, new.id)))
    told = delivery_told(delivery)
    work.audit(Target("artifact_delivery", new.id, place, after=delivery, detail=told))
    work.emit(Happened("artifacts.delivery.created", new.id, place, told))
    return await _issued(work.call.platform, delivery)


async def deliverable_require(conn: Connection, place: Place, artifact_id: str) -> Record:
    """An artifact a project may have, by policy, trust and state; or the refusal that says why."""
    row = await artifact_rows.artifact_read(conn, artifact_id)
    if row is None or row["org_id"] not in {None, place.org_id}:
        raise not_found("artifact", artifact_id)
    enabled_require(row)
    if row["status"] not in _USABLE:
        raise state_conflict(row, "cannot be delivered")
    decision = (await source_decisions(conn, place, [row]))[artifact_id]
    if not decision.allowed:
        raise policy.denied(decision)
    refusal = untrusted(row)
    if refusal is not None:
        raise refusal
    return row


async def delivery_read(call: Call, delivery_id: str) -> ArtifactDelivery:
    """One delivery, without what opens it."""
    async with call.db.connection() as conn:
        row = await store.delivery_read(conn, delivery_id)
    if row is None:
        raise not_found("artifact delivery", delivery_id)
    call.caller.require(Permission.ARTIFACT_READ, _row_place(row))
    return _view(row)


class DeliveryQuery(Model):
    """What a list of deliveries was asked for."""

    project_id: Annotated[str | None, Field(max_length=64)] = None
    allocation_id: Annotated[str | None, Field(max_length=64)] = None
    artifact_id: Annotated[str | None, Field(max_length=64)] = None
    cursor: Cursor = None
    limit: Limit = 100


async def delivery_list(call: Call, query: DeliveryQuery) -> Page[ArtifactDelivery]:
    """Deliveries in reach, newest first."""
    reach = call.caller.reach(Permission.ARTIFACT_READ)
    async with call.db.connection() as conn:
        if query.project_id is not None:
            place = await project_place(conn, query.project_id)
            call.caller.require(Permission.ARTIFACT_READ, place)
        wanted = store.DeliveryFilter(
            reach, query.project_id, query.allocation_id, query.artifact_id
        )
        after = cursor_decode(query.cursor)
        rows = await store.delivery_list(conn, wanted, after, query.limit + 1)
    return page_of([_view(row) for row in rows], query.limit, lambda one: one.id)


async def delivery_revoke(work: Work, delivery_id: str) -> Answer[ArtifactDelivery]:
    """Close a delivery before its time. What a machine has already fetched, it has."""
    row = await store.delivery_lock(work.conn, delivery_id)
    if row is None:
        raise not_found("artifact delivery", delivery_id)
    place = _row_place(row)
    work.require(Permission.ARTIFACT_DELIVER, place)
    if row["revoked_at"] is not None or row["expires_at"] <= work.now:
        raise PlatformError(ErrorCode.STATE_CONFLICT, "The delivery has ended already.")
    await store.delivery_revoke(work.conn, delivery_id, work.now)
    delivery = _view(_present(await store.delivery_read(work.conn, delivery_id)))
    work.audit(Target("artifact_delivery", delivery_id, place, _view(row), delivery))
    work.emit(Happened("artifacts.delivery.revoked", delivery_id, place, delivery_told(delivery)))
    return Answer(delivery)


@dataclass(frozen=True)
class Fetch:
    """A request for content: what opens it, and the headers that say which part."""

    delivery_id: str
    token: str
    range: str | None
    if_range: str | None


async def content_open(call: Call, fetch: Fetch) -> Sending:
    """Check what opens a delivery and begin to read; nothing is loaded before it is sent."""
    platform, now = call.platform, call.platform.clock.now()
    token_require(await keyring_of(platform), fetch.delivery_id, fetch.token, now)
    async with call.db.connection() as conn:
        row = await _fetchable(conn, fetch.delivery_id, call)
        await store.fetch_record(conn, fetch.delivery_id, call.source, now)
    delivery = _view(row)
    span = span_of(fetch.range, fetch.if_range, etag_of(delivery), delivery.size)
    return await sending_open(Outgoing(platform, delivery, row["media_type"], span))


def etag_of(delivery: ArtifactDelivery) -> str:
    """The digest names the content for good."""
    return f'"{delivery.digest}"'


async def _fetchable(conn: Connection, delivery_id: str, call: Call) -> Record:
    """The delivery, while its machine may still fetch."""
    row = await store.delivery_read(conn, delivery_id)
    if row is None:
        raise not_found("artifact delivery", delivery_id)
    if row["revoked_at"] is not None or row["expires_at"] <= call.platform.clock.now():
        raise PlatformError(ErrorCode.TOKEN_EXPIRED, "The delivery has ended; ask for another one.")
    bad = row["trust"] in {ArtifactTrust.REVOKED, ArtifactTrust.FAILED_VERIFICATION}
    if row["status"] not in _USABLE or bad:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The artifact is {row['status']} and {row['trust']}: it is not delivered any more.",
            context={"artifact_id": row["artifact_id"]},
        )
    _active_require(await allocation_find(conn, row["allocation_id"]))
    return row


def _active_require(allocation: Allocation) -> None:
    if allocation.status is not AllocationStatus.ACTIVE:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The allocation is {allocation.status}; only an active one has a machine that"
            " fetches.",
            context={"allocation_id": allocation.id, "status": allocation.status},
        )


async def _issued(platform: Platform, delivery: ArtifactDelivery) -> ArtifactDeliveryIssued:
    # In the second in which it ends by the record, it has ended by the token as well.
    token = token_make(await keyring_of(platform), delivery.id, delivery.expires_at + _AT_LEAST)
    path = f"{API_PREFIX}/artifact-deliveries/{delivery.id}/content?token={token}"
    return ArtifactDeliveryIssued(delivery=delivery, path=path, url=path)


def _row_place(row: Record) -> Place:
    return Place(row["org_id"], row["project_id"])


def _view(row: Record) -> ArtifactDelivery:
    return ArtifactDelivery(**{name: row[name] for name in ArtifactDelivery.model_fields})


def _present(row: Record | None) -> Record:
    if row is None:
        raise RuntimeError("what was just written cannot be missing")
    return row
