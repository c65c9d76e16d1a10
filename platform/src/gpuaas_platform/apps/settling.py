"""What an operation that ends (or begins, or is given up) does to its instance and members.

Reads the contract's table of effects and moves states on an open `Scene`. Called by `reports.py`,
`recovery.py` and `sweeps.py`.
"""

from typing import Final

from gpuaas_contract.apps import ConditionType
from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import Manifest, Purpose
from gpuaas_contract.manifest_read import topology_of
from gpuaas_contract.states import (
    INSTANCE,
    MEMBER,
    Health,
    InstanceStatus,
    MemberStatus,
    OperationStatus,
)
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.operations import topology_change
from gpuaas_platform.apps.rows import MemberRow, OperationRow
from gpuaas_platform.apps.scene import Scene
from gpuaas_platform.kernel.problems import PlatformError

_BETWEEN: Final = frozenset(
    {
        InstanceStatus.DEPLOYING,
        InstanceStatus.STOPPING,
        InstanceStatus.STARTING,
        InstanceStatus.UPGRADING,
        InstanceStatus.ROLLING_BACK,
    }
)
_MEMBER_BETWEEN: Final = frozenset(
    {MemberStatus.RECONCILING, MemberStatus.DRAINING, MemberStatus.REMOVING}
)


def begin(scene: Scene, row: OperationRow) -> None:
    """The controller began to work: the target is under way."""
    now = scene.work.now
    scene.operation_move(
        row.id,
        OperationStatus.RUNNING,
        began=True,
        started_at=row.started_at or now,
        attempt_started_at=now,
    )
    effect = EFFECTS[row.purpose]
    if effect.instance.during is not None:
        _instance_begin(scene, row, effect.instance.during)
    if effect.member is not None and effect.member.during is not None:
        _member_begin(scene, row, _member(row), effect.member.during)
    if row.new_member_id is not None:
        _member_begin(scene, row, row.new_member_id, MemberStatus.RECONCILING)
    if row.purpose is Purpose.DEPLOY:
        for member in _deployed(scene, row):
            _member_begin(scene, row, member.id, MemberStatus.RECONCILING)


def succeed(scene: Scene, row: OperationRow, manifest: Manifest) -> None:
    """The work is done: where the report said nothing more exact, the effect's end holds."""
    effect = EFFECTS[row.purpose]
    if effect.member is not None and effect.member.after is not None:
        _member_arrive(scene, _member(row), effect.member.after)
    if row.new_member_id is not None:
        _member_arrive(scene, row.new_member_id, MemberStatus.READY)
        _removed_require([m for m in scene.live if m.id == row.member_id])
    if row.purpose is Purpose.DEPLOY:
        for member in _deployed(scene, row):
            _member_arrive(scene, member.id, MemberStatus.READY)
    if row.purpose is Purpose.DELETE:
        _removed_require(scene.live)
    if row.purpose in {Purpose.UPGRADE, Purpose.ROLLBACK} and row.target_version is not None:
        scene.instance_change(
            app_version=row.target_version, previous_version=scene.instance.app_version
        )
    blocked = row.purpose is Purpose.DELETE and bool(scene.live)
    _instance_arrive(scene, InstanceStatus.CLEANUP_BLOCKED if blocked else effect.instance.after)
    _trouble_clear(scene, row)
    scene.operation_move(
        row.id, OperationStatus.SUCCEEDED, error=None, conditions=[], cancel_requested=False
    )
    topology_follow(scene, manifest)


def give_up(scene: Scene, row: OperationRow, *, usable: bool) -> None:
    """Work ended in the middle: nothing half done is called well."""
    effect = EFFECTS[row.purpose]
    _instance_give_up(scene, row, usable=usable)
    fallback = MemberStatus.FAILED if effect.member is None else effect.member.given_up
    for member_id in row.member_ids & set(scene.members):
        status = scene.member(member_id).status
        if status in _MEMBER_BETWEEN:
            left = fallback or MemberStatus.DEGRADED
            # One that was being removed is not in use any more: it cannot be merely degraded.
            scene.member_move(
                member_id, left if MEMBER.allows(status, left) else MemberStatus.FAILED
            )
    if row.purpose is Purpose.DEPLOY:
        for member in _deployed(scene, row):
            if member.status in _MEMBER_BETWEEN:
                scene.member_move(member.id, MemberStatus.FAILED)


def trouble_note(scene: Scene, row: OperationRow, kind: ConditionType, message: str) -> None:
    """Say on the target itself which operation went wrong and what to do."""
    condition = {
        "type": kind,
        "reason": row.kind,
        "message": f"{message} (operation {row.id})",
        "next_action": "retry" if kind is ConditionType.OPERATION_FAILED else "reconcile",
    }
    now = scene.work.now
    targets = [one for one in row.member_ids if one in scene.members]
    if not targets:
        held = rules.condition_set(scene.instance.conditions, condition, now)
        scene.instance_change(conditions=held)
    for member_id in targets:
        held = rules.condition_set(scene.member(member_id).conditions, condition, now)
        scene.member_change(member_id, conditions=held)


def topology_follow(scene: Scene, manifest: Manifest) -> None:
    """After members went, the instance may have another shape."""
    found = topology_of(manifest, len({member.allocation_id for member in scene.live}))
    if found is not None and found.key != scene.instance.topology and scene.live:
        topology_change(scene, found.key)


def member_leave(scene: Scene, member_id: str, status: MemberStatus) -> None:
    """A member is gone, or may have left something, by way of being removed."""
    if scene.member(member_id).status not in {
        MemberStatus.REMOVING,
        MemberStatus.CLEANUP_BLOCKED,
        MemberStatus.REMOVED,
    }:
        scene.member_move(member_id, MemberStatus.REMOVING)
    scene.member_move(member_id, status)


def _instance_begin(scene: Scene, row: OperationRow, during: InstanceStatus) -> None:
    """An attempt that follows another may find the work done: it does not undo what was said."""
    if row.began and not INSTANCE.allows(scene.instance.status, during):
        return
    scene.instance_move(during)
    if during in _BETWEEN:
        scene.instance_change(health=Health.PROGRESSING)


def _member_begin(scene: Scene, row: OperationRow, member_id: str, during: MemberStatus) -> None:
    member = scene.members.get(member_id)
    if row.began and (member is None or not MEMBER.allows(member.status, during)):
        return
    scene.member_move(member_id, during)


def _member(row: OperationRow) -> str:
    if row.member_id is None:
        raise RuntimeError(f"operation {row.id}: {row.purpose} acts on a member")
    return row.member_id


def _deployed(scene: Scene, row: OperationRow) -> list[MemberRow]:
    """Members this deploy brings up: those no other operation was made for."""
    return [member for member in scene.live if member.last_operation_id == row.id]


def _instance_give_up(scene: Scene, row: OperationRow, *, usable: bool) -> None:
    status = scene.instance.status
    if status in rules.GONE or status is InstanceStatus.CLEANUP_BLOCKED:
        return
    if not usable:
        scene.instance_move(InstanceStatus.FAILED)
    elif row.exclusive and status in _BETWEEN:
        given_up = EFFECTS[row.purpose].instance.given_up
        scene.instance_move(given_up or InstanceStatus.DEGRADED)
    if scene.instance.status is InstanceStatus.FAILED:
        scene.instance_change(health=Health.FAILED)
    elif scene.instance.status is InstanceStatus.DEGRADED:
        scene.instance_change(health=Health.DEGRADED)


def _member_arrive(scene: Scene, member_id: str, target: MemberStatus) -> None:
    member = scene.members.get(member_id)
    if member is None or not member.live or member.status is MemberStatus.CLEANUP_BLOCKED:
        return  # gone, or said not to be verified: that is the more exact word
    if target is MemberStatus.REMOVED:
        member_leave(scene, member_id, MemberStatus.REMOVED)
        return
    said = {MemberStatus.READY, MemberStatus.DEGRADED}
    if target is MemberStatus.READY and member.status in said:
        return
    if MEMBER.allows(member.status, target):
        scene.member_move(member_id, target)
    if target is MemberStatus.READY and scene.member(member_id).health in {
        Health.UNKNOWN,
        Health.PROGRESSING,
    }:
        scene.member_change(member_id, health=Health.HEALTHY)


def _instance_arrive(scene: Scene, target: InstanceStatus | None) -> None:
    status = scene.instance.status
    settled = {InstanceStatus.RUNNING, InstanceStatus.DEGRADED}
    if target is None or (target is InstanceStatus.RUNNING and status in settled):
        return
    scene.instance_move(target)
    if target is InstanceStatus.RUNNING and scene.instance.health in {
        Health.UNKNOWN,
        Health.PROGRESSING,
        Health.FAILED,
    }:
        scene.instance_change(health=Health.HEALTHY)


def _removed_require(members: list[MemberRow]) -> None:
    said = {MemberStatus.REMOVED, MemberStatus.CLEANUP_BLOCKED}
    left = [member.id for member in members if member.status not in said]
    if left:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"Members are still there: {', '.join(left[:10])}. Report each as removed, or as"
            " cleanup_blocked when that could not be verified.",
            context={"member_ids": ",".join(left[:10])},
        )


def _trouble_clear(scene: Scene, row: OperationRow) -> None:
    for kind in (ConditionType.OPERATION_FAILED, ConditionType.OPERATION_ABANDONED):
        held = rules.condition_get(scene.instance.conditions, kind)
        if held is not None and (row.exclusive or row.purpose is Purpose.RECONCILE):
            rest = rules.condition_clear(scene.instance.conditions, kind)
            scene.instance_change(conditions=rest)
        for member_id in row.member_ids & set(scene.members):
            rest = rules.condition_clear(scene.member(member_id).conditions, kind)
            if rest != scene.member(member_id).conditions:
                scene.member_change(member_id, conditions=rest)
