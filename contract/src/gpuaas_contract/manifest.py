"""The manifest of an app version: everything the platform, console and CLI know about an app.

Written by an app team, checked by `manifest_check.py`, published once and never changed. The
platform acts on it without knowing the app: which operations there are and when they are valid,
which input names allocations for which component, which permissions a request needs beside the
platform's own. docs/guides/manifest.md explains it to app teams. Pure.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, JsonValue

from gpuaas_contract.common import Input
from gpuaas_contract.manifest_life import ArtifactRequirement, HealthWord, Lifecycle
from gpuaas_contract.manifest_ui import Action, Key, Panel, Sentence, Title
from gpuaas_contract.permissions import Permission
from gpuaas_contract.pointers import JsonPointer
from gpuaas_contract.states import InstanceStatus, MemberStatus

MANIFEST_MAX_BYTES: Final = 256 * 1024
EMPTY_INPUT: Final[dict[str, Any]] = {"type": "object", "additionalProperties": False}


def _permission(value: object) -> object:
    if isinstance(value, str) and value not in set(Permission):
        raise ValueError(f"there is no permission key {value!r}")
    return value


PermissionKey = Annotated[Permission, BeforeValidator(_permission)]
PermissionKeys = Annotated[tuple[PermissionKey, ...], Field(max_length=20)]
Seconds = Annotated[int, Field(ge=1, le=7 * 86_400)]
Url = Annotated[str, Field(pattern=r"^https?://[^\s]+$", max_length=500)]
InputSchema = Annotated[
    dict[str, Any],
    Field(description="JSON Schema (draft 2020-12) of an object; `x-…` keywords guide forms"),
]


class Purpose(StrEnum):
    """What an operation means to the platform. Everything beyond this is the app's business."""

    DEPLOY = "deploy"
    STOP = "stop"
    START = "start"
    RESTART = "restart"
    UPGRADE = "upgrade"
    ROLLBACK = "rollback"
    RECONCILE = "reconcile"
    DELETE = "delete"
    MEMBER_ADD = "member_add"
    MEMBER_DRAIN = "member_drain"
    MEMBER_RESUME = "member_resume"
    MEMBER_REMOVE = "member_remove"
    MEMBER_REPLACE = "member_replace"
    CUSTOM = "custom"


class TargetKind(StrEnum):
    """What one request of an operation acts on.

    `group`: one or many members at once; each gets an operation of its own.
    """

    INSTANCE = "instance"
    MEMBER = "member"
    GROUP = "group"


class OperatingMode(StrEnum):
    """Who operates the runtime."""

    TENANT_DEDICATED = "tenant_dedicated"
    PLATFORM_MANAGED = "platform_managed"


class ControlPlaneScope(StrEnum):
    """How far one control plane of the app reaches."""

    PROJECT = "project"
    TENANT = "tenant"
    PLATFORM = "platform"


class MachineAccess(StrEnum):
    """How the app's controller can reach a machine."""

    CERTIFICATE = "certificate"
    CREDENTIAL = "credential"
    AGENT = "agent"


class UsageSource(StrEnum):
    """What is counted."""

    ALLOCATION = "allocation"
    APP_RUNTIME = "app_runtime"
    JOB = "job"


class UsageUnit(StrEnum):
    """The unit it is counted in."""

    GPU_HOUR = "gpu_hour"
    NODE_HOUR = "node_hour"
    RUNTIME_HOUR = "runtime_hour"
    JOB_HOUR = "job_hour"


class Component(Input):
    """A role a member can have. The key is opaque to the platform."""

    key: Annotated[Key, Field(description="The app's word for it; placement rules name it")]
    title: Annotated[Title, Field(description="What people see")]
    description: Annotated[Sentence, Field(description="What people read beside it")] = ""
    min_members: Annotated[int, Field(ge=0, description="For forms and warnings: not less")] = 0
    max_members: Annotated[
        int | None, Field(ge=1, description="Not more; no limit when left out")
    ] = None
    may_share_with: Annotated[
        tuple[Key, ...],
        Field(description="Components on whose allocation a member of this one may sit too"),
    ] = ()


class Topology(Input):
    """A shape of an instance, told by how many allocations its live members use."""

    key: Annotated[Key, Field(description="The app's word for it; `valid_in` names it")]
    title: Annotated[Title, Field(description="What people see")]
    description: Annotated[Sentence, Field(description="Said before a change leads here")] = ""
    min_allocations: Annotated[int, Field(ge=0, description="From this many machines on")] = 1
    max_allocations: Annotated[
        int | None, Field(ge=1, description="Up to this many machines; any number when left out")
    ] = None


class When(Input):
    """Holds when the input has this value at this pointer."""

    pointer: JsonPointer
    equals: Annotated[JsonValue, Field(description="The value that is compared")]


class PlacementRule(Input):
    """Which field of an input names allocations, and for which component.

    The field is one allocation id or a list of them. Two rules that read the same field put
    members of two components on the same allocation; `may_share_with` must permit it.
    """

    pointer: Annotated[
        JsonPointer, Field(description="JSON pointer to the field that names allocations")
    ]
    component: Annotated[Key, Field(description="Which component their members get")]
    when: Annotated[tuple[When, ...], Field(max_length=8, description="All must hold")] = ()


class Confirmation(Input):
    """What a person is asked before the operation is requested."""

    title: Annotated[Title, Field(description="The question")]
    text: Annotated[str, Field(min_length=1, max_length=2000, description="What will happen")]
    type_name: Annotated[bool, Field(description="The person types the instance's name")] = False


class StepSpec(Input):
    """A step the controller reports by this name."""

    name: Annotated[Key, Field(description="What the controller reports it by")]
    title: Annotated[Title, Field(description="What people see")]
    deadline_seconds: Annotated[
        Seconds | None, Field(description="Longer than this is shown as stuck")
    ] = None


class GroupSpec(Input):
    """Bounds of an operation on many members."""

    max_members: Annotated[
        int, Field(ge=1, le=1000, description="Members one request may name")
    ] = 100
    max_parallel: Annotated[int, Field(ge=1, le=1000, description="Members worked on at once")] = 10


class ValidIn(Input):
    """Where an operation may be requested. An empty list says: in any."""

    instance_states: Annotated[
        tuple[InstanceStatus, ...], Field(description="The instance is in one of these")
    ] = ()
    member_states: Annotated[
        tuple[MemberStatus, ...], Field(description="The member is in one of these")
    ] = ()
    topologies: Annotated[
        tuple[Key, ...], Field(description="The instance has one of these shapes")
    ] = ()
    components: Annotated[
        tuple[Key, ...], Field(description="Members of which components it acts on")
    ] = ()


class OperationSpec(Input):
    """Something a person can ask of the app. `kind` is opaque to the platform."""

    kind: Annotated[Key, Field(description="The app's word for it; requests name it")]
    title: Annotated[Title, Field(description="What people see")]
    description: Annotated[Sentence, Field(description="What people read beside it")] = ""
    purpose: Annotated[
        Purpose, Field(description="What it means to the platform: which states it leads through")
    ]
    target: Annotated[TargetKind, Field(description="What one request acts on")]
    group: Annotated[GroupSpec | None, Field(description="Bounds of a request on many members")] = (
        None
    )
    exclusive: Annotated[
        bool, Field(description="No other operation of the instance runs at the same time")
    ] = False
    valid_in: Annotated[
        ValidIn, Field(description="Where it may be asked for; anywhere unless narrowed")
    ] = ValidIn()
    input: InputSchema = EMPTY_INPUT
    placement: Annotated[
        tuple[PlacementRule, ...],
        Field(max_length=32, description="Which fields of the input name allocations"),
    ] = ()
    permissions: Annotated[
        PermissionKeys, Field(description="Needed beside the platform's own keys")
    ] = ()
    destructive: Annotated[
        bool, Field(description="Data or work is lost; a person is asked before")
    ] = False
    confirmation: Annotated[
        Confirmation | None, Field(description="What a person is asked before")
    ] = None
    steps: Annotated[
        tuple[StepSpec, ...],
        Field(max_length=60, description="What it does, in order; shown from the start"),
    ] = ()
    deadline_seconds: Annotated[Seconds, Field(description="Of one attempt, all steps")] = 3600
    max_attempts: Annotated[
        int, Field(ge=1, le=20, description="Attempts after failures that may pass")
    ] = 3
    retry_after_seconds: Annotated[
        Seconds, Field(description="Wait before the second attempt; doubles with each further one")
    ] = 10
    cancellable: Annotated[bool, Field(description="It can be stopped at a safe point")] = True


class AppPermissions(Input):
    """Keys asked for beside the platform's own where no operation is requested."""

    read: Annotated[PermissionKeys, Field(description="To see instances of the app")] = ()
    operator: Annotated[
        PermissionKeys, Field(description="What the controller's service account must hold")
    ] = ()


class BillingUnit(Input):
    """Usage the app causes or reports."""

    source: Annotated[UsageSource, Field(description="What is counted")]
    unit: Annotated[UsageUnit, Field(description="The unit it is counted in")]
    component: Annotated[Key | None, Field(description="Only of this component's members")] = None
    description: Annotated[Sentence, Field(description="What people are told of it")] = ""


class QueueSpec(Input):
    """The app runs jobs: it fulfils the generic queue."""

    resources: Annotated[
        tuple[Literal["nodes", "cpus", "gpus", "memory", "time"], ...],
        Field(description="What a job may ask for"),
    ] = ("nodes", "time")
    logs: Annotated[bool, Field(description="Output of jobs can be read")] = True
    max_script_bytes: Annotated[
        int, Field(ge=1, le=65_536, description="A longer script is refused")
    ] = 65_536
    submit: Annotated[PermissionKeys, Field(description="Keys needed to submit a job")] = ()
    read: Annotated[PermissionKeys, Field(description="Keys needed to see jobs")] = ()
    cancel: Annotated[PermissionKeys, Field(description="Keys needed to cancel a job")] = ()


class InputForm(Input):
    """An input form that is not an operation's."""

    title: Annotated[Title, Field(description="What people see")]
    description: Annotated[Sentence, Field(description="What people read beside it")] = ""
    input: InputSchema = EMPTY_INPUT
    placement: Annotated[
        tuple[PlacementRule, ...],
        Field(max_length=32, description="Which fields of the input name allocations"),
    ] = ()
    permissions: Annotated[
        PermissionKeys, Field(description="Needed beside the platform's own keys")
    ] = ()


class SharedRuntimeFlow(Input):
    """How one control plane is shared between a tenant's projects."""

    deploy: Annotated[InputForm, Field(description="What the tenant admin names")]
    attach: Annotated[InputForm, Field(description="What a project asks to join with")]
    contribute: Annotated[
        InputForm | None, Field(description="Which allocations a project lends")
    ] = None
    submission_policy: Annotated[
        InputForm | None, Field(description="What a rule for submitting across projects holds")
    ] = None
    billing: Annotated[Sentence, Field(description="Who pays for what, shown before each step")]


class Manifest(Input):
    """All of it."""

    manifest_version: Annotated[Literal[1], Field(description="Of this format")]
    summary: Annotated[Sentence, Field(description="What the app is, in a sentence")] = ""
    package_version: Annotated[
        str, Field(max_length=100, description="Of what is installed; the observed one is read")
    ] = ""
    runtime_backend: Annotated[Key, Field(description="Opaque; what the app runs on")]
    operating_modes: Annotated[
        tuple[OperatingMode, ...],
        Field(min_length=1, description="Who may operate it; the first unless another is chosen"),
    ]
    control_plane_scopes: Annotated[
        tuple[ControlPlaneScope, ...],
        Field(min_length=1, description="How far a control plane of it may reach"),
    ]
    machine_access: Annotated[
        tuple[MachineAccess, ...],
        Field(min_length=1, description="How its controller can reach machines"),
    ]
    components: Annotated[
        tuple[Component, ...],
        Field(min_length=1, max_length=32, description="The parts members can have"),
    ]
    topologies: Annotated[
        tuple[Topology, ...],
        Field(
            min_length=1,
            max_length=16,
            description="The shapes an instance can have, by machines; no gap between them",
        ),
    ]
    operations: Annotated[
        tuple[OperationSpec, ...],
        Field(
            min_length=2,
            max_length=64,
            description="What can be asked of it; one deploy and one delete among them",
        ),
    ]
    permissions: Annotated[
        AppPermissions, Field(description="Keys asked for where no operation is requested")
    ] = AppPermissions()
    health: Annotated[
        tuple[HealthWord, ...],
        Field(
            min_length=1,
            max_length=64,
            description="Its own words for health; at least one means healthy",
        ),
    ]
    lifecycle: Annotated[
        Lifecycle, Field(description="What an upgrade, a rollback and a delete do")
    ]
    billing_units: Annotated[
        tuple[BillingUnit, ...], Field(max_length=16, description="What is counted")
    ] = ()
    artifacts: Annotated[
        tuple[ArtifactRequirement, ...],
        Field(max_length=64, description="What it installs, resolved through policy"),
    ] = ()
    panels: Annotated[
        tuple[Panel, ...], Field(max_length=32, description="What the page of an instance shows")
    ] = ()
    actions: Annotated[
        tuple[Action, ...], Field(max_length=64, description="Its buttons, each for an operation")
    ] = ()
    queue: Annotated[QueueSpec | None, Field(description="Present where the app runs jobs")] = None
    shared_runtime: Annotated[
        SharedRuntimeFlow | None,
        Field(description="Present where projects can share one control plane"),
    ] = None
    runbook_url: Annotated[Url, Field(description="Where an operator goes at night")]
    documentation_url: Annotated[Url | None, Field(description="Where people read more")] = None

    def operation(self, kind: str) -> OperationSpec | None:
        """The operation of this kind."""
        return next((one for one in self.operations if one.kind == kind), None)

    def purpose(self, purpose: Purpose) -> OperationSpec | None:
        """The first operation with this purpose; deploy and delete always have exactly one."""
        return next((one for one in self.operations if one.purpose == purpose), None)

    @property
    def deploy(self) -> OperationSpec:
        """The operation that makes an instance: its input is the deploy form."""
        return next(one for one in self.operations if one.purpose == Purpose.DEPLOY)

    def inputs(self) -> Iterator[tuple[str, OperationSpec | InputForm]]:
        """Everything with an input form, with its pointer in the manifest."""
        for index, operation in enumerate(self.operations):
            yield f"/operations/{index}", operation
        if self.shared_runtime is None:
            return
        for name in ("deploy", "attach", "contribute", "submission_policy"):
            form: InputForm | None = getattr(self.shared_runtime, name)
            if form is not None:
                yield f"/shared_runtime/{name}", form

    def component(self, key: str) -> Component | None:
        """The component with this key."""
        return next((one for one in self.components if one.key == key), None)
