"""Giving an operation up in the in-memory platform: the last way out, which calls nothing clean.

What the operation was to put in place or take away is given up with it. A member of which the app
stated that nothing is left becomes a tombstone; any other is set aside until there is such a
statement. Called by `surface.py`.
"""

from typing import Final

from gpuaas_contract.apps import ConditionType, Operation, ReasonGiven
from gpuaas_contract.common import Condition
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.manifest import Purpose
from gpuaas_contract.states import InstanceStatus, MemberStatus, OperationStatus
from gpuaas_sdk.testing.asking import dependents_cancel, never_begun_remove, topology_follow
from gpuaas_sdk.testing.making import Caller
from gpuaas_sdk.testing.settling import give_up
from gpuaas_sdk.testing.world import OPEN, Refused, World, targets, without

_IN_PLACE: Final = frozenset({MemberStatus.READY, MemberStatus.DEGRADED, MemberStatus.DRAINED})


def operation_abandon(
    world: World, _caller: Caller, operation_id: str, body: ReasonGiven
) -> Operation:
    """Give an operation up for good, with a reason."""
    row = world.operation(operation_id)
    if row.status not in OPEN and row.status is not OperationStatus.FAILED:
        raise Refused(
            ErrorCode.STATE_CONFLICT, f"The operation is {row.status} and cannot be abandoned."
        )
    world.move_operation(row.id, OperationStatus.ABANDONED, reason=body.reason)
    if row.purpose in {Purpose.DEPLOY, Purpose.DELETE}:
        _instance_abandon(world, row, body.reason)
    else:
        never_begun_remove(world, row)
        for member_id in _given_up_members(world, row):
            _member_abandon(world, member_id)
        give_up(world, row, usable=True)
        dependents_cancel(world, row.id)
    topology_follow(world, row.instance_id)
    return world.operation(operation_id)


def _instance_abandon(world: World, row: Operation, reason: str) -> None:
    instance_id = row.instance_id
    for other in world.queue(instance_id):
        world.move_operation(other.id, OperationStatus.ABANDONED, reason=reason)
    if world.instance(instance_id).status is not InstanceStatus.DELETING:
        world.move_instance(instance_id, InstanceStatus.DELETING)
    for member in world.live(instance_id):
        if world.hidden[row.id].began or member.status is not MemberStatus.REQUESTED:
            _member_abandon(world, member.id)
        else:
            world.move_member(member.id, MemberStatus.REMOVING)
            world.move_member(member.id, MemberStatus.REMOVED)
    if not world.live(instance_id):
        world.move_instance(instance_id, InstanceStatus.DELETED)
        return
    world.move_instance(instance_id, InstanceStatus.CLEANUP_BLOCKED)
    held = world.instance(instance_id).conditions
    world.change_instance(instance_id, conditions=_unverified(world, held))


def _given_up_members(world: World, row: Operation) -> list[str]:
    """Members the operation was putting in place or taking away."""
    found = {one.id: one for one in world.live(row.instance_id) if one.id in targets(row)}
    if row.purpose in {Purpose.MEMBER_ADD, Purpose.MEMBER_REMOVE}:
        return list(found)
    if row.purpose is Purpose.MEMBER_REPLACE:
        return [one.id for one in found.values() if one.status not in _IN_PLACE]
    return []


def _member_abandon(world: World, member_id: str) -> None:
    member = world.members[member_id]
    verified = member.absence is not None and member.absence.runtime_verified_absent
    if member.status is MemberStatus.CLEANUP_BLOCKED and not verified:
        return
    if member.status not in {MemberStatus.CLEANUP_BLOCKED, MemberStatus.REMOVING}:
        world.move_member(member_id, MemberStatus.REMOVING)
    if verified:
        world.move_member(member_id, MemberStatus.REMOVED)
        return
    world.move_member(member_id, MemberStatus.CLEANUP_BLOCKED)
    world.change_member(member_id, conditions=_unverified(world, member.conditions))


def _unverified(world: World, held: list[Condition]) -> list[Condition]:
    kind = ConditionType.CLEANUP_UNVERIFIED
    new = Condition(
        type=kind,
        reason="abandoned",
        message="Nobody stated that nothing of the runtime is left on the machine.",
        next_action="Let the app's controller look and report runtime_verified_absent.",
        since=world.clock.now(),
    )
    return [*without(held, [kind]), new]
