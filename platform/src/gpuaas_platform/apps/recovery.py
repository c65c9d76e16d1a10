"""The ways out: cancel, retry, abandon.

Called by the routes inside a mutation. Cancel stops at the next safe point; retry is the same
operation again; abandon is the last resort and never claims that a machine is clean.
"""

from gpuaas_contract.apps import ConditionType, Operation
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import Purpose
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import InstanceStatus, MemberStatus, OperationStatus
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.planning import available_require, member_require, spec_require
from gpuaas_platform.apps.queueing import dependents_cancel, never_begun_remove
from gpuaas_platform.apps.rows import ACTIVE, OPEN, OperationRow
from gpuaas_platform.apps.scene import Scene, gone_refuse, scene_open
from gpuaas_platform.apps.settling import give_up, topology_follow, trouble_note
from gpuaas_platform.apps.store import operations
from gpuaas_platform.apps.transitions import operation_tell
from gpuaas_platform.apps.versions import manifest_of
from gpuaas_platform.apps.views import operation_view
from gpuaas_platform.kernel.etag import etag_headers
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.kernel.work import Answer, Target, Work

_IN_PLACE = frozenset({MemberStatus.READY, MemberStatus.DEGRADED, MemberStatus.DRAINED})


async def operation_open(work: Work, operation_id: str) -> tuple[Scene, OperationRow]:
    """The operation and its instance, both locked. Whoever calls authorises next."""
    known = await operations.operation_read(work.conn, operation_id)
    if known is None:
        raise not_found("operation", operation_id)
    scene = await scene_open(work, known.instance_id)
    row = await scene.operation(operation_id)
    scene.caused_by(row)
    return scene, row


async def operation_cancel(work: Work, operation_id: str) -> Answer[Operation]:
    """Stop an operation: at once when it never began, else at its next safe point."""
    scene, row = await operation_open(work, operation_id)
    work.require(Permission.OPERATION_CANCEL, row.place)
    if row.status not in OPEN or not row.cancellable:
        raise _conflict(row, "cannot be cancelled")
    if row.status is OperationStatus.REQUESTED and not row.began:
        scene.operation_move(row.id, OperationStatus.CANCELLED, cancel_requested=True)
        never_begun_remove(scene, row)
        await dependents_cancel(scene, row.id)
        await _topology_follow(scene)
    elif not row.cancel_requested:
        scene.operation_change(row.id, cancel_requested=True)
        if row.status is OperationStatus.REQUESTED:
            scene.operation_change(row.id, not_before=work.now)
            scene.wake_claims()
        operation_tell(work, scene.operations[row.id], "cancel_requested", {})
    return await _answer(scene, row)


async def operation_retry(work: Work, operation_id: str) -> Answer[Operation]:
    """Try a failed operation again: the same one, one attempt more, in its old place."""
    scene, row = await operation_open(work, operation_id)
    work.require(Permission.OPERATION_RETRY, row.place)
    if row.status is not OperationStatus.FAILED:
        raise _conflict(row, "cannot be retried: only a failed one can")
    instance = scene.instance
    manifest = await manifest_of(
        work.call.platform, work.conn, instance.app_slug, instance.app_version
    )
    spec = spec_require(manifest, row.kind)
    if row.purpose is not Purpose.DELETE:
        gone_refuse(scene)
        if row.waits_for is None:
            available_require(manifest, spec, instance, again=True)
        if row.member_id is not None:
            member_require(spec, scene.members, row.member_id, "/operation_id", again=True)
    scene.operation_again(row.id)
    return await _answer(scene, row)


async def operation_abandon(work: Work, operation_id: str, reason: str) -> Answer[Operation]:
    """Give up an operation for good.

    What it was to put in place or take away is given up too: a member (or the whole instance) of
    which the app stated that nothing is left becomes a tombstone; any other is kept with its
    allocation set aside, visible, until there is such a statement.
    """
    scene, row = await operation_open(work, operation_id)
    work.require(Permission.OPERATION_ABANDON, row.place)
    if row.status not in OPEN and row.status is not OperationStatus.FAILED:
        raise _conflict(row, "cannot be abandoned")
    scene.operation_move(row.id, OperationStatus.ABANDONED, why=reason, reason=reason)
    if row.purpose in {Purpose.DEPLOY, Purpose.DELETE}:
        await _instance_abandon(scene, row, reason)
    else:
        never_begun_remove(scene, row)
        for member_id in _given_up_members(scene, row):
            _member_abandon(scene, member_id)
        give_up(scene, row, usable=True)
        trouble_note(scene, row, ConditionType.OPERATION_ABANDONED, f"Given up: {reason}")
        await dependents_cancel(scene, row.id)
    await _topology_follow(scene)
    return await _answer(scene, row, reason)


def absence_settle(scene: Scene) -> None:
    """An instance set aside is deleted once the last of its members is verified gone."""
    if scene.instance.status is InstanceStatus.CLEANUP_BLOCKED and not scene.live:
        conditions = rules.condition_clear(
            scene.instance.conditions, ConditionType.CLEANUP_UNVERIFIED
        )
        scene.instance_change(conditions=conditions)
        scene.instance_move(InstanceStatus.DELETED)


async def _instance_abandon(scene: Scene, row: OperationRow, reason: str) -> None:
    for other in await operations.operations_open_lock(scene.work.conn, scene.instance.id):
        if other.id != row.id:
            scene.operation_known(other)
            scene.operation_move(other.id, OperationStatus.ABANDONED, why=reason, reason=reason)
    scene.instance_move(InstanceStatus.DELETING)
    for member in scene.live:
        if row.began or member.status is not MemberStatus.REQUESTED:
            _member_abandon(scene, member.id)
        else:
            scene.member_move(member.id, MemberStatus.REMOVING)
            scene.member_move(member.id, MemberStatus.REMOVED)
    if not scene.live:
        scene.instance_move(InstanceStatus.DELETED)
        return
    scene.instance_move(InstanceStatus.CLEANUP_BLOCKED)
    scene.instance_change(
        conditions=rules.condition_set(scene.instance.conditions, _unverified(), scene.work.now)
    )


def _given_up_members(scene: Scene, row: OperationRow) -> list[str]:
    """Members an abandoned operation was putting in place or taking away."""
    if row.purpose in {Purpose.MEMBER_ADD, Purpose.MEMBER_REMOVE}:
        candidates = list(row.member_ids)
    elif row.purpose is Purpose.MEMBER_REPLACE:
        candidates = [
            one
            for one in row.member_ids
            if one in scene.members and scene.member(one).status not in _IN_PLACE
        ]
    else:
        candidates = []
    return [one for one in candidates if one in scene.members and scene.member(one).live]


def _member_abandon(scene: Scene, member_id: str) -> None:
    member = scene.member(member_id)
    if member.status is MemberStatus.CLEANUP_BLOCKED and not member.verified_absent:
        return
    if member.status is not MemberStatus.CLEANUP_BLOCKED:
        scene.member_move(member_id, MemberStatus.REMOVING)
    if member.verified_absent:
        scene.member_move(member_id, MemberStatus.REMOVED)
        return
    scene.member_move(member_id, MemberStatus.CLEANUP_BLOCKED)
    held = rules.condition_set(member.conditions, _unverified(), scene.work.now)
    scene.member_change(member_id, conditions=held)


def _unverified() -> dict[str, str]:
    return {
        "type": ConditionType.CLEANUP_UNVERIFIED,
        "reason": "abandoned",
        "message": "Nobody stated that nothing of the runtime is left on the machine; its"
        " allocation is set aside.",
        "next_action": "Let the app's controller look and report runtime_verified_absent.",
    }


async def _topology_follow(scene: Scene) -> None:
    row = scene.instance
    manifest = await manifest_of(
        scene.work.call.platform, scene.work.conn, row.app_slug, row.app_version
    )
    topology_follow(scene, manifest)


async def _answer(scene: Scene, before: OperationRow, reason: str = "") -> Answer[Operation]:
    work = scene.work
    after = scene.operations[before.id]
    work.audit(
        Target(
            "operation", before.id, before.place, before.status, after.status, reason=reason,
            correlation_id=before.correlation_id,
            detail={"request_correlation_id": work.call.correlation_id},
        )
    )  # fmt: skip
    await scene.save()
    row = await operations.operation_read(work.conn, before.id)
    if row is None:
        raise not_found("operation", before.id)
    status = 202 if row.status in ACTIVE | {OperationStatus.REQUESTED} else 200
    return Answer(operation_view(row), status, etag_headers(row.revision))


def _conflict(row: OperationRow, what: str) -> PlatformError:
    ways = ", ".join(way.action for way in rules.operation_ways(row)) or "none"
    return PlatformError(
        ErrorCode.STATE_CONFLICT,
        f"The operation is {row.status} and {what}. Ways out now: {ways}.",
        context={"operation_id": row.id, "status": row.status, "ways": ways},
    )
