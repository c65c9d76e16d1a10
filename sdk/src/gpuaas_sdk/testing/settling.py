"""What beginning, ending and giving up an operation does in the in-memory platform.

Reads the contract's table of effects, as the real platform does. Used by `leases.py`.
"""

from typing import Final

from gpuaas_contract.apps import Operation
from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import Purpose
from gpuaas_contract.states import (
    INSTANCE,
    MEMBER,
    Health,
    InstanceStatus,
    MemberStatus,
    OperationStatus,
)
from gpuaas_sdk.testing.asking import topology_follow
from gpuaas_sdk.testing.world import GONE, Refused, World, targets

_I, _M = InstanceStatus, MemberStatus
_BETWEEN: Final = frozenset({_I.DEPLOYING, _I.STOPPING, _I.STARTING, _I.UPGRADING, _I.ROLLING_BACK})
_MEMBER_BETWEEN: Final = frozenset({_M.RECONCILING, _M.DRAINING, _M.REMOVING})


def begin(world: World, row: Operation) -> None:
    """The controller began: the target is under way."""
    again = world.hidden[row.id].began
    effect = EFFECTS[row.purpose]
    world.move_operation(
        row.id, OperationStatus.RUNNING, started_at=row.started_at or world.clock.now()
    )
    world.hide(row.id, began=True)
    status, during = world.instance(row.instance_id).status, effect.instance.during
    if during is not None and not (again and not INSTANCE.allows(status, during)):
        world.move_instance(row.instance_id, during)
        if during in _BETWEEN:
            world.change_instance(row.instance_id, health=Health.PROGRESSING)
    if effect.member is not None and effect.member.during is not None and row.member_id:
        _member_begin(world, row.member_id, effect.member.during, again=again)
    if row.new_member_id is not None:
        _member_begin(world, row.new_member_id, _M.RECONCILING, again=again)
    if row.purpose is Purpose.DEPLOY:
        for member_id in _deployed(world, row):
            _member_begin(world, member_id, _M.RECONCILING, again=again)


def succeed(world: World, row: Operation) -> None:
    """The work is done: where nothing more exact was said, the effect's end holds."""
    effect = EFFECTS[row.purpose]
    if effect.member is not None and effect.member.after is not None and row.member_id:
        _member_arrive(world, row.member_id, effect.member.after)
    if row.new_member_id is not None:
        _member_arrive(world, row.new_member_id, _M.READY)
        _removed_require(world, row, {row.member_id or ""})
    if row.purpose is Purpose.DEPLOY:
        for member_id in _deployed(world, row):
            _member_arrive(world, member_id, _M.READY)
    if row.purpose is Purpose.DELETE:
        _removed_require(world, row, {one.id for one in world.live(row.instance_id)})
    if row.purpose in {Purpose.UPGRADE, Purpose.ROLLBACK} and row.target_version is not None:
        before = world.instance(row.instance_id).app_version
        world.change_instance(
            row.instance_id, app_version=row.target_version, previous_version=before
        )
    blocked = row.purpose is Purpose.DELETE and bool(world.live(row.instance_id))
    _instance_arrive(world, row, _I.CLEANUP_BLOCKED if blocked else effect.instance.after)
    world.move_operation(
        row.id, OperationStatus.SUCCEEDED, error=None, conditions=[], cancel_requested=False
    )
    topology_follow(world, row.instance_id)


def give_up(world: World, row: Operation, *, usable: bool) -> None:
    """Work ended in the middle: nothing half done is called well."""
    effect = EFFECTS[row.purpose]
    status = world.instance(row.instance_id).status
    if status not in GONE and status is not _I.CLEANUP_BLOCKED:
        if not usable:
            world.move_instance(row.instance_id, _I.FAILED)
        elif row.exclusive and status in _BETWEEN:
            world.move_instance(row.instance_id, effect.instance.given_up or _I.DEGRADED)
        health = {_I.FAILED: Health.FAILED, _I.DEGRADED: Health.DEGRADED}
        after = world.instance(row.instance_id)
        world.change_instance(row.instance_id, health=health.get(after.status, after.health))
    fallback = _M.FAILED if effect.member is None else effect.member.given_up
    for member_id in targets(row):
        held = world.members[member_id].status
        if held in _MEMBER_BETWEEN:
            left = fallback or _M.DEGRADED
            world.move_member(member_id, left if MEMBER.allows(held, left) else _M.FAILED)
    if row.purpose is Purpose.DEPLOY:
        for member_id in _deployed(world, row):
            if world.members[member_id].status in _MEMBER_BETWEEN:
                world.move_member(member_id, _M.FAILED)


def member_leave(world: World, member_id: str, status: MemberStatus) -> None:
    """A member is gone, or may have left something, by way of being removed."""
    if member_id not in world.members:
        raise Refused(ErrorCode.NOT_FOUND, f"There is no member {member_id}.")
    if world.members[member_id].status not in {_M.REMOVING, _M.CLEANUP_BLOCKED, _M.REMOVED}:
        world.move_member(member_id, _M.REMOVING)
    world.move_member(member_id, status)


def _member_begin(world: World, member_id: str, during: MemberStatus, *, again: bool) -> None:
    if again and not MEMBER.allows(world.members[member_id].status, during):
        return
    world.move_member(member_id, during)


def _member_arrive(world: World, member_id: str, target: MemberStatus) -> None:
    member = world.members[member_id]
    if member.status in {_M.REMOVED, _M.CLEANUP_BLOCKED}:
        return
    if target is _M.REMOVED:
        member_leave(world, member_id, _M.REMOVED)
        return
    if target is _M.READY and member.status in {_M.READY, _M.DEGRADED}:
        return
    if MEMBER.allows(member.status, target):
        world.move_member(member_id, target)
    if target is _M.READY and member.health in {Health.UNKNOWN, Health.PROGRESSING}:
        world.change_member(member_id, health=Health.HEALTHY)


def _instance_arrive(world: World, row: Operation, target: InstanceStatus | None) -> None:
    before = world.instance(row.instance_id)
    if target is None or (target is _I.RUNNING and before.status in {_I.RUNNING, _I.DEGRADED}):
        return
    world.move_instance(row.instance_id, target)
    unknown = {Health.UNKNOWN, Health.PROGRESSING, Health.FAILED}
    if target is _I.RUNNING and before.health in unknown:
        world.change_instance(row.instance_id, health=Health.HEALTHY)


def _removed_require(world: World, row: Operation, member_ids: set[str]) -> None:
    said = {_M.REMOVED, _M.CLEANUP_BLOCKED}
    left = [
        one.id
        for one in world.live(row.instance_id)
        if one.id in member_ids and one.status not in said
    ]
    if left:
        raise Refused(ErrorCode.STATE_CONFLICT, f"Members are still there: {', '.join(left)}.")


def _deployed(world: World, row: Operation) -> list[str]:
    live = world.live(row.instance_id)
    return [one.id for one in live if one.last_operation_id == row.id]
