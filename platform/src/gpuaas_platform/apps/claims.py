"""Claims: controllers take operations, keep them by heartbeats, one holder at a time.

A claim looks at ready operations alone, skips those another claim holds and waits for a wake-up
when there are none; one whose caller hung up meanwhile takes nothing. The lease token is shown
once; only its digest is kept. Called by the controller's routes.
"""

import base64
import hashlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial

from fastapi import Response

from gpuaas_contract.controllers import (
    Claim,
    Claimed,
    Claims,
    Heartbeat,
    HeartbeatAnswer,
    HeldLease,
)
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps import controllers, views
from gpuaas_platform.apps.reports import lease_require
from gpuaas_platform.apps.rows import OperationRow
from gpuaas_platform.apps.store import instances, operations
from gpuaas_platform.apps.store.operations import ClaimFilter
from gpuaas_platform.apps.sweeps import leases_sweep
from gpuaas_platform.apps.transitions import operation_moved
from gpuaas_platform.apps.versions import manifest_of
from gpuaas_platform.identity.places import project_place
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Reach
from gpuaas_platform.kernel.problems import Denied, PlatformError, not_found
from gpuaas_platform.kernel.telemetry import CLAIM_WAIT
from gpuaas_platform.kernel.work import Answer, Target, Undone, Work, mutate, refusal_record

_LOOK_AGAIN_SECONDS = 5.0
_NOTHING = Claims(items=[])


class _NothingLeft(Undone):
    """Another claim was faster; the transaction is rolled back and the wait goes on."""


async def operation_claim(call: Call, body: Claim, gone: Callable[[], Awaitable[bool]]) -> Response:
    """Take up to `capacity` operations, waiting for work when there is none.

    `gone` says whether the caller hung up: what a controller that ended or died while it waited
    would be given, nobody would work on until the lease lapses.
    """
    try:
        wanted = await _authorised(call, body)
    except PlatformError as error:
        await refusal_record(call, "apps.operation.claim", error)
        raise
    until = time.monotonic() + body.wait_seconds
    first = True
    while True:
        with call.platform.signals.expect(_topic(wanted)) as expected:
            if not first and await gone():
                return _nothing()
            await leases_sweep(call.platform)
            soonest = await _look(call, body, wanted)
            if soonest == 0 or (first and call.idempotency_key is not None):
                try:
                    handler = partial(_claim, body=body, wanted=wanted)
                    return await mutate(call, "apps.operation.claim", handler)
                except _NothingLeft:
                    pass
            first = False
            left = until - time.monotonic()
            if left <= 0 or call.platform.signals.finishing:
                return _nothing()
            await expected.wait(min(left, soonest or _LOOK_AGAIN_SECONDS))


async def operation_heartbeat(call: Call, operation_id: str, body: Heartbeat) -> HeartbeatAnswer:
    """Keep a lease. Changes nothing anybody else can see, so it leaves no audit row."""
    try:
        async with call.db.transaction() as conn:
            row = await operations.operation_lock(conn, operation_id)
            if row is None:
                raise not_found("operation", operation_id)
            call.caller.require(Permission.OPERATION_CONTROL, row.place)
            now = call.platform.clock.now()
            work = Work(call, conn, now, "apps.operation.heartbeat")
            lease_require(row, body.lease_token, call.caller.id, work)
            until = now + timedelta(seconds=body.lease_seconds)
            await operations.lease_extend(conn, row.id, until)
            await controllers.seen_again(call, conn, row)
    except Denied as error:
        await refusal_record(call, "apps.operation.heartbeat", error)
        raise
    return HeartbeatAnswer(until=until, cancel_requested=row.cancel_requested)


def _nothing() -> Response:
    return Response(_NOTHING.model_dump_json(), 200, media_type="application/json")


async def _authorised(call: Call, body: Claim) -> ClaimFilter:
    reach = call.caller.reach(Permission.OPERATION_CONTROL)
    async with call.db.connection() as conn:
        if body.project_id is not None:
            place = await project_place(conn, body.project_id)
            call.caller.require(Permission.OPERATION_CONTROL, place)
        if body.instance_id is not None:
            row = await instances.instance_read(conn, body.instance_id)
            if row is None:
                raise not_found("app instance", body.instance_id)
            call.caller.require(Permission.OPERATION_CONTROL, row.place)
        if reach == Reach(False, (), ()):
            raise Denied(Permission.OPERATION_CONTROL, hidden=False)
    return ClaimFilter(reach, body.app_slug, body.project_id, body.instance_id)


async def _look(call: Call, body: Claim, wanted: ClaimFilter) -> float | None:
    """0 when something can be claimed, else the seconds until a delayed one can, if known."""
    places = controllers.places_of(wanted.reach, wanted.project_id, wanted.instance_id)
    async with call.db.connection() as conn:
        await controllers.seen(call, conn, body.controller, body.app_slug, places)
        now = call.platform.clock.now()
        found, soonest = await operations.claim_peek(conn, wanted, now)
    if found:
        return 0
    if soonest is None:
        return None
    return min(_LOOK_AGAIN_SECONDS, max(0.05, (soonest - now).total_seconds()))


async def _claim(work: Work, body: Claim, wanted: ClaimFilter) -> Answer[Claims]:
    found = await operations.claimable_lock(work.conn, wanted, work.now, body.capacity)
    if not found:
        raise _NothingLeft
    taken = [_take(work, row, body) for row in found]
    await operations.operations_claimed(work.conn, [one.row for one in taken])
    for row in found:
        CLAIM_WAIT.observe(max(0.0, (work.now - row.not_before).total_seconds()))
    for one in taken:
        work.audit(
            Target(
                "operation", one.row.id, one.row.place, OperationStatus.REQUESTED,
                one.row.status, correlation_id=one.row.correlation_id,
                detail={"replica": body.controller.replica, "fence": one.row.fence},
            )
        )  # fmt: skip
    return Answer(Claims(items=await _claimed(work, taken)), secret=True)


@dataclass(frozen=True)
class _Taken:
    """An operation with its new lease, and the token only the holder learns."""

    row: OperationRow
    token: str


def _take(work: Work, row: OperationRow, body: Claim) -> _Taken:
    secret = work.call.platform.clock.randomness(32)
    token = base64.urlsafe_b64encode(secret).decode().rstrip("=")
    moved = operation_moved(
        work,
        row,
        OperationStatus.ACCEPTED,
        lease_holder=work.call.caller.id,
        lease_replica=body.controller.replica,
        lease_token_hash=hashlib.sha256(token.encode()).digest(),
        lease_until=work.now + timedelta(seconds=body.lease_seconds),
        fence=row.fence + 1,
    )
    return _Taken(replace(moved, revision=row.revision + 1), token)


async def _claimed(work: Work, taken: Sequence[_Taken]) -> list[Claimed]:
    ids = sorted({one.row.instance_id for one in taken})
    owners = {row.id: row for row in await instances.instances_read(work.conn, ids)}
    members = await instances.members_live(work.conn, ids)
    last_ids = [row.last_operation_id for row in owners.values() if row.last_operation_id]
    last = await operations.operations_read(work.conn, last_ids)
    claimed = []
    for one in taken:
        owner = owners[one.row.instance_id]
        manifest = await manifest_of(
            work.call.platform, work.conn, owner.app_slug, owner.app_version
        )
        for permission in manifest.permissions.operator:
            work.require(permission, owner.place)
        lease = HeldLease(
            token=one.token, until=one.row.lease_until or work.now, fence=one.row.fence
        )
        claimed.append(
            Claimed(
                operation=views.operation_view(one.row),
                lease=lease,
                instance=views.instance_view(
                    owner, manifest, last.get(owner.last_operation_id or "")
                ),
                members=[views.member_view(m) for m in members if m.instance_id == owner.id],
            )
        )
    return claimed


def _topic(wanted: ClaimFilter) -> str:
    reach = wanted.reach
    project = wanted.project_id
    if project is None and not reach.everywhere and not reach.org_ids:
        project = reach.project_ids[0] if len(reach.project_ids) == 1 else None
    return f"claim:{wanted.app_slug}" + (f":{project}" if project else "")
