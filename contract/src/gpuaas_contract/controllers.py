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
    version: Annotated[
        str, Field(max_length=64, description="Of the controller; shown to people")
    ] = ""


class Claim(Input):
    """Ask for work. Waits when there is none, up to `wait_seconds`."""

    app_slug: Annotated[Name, Field(description="The app it works for")]
    controller: Annotated[ControllerSelf, Field(description="Who claims")]
    project_id: Annotated[Id | None, Field(description="Only of this project")] = None
    instance_id: Annotated[Id | None, Field(description="Only of this instance")] = None
    capacity: Annotated[
        int, Field(ge=1, le=MAX_CLAIM, description="How many operations it takes at most")
    ] = 1
    lease_seconds: Annotated[
        LeaseSeconds, Field(description="How long each is held without a heartbeat or report")
    ] = 60
    wait_seconds: Annotated[
        float,
        Field(
            ge=0, le=MAX_WAIT_SECONDS, description="How long to wait for work when there is none"
        ),
    ] = 0


class HeldLease(Model):
    """The lease as its holder sees it, once."""

    token: Annotated[str, Field(description="Guards every report of this operation")]
    until: datetime
    fence: Annotated[int, Field(description="Grows with every claim of the operation")]


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

    lease_token: Annotated[Token, Field(description="Of the claim")]
    lease_seconds: Annotated[LeaseSeconds, Field(description="How long it is held from now on")] = (
        60
    )


class HeartbeatAnswer(Model):
    """How long the lease holds now, and whether to stop at the next safe point."""

    until: datetime
    cancel_requested: bool


class StepReport(Input):
    """A step's present state. Reported again, it replaces what was said before."""

    name: Annotated[
        str, Field(min_length=1, max_length=128, description="As the manifest names the step")
    ]
    state: Annotated[StepState, Field(description="Where it stands")]
    message: Annotated[Text, Field(description="What people read beside it")] = ""
    deadline_seconds: Annotated[
        int | None, Field(ge=1, le=7 * 86_400, description="From its start; the manifest's if none")
    ] = None


class DetailReport(Input):
    """The app's own words about itself."""

    summary: Annotated[Line, Field(description="One line for people")] = ""
    severity: Annotated[Severity, Field(description="How loudly it is shown")] = Severity.INFO
    detail: Annotated[
        BoundedJson, Field(description="What panels read; 64 KiB at most as compact JSON")
    ] = Field(default_factory=dict)


class ConditionReport(Input):
    """A fact beside the status. Its `since` is kept for as long as it holds."""

    type: Annotated[
        str,
        Field(pattern=r"^[a-z][a-z0-9_]{0,62}$", description="What holds: a word of the app's own"),
    ]
    reason: Annotated[Line, Field(description="Why, in a word for programs")] = ""
    message: Annotated[Text, Field(description="Why, in words for people")] = ""
    next_action: Annotated[Line, Field(description="What to do about it")] = ""


class AbsenceReport(Input):
    """Whether it was verified that nothing of the runtime is left, and by what."""

    runtime_verified_absent: Annotated[
        bool, Field(description="It was looked for, and nothing was found")
    ]
    evidence: Annotated[
        BoundedJson, Field(description="What was looked at and found; 64 KiB at most")
    ] = Field(default_factory=dict)


class InstanceReport(Input):
    """What is now true of the instance; what is left out stays as it was."""

    status: Annotated[
        InstanceStatus | None, Field(description="Only where it may follow on the present one")
    ] = None
    health: Annotated[Health | None, Field(description="In the generic words")] = None
    conditions: Annotated[
        list[ConditionReport] | None,
        Field(max_length=50, description="All of the app's own; replaces those before"),
    ] = None
    adapter_detail: Annotated[
        DetailReport | None, Field(description="Replaces what was said before")
    ] = None
    runtime_version: Annotated[
        str | None, Field(max_length=100, description="As the runtime itself says it")
    ] = None
    access: Annotated[
        BoundedJson | None,
        Field(description="How to use what runs here; 64 KiB at most, and no secrets"),
    ] = None
    settings_revision: Annotated[
        int | None, Field(ge=1, description="The settings that are applied now")
    ] = None


class MemberReport(Input):
    """What is now true of a member; what is left out stays as it was."""

    member_id: Annotated[Id, Field(description="Which member")]
    status: Annotated[
        MemberStatus | None, Field(description="Only where it may follow on the present one")
    ] = None
    health: Annotated[Health | None, Field(description="In the generic words")] = None
    conditions: Annotated[
        list[ConditionReport] | None,
        Field(max_length=50, description="All of the app's own; replaces those before"),
    ] = None
    adapter_detail: Annotated[
        DetailReport | None, Field(description="Replaces what was said before")
    ] = None
    runtime_version: Annotated[
        str | None, Field(max_length=100, description="As the runtime itself says it")
    ] = None
    node: Annotated[
        str | None, Field(max_length=253, description="How the app names the machine")
    ] = None
    absence: Annotated[
        AbsenceReport | None,
        Field(description="Whether anything of the runtime is left on the machine"),
    ] = None


class Report(Input):
    """Progress of an operation: all of it is written, or nothing."""

    lease_token: Annotated[Token, Field(description="Of the claim")]
    steps: Annotated[
        list[StepReport], Field(max_length=MAX_STEPS, description="Steps that have moved")
    ] = Field(default_factory=list)
    instance: Annotated[
        InstanceReport | None, Field(description="What is now true of the instance")
    ] = None
    members: Annotated[
        list[MemberReport], Field(max_length=1000, description="What is now true of members")
    ] = Field(default_factory=list)
    lease_seconds: Annotated[
        LeaseSeconds | None,
        Field(description="How long the operation is held from now on; as before if left out"),
    ] = None


class Completion(Report):
    """The work is done, with a last report."""


class Cancellation(Report):
    """The work was stopped at a safe point because that was asked for, with a last report."""

    message: Annotated[Text, Field(description="Where it was stopped, in words for people")] = ""


class Failure(Report):
    """The attempt failed, with a last report."""

    code: Annotated[
        str,
        Field(
            pattern=r"^[a-z][a-z0-9_.]{0,62}$",
            description="A word for programs; the runbook explains it",
        ),
    ]
    message: Annotated[
        Text, Field(description="What went wrong and what to do, in words for people")
    ]
    family: Annotated[
        ErrorFamily, Field(description="Only what is `temporary` is tried again by itself")
    ]
    retryable: Annotated[
        bool, Field(description="False: not tried again by itself, whatever its family")
    ] = True
    instance_usable: Annotated[bool, Field(description="What ran before still runs")] = True
    retry_after_seconds: Annotated[
        float | None, Field(ge=0, le=86_400, description="The manifest's when absent")
    ] = None
    detail: Annotated[BoundedJson, Field(description="More about it; 64 KiB at most")] = Field(
        default_factory=dict
    )


class Release(Input):
    """Hand the lease back: the attempt is not counted. For a controller that shuts down."""

    lease_token: Annotated[Token, Field(description="Of the claim")]


class Observe(Input):
    """Become, or stay, the one replica that reports on an instance outside operations."""

    controller: Annotated[ControllerSelf, Field(description="Who would look")]
    lease_token: Annotated[
        Token | None, Field(description="Of the lease it holds; left out when it holds none")
    ] = None
    lease_seconds: Annotated[
        int, Field(ge=0, le=600, description="0 hands the lease back: another may look at once")
    ] = 60


class ObserverLease(Model):
    """The observer's lease, as its holder sees it. Asked for again before every look."""

    token: str
    until: datetime
    mark: Annotated[
        str,
        Field(
            description="Where the instance's operations stand; said with what is seen from now on"
        ),
    ]
    revision: Annotated[
        int, Field(description="Of the instance; one that was read with another is read again")
    ]


class Observation(Input):
    """What the observer sees: all of it is written, or nothing."""

    lease_token: Annotated[Token, Field(description="Of the observer's lease")]
    mark: Annotated[
        str | None,
        Field(
            max_length=64,
            description="As the lease gave it before the look began. Once an operation of the"
            " instance was taken, said what is true or ended since, nothing is written and the"
            " answer is `observation_overtaken`. Left out, nobody can tell",
        ),
    ] = None
    instance: Annotated[
        InstanceReport | None, Field(description="What is now true of the instance")
    ] = None
    members: Annotated[
        list[MemberReport], Field(max_length=1000, description="What is now true of members")
    ] = Field(default_factory=list)
