"""Making instances, members and operations of the in-memory platform. Used by `asking.py`."""

from dataclasses import dataclass

from gpuaas_contract.apps import (
    AppInstance,
    InstanceCreate,
    Member,
    Operation,
    OperationTarget,
    PlacementIntent,
    Requested,
    Step,
)
from gpuaas_contract.effects import EFFECTS
from gpuaas_contract.manifest import OperationSpec
from gpuaas_contract.manifest_read import Seat
from gpuaas_contract.states import (
    Health,
    InstanceStatus,
    MemberStatus,
    OperationStatus,
    StepState,
)
from gpuaas_sdk.testing.world import Hidden, World


@dataclass(frozen=True)
class Caller:
    """Who asks, and under which correlation."""

    id: str
    correlation_id: str


def instance_new(
    world: World, caller: Caller, project_id: str, body: InstanceCreate
) -> AppInstance:
    """An instance that was asked for."""
    manifest = world.manifests[body.app_slug, body.version or ""]
    now = world.clock.now()
    return AppInstance(
        id=world.new_id("inst"),
        resource_name=body.name,
        display_name=body.display_name,
        org_id="org_memory",
        project_id=project_id,
        app_slug=body.app_slug,
        app_version=body.version or "",
        previous_version=None,
        runtime_version="",
        operating_mode=body.operating_mode or manifest.operating_modes[0],
        control_plane_scope=body.control_plane_scope or manifest.control_plane_scopes[0],
        runtime_backend=manifest.runtime_backend,
        topology="",
        placement_intent=PlacementIntent(members=[]),
        settings=body.settings,
        settings_revision=1,
        settings_applied_revision=0,
        status=InstanceStatus.REQUESTED,
        health=Health.UNKNOWN,
        conditions=[],
        adapter_detail=None,
        access=None,
        absence=None,
        revision=1,
        last_operation_id=None,
        correlation_id=caller.correlation_id,
        created_by=caller.id,
        created_at=now,
        updated_at=now,
        deleted_at=None,
        operations=[],
        next_actions=[],
    )


def member_new(world: World, instance: AppInstance, seat: Seat, operation: Operation) -> str:
    """A member on its seat; its id."""
    now = world.clock.now()
    member = Member(
        id=world.new_id("mem"),
        instance_id=instance.id,
        org_id=instance.org_id,
        project_id=instance.project_id,
        component_key=seat.component,
        allocation_id=seat.allocation_id,
        shares_allocation=False,
        node="",
        status=MemberStatus.REQUESTED,
        health=Health.UNKNOWN,
        conditions=[],
        adapter_detail=None,
        runtime_version="",
        absence=None,
        revision=1,
        last_operation_id=operation.id,
        correlation_id=operation.correlation_id,
        created_at=now,
        updated_at=now,
        removed_at=None,
        next_actions=[],
    )
    world.members[member.id] = member
    return member.id


def operation_new(
    world: World, caller: Caller, instance: AppInstance, spec: OperationSpec
) -> Operation:
    """An operation at the end of the queue."""
    now = world.clock.now()
    operation = Operation(
        id=world.new_id("op"),
        instance_id=instance.id,
        org_id=instance.org_id,
        project_id=instance.project_id,
        app_slug=instance.app_slug,
        kind=spec.kind,
        purpose=spec.purpose,
        exclusive=spec.exclusive or EFFECTS[spec.purpose].exclusive,
        target=OperationTarget(kind="instance", id=instance.id),
        member_id=None,
        new_member_id=None,
        group_id=None,
        waits_for=None,
        input={},
        target_version=None,
        status=OperationStatus.REQUESTED,
        ready=False,
        progress=[Step(name=one.name, state=StepState.PENDING) for one in spec.steps],
        conditions=[],
        attempt=1,
        max_attempts=spec.max_attempts,
        not_before=now,
        lease=None,
        cancel_requested=False,
        error=None,
        revision=1,
        correlation_id=caller.correlation_id,
        requested_by=caller.id,
        reason="",
        requested_at=now,
        started_at=None,
        ended_at=None,
        next_actions=[],
    )
    world.operations[operation.id] = operation
    world.hidden[operation.id] = Hidden()
    return operation


def requested(world: World, instance_id: str, ids: list[str]) -> Requested:
    """What a request became."""
    made = [world.operations[one] for one in ids]
    return Requested(
        instance=world.instance(instance_id),
        operation=made[0],
        operations=made,
        group_id=made[0].group_id,
    )
