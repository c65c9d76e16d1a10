"""Rows as the public contract shows them. Pure."""

from collections.abc import Container, Mapping, Sequence

import msgspec

from gpuaas_contract.apps import (
    AppInstance,
    AvailableOperation,
    Member,
    Operation,
    OperationGroup,
)
from gpuaas_contract.common import Json
from gpuaas_contract.manifest import Manifest, Purpose
from gpuaas_contract.states import OperationStatus
from gpuaas_platform.apps import rules
from gpuaas_platform.apps.planning import NO_WAY_BACK, unavailable, way_back
from gpuaas_platform.apps.rows import InstanceRow, MemberRow, OperationRow
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.paging import page_of

_HIDDEN_INSTANCE = ("observer", "observer_token_hash", "observer_until")
_HIDDEN_OPERATION = frozenset(
    {
    "position", "step_deadline", "retry_after_seconds", "attempt_seconds", "cancellable",
    "lease_holder", "lease_replica", "lease_token_hash", "lease_until", "fence", "began",
    "superseded", "attempt_started_at",
    }
)  # fmt: skip


def instance_view(row: InstanceRow, manifest: Manifest, last: OperationRow | None) -> AppInstance:
    """An instance with what can be asked of it and the ways out of trouble."""
    shown = _shown(row, _HIDDEN_INSTANCE)
    operations = []
    for spec in manifest.operations:
        why = unavailable(spec, row)
        if why is None and spec.purpose is Purpose.ROLLBACK and way_back(manifest, row) is None:
            why = NO_WAY_BACK
        operations.append(
            AvailableOperation(
                kind=spec.kind, title=spec.title, purpose=spec.purpose,
                available=why is None, reason=why or "",
            )
        )  # fmt: skip
    return AppInstance.model_validate(
        {**shown, "operations": operations, "next_actions": rules.instance_ways(row, last)}
    )


def member_view(row: MemberRow) -> Member:
    """A member."""
    return Member.model_validate({**_shown(row, ()), "next_actions": rules.member_ways(row)})


def operation_view(row: OperationRow) -> Operation:
    """An operation. Its lease is shown without the token."""
    return Operation.model_validate(operation_shown(row))


def operation_shown(row: OperationRow) -> Json:
    """An operation as plain values, for lists: the same document, without building models."""
    shown = _shown(row, _HIDDEN_OPERATION)
    shown["target"] = (
        {"kind": "instance", "id": row.instance_id}
        if row.member_id is None
        else {"kind": "member", "id": row.member_id}
    )
    shown["lease"] = None
    if row.lease_holder is not None:
        shown["lease"] = {
            "holder": row.lease_holder,
            "replica": row.lease_replica or "",
            "until": row.lease_until,
            "fence": row.fence,
        }
    shown["next_actions"] = [way.model_dump() for way in rules.operation_ways(row)]
    return shown


def page_json(rows: Sequence[OperationRow], limit: int) -> bytes:
    """A page of operations, encoded."""
    page = page_of(rows, limit, lambda row: row.id)
    items = [operation_shown(row) for row in page.items]
    return msgspec.json.encode({"items": items, "next_cursor": page.next_cursor})


def group_view(group: Record, rows: Sequence[OperationRow]) -> OperationGroup:
    """A group with all its operations."""
    counts: Mapping[OperationStatus, int] = {
        status: sum(row.status is status for row in rows)
        for status in OperationStatus
        if any(row.status is status for row in rows)
    }
    return OperationGroup.model_validate(
        {
            **dict(group),
            "status": rules.group_status(counts),
            "counts": counts,
            "operations": [operation_view(row) for row in rows],
        }
    )


def _shown(row: InstanceRow | MemberRow | OperationRow, hidden: Container[str]) -> Json:
    return {name: value for name, value in vars(row).items() if name not in hidden}
