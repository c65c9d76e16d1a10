"""New rows: an instance, a member, an operation, as they are at birth.

Called by `instances.py` and `operations.py`. Takes ids and time from the mutation, touches nothing.
"""

from dataclasses import dataclass
from typing import Any

from gpuaas_contract.common import Json
from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.ids import Prefix
from gpuaas_contract.manifest import OperationSpec, Purpose
from gpuaas_contract.manifest_read import Seat
from gpuaas_contract.states import Health, MemberStatus, OperationStatus
from gpuaas_platform.apps.progress import step_pending
from gpuaas_platform.apps.rows import InstanceRow, MemberRow, OperationRow
from gpuaas_platform.kernel.work import Work


def member_new(work: Work, instance: InstanceRow, seat: Seat, *, shared: bool) -> MemberRow:
    """A member that was asked for."""
    return MemberRow(
        id=work.new_id(Prefix.MEMBER),
        instance_id=instance.id,
        org_id=instance.org_id,
        project_id=instance.project_id,
        component_key=seat.component,
        allocation_id=seat.allocation_id,
        shares_allocation=shared,
        node="",
        status=MemberStatus.REQUESTED,
        health=Health.UNKNOWN,
        conditions=[],
        adapter_detail=None,
        runtime_version="",
        absence=None,
        revision=1,
        last_operation_id=None,
        correlation_id=work.call.correlation_id,
        created_at=work.now,
        updated_at=work.now,
        removed_at=None,
    )


@dataclass(frozen=True)
class Asked:
    """What an operation is asked to do."""

    input: Json
    member_id: str | None = None
    new_member_id: str | None = None
    group_id: str | None = None
    waits_for: str | None = None
    target_version: str | None = None
    reason: str = ""


def operation_new(
    work: Work, instance: InstanceRow, spec: OperationSpec, asked: Asked
) -> OperationRow:
    """An operation at the end of its instance's queue."""
    return OperationRow(
        id=work.new_id(Prefix.OPERATION),
        instance_id=instance.id,
        org_id=instance.org_id,
        project_id=instance.project_id,
        app_slug=instance.app_slug,
        kind=spec.kind,
        purpose=spec.purpose,
        exclusive=spec.exclusive or EFFECTS[spec.purpose].exclusive,
        status=OperationStatus.REQUESTED,
        position=0,
        ready=False,
        not_before=work.now,
        progress=[step_pending(one.name) for one in spec.steps],
        step_deadline=None,
        conditions=[],
        attempt=1,
        max_attempts=spec.max_attempts,
        retry_after_seconds=float(spec.retry_after_seconds),
        attempt_seconds=float(spec.deadline_seconds),
        cancellable=spec.cancellable and spec.purpose is not Purpose.DELETE,
        lease_holder=None,
        lease_replica=None,
        lease_token_hash=None,
        lease_until=None,
        fence=0,
        began=False,
        cancel_requested=False,
        superseded=False,
        error=None,
        revision=1,
        correlation_id=work.call.correlation_id,
        requested_by=work.call.caller.id,
        requested_at=work.now,
        started_at=None,
        attempt_started_at=None,
        ended_at=None,
        **_asked(asked),
    )


def _asked(asked: Asked) -> dict[str, Any]:
    return dict(vars(asked))
