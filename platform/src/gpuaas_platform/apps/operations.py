"""Rules of operations as people ask for them: request, preview, and reconcile.

Called by the routes inside a mutation. Ways out of trouble stand in `recovery.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from gpuaas_contract.apps import OperationCreate, PlacedMember, Preview, Requested
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import Manifest, OperationSpec, Purpose
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import MemberStatus, OperationStatus
from gpuaas_platform.apps.instances import instance_delete
from gpuaas_platform.apps.making import Asked, operation_new
from gpuaas_platform.apps.planning import (
    NO_WAY_BACK,
    Plan,
    available_require,
    request_plan,
    same_refuse,
    spec_require,
    way_back,
)
from gpuaas_platform.apps.planning import Target as PlanTarget
from gpuaas_platform.apps.queueing import Group, group_add, input_require, member_place
from gpuaas_platform.apps.reads import requested_answer
from gpuaas_platform.apps.rows import OperationRow
from gpuaas_platform.apps.scene import Scene, scene_open
from gpuaas_platform.apps.store import instances, operations
from gpuaas_platform.apps.transitions import instance_tell
from gpuaas_platform.apps.versions import manifest_of
from gpuaas_platform.capacity import allocations
from gpuaas_platform.catalog import service as catalog
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Caller
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.problems import PlatformError, invalid, not_found
from gpuaas_platform.kernel.work import Answer, Target, Work

_MAX_OPEN = 2000
# What somebody took out of use is not brought back by deploying the rest again.
_LEFT_ALONE = frozenset(
    {
        MemberStatus.DRAINING,
        MemberStatus.DRAINED,
        MemberStatus.REMOVING,
        MemberStatus.CLEANUP_BLOCKED,
    }
)


@dataclass(frozen=True)
class _Decided:
    """A request that was found valid."""

    manifest: Manifest
    plan: Plan
    body: OperationCreate
    version: str | None


async def operation_request(
    work: Work, instance_id: str, body: OperationCreate
) -> Answer[Requested]:
    """Ask something of an instance or of its members."""
    scene = await scene_open(work, instance_id)
    row = scene.instance
    work.require(Permission.OPERATION_CREATE, row.place)
    manifest = await manifest_of(work.call.platform, work.conn, row.app_slug, row.app_version)
    if spec_require(manifest, body.kind).purpose is Purpose.DELETE:
        return await instance_delete(work, instance_id)
    decided = await _decide(work.conn, work.call.caller, scene, body)
    opened = await operations.operations_open_lock(work.conn, row.id)
    same_refuse(decided.plan, opened)
    if len(opened) + len(decided.plan.targets) > _MAX_OPEN:
        raise PlatformError(
            ErrorCode.QUOTA_EXCEEDED,
            f"An instance takes at most {_MAX_OPEN} operations at once; {len(opened)} wait or run.",
            context={"app_instance_id": row.id},
        )
    ids = await _apply(scene, decided)
    if decided.plan.spec.purpose is Purpose.DEPLOY:
        _deploy_again(scene, ids[0], opened)
    work.audit(
        Target(
            "app_instance", row.id, row.place, row, scene.instance,
            detail={"kind": body.kind, "operations": ids[:20], "count": len(ids)},
        )
    )  # fmt: skip
    await scene.save()
    return await requested_answer(scene, manifest, ids, row.topology)


async def operation_preview(call: Call, instance_id: str, body: OperationCreate) -> Preview:
    """Say what a request would do, without doing it."""
    async with call.db.connection() as conn:
        row = await instances.instance_read(conn, instance_id)
        if row is None:
            raise not_found("app instance", instance_id)
        call.caller.require(Permission.OPERATION_CREATE, row.place)
        work = Work(call, conn, call.platform.clock.now(), "apps.operation.preview")
        scene = Scene(work, row, await instances.members_live(conn, [instance_id]))
        decided = await _decide(conn, call.caller, scene, body)
        waiting = await operations.open_count(conn, instance_id)
    plan = decided.plan
    after = next(one for one in decided.manifest.topologies if one.key == plan.topology)
    confirmation = plan.spec.confirmation
    return Preview(
        kind=body.kind,
        operations=len(plan.targets),
        new_members=[
            PlacedMember(
                component_key=seat.component,
                allocation_id=seat.allocation_id,
                shared=seat.allocation_id in plan.shared,
            )
            for seat in plan.seats
        ],
        topology=row.topology,
        topology_after=plan.topology,
        topology_text=after.description if plan.topology != row.topology else "",
        confirmation="" if confirmation is None else confirmation.text,
        waits_for=waiting,
        target_version=decided.version,
    )


async def instance_reconcile(work: Work, instance_id: str) -> Answer[Requested]:
    """Ask the app to look at what is there and converge; one at a time is enough."""
    scene = await scene_open(work, instance_id)
    row = scene.instance
    work.require(Permission.OPERATION_CREATE, row.place)
    manifest = await manifest_of(work.call.platform, work.conn, row.app_slug, row.app_version)
    spec = manifest.purpose(Purpose.RECONCILE)
    if spec is None:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"The app {row.app_slug} {row.app_version} offers no reconcile.",
            context={"app_instance_id": row.id},
        )
    return await operation_request(work, instance_id, OperationCreate(kind=spec.kind))


async def _decide(
    conn: Connection, caller: Caller, scene: Scene, body: OperationCreate
) -> _Decided:
    row = scene.instance
    version = await catalog.version_record(conn, row.app_slug, row.app_version)
    manifest = version.manifest
    spec = spec_require(manifest, body.kind)
    for permission in spec.permissions:
        caller.require(permission, row.place)
    available_require(manifest, spec, row)
    if spec.purpose is Purpose.DEPLOY:
        filled = _deploy_again_body(scene, body)
    else:
        given = catalog.defaults_apply(version, spec.kind, body.input)
        input_require(catalog.input_validate(version, spec.kind, given), "/input")
        filled = body.model_copy(update={"input": given})
    plan = request_plan(manifest, spec, row, scene.live, filled)
    target_version = await _target_version(conn, scene, manifest, spec, body.version)
    return _Decided(manifest, plan, filled, target_version)


async def _target_version(
    conn: Connection, scene: Scene, manifest: Manifest, spec: OperationSpec, wanted: str | None
) -> str | None:
    """The version an upgrade or rollback leads to, when it may."""
    row = scene.instance
    if spec.purpose is Purpose.ROLLBACK:
        back = way_back(manifest, row)
        found = wanted or back
        stays = found == row.app_version and found != back
        if back is None or found is None or stays:
            raise PlatformError(
                ErrorCode.STATE_CONFLICT,
                NO_WAY_BACK,
                context={"app_instance_id": row.id, "app_version": row.app_version},
            )
        await catalog.version_record(conn, row.app_slug, found)
        return found
    if spec.purpose is not Purpose.UPGRADE:
        if wanted is not None:
            raise invalid("/version", f"{spec.kind} takes no version")
        return None
    if wanted is None:
        raise invalid("/version", "an upgrade names the version it leads to")
    target = await catalog.deployable_version(conn, row.place, row.app_slug, wanted)
    rule = target.manifest.lifecycle.upgrade
    starts = () if rule is None else rule.from_versions
    if wanted == row.app_version or not any(fnmatchcase(row.app_version, one) for one in starts):
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"{wanted} cannot be reached from {row.app_version};"
            f" it starts from {', '.join(starts) or 'no version'}.",
            context={"app_version": row.app_version, "version": wanted},
        )
    return wanted


async def _apply(scene: Scene, decided: _Decided) -> list[str]:
    """Bind allocations, make members, queue operations; their ids in order."""
    plan, work = decided.plan, scene.work
    wanted = sorted({seat.allocation_id for seat in plan.seats})
    if wanted:
        await allocations.allocations_bind(work, scene.instance.place, wanted, scene.instance.id)
    group = Group.of(plan.spec, len(plan.targets), decided.body.parallelism)
    group_id = await group_add(scene, group)
    ids = [await _operation_add(scene, decided, target, group_id) for target in plan.targets]
    if plan.topology != scene.instance.topology:
        topology_change(scene, plan.topology)
    if plan.seats:
        placed = [
            {
                "component_key": seat.component,
                "allocation_id": seat.allocation_id,
                "shared": seat.allocation_id in plan.shared,
            }
            for seat in plan.seats
        ]
        intent = scene.instance.placement_intent
        scene.instance_change(placement_intent={"members": [*intent["members"], *placed]})
    scene.instance_change(last_operation_id=ids[-1])
    return ids


async def _operation_add(
    scene: Scene, decided: _Decided, target: PlanTarget, group_id: str | None
) -> str:
    member_id, new_member_id = target.member_id, None
    if target.seat is not None:
        made = await member_place(
            scene, target.seat, shared=target.seat.allocation_id in decided.plan.shared
        )
        member_id, new_member_id = (made, None) if member_id is None else (member_id, made)
    asked = Asked(
        input=decided.body.input,
        member_id=member_id,
        new_member_id=new_member_id,
        group_id=group_id,
        target_version=decided.version,
    )
    operation = operation_new(scene.work, scene.instance, decided.plan.spec, asked)
    await scene.operation_add(operation)
    for one in operation.member_ids:
        scene.member_change(one, last_operation_id=operation.id)
    return operation.id


def topology_change(scene: Scene, topology: str) -> None:
    """Record that the instance has another shape now."""
    before = scene.instance.topology
    scene.instance_change(topology=topology)
    instance_tell(
        scene.work, scene.instance, "topology_changed", scene.cause,
        {"previous": before, "topology": topology},
    )  # fmt: skip


def _deploy_again_body(scene: Scene, body: OperationCreate) -> OperationCreate:
    """A deploy that is asked for again is of the settings and members there are."""
    settings = scene.instance.settings
    if body.input not in ({}, settings):
        raise invalid("/input", "a deploy uses the instance's settings; change them first")
    return body.model_copy(update={"input": settings})


def _deploy_again(scene: Scene, deploy_id: str, opened: Sequence[OperationRow]) -> None:
    """Members no operation of their own brings up, and those that wait, belong to this deploy."""
    waiting = [row for row in opened if row.status is OperationStatus.REQUESTED and row.waits_for]
    for row in waiting:
        scene.operation_known(row)
        scene.operation_change(row.id, waits_for=deploy_id)
    later = {member_id for row in waiting for member_id in row.member_ids}
    for member in scene.live:
        if member.id not in later and member.status not in _LEFT_ALONE:
            scene.member_change(member.id, last_operation_id=deploy_id)
