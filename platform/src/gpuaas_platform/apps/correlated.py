"""Part of this room in a timeline: instances, members, operations, steps, and what is affected.

Called by the operate room. Shows nothing the caller could not read here by id.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from gpuaas_contract.apps import AdapterDetail, OperationError
from gpuaas_contract.common import API_PREFIX, Condition
from gpuaas_contract.operate import (
    AffectedInstance,
    AffectedMember,
    AffectedOperation,
    Diagnosis,
    EntrySpan,
    TimelineEntry,
    TimelineKind,
)
from gpuaas_contract.permissions import Permission
from gpuaas_contract.states import StepState
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.naming import instances_named, members_named
from gpuaas_platform.apps.rows import InstanceRow, MemberRow, OperationRow
from gpuaas_platform.apps.store import correlated, instances
from gpuaas_platform.kernel.caller import Caller, Place
from gpuaas_platform.kernel.correlation import Correlated, CorrelationQuery, scope_of
from gpuaas_platform.kernel.database import Connection, Record


async def instances_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Instances that work under a correlation id was about, as they are now."""
    rows = await correlated.correlated_read(conn, correlated.INSTANCES, query)
    return [_instance(row) for row in rows]


async def members_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Members that work under a correlation id made or was about, as they are now."""
    rows = await correlated.correlated_read(conn, correlated.MEMBERS, query)
    names = await members_named(conn, query.caller, [row["id"] for row in rows])
    return [_member(row, names) for row in rows]


async def operations_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Operations asked for under a correlation id, with their attempts."""
    rows = await correlated.correlated_read(conn, correlated.OPERATIONS, query)
    names = await _targets_named(conn, query.caller, rows)
    return [_operation(row, names) for row in rows]


async def steps_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Steps of those operations, each at the moment it began."""
    rows = await correlated.correlated_read(conn, correlated.STEPS, query)
    return [_step(row) for row in rows]


async def diagnoses(
    conn: Connection, query: CorrelationQuery, instance_ids: Sequence[str]
) -> list[Diagnosis]:
    """What is affected: by operation, the pressing ones first; else by instance.

    `instance_ids` are those the timeline names elsewhere, for when there is no operation.
    """
    caller, correlation_id = query.caller, query.correlation_id
    reach = caller.reach(Permission.OPERATION_READ)
    pressing = await correlated.operations_pressing(conn, correlation_id, reach, query.limit)
    found = []
    for row in pressing:
        instance = await _instance_seen(conn, caller, row.instance_id)
        member = await _member_seen(conn, caller, row.member_id or row.new_member_id)
        found.append(_diagnosis(correlation_id, instance, member, row))
    if found:
        return found
    seen = [await _instance_seen(conn, caller, one) for one in instance_ids[: query.limit]]
    return [_diagnosis(correlation_id, one, None, None) for one in seen if one is not None]


async def places_worked(
    conn: Connection, instance_ids: Sequence[str], correlation_ids: Sequence[str]
) -> dict[str, tuple[Place, frozenset[str]]]:
    """Where each of these instances is, and which of the ids are its own or its operations'."""
    rows = await correlated.instances_worked(conn, instance_ids, correlation_ids)
    return {
        row["id"]: (Place(row["org_id"], row["project_id"]), frozenset(row["correlation_ids"]))
        for row in rows
    }


async def _targets_named(
    conn: Connection, caller: Caller, operations: Sequence[Record]
) -> dict[str, str]:
    members = [row["member_id"] for row in operations if row["member_id"] is not None]
    instances = [row["instance_id"] for row in operations if row["member_id"] is None]
    named = await members_named(conn, caller, members)
    return named | await instances_named(conn, caller, instances)


async def _instance_seen(conn: Connection, caller: Caller, instance_id: str) -> InstanceRow | None:
    row = await instances.instance_read(conn, instance_id)
    return row if row is not None and caller.allows(Permission.INSTANCE_READ, row.place) else None


async def _member_seen(conn: Connection, caller: Caller, member_id: str | None) -> MemberRow | None:
    row = None if member_id is None else await instances.member_read(conn, member_id)
    return row if row is not None and caller.allows(Permission.INSTANCE_READ, row.place) else None


def _diagnosis(
    correlation_id: str,
    instance: InstanceRow | None,
    member: MemberRow | None,
    operation: OperationRow | None,
) -> Diagnosis:
    """The member's own word counts more than its instance's."""
    detail = (member and member.adapter_detail) or (instance and instance.adapter_detail) or None
    return Diagnosis(
        correlation_id=correlation_id,
        instance=None if instance is None else _affected_instance(instance),
        member=None if member is None else _affected_member(member),
        operation=None if operation is None else _affected_operation(operation),
        adapter_detail=None if detail is None else AdapterDetail.model_validate(detail),
    )


def _affected_instance(row: InstanceRow) -> AffectedInstance:
    return AffectedInstance(
        id=row.id,
        resource_name=row.resource_name,
        app_slug=row.app_slug,
        status=row.status,
        health=row.health,
        conditions=_conditions(row.conditions),
        link=_link("app-instances", row.id),
    )


def _affected_member(row: MemberRow) -> AffectedMember:
    return AffectedMember(
        id=row.id,
        component_key=row.component_key,
        allocation_id=row.allocation_id,
        status=row.status,
        health=row.health,
        conditions=_conditions(row.conditions),
        link=_link("app-members", row.id),
    )


def _affected_operation(row: OperationRow) -> AffectedOperation:
    begun = [step for step in row.progress if step["state"] != StepState.PENDING]
    unfinished = [
        step for step in begun if step["state"] not in {StepState.SUCCEEDED, StepState.SKIPPED}
    ]
    at = (unfinished or begun or [{"name": ""}])[-1]
    return AffectedOperation(
        id=row.id,
        kind=row.kind,
        status=row.status,
        attempt=row.attempt,
        max_attempts=row.max_attempts,
        step=at["name"],
        error=None if row.error is None else OperationError.model_validate(row.error),
        conditions=_conditions(row.conditions),
        next_actions=rules.operation_ways(row),
        link=_link("operations", row.id),
    )


def _conditions(conditions: Sequence[dict[str, Any]]) -> list[Condition]:
    return [Condition.model_validate(one) for one in conditions]


def _link(noun: str, identity: str) -> str:
    return f"{API_PREFIX}/{noun}/{identity}"


def _instance(row: Record) -> Correlated:
    return _entry(
        row,
        TimelineKind.INSTANCE,
        title=f"Instance {row['resource_name']} of {row['app_slug']}: {row['status']}.",
        actor=row["created_by"],
        links={"instance": _link("app-instances", row["id"])},
        detail={"health": row["health"], "app_instance_id": row["id"]},
    )


def _member(row: Record, names: Mapping[str, str]) -> Correlated:
    return _entry(
        row,
        TimelineKind.MEMBER,
        title=f"Member {names.get(row['id'], row['id'])}: {row['status']}.",
        links={
            "member": _link("app-members", row["id"]),
            "instance": _link("app-instances", row["instance_id"]),
            "allocation": _link("allocations", row["allocation_id"]),
        },
        detail={"health": row["health"], "app_instance_id": row["instance_id"]},
    )


def _operation(row: Record, names: Mapping[str, str]) -> Correlated:
    target = row["member_id"] or row["instance_id"]
    stands = f"{row['status']}, attempt {row['attempt']} of {row['max_attempts']}"
    error = row["error"]
    return _entry(
        row,
        TimelineKind.OPERATION,
        title=f"Operation {row['kind']} of {names.get(target, target)}: {stands}.",
        actor=row["requested_by"],
        links={
            "operation": _link("operations", row["id"]),
            "instance": _link("app-instances", row["instance_id"]),
        },
        detail={
            "attempt": row["attempt"],
            "max_attempts": row["max_attempts"],
            "started_at": row["started_at"],
            "ended_at": row["ended_at"],
            "held_by": row["lease_holder"],
            "error": None if error is None else {k: error[k] for k in ("code", "message")},
            "app_instance_id": row["instance_id"],
            "member_id": row["member_id"],
            "group_id": row["group_id"],
        },
        span=_span(row["id"], None, row["started_at"], row["ended_at"]),
    )


def _step(row: Record) -> Correlated:
    step = row["step"]
    identity = f"{row['operation_id']}/{step['name']}"
    ended = None if step["ended_at"] is None else datetime.fromisoformat(step["ended_at"])
    return _entry(
        row,
        TimelineKind.STEP,
        identity=identity,
        status=step["state"],
        title=f"Step {step['name']} of {row['kind']}: {step['state']}.",
        actor=row["lease_holder"],
        links={"operation": _link("operations", row["operation_id"])},
        detail={
            "message": step["message"],
            "ended_at": step["ended_at"],
            "operation_id": row["operation_id"],
            "app_instance_id": row["instance_id"],
            "member_id": row["member_id"],
        },
        span=_span(identity, row["operation_id"], row["started_at"], ended),
    )


def _span(
    identity: str, parent: str | None, began: datetime | None, ended: datetime | None
) -> EntrySpan | None:
    """What has begun has a length; what began again is counted from there."""
    if began is None:
        return None
    over = ended is not None and ended >= began
    seconds = (ended - began).total_seconds() if over and ended is not None else None
    return EntrySpan(id=identity, parent_id=parent, at=began, seconds=seconds)


def _entry(  # noqa: PLR0913 - the fields of an entry, by name
    row: Record,
    kind: TimelineKind,
    *,
    title: str,
    links: dict[str, str],
    detail: dict[str, Any],
    identity: str = "",
    status: str = "",
    actor: str | None = None,
    span: EntrySpan | None = None,
) -> Correlated:
    entry = TimelineEntry(
        at=row["tl_at"],
        kind=kind,
        id=identity or row["id"],
        title=title,
        status=status or row["status"],
        actor=actor,
        scope=scope_of(Place(row["org_id"], row["project_id"])),
        links=links,
        detail=detail,
        span=span,
    )
    return Correlated(row["tl_key"], entry)
