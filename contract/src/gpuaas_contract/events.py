"""Events: CloudEvents 1.0 in structured JSON, the filters of lists and streams, webhooks.

Read by whoever follows the platform. Events are hints: state is read, not taken from them. The same
event may come twice (a resumed stream, a repeated delivery); its `id` says that it is the same.
Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Final, Literal

from pydantic import ConfigDict, Field

from gpuaas_contract.common import MAX_PAGE, Input, Model, Text

CLOUDEVENTS_MEDIA_TYPE: Final = "application/cloudevents+json"
EVENT_STREAM_MEDIA_TYPE: Final = "text/event-stream"
LAST_EVENT_HEADER: Final = "Last-Event-ID"
WEBHOOK_ID_HEADER: Final = "webhook-id"
WEBHOOK_TIMESTAMP_HEADER: Final = "webhook-timestamp"
WEBHOOK_SIGNATURE_HEADER: Final = "webhook-signature"
WEBHOOK_SECRET_PREFIX: Final = "whsec_"

TypePrefix = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$",
        max_length=200,
        description="A type of event, or its first words: `apps.instance` takes all of its events",
        examples=["apps.instance"],
    ),
]
Id = Annotated[str, Field(min_length=1, max_length=128)]
Types = Annotated[list[TypePrefix], Field(max_length=20)]


class EventData(Model):
    """What an event tells. The five context fields are always there; more depend on its type."""

    model_config = ConfigDict(frozen=True, extra="allow")

    correlation_id: str
    org_id: str | None
    project_id: str | None
    app_slug: str | None
    app_instance_id: str | None


class CloudEvent(Model):
    """One event. The context stands in `data` under its full names and, because attribute names of
    CloudEvents have no underscore, beside it as extension attributes for routers that read no data.
    """

    specversion: Literal["1.0"]
    id: Annotated[str, Field(description="The same event always has the same id")]
    source: str
    type: Annotated[str, Field(examples=["apps.instance.running"])]
    subject: Annotated[str, Field(description="Id of what the event is about")]
    time: datetime
    datacontenttype: Literal["application/json"]
    sequence: Annotated[
        str, Field(description="Place in the platform's one order of events; resume behind it")
    ]
    correlationid: str
    orgid: str | None = None
    projectid: str | None = None
    appslug: str | None = None
    appinstanceid: str | None = None
    traceparent: str | None = None
    data: EventData


class EventFilter(Input):
    """Which events are wanted; every field that is given must match."""

    type: Types = []
    org_id: Id | None = None
    project_id: Id | None = None
    app_slug: Id | None = None
    app_instance_id: Id | None = None
    correlation_id: Id | None = None


class EventListQuery(EventFilter):
    """The query of the list of events: newest first, or oldest first behind `after`."""

    after: Annotated[int | None, Field(ge=0, description="Only events behind this sequence")] = None
    cursor: Annotated[
        str | None, Field(max_length=500, description="`next_cursor` of the page before")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page at most")] = 100


class EventStreamQuery(EventFilter):
    """The query of the stream of events."""

    after: Annotated[
        int | None,
        Field(ge=0, description="Begin behind this sequence; the header Last-Event-ID wins"),
    ] = None


class StreamGap(Model):
    """Data of the stream's own event `stream.gap`: what came between is no longer kept."""

    after: int
    first_kept: int


class WebhookStatus(StrEnum):
    """Whether a webhook is served."""

    ACTIVE = "active"
    DISABLED = "disabled"


class DeliveryStatus(StrEnum):
    """How one delivery stands."""

    DELIVERED = "delivered"
    FAILED = "failed"
    DEAD = "dead"
    REDELIVERING = "redelivering"


class WebhookFilter(Input):
    """Which events of its project or tenant a webhook takes."""

    types: Types = []
    app_slug: Id | None = None
    app_instance_id: Id | None = None


Url = Annotated[
    str,
    Field(
        max_length=2000, pattern=r"^https?://[^\s]+$", examples=["https://receiver.example/hook"]
    ),
]


class WebhookCreate(Input):
    """A new webhook. Its secret is made by the platform and shown once, in the answer."""

    url: Url
    description: Text = ""
    filter: WebhookFilter = WebhookFilter()


class WebhookUpdate(Input):
    """Changes of a webhook; what is not given stays. Enabling clears its failures."""

    url: Url | None = None
    description: Text | None = None
    filter: WebhookFilter | None = None
    status: WebhookStatus | None = None


class Webhook(Model):
    """A place events are delivered to, in order, until it answers 2xx."""

    id: str
    org_id: str
    project_id: str | None
    url: str
    description: str
    filter: WebhookFilter
    status: WebhookStatus
    disabled_reason: str
    delivered_sequence: Annotated[int, Field(description="Events up to here are dealt with")]
    failing_since: datetime | None
    failures: Annotated[int, Field(description="Failed attempts in a row")]
    next_attempt_at: datetime | None
    last_error: str
    revision: int
    created_at: datetime
    updated_at: datetime


class WebhookWithSecret(Model):
    """A webhook and its signing secret, which is shown this once."""

    webhook: Webhook
    secret: Annotated[str, Field(description="Key of the HMAC, as in the Standard Webhooks scheme")]


class WebhookDelivery(Model):
    """One event on its way to one webhook."""

    id: str
    webhook_id: str
    event_id: str
    event_type: str
    sequence: int
    status: DeliveryStatus
    attempts: int
    response_status: int | None
    error: str
    at: datetime


class Redelivered(Model):
    """How many dead deliveries were put back on their way."""

    count: int
