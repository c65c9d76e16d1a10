"""App instances, their members and the operations on them, as people and automation see them.

What a controller sends while it works stands in `controllers.py`. `next_actions` always names the
ways out of a failure, so that nobody meets a dead end. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final

from pydantic import Field

from gpuaas_contract.common import (
    Condition,
    CorrelationId,
    Input,
    Json,
    Maker,
    Model,
    Name,
    OrgId,
    ProjectId,
    Revision,
    Severity,
    Text,
)
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

    action: Annotated[Way, Field(description="The way out")]
    operation_id: str | None = None
    member_id: str | None = None
    reason: Annotated[str, Field(description="Why it is offered")] = ""


class AvailableOperation(Model):
    """An operation of the manifest and whether it can be asked for now."""

    kind: Annotated[str, Field(description="What `kind` of a request names")]
    title: str
    purpose: Purpose
    available: bool
    reason: Annotated[str, Field(description="Why not, when it is not available")] = ""


class AdapterDetail(Model):
    """What the app says about itself: stored, shown and searched, never interpreted."""

    summary: str
    severity: Severity
    detail: Annotated[Json, Field(description="Whatever the app reports; its panels read it")]
    reported_at: datetime


class Absence(Model):
    """The app's statement that nothing of its runtime is left, with what it looked at."""

    runtime_verified_absent: bool
    evidence: Annotated[Json, Field(description="What it looked at, and what it found")]
    stated_by: Annotated[
        str, Field(description="The service account of the controller that said so")
    ]
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

    app_slug: Annotated[Name, Field(description="Which app of the catalog")]
    version: Annotated[
        SemVer | None, Field(description="Newest version allowed here when absent")
    ] = None
    name: Name
    display_name: Annotated[
        str, Field(max_length=200, description="What people see; the name when left out")
    ] = ""
    settings: Annotated[
        Json, Field(description="Input of the version's deploy operation, as its form asks")
    ] = Field(default_factory=dict)
    operating_mode: Annotated[
        OperatingMode | None,
        Field(description="Who operates it; the first the app offers when left out"),
    ] = None
    control_plane_scope: Annotated[
        ControlPlaneScope | None,
        Field(description="How far its control plane reaches: one project"),
    ] = None


class InstanceUpdate(Input):
    """Change the label or the settings. New settings are applied by the app's next reconcile."""

    display_name: Annotated[str | None, Field(max_length=200, description="What people see")] = None
    settings: Annotated[
        Json | None,
        Field(description="All settings from now on; the app's next reconcile applies them"),
    ] = None


class AppInstance(Model):
    """One deployed app."""

    id: str
    resource_name: Annotated[str, Field(description="Unlike any other instance's in the project")]
    display_name: str
    org_id: OrgId
    project_id: ProjectId
    app_slug: str
    app_version: str
    previous_version: Annotated[
        str | None, Field(description="What a rollback leads to; null before the first upgrade")
    ]
    runtime_version: Annotated[str, Field(description="As the runtime itself reports it")]
    operating_mode: OperatingMode
    control_plane_scope: ControlPlaneScope
    runtime_backend: Annotated[str, Field(description="What the app runs on, in the app's word")]
    topology: Annotated[str, Field(description="Its shape, by a key of the manifest")]
    placement_intent: PlacementIntent
    settings: Json
    settings_revision: Annotated[int, Field(description="Grows with every change of the settings")]
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
    revision: Revision
    last_operation_id: str | None
    correlation_id: CorrelationId
    created_by: Maker
    created_at: datetime
    updated_at: datetime
    deleted_at: datetime | None
    operations: Annotated[
        list[AvailableOperation],
        Field(description="Every operation of the manifest, and whether it can be asked for"),
    ]
    next_actions: Annotated[
        list[NextAction], Field(description="The ways out, where something is wrong")
    ]


class Member(Model):
    """One component of an instance on one allocation. Removed members stay as tombstones."""

    id: str
    instance_id: str
    org_id: OrgId
    project_id: ProjectId
    component_key: Annotated[str, Field(description="Its part, by a key of the manifest")]
    allocation_id: str
    shares_allocation: Annotated[bool, Field(description="Another member sits on the same machine")]
    node: Annotated[str, Field(description="How the app names the machine; empty until it says")]
    status: MemberStatus
    health: Health
    conditions: list[Condition]
    adapter_detail: AdapterDetail | None
    runtime_version: str
    absence: Absence | None
    revision: Revision
    last_operation_id: str | None
    correlation_id: CorrelationId
    created_at: datetime
    updated_at: datetime
    removed_at: Annotated[datetime | None, Field(description="When it left; its record stays")]
    next_actions: list[NextAction]


class OperationCreate(Input):
    """Ask something of the app. Many targets make a group: one operation per member."""

    kind: Annotated[Key, Field(description="The operation, by its word in the app's manifest")]
    member_ids: Annotated[
        list[Id],
        Field(
            max_length=MAX_TARGETS,
            description="Which members; none for an operation on the whole instance",
        ),
    ] = Field(default_factory=list)
    input: Annotated[Json, Field(description="Input of the operation, as its form asks")] = Field(
        default_factory=dict
    )
    version: Annotated[
        SemVer | None, Field(description="Of an upgrade, or of a rollback to another than the last")
    ] = None
    parallelism: Annotated[
        int | None, Field(ge=1, le=MAX_TARGETS, description="Of a group; the app's when absent")
    ] = None


class ReasonGiven(Input):
    """Why."""

    reason: Annotated[Text, Field(min_length=1, description="Why; kept in the audit log")]


class Step(Model):
    """One named step of the work."""

    name: str
    state: StepState
    started_at: datetime | None = None
    ended_at: datetime | None = None
    message: str = ""
    deadline_at: Annotated[
        datetime | None, Field(description="Longer than this is shown as stuck")
    ] = None


class ErrorFamily(StrEnum):
    """Whether a repeat can help."""

    TEMPORARY = "temporary"
    PERMANENT = "permanent"
    CONFLICT = "conflict"


class OperationError(Model):
    """Why an attempt failed."""

    code: Annotated[str, Field(description="A word for programs")]
    message: str
    family: ErrorFamily
    retryable: Annotated[bool, Field(description="Asking again may help")]
    instance_usable: Annotated[bool, Field(description="What ran before still runs")]
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
    org_id: OrgId
    project_id: ProjectId
    app_slug: str
    kind: Annotated[str, Field(description="The app's word for it")]
    purpose: Purpose
    exclusive: Annotated[
        bool, Field(description="No other operation of the instance runs beside it")
    ]
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
    attempt: Annotated[int, Field(description="Which attempt this is, from 1")]
    max_attempts: int
    not_before: Annotated[
        datetime, Field(description="It is not claimed earlier: the wait between attempts")
    ]
    lease: Annotated[Lease | None, Field(description="Who works on it; null while nobody does")]
    cancel_requested: Annotated[bool, Field(description="It stops at the next safe point")]
    error: OperationError | None
    revision: Revision
    correlation_id: CorrelationId
    requested_by: Maker
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
    org_id: OrgId
    project_id: ProjectId
    kind: str
    parallelism: Annotated[int, Field(description="How many of them run at once")]
    status: GroupStatus
    counts: Annotated[
        dict[OperationStatus, int], Field(description="How many there are in each status")
    ]
    operations: list[Operation]
    correlation_id: CorrelationId
    requested_by: Maker
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
    operations: Annotated[int, Field(description="How many it would become")]
    new_members: list[PlacedMember]
    topology: str
    topology_after: str
    topology_text: Annotated[
        str, Field(description="What the change of shape means, in the app's words")
    ]
    confirmation: Annotated[str, Field(description="What the app wants said before")]
    waits_for: Annotated[int, Field(description="Operations that come before it")]
    target_version: Annotated[
        str | None, Field(description="The app's version an upgrade or a rollback leads to")
    ] = None


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
