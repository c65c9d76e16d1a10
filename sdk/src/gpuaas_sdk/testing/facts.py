"""What a controller reports to be true, taken into the in-memory platform. Used by `leases.py`."""

from collections.abc import Sequence
from typing import Any, Final

from gpuaas_contract.apps import Absence, AdapterDetail, ConditionType, Member, Operation
from gpuaas_contract.common import Condition
from gpuaas_contract.controllers import ConditionReport, InstanceReport, MemberReport
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import InstanceStatus, MemberStatus
from gpuaas_sdk.testing.settling import member_leave
from gpuaas_sdk.testing.world import ACTIVE, GONE, Refused, World, targets, without

_OURS: Final = frozenset(ConditionType) - {ConditionType.UNREACHABLE}
_NOT_REPORTED: Final = frozenset(
    {
        InstanceStatus.REQUESTED,
        InstanceStatus.DELETING,
        InstanceStatus.DELETED,
        InstanceStatus.CLEANUP_BLOCKED,
    }
)


def instance_apply(world: World, instance_id: str, report: InstanceReport | None) -> None:
    """Take in what was said of an instance."""
    if report is None:
        return
    row = world.instance(instance_id)
    changes = _common(world, row.conditions, report)
    if report.access is not None:
        changes["access"] = report.access
    if report.settings_revision is not None:
        if report.settings_revision > row.settings_revision:
            raise Refused(ErrorCode.STATE_CONFLICT, "There are no such settings yet.")
        changes["settings_applied_revision"] = report.settings_revision
    if changes:
        world.change_instance(instance_id, **changes)
    if report.status is None or row.status in GONE:
        return
    if report.status in _NOT_REPORTED:
        raise Refused(
            ErrorCode.STATE_CONFLICT, f"A report cannot make an instance {report.status}."
        )
    world.move_instance(instance_id, report.status)


def members_apply(world: World, instance_id: str, reports: Sequence[MemberReport]) -> None:
    """Take in what was said of members."""
    for report in reports:
        row = world.members.get(report.member_id)
        if row is None or row.instance_id != instance_id or row.removed_at is not None:
            raise Refused(ErrorCode.NOT_FOUND, f"There is no member {report.member_id}.")
        _member_apply(world, row, report)
    instance = world.instance(instance_id)
    if instance.status is InstanceStatus.CLEANUP_BLOCKED and not world.live(instance_id):
        held = without(instance.conditions, [ConditionType.CLEANUP_UNVERIFIED])
        world.change_instance(instance_id, conditions=held)
        world.move_instance(instance_id, InstanceStatus.DELETED)


def touch_require(
    world: World,
    instance_id: str,
    reports: tuple[InstanceReport | None, Sequence[MemberReport]],
    mine: Operation | None,
) -> None:
    """States are moved by whoever works on the target: nobody reports over another's work."""
    moved = {one.member_id for one in reports[1] if one.status is not None}
    if mine is not None:
        moved -= targets(mine)
        if mine.exclusive or not moved:
            return
    elif not moved and (reports[0] is None or reports[0].status is None):
        return
    for other in world.queue(instance_id):
        if other.status not in ACTIVE or (mine is not None and other.id == mine.id):
            continue
        if targets(other) & moved or (mine is None and other.exclusive):
            raise Refused(
                ErrorCode.OPERATION_IN_PROGRESS, f"The operation {other.id} is at work there."
            )


def _member_apply(world: World, row: Member, report: MemberReport) -> None:
    changes = _common(world, row.conditions, report)
    if report.node is not None:
        changes["node"] = report.node
    if report.absence is not None:
        changes["absence"] = Absence(
            **report.absence.model_dump(), stated_by="sa_memory", stated_at=world.clock.now()
        )
    if changes:
        world.change_member(row.id, **changes)
    if report.status in {MemberStatus.REMOVED, MemberStatus.CLEANUP_BLOCKED}:
        member_leave(world, row.id, report.status)
    elif report.status is not None:
        world.move_member(row.id, report.status)
    after = world.members[row.id]
    verified = after.absence is not None and after.absence.runtime_verified_absent
    if after.status is MemberStatus.CLEANUP_BLOCKED and verified:
        world.move_member(row.id, MemberStatus.REMOVED)


def _common(
    world: World, held: Sequence[Condition], report: InstanceReport | MemberReport
) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if report.conditions is not None:
        changes["conditions"] = _conditions(world, held, report.conditions)
    if report.adapter_detail is not None:
        said = report.adapter_detail.model_dump()
        changes["adapter_detail"] = AdapterDetail(**said, reported_at=world.clock.now())
    if report.health is not None:
        changes["health"] = report.health
    if report.runtime_version is not None:
        changes["runtime_version"] = report.runtime_version
    return changes


def _conditions(
    world: World, held: Sequence[Condition], reported: Sequence[ConditionReport]
) -> list[Condition]:
    since = {one.type: one.since for one in held}
    kept = [one for one in held if one.type in _OURS]
    for report in reported:
        if report.type in _OURS:
            raise Refused(
                ErrorCode.INVALID_REQUEST, f"The condition {report.type} is the platform's own."
            )
        began = since.get(report.type) or world.clock.now()
        kept.append(Condition(**report.model_dump(), since=began))
    return kept
