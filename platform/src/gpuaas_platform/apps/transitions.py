"""The only place where an instance, a member or an operation changes its state.

One function per machine. Each asks the contract's table, refuses every other transition with
`state_conflict`, tells of the change and wakes whoever waits for it. Rows are replaced, not
changed; whoever calls saves them. Called by `scene.py` and `claims.py` alone.
"""

from dataclasses import dataclass, replace
from typing import Any, Final

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.states import (
    INSTANCE,
    MEMBER,
    OPERATION,
    InstanceStatus,
    MemberStatus,
    OperationStatus,
    StateMachine,
)
from gpuaas_platform.apps.rows import ACTIVE, InstanceRow, MemberRow, OperationRow
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.work import Happened, Work

# A statement that nothing is left holds only until something is put there again.
_LEAVING: Final = frozenset(
    {
        MemberStatus.REMOVING,
        MemberStatus.REMOVED,
        MemberStatus.CLEANUP_BLOCKED,
        MemberStatus.FAILED,
    }
)
_NO_LEASE: Final[dict[str, Any]] = {
    "lease_holder": None,
    "lease_replica": None,
    "lease_token_hash": None,
    "lease_until": None,
    "step_deadline": None,
}


@dataclass(frozen=True)
class Cause:
    """Which operation a change belongs to; its correlation goes on everything that follows."""

    correlation_id: str
    operation_id: str | None = None


@dataclass(frozen=True)
class Told:
    """What an event about a member says beside the member itself."""

    what: str
    cause: Cause
    more: dict[str, Any]


def instance_moved(
    work: Work, row: InstanceRow, target: InstanceStatus, cause: Cause
) -> InstanceRow:
    """The instance in its new state."""
    if row.status == target:
        return row
    _require(INSTANCE, row.id, row.status, target)
    gone = target is InstanceStatus.DELETED
    moved = replace(
        row,
        status=target,
        correlation_id=cause.correlation_id,
        updated_at=work.now,
        deleted_at=work.now if gone else None,
    )
    instance_tell(work, moved, str(target), cause, {"previous": row.status})
    return moved


def member_moved(
    work: Work, slug: str, row: MemberRow, target: MemberStatus, cause: Cause
) -> MemberRow:
    """The member in its new state."""
    if row.status == target:
        return row
    _require(MEMBER, row.id, row.status, target)
    moved = replace(
        row,
        status=target,
        correlation_id=cause.correlation_id,
        last_operation_id=cause.operation_id or row.last_operation_id,
        updated_at=work.now,
        removed_at=work.now if target is MemberStatus.REMOVED else None,
        absence=row.absence if target in _LEAVING else None,
    )
    member_tell(work, slug, moved, Told(str(target), cause, {"previous": row.status}))
    return moved


def operation_moved(
    work: Work, row: OperationRow, target: OperationStatus, why: str = "", **changes: object
) -> OperationRow:
    """The operation in its new state. A state without a holder has no lease."""
    _require(OPERATION, row.id, row.status, target)
    ended = not OPERATION.table[target] or target is OperationStatus.FAILED
    values: dict[str, Any] = {"status": target, "ended_at": work.now if ended else None}
    if target not in ACTIVE:
        values |= _NO_LEASE
    if target is not OperationStatus.REQUESTED:
        values["ready"] = False
    moved = replace(row, **(values | changes))
    operation_tell(work, moved, str(target), {"previous": row.status, "reason": why})
    return moved


def instance_tell(
    work: Work, row: InstanceRow, what: str, cause: Cause, more: dict[str, Any]
) -> None:
    """An event about an instance, and a wake-up for who waits on it."""
    data = {
        "app_instance_id": row.id,
        "resource_name": row.resource_name,
        "status": row.status,
        "health": row.health,
        "operation_id": cause.operation_id,
        **more,
    }
    work.emit(
        Happened(
            f"apps.instance.{what}", row.id, row.place, data,
            app_slug=row.app_slug, app_instance_id=row.id, correlation_id=cause.correlation_id,
        )
    )  # fmt: skip
    work.signal(f"instance:{row.id}")


def member_tell(work: Work, slug: str, row: MemberRow, told: Told) -> None:
    """An event about a member, and a wake-up for who waits on its instance."""
    cause = told.cause
    data = {
        "member_id": row.id,
        "component_key": row.component_key,
        "allocation_id": row.allocation_id,
        "status": row.status,
        "health": row.health,
        "operation_id": cause.operation_id,
        **told.more,
    }
    work.emit(
        Happened(
            f"apps.member.{told.what}", row.id, row.place, data, app_slug=slug,
            app_instance_id=row.instance_id, correlation_id=cause.correlation_id,
        )
    )  # fmt: skip
    work.signal(f"instance:{row.instance_id}")


def operation_tell(work: Work, row: OperationRow, what: str, more: dict[str, Any]) -> None:
    """An event about an operation, and a wake-up for who waits on it or its instance."""
    data = {
        "operation_id": row.id,
        "kind": row.kind,
        "purpose": row.purpose,
        "status": row.status,
        "attempt": row.attempt,
        "member_id": row.member_id,
        "group_id": row.group_id,
        "error": None if row.error is None else row.error["code"],
        **more,
    }
    work.emit(
        Happened(
            f"apps.operation.{what}", row.id, row.place, data, app_slug=row.app_slug,
            app_instance_id=row.instance_id, correlation_id=row.correlation_id,
        )
    )  # fmt: skip
    work.signal(f"operation:{row.id}")
    work.signal(f"instance:{row.instance_id}")


def _require(machine: StateMachine, identity: str, source: str, target: str) -> None:
    if machine.allows(source, target):
        return
    possible = ", ".join(sorted(machine.table[source])) or "nothing"
    raise PlatformError(
        ErrorCode.STATE_CONFLICT,
        f"The {machine.name} {identity} is {source} and cannot become {target}; it can become"
        f" {possible}.",
        context={f"{machine.name}_id": identity, "status": source, "wanted": target},
    )
