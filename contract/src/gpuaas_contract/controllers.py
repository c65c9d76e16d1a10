"""What an app's controller and the platform say to each other while work is done.

A claim gives a lease: a token that guards every report, and a fence that grows with each claim.
Whoever holds an old token gets `lease_lost` and stops. Pure.
"""

import json
from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from gpuaas_contract.apps import AppInstance, ErrorFamily, Id, Member, Operation
from gpuaas_contract.common import Input, Json, Model, Name, Severity, Text
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus, StepState

DETAIL_MAX_BYTES: Final = 64 * 1024
MAX_CLAIM: Final = 100
MAX_WAIT_SECONDS: Final = 30
MAX_STEPS: Final = 200


def _bounded(value: Json) -> Json:
    if len(json.dumps(value, separators=(",", ":")).encode()) > DETAIL_MAX_BYTES:
        raise ValueError(f"more than {DETAIL_MAX_BYTES} bytes of JSON")
    return value


BoundedJson = Annotated[
    Json, AfterValidator(_bounded), Field(description="At most 64 KiB as compact JSON")
]
Token = Annotated[str, Field(min_length=16, max_length=128)]
Line = Annotated[str, Field(max_length=500)]
LeaseSeconds = Annotated[int, Field(ge=5, le=600)]
Replica = Annotated[
    str, Field(min_length=1, max_length=128, description="Which replica of the controller this is")
]


class ControllerSelf(Input):
    """Who works: shown to people as the controller seen."""

    replica: Replica
    version: Annotated[str, Field(max_length=64)] = ""


class Claim(Input):
    """Ask for work. Waits when there is none, up to `wait_seconds`."""

    app_slug: Name
    controller: ControllerSelf
    project_id: Id | None = None
    instance_id: Id | None = None
    capacity: Annotated[int, Field(ge=1, le=MAX_CLAIM)] = 1
    lease_seconds: LeaseSeconds = 60
    wait_seconds: Annotated[float, Field(ge=0, le=MAX_WAIT_SECONDS)] = 0


class HeldLease(Model):
    """The lease as its holder sees it, once."""

    token: str
    until: datetime
    fence: int


class Claimed(Model):
    """One operation to work on, with everything it is about."""

    operation: Operation
    lease: HeldLease
    instance: AppInstance
    members: list[Member]


class Claims(Model):
    """What a claim got; empty when there was nothing in time."""

    items: list[Claimed]


class Heartbeat(Input):
    """Still at work."""

    lease_token: Token
    lease_seconds: LeaseSeconds = 60


class HeartbeatAnswer(Model):
    """How long the lease holds now, and whether to stop at the next safe point."""

    until: datetime
    cancel_requested: bool


class StepReport(Input):
    """A step's present state. Reported again, it replaces what was said before."""

    name: Annotated[str, Field(min_length=1, max_length=128)]
    state: StepState
    message: Text = ""
    deadline_seconds: Annotated[
        int | None, Field(ge=1, le=7 * 86_400, description="From its start; the manifest's if none")
    ] = None


class DetailReport(Input):
    """The app's own words about itself."""

    summary: Line = ""
    severity: Severity = Severity.INFO
    detail: BoundedJson = Field(default_factory=dict)


class ConditionReport(Input):
    """A fact beside the status. Its `since` is kept for as long as it holds."""

    type: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
    reason: Line = ""
    message: Text = ""
    next_action: Line = ""


class AbsenceReport(Input):
    """Whether it was verified that nothing of the runtime is left, and by what."""

    runtime_verified_absent: bool
    evidence: BoundedJson = Field(default_factory=dict)


class InstanceReport(Input):
    """What is now true of the instance; what is left out stays as it was."""

    status: InstanceStatus | None = None
    health: Health | None = None
    conditions: Annotated[
        list[ConditionReport] | None,
        Field(max_length=50, description="All of the app's own; replaces those before"),
    ] = None
    adapter_detail: DetailReport | None = None
    runtime_version: Annotated[str | None, Field(max_length=100)] = None
    access: BoundedJson | None = None
    settings_revision: Annotated[
        int | None, Field(ge=1, description="The settings that are applied now")
    ] = None


class MemberReport(Input):
    """What is now true of a member; what is left out stays as it was."""

    member_id: Id
    status: MemberStatus | None = None
    health: Health | None = None
    conditions: Annotated[list[ConditionReport] | None, Field(max_length=50)] = None
    adapter_detail: DetailReport | None = None
    runtime_version: Annotated[str | None, Field(max_length=100)] = None
    node: Annotated[str | None, Field(max_length=253)] = None
    absence: AbsenceReport | None = None


class Report(Input):
    """Progress of an operation: all of it is written, or nothing."""

    lease_token: Token
    steps: Annotated[list[StepReport], Field(max_length=MAX_STEPS)] = Field(default_factory=list)
    instance: InstanceReport | None = None
    members: Annotated[list[MemberReport], Field(max_length=1000)] = Field(default_factory=list)
    lease_seconds: LeaseSeconds | None = None


class Completion(Report):
    """The work is done, with a last report."""


class Cancellation(Report):
    """The work was stopped at a safe point because that was asked for, with a last report."""

    message: Text = ""


class Failure(Report):
    """The attempt failed, with a last report."""

    code: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_.]{0,62}$")]
    message: Text
    family: ErrorFamily
    retryable: bool = True
    instance_usable: bool = True
    retry_after_seconds: Annotated[
        float | None, Field(ge=0, le=86_400, description="The manifest's when absent")
    ] = None
    detail: BoundedJson = Field(default_factory=dict)


class Release(Input):
    """Hand the lease back: the attempt is not counted. For a controller that shuts down."""

    lease_token: Token


class Observe(Input):
    """Become, or stay, the one replica that reports on an instance outside operations."""

    controller: ControllerSelf
    lease_token: Token | None = None
    lease_seconds: Annotated[
        int, Field(ge=0, le=600, description="0 hands the lease back: another may look at once")
    ] = 60


class ObserverLease(Model):
    """The observer's lease, as its holder sees it."""

    token: str
    until: datetime


class Observation(Input):
    """What the observer sees: all of it is written, or nothing."""

    lease_token: Token
    instance: InstanceReport | None = None
    members: Annotated[list[MemberReport], Field(max_length=1000)] = Field(default_factory=list)
