"""What the operate room speaks: health, the timeline of a correlation id, the gap log.

The timeline answers the questions of an incident without a database shell: which instance, which
member, which operation, which correlation id, what the adapter says. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from gpuaas_contract.apps import AdapterDetail, NextAction, OperationError
from gpuaas_contract.common import (
    CORRELATION_PATTERN,
    Condition,
    Input,
    Json,
    Model,
    Revision,
    Scope,
    Text,
)
from gpuaas_contract.states import Health, InstanceStatus, MemberStatus, OperationStatus


class Live(Model):
    """The process runs."""

    status: Literal["live"] = "live"


class Check(Model):
    """One thing the platform needs, and whether it is there."""

    name: Annotated[str, Field(examples=["database"])]
    ok: bool
    detail: str = ""


class Readiness(Model):
    """Whether the platform can do its work, and what is missing if not."""

    status: Literal["ready", "not_ready"]
    checks: list[Check]


class Version(Model):
    """Which platform this is."""

    version: str
    schema_revision: Annotated[
        int, Field(description="Of the database: the last migration that ran")
    ]


class Replica(Model):
    """A process of the platform that is connected to the database."""

    name: Annotated[str, Field(description="Host and process, as the process names itself")]
    version: str
    this_one: Annotated[bool, Field(description="It is the one that answered")]


class DutyHolder(Model):
    """A duty one replica does at a time, and which one does it."""

    duty: Annotated[str, Field(examples=["relay"])]
    holder: Annotated[str | None, Field(description="Replica; null while nobody does it")]


class QueueDepth(Model):
    """Things that wait for their turn, and since when the oldest does."""

    name: Annotated[str, Field(examples=["outbox"])]
    depth: Annotated[int, Field(description="How many wait")]
    oldest_seconds: Annotated[float | None, Field(description="Null when nothing waits")] = None


class ControllerCount(Model):
    """Controllers of one app: how many are at work, how many have not been seen for a while."""

    app_slug: str
    present: int
    absent: int


class PlatformHealth(Model):
    """The platform as its operators see it; tells of no tenant."""

    version: str
    schema_revision: int
    readiness: Readiness
    replicas: list[Replica]
    duties: list[DutyHolder]
    queues: list[QueueDepth]
    operations: Annotated[
        dict[OperationStatus, int], Field(description="Operations that are not at their end")
    ]
    webhooks_failing: int
    webhook_deliveries_dead: int
    controllers: list[ControllerCount]


class TimelineKind(StrEnum):
    """What an entry of a timeline is."""

    REQUEST = "request"
    AUDIT = "audit"
    ALLOCATION = "allocation"
    ARTIFACT = "artifact"
    ARTIFACT_DELIVERY = "artifact_delivery"
    INSTANCE = "instance"
    MEMBER = "member"
    OPERATION = "operation"
    STEP = "step"
    TASK = "task"
    EVENT = "event"
    LOG = "log"
    SPAN = "span"


class EntrySpan(Model):
    """How long something took, and what it was part of."""

    id: str
    parent_id: Annotated[
        str | None, Field(description="The span it was part of; null where none is known")
    ] = None
    at: Annotated[datetime, Field(description="When it began")]
    seconds: Annotated[float | None, Field(description="Null while it goes on")] = None


class TimelineEntry(Model):
    """One thing that carries the correlation id."""

    at: datetime
    kind: TimelineKind
    id: str
    title: Annotated[str, Field(description="One sentence for people")]
    status: Annotated[str, Field(description="Status, state or outcome, as the thing has it now")]
    actor: Annotated[str | None, Field(description="Who did it or asked for it")] = None
    scope: Scope
    links: Annotated[
        dict[str, str], Field(description="Paths of the API that tell more", examples=[{}])
    ] = {}
    detail: Json = {}
    span: Annotated[
        EntrySpan | None, Field(description="Of what has a length: spans, and what is one too")
    ] = None


class AffectedInstance(Model):
    """The instance in question."""

    id: str
    resource_name: str
    app_slug: str
    status: InstanceStatus
    health: Health
    conditions: list[Condition] = []
    link: str


class AffectedMember(Model):
    """The member in question."""

    id: str
    component_key: str
    allocation_id: str
    status: MemberStatus
    health: Health
    conditions: list[Condition] = []
    link: str


class AffectedOperation(Model):
    """The operation in question."""

    id: str
    kind: str
    status: OperationStatus
    attempt: int
    max_attempts: int
    step: Annotated[
        str, Field(description="The step it is at or failed at; empty before the first")
    ]
    error: OperationError | None = None
    conditions: list[Condition] = []
    next_actions: Annotated[list[NextAction], Field(description="The ways out")] = []
    link: str


class Diagnosis(Model):
    """The questions of an incident, each answered where it can be."""

    instance: AffectedInstance | None = None
    member: AffectedMember | None = None
    operation: AffectedOperation | None = None
    correlation_id: str
    adapter_detail: AdapterDetail | None = None


class Timeline(Model):
    """Everything that carries one correlation id and that the caller may see, in order."""

    correlation_id: str
    revision: Annotated[
        str,
        Field(description="Changes when this page reads differently; wait behind it with `after`"),
    ]
    trace_ids: Annotated[list[str], Field(description="W3C trace ids to look up traces by")]
    diagnoses: Annotated[
        list[Diagnosis],
        Field(description="What failed comes first, then what is under way; ten at most"),
    ]
    entries: list[TimelineEntry]
    next_cursor: Annotated[
        str | None, Field(description="Send it as `cursor` for what follows; null: that is all")
    ] = None


class NamesQuery(Input):
    """The ids of things whose names are wanted."""

    id: Annotated[
        list[Annotated[str, Field(min_length=1, max_length=64)]],
        Field(min_length=1, max_length=100, description="Ids, of several kinds; 100 at most"),
    ]


class Name(Model):
    """What people call the thing with this id."""

    id: str
    name: Annotated[str, Field(examples=["Ada Lovelace", "worker on n2"])]


class Names(Model):
    """Names of those that are there and that the caller may see; the others are left out."""

    items: list[Name]


class GapCategory(StrEnum):
    """What kind of gap was met; the first seven are the platform's to close."""

    MISSING_PRIMITIVE = "missing_primitive"
    MISSING_READ_MODEL = "missing_read_model"
    MISSING_IDENTITY_CAPABILITY = "missing_identity_capability"
    LEAKY_COUPLING = "leaky_coupling"
    MISSING_PERMISSION = "missing_permission"
    MISSING_EVENT = "missing_event"
    MISSING_BILLING_HOOK = "missing_billing_hook"
    APP_PROBLEM = "app_problem"
    ENVIRONMENT_PROBLEM = "environment_problem"


class GapStatus(StrEnum):
    """Whether the gap is still there."""

    OPEN = "open"
    CLOSED = "closed"


Evidence = Annotated[str, Field(max_length=20_000)]
Id = Annotated[str, Field(min_length=1, max_length=64)]


class GapEvidence(Input):
    """What was asked, what came back. Credentials in it are masked before it is stored."""

    request: Annotated[
        Evidence, Field(examples=["POST /api/v1/app-instances …"], description="What was asked")
    ] = ""
    answer: Annotated[
        Evidence, Field(examples=["409 state_conflict …"], description="What came back")
    ] = ""
    correlation_id: Annotated[
        str | None, Field(pattern=CORRELATION_PATTERN, description="Of what was asked")
    ] = None


class GapCreate(Input):
    """Something that failed or felt awkward, said where it happened: in a project, or a tenant."""

    category: Annotated[GapCategory, Field(description="What is missing or in the way")]
    title: Annotated[str, Field(min_length=1, max_length=200, description="In one line")]
    description: Annotated[Text, Field(description="What you wanted, and what was awkward")] = ""
    org_id: Annotated[Id | None, Field(description="The tenant it was met in")] = None
    project_id: Annotated[Id | None, Field(description="The project it was met in")] = None
    app_slug: Annotated[str | None, Field(max_length=64, description="The app it was met with")] = (
        None
    )
    evidence: Annotated[GapEvidence, Field(description="What shows it")] = GapEvidence()


class GapUpdate(Input):
    """Close a gap, open it again, or say it better; what is not given stays."""

    status: Annotated[GapStatus | None, Field(description="`closed`, or `open` again")] = None
    resolution: Annotated[Text | None, Field(description="How it was closed")] = None
    category: Annotated[GapCategory | None, Field(description="What is missing or in the way")] = (
        None
    )
    title: Annotated[str | None, Field(min_length=1, max_length=200, description="In one line")] = (
        None
    )
    description: Annotated[
        Text | None, Field(description="What was wanted, and what was awkward")
    ] = None


class Gap(Model):
    """An entry of the gap log."""

    id: str
    scope: Scope
    category: GapCategory
    title: str
    description: str
    app_slug: str | None
    evidence: GapEvidence
    status: GapStatus
    resolution: str
    reported_by: str
    created_at: datetime
    closed_by: str | None
    closed_at: datetime | None
    revision: Revision
    correlation_id: Annotated[str, Field(description="Of the request that logged the gap")]
