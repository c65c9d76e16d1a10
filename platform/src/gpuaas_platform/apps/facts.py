"""What a controller reports to be true of an instance and its members, taken into a `Scene`.

Used for reports inside an operation and for observations outside. States move by the tables only;
what the app says about itself is bounded and stored as it is. Called by `reports.py` and
`observers.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from gpuaas_contract.apps import ConditionType
from gpuaas_contract.controllers import (
    AbsenceReport,
    ConditionReport,
    DetailReport,
    InstanceReport,
    MemberReport,
)
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import InstanceStatus, MemberStatus
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.recovery import absence_settle
from gpuaas_platform.apps.rows import InstanceRow, OperationRow
from gpuaas_platform.apps.scene import Scene, working
from gpuaas_platform.apps.settling import member_leave
from gpuaas_platform.apps.store import operations
from gpuaas_platform.kernel.problems import PlatformError

# Conditions only the platform sets and clears; an app's list does not touch them.
_OURS: Final = frozenset(ConditionType) - {ConditionType.UNREACHABLE}
# States only the platform's own rules lead to.
_NOT_REPORTED: Final = frozenset(
    {
        InstanceStatus.REQUESTED,
        InstanceStatus.DELETING,
        InstanceStatus.DELETED,
        InstanceStatus.CLEANUP_BLOCKED,
    }
)


@dataclass(frozen=True)
class Facts:
    """What was reported, and in which operation (none: by the observer)."""

    instance: InstanceReport | None
    members: Sequence[MemberReport]
    operation: OperationRow | None


async def facts_apply(scene: Scene, facts: Facts) -> None:
    """Take in everything, or refuse everything."""
    await _touch_require(scene, facts)
    for report in facts.members:
        _member_apply(scene, report)
    if facts.instance is not None:
        _instance_apply(scene, facts.instance)
    absence_settle(scene)


def _instance_apply(scene: Scene, report: InstanceReport) -> None:
    changes: dict[str, Any] = {}
    row = scene.instance
    if report.conditions is not None:
        changes["conditions"] = _conditions(row.conditions, report.conditions, scene)
    if report.adapter_detail is not None:
        changes["adapter_detail"] = _detail(report.adapter_detail, scene)
    if report.settings_revision is not None:
        held = changes.get("conditions", row.conditions)
        changes |= _settings_applied(row, report.settings_revision, held)
    for name in ("health", "runtime_version", "access"):
        value = getattr(report, name)
        if value is not None:
            changes[name] = value
    if changes:
        scene.instance_change(**changes)
    if report.status is None or row.status in rules.GONE:
        return  # what is said of the state of an instance on its way out no longer counts
    if report.status in _NOT_REPORTED:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"A report cannot make an instance {report.status}.",
            context={"app_instance_id": row.id, "wanted": report.status},
        )
    scene.instance_move(report.status)


def _settings_applied(
    row: InstanceRow, revision: int, conditions: list[dict[str, Any]]
) -> dict[str, Any]:
    if revision > row.settings_revision:
        raise PlatformError(
            ErrorCode.STATE_CONFLICT,
            f"There are no settings {revision} yet; the newest are {row.settings_revision}.",
            context={"settings_revision": str(row.settings_revision)},
        )
    if revision == row.settings_revision:
        conditions = rules.condition_clear(conditions, ConditionType.SETTINGS_PENDING)
    return {"settings_applied_revision": revision, "conditions": conditions}


def _member_apply(scene: Scene, report: MemberReport) -> None:
    row = scene.member(report.member_id)
    changes: dict[str, Any] = {}
    if report.conditions is not None:
        changes["conditions"] = _conditions(row.conditions, report.conditions, scene)
    if report.adapter_detail is not None:
        changes["adapter_detail"] = _detail(report.adapter_detail, scene)
    if report.absence is not None:
        changes["absence"] = _absence(report.absence, scene)
    for name in ("health", "runtime_version", "node"):
        value = getattr(report, name)
        if value is not None:
            changes[name] = value
    if changes:
        scene.member_change(row.id, **changes)
    if report.status in {MemberStatus.REMOVED, MemberStatus.CLEANUP_BLOCKED}:
        member_leave(scene, row.id, report.status)
    elif report.status is not None:
        scene.member_move(row.id, report.status)
    after = scene.member(row.id)
    if after.status is MemberStatus.CLEANUP_BLOCKED and after.verified_absent:
        held = rules.condition_clear(after.conditions, ConditionType.CLEANUP_UNVERIFIED)
        scene.member_change(row.id, conditions=held)
        scene.member_move(row.id, MemberStatus.REMOVED)


async def _touch_require(scene: Scene, facts: Facts) -> None:
    """States are moved by whoever works on the target: nobody reports over another's work."""
    moved = {report.member_id for report in facts.members if report.status is not None}
    mine = facts.operation
    if mine is not None:
        moved -= mine.member_ids
        if mine.exclusive or not moved:
            return
    elif not moved and (facts.instance is None or facts.instance.status is None):
        return
    opened = await operations.operations_open_lock(scene.work.conn, scene.instance.id)
    for other in working(opened):
        over_member = bool(other.member_ids & moved)
        over_instance = mine is None and other.exclusive
        if (over_member or over_instance) and (mine is None or other.id != mine.id):
            raise PlatformError(
                ErrorCode.OPERATION_IN_PROGRESS,
                f"The operation {other.id} ({other.kind}) is at work there; leave its states to"
                " it.",
                context={"operation_id": other.id},
            )


def _conditions(
    held: list[dict[str, Any]], reported: Sequence[ConditionReport], scene: Scene
) -> list[dict[str, Any]]:
    kept = [one for one in held if one["type"] in _OURS]
    for report in reported:
        if report.type in _OURS:
            raise PlatformError(
                ErrorCode.INVALID_REQUEST,
                f"The condition {report.type} is the platform's own.",
            )
        since = rules.condition_get(held, report.type)
        base = kept if since is None else [*kept, since]
        kept = rules.condition_set(base, report.model_dump(), scene.work.now)
    return kept


def _detail(report: DetailReport, scene: Scene) -> dict[str, Any]:
    return {**report.model_dump(mode="json"), "reported_at": rules.stamp(scene.work.now)}


def _absence(report: AbsenceReport, scene: Scene) -> dict[str, Any]:
    return {
        **report.model_dump(mode="json"),
        "stated_by": scene.work.call.caller.id,
        "stated_at": rules.stamp(scene.work.now),
    }
