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
from gpuaas_contract.manifest_ui import Action, Key, Panel, Sentence, Title
from gpuaas_contract.permissions import Permission
from gpuaas_contract.pointers import JsonPointer
from gpuaas_contract.semver import VersionPattern
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus

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

    key: Key
    title: Title
    description: Sentence = ""
    min_members: Annotated[int, Field(ge=0)] = 0
    max_members: Annotated[int | None, Field(ge=1)] = None
    may_share_with: Annotated[
        tuple[Key, ...],
        Field(description="Components on whose allocation a member of this one may sit too"),
    ] = ()


class Topology(Input):
    """A shape of an instance, told by how many allocations its live members use."""

    key: Key
    title: Title
    description: Annotated[Sentence, Field(description="Said before a change leads here")] = ""
    min_allocations: Annotated[int, Field(ge=0)] = 1
    max_allocations: Annotated[int | None, Field(ge=1)] = None


class When(Input):
    """Holds when the input has this value at this pointer."""

    pointer: JsonPointer
    equals: JsonValue


class PlacementRule(Input):
    """Which field of an input names allocations, and for which component.

    The field is one allocation id or a list of them. Two rules that read the same field put
    members of two components on the same allocation; `may_share_with` must permit it.
    """

    pointer: JsonPointer
    component: Key
    when: Annotated[tuple[When, ...], Field(max_length=8, description="All must hold")] = ()


class Confirmation(Input):
    """What a person is asked before the operation is requested."""

    title: Title
    text: Annotated[str, Field(min_length=1, max_length=2000)]
    type_name: Annotated[bool, Field(description="The person types the instance's name")] = False


class StepSpec(Input):
    """A step the controller reports by this name."""

    name: Key
    title: Title
    deadline_seconds: Annotated[
        Seconds | None, Field(description="Longer than this is shown as stuck")
    ] = None


class GroupSpec(Input):
    """Bounds of an operation on many members."""

    max_members: Annotated[int, Field(ge=1, le=1000)] = 100
    max_parallel: Annotated[int, Field(ge=1, le=1000)] = 10


class ValidIn(Input):
    """Where an operation may be requested. An empty list says: in any."""

    instance_states: tuple[InstanceStatus, ...] = ()
    member_states: tuple[MemberStatus, ...] = ()
    topologies: tuple[Key, ...] = ()
    components: Annotated[
        tuple[Key, ...], Field(description="Members of which components it acts on")
    ] = ()


class OperationSpec(Input):
    """Something a person can ask of the app. `kind` is opaque to the platform."""

    kind: Key
    title: Title
    description: Sentence = ""
    purpose: Purpose
    target: TargetKind
    group: GroupSpec | None = None
    exclusive: Annotated[
        bool, Field(description="No other operation of the instance runs at the same time")
    ] = False
    valid_in: ValidIn = ValidIn()
    input: InputSchema = EMPTY_INPUT
    placement: Annotated[tuple[PlacementRule, ...], Field(max_length=32)] = ()
    permissions: Annotated[
        PermissionKeys, Field(description="Needed beside the platform's own keys")
    ] = ()
    destructive: bool = False
    confirmation: Confirmation | None = None
    steps: Annotated[tuple[StepSpec, ...], Field(max_length=60)] = ()
    deadline_seconds: Annotated[Seconds, Field(description="Of one attempt, all steps")] = 3600
    max_attempts: Annotated[int, Field(ge=1, le=20)] = 3
    retry_after_seconds: Annotated[
        Seconds, Field(description="Wait before the second attempt; doubles with each further one")
    ] = 10
    cancellable: bool = True


class AppPermissions(Input):
    """Keys asked for beside the platform's own where no operation is requested."""

    read: Annotated[PermissionKeys, Field(description="To see instances of the app")] = ()
    operator: Annotated[
        PermissionKeys, Field(description="What the controller's service account must hold")
    ] = ()


class HealthWord(Input):
    """A word of the app's own health vocabulary and what it means in the generic one."""

    word: Annotated[str, Field(min_length=1, max_length=80)]
    health: Health
    meaning: Sentence = ""
    next_action: Sentence = ""


class BillingUnit(Input):
    """Usage the app causes or reports."""

    source: UsageSource
    unit: UsageUnit
    component: Key | None = None
    description: Sentence = ""


class ArtifactRequirement(Input):
    """Something the app installs, resolved through policy from an artifact source."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    type: Literal["oci", "blob"]
    version: Annotated[str, Field(max_length=100)] = ""
    digest: Annotated[str | None, Field(pattern=r"^sha256:[0-9a-f]{64}$")] = None
    source: Annotated[str, Field(max_length=500, description="Where it is taken from")] = ""
    components: tuple[Key, ...] = ()
    optional: bool = False


class UpgradeRule(Input):
    """What an upgrade to this version does. Supported when an operation has the purpose."""

    from_versions: Annotated[
        tuple[VersionPattern, ...], Field(description="Versions it can start from")
    ] = ()
    strategy: Literal["rolling", "restart", "recreate"] = "restart"
    snapshot: Annotated[bool, Field(description="State is saved before anything changes")] = True
    description: Sentence = ""


class RollbackRule(Input):
    """What going back to the version before does."""

    loses: Annotated[Sentence, Field(description="Said before a rollback is requested")]
    refused_when: Sentence = ""


class DeleteRule(Input):
    """What decommissioning does to data and machines."""

    destroys: Annotated[Sentence, Field(description="Said before a delete is requested")]
    verifies_absence: Annotated[
        bool, Field(description="The app proves that nothing of it is left on the machines")
    ]


class Lifecycle(Input):
    """Declared behaviour of the changes a person fears most."""

    upgrade: UpgradeRule | None = None
    rollback: RollbackRule | None = None
    delete: DeleteRule


class QueueSpec(Input):
    """The app runs jobs: it fulfils the generic queue."""

    resources: tuple[Literal["nodes", "cpus", "gpus", "memory", "time"], ...] = ("nodes", "time")
    logs: bool = True
    max_script_bytes: Annotated[int, Field(ge=1, le=65_536)] = 65_536
    submit: PermissionKeys = ()
    read: PermissionKeys = ()
    cancel: PermissionKeys = ()


class InputForm(Input):
    """An input form that is not an operation's."""

    title: Title
    description: Sentence = ""
    input: InputSchema = EMPTY_INPUT
    placement: Annotated[tuple[PlacementRule, ...], Field(max_length=32)] = ()
    permissions: PermissionKeys = ()


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

    manifest_version: Literal[1]
    summary: Sentence = ""
    package_version: Annotated[
        str, Field(max_length=100, description="Of what is installed; the observed one is read")
    ] = ""
    runtime_backend: Annotated[Key, Field(description="Opaque; what the app runs on")]
    operating_modes: Annotated[tuple[OperatingMode, ...], Field(min_length=1)]
    control_plane_scopes: Annotated[tuple[ControlPlaneScope, ...], Field(min_length=1)]
    machine_access: Annotated[tuple[MachineAccess, ...], Field(min_length=1)]
    components: Annotated[tuple[Component, ...], Field(min_length=1, max_length=32)]
    topologies: Annotated[tuple[Topology, ...], Field(min_length=1, max_length=16)]
    operations: Annotated[tuple[OperationSpec, ...], Field(min_length=2, max_length=64)]
    permissions: AppPermissions = AppPermissions()
    health: Annotated[tuple[HealthWord, ...], Field(min_length=1, max_length=64)]
    lifecycle: Lifecycle
    billing_units: Annotated[tuple[BillingUnit, ...], Field(max_length=16)] = ()
    artifacts: Annotated[tuple[ArtifactRequirement, ...], Field(max_length=64)] = ()
    panels: Annotated[tuple[Panel, ...], Field(max_length=32)] = ()
    actions: Annotated[tuple[Action, ...], Field(max_length=64)] = ()
    queue: QueueSpec | None = None
    shared_runtime: SharedRuntimeFlow | None = None
    runbook_url: Url
    documentation_url: Url | None = None

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
