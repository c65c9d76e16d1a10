"""App instances, their members and the operations on them, as people and automation see them.

What a controller sends while it works stands in `controllers.py`. `next_actions` always names the
ways out of a failure, so that nobody meets a dead end. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract.common import Condition, Input, Json, Model, Name, Severity, Text
from gpuaas_contract.manifest import (
    ControlPlaneScope,
    OperatingMode,
    Purpose,
)
from gpuaas_contract.manifest_ui import Key
from gpuaas_contract.semver import SemVer
from gpuaas_contract.states import (
    Health,
    InstanceStatus,
    MemberStatus,
    OperationStatus,
    StepState,
)

Id = Annotated[str, Field(min_length=1, max_length=64)]
MAX_TARGETS: Final = 1000


class ConditionType(StrEnum):
    """Conditions the platform itself sets; an app may add its own."""

    CONTROLLER_ABSENT = "controller_absent"
    SETTINGS_PENDING = "settings_pending"
    STUCK = "stuck"
    UNREACHABLE = "unreachable"
    OPERATION_FAILED = "operation_failed"
    OPERATION_ABANDONED = "operation_abandoned"
    CLEANUP_UNVERIFIED = "cleanup_unverified"


class Way(StrEnum):
    """A way out that the platform offers."""

    RETRY = "retry"
    CANCEL = "cancel"
    RECONCILE = "reconcile"
    ABANDON = "abandon"
    DELETE = "delete"
    START_CONTROLLER = "start_controller"


class NextAction(Model):
    """One thing that can be done now, and on what."""

    action: Way
    operation_id: str | None = None
    member_id: str | None = None
    reason: str = ""


class AvailableOperation(Model):
    """An operation of the manifest and whether it can be asked for now."""

    kind: str
    title: str
    purpose: Purpose
    available: bool
    reason: Annotated[str, Field(description="Why not, when it is not available")] = ""


class AdapterDetail(Model):
    """What the app says about itself: stored, shown and searched, never interpreted."""

    summary: str
    severity: Severity
    detail: Json
    reported_at: datetime


class Absence(Model):
    """The app's statement that nothing of its runtime is left, with what it looked at."""

    runtime_verified_absent: bool
    evidence: Json
    stated_by: str
    stated_at: datetime


class PlacedMember(Model):
    """A component on an allocation, as it was asked for."""

    component_key: str
    allocation_id: str
    shared: Annotated[bool, Field(description="Another member may sit on the allocation too")] = (
        False
    )


class PlacementIntent(Model):
    """Where the person who deployed wanted the members; nobody infers a host."""

    members: list[PlacedMember]


class InstanceCreate(Input):
    """Deploy an app. `settings` is the input of the version's deploy operation."""

    app_slug: Name
    version: Annotated[
        SemVer | None, Field(description="Newest version allowed here when absent")
    ] = None
    name: Name
    display_name: Annotated[str, Field(max_length=200)] = ""
    settings: Json = Field(default_factory=dict)
    operating_mode: OperatingMode | None = None
    control_plane_scope: ControlPlaneScope | None = None


class InstanceUpdate(Input):
    """Change the label or the settings. New settings are applied by the app's next reconcile."""

    display_name: Annotated[str | None, Field(max_length=200)] = None
    settings: Json | None = None


class AppInstance(Model):
    """One deployed app."""

    id: str
    resource_name: str
    display_name: str
    org_id: str
    project_id: str
    app_slug: str
    app_version: str
    previous_version: str | None
    runtime_version: Annotated[str, Field(description="As the runtime itself reports it")]
    operating_mode: OperatingMode
    control_plane_scope: ControlPlaneScope
    runtime_backend: str
    topology: str
    placement_intent: PlacementIntent
    settings: Json
    settings_revision: int
    settings_applied_revision: Annotated[
        int, Field(description="Which settings the app has applied; 0: none yet")
    ]
    status: InstanceStatus
    health: Health
    conditions: list[Condition]
    adapter_detail: AdapterDetail | None
    access: Annotated[
        Json | None, Field(description="The access bundle: how to use what runs here")
    ]
    absence: Absence | None
    revision: int
    last_operation_id: str | None
    correlation_id: str
    created_by: str
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    operations: list[AvailableOperation]
    next_actions: list[NextAction]


class Member(Model):
    """One component of an instance on one allocation. Removed members stay as tombstones."""

    id: str
    instance_id: str
    org_id: str
    project_id: str
    component_key: str
    allocation_id: str
    shares_allocation: bool
    node: Annotated[str, Field(description="How the app names the machine; empty until it says")]
    status: MemberStatus
    health: Health
    conditions: list[Condition]
    adapter_detail: AdapterDetail | None
    runtime_version: str
    absence: Absence | None
    revision: int
    last_operation_id: str | None
    correlation_id: str
    created_at: datetime
    updated_at: datetime
    removed_at: datetime | None
    next_actions: list[NextAction]


class OperationCreate(Input):
    """Ask something of the app. Many targets make a group: one operation per member."""

    kind: Key
    member_ids: Annotated[list[Id], Field(max_length=MAX_TARGETS)] = Field(default_factory=list)
    input: Json = Field(default_factory=dict)
    version: Annotated[
        SemVer | None, Field(description="Of an upgrade, or of a rollback to another than the last")
    ] = None
    parallelism: Annotated[
        int | None, Field(ge=1, le=MAX_TARGETS, description="Of a group; the app's when absent")
    ] = None


class ReasonGiven(Input):
    """Why."""

    reason: Annotated[Text, Field(min_length=1)]


class Step(Model):
    """One named step of the work."""

    name: str
    state: StepState
    started_at: datetime | None = None
    ended_at: datetime | None = None
    message: str = ""
    deadline_at: datetime | None = None


class ErrorFamily(StrEnum):
    """Whether a repeat can help."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    CONFLICT = "conflict"


class OperationError(Model):
    """Why an attempt failed."""

    code: str
    message: str
    family: ErrorFamily
    retryable: bool
    instance_usable: bool
    attempt: int
    detail: Json = Field(default_factory=dict)


class Lease(Model):
    """Who works on an operation and until when. The token is the holder's alone."""

    holder: str
    replica: str
    until: datetime
    fence: Annotated[int, Field(description="Grows with every claim of the operation")]


class OperationTarget(Model):
    """What an operation acts on."""

    kind: Annotated[str, Field(examples=["instance", "member"])]
    id: str


class Operation(Model):
    """One piece of long work, done by the app's controller."""

    id: str
    instance_id: str
    org_id: str
    project_id: str
    app_slug: str
    kind: str
    purpose: Purpose
    exclusive: bool
    target: OperationTarget
    member_id: str | None
    new_member_id: Annotated[str | None, Field(description="Who takes the member's place")]
    group_id: str | None
    waits_for: Annotated[str | None, Field(description="Operation that must succeed first")]
    input: Json
    target_version: str | None
    status: OperationStatus
    ready: Annotated[bool, Field(description="Nothing of the instance stands before it")]
    progress: list[Step]
    conditions: list[Condition]
    attempt: int
    max_attempts: int
    not_before: datetime
    lease: Lease | None
    cancel_requested: bool
    error: OperationError | None
    revision: int
    correlation_id: str
    requested_by: str
    reason: str
    requested_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    next_actions: list[NextAction]


class GroupStatus(StrEnum):
    """The whole of a group."""

    IN_PROGRESS = "in_progress"
    SUCCEEDED = "succeeded"
    PARTLY_FAILED = "partly_failed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class OperationGroup(Model):
    """Operations asked for together; each succeeds or fails on its own."""

    id: str
    instance_id: str
    org_id: str
    project_id: str
    kind: str
    parallelism: int
    status: GroupStatus
    counts: dict[OperationStatus, int]
    operations: list[Operation]
    correlation_id: str
    requested_by: str
    requested_at: datetime


class Requested(Model):
    """What a request for long work became: one operation, or a group of them."""

    instance: AppInstance
    operation: Annotated[Operation, Field(description="The first one")]
    operations: list[Operation]
    group_id: str | None = None
    topology_changed_from: Annotated[
        str | None, Field(description="The topology before, when this request changes it")
    ] = None


class Preview(Model):
    """What a request would do; nothing was changed."""

    kind: str
    operations: int
    new_members: list[PlacedMember]
    topology: str
    topology_after: str
    topology_text: str
    confirmation: Annotated[str, Field(description="What the app wants said before")]
    waits_for: Annotated[int, Field(description="Operations that come before it")]


class Controller(Model):
    """A controller seen at work: one replica of a service account, for one app."""

    service_account_id: str
    replica: str
    app_slug: str
    version: str
    place: Annotated[str, Field(description="`*`, or the tenant, project or instance it serves")]
    first_seen: datetime
    last_seen: datetime
    present: Annotated[bool, Field(description="Seen within the time after which it is absent")]
