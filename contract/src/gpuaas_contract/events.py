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

    correlation_id: Annotated[str, Field(description="Of the request that caused it")]
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
    source: Annotated[str, Field(description="The platform's address")]
    type: Annotated[str, Field(examples=["apps.instance.running"])]
    subject: Annotated[str, Field(description="Id of what the event is about")]
    time: datetime
    datacontenttype: Literal["application/json"]
    sequence: Annotated[
        str, Field(description="Place in the platform's one order of events; resume behind it")
    ]
    correlationid: Annotated[str, Field(description="Of the request that caused it")]
    orgid: str | None = None
    projectid: str | None = None
    appslug: str | None = None
    appinstanceid: str | None = None
    traceparent: Annotated[
        str | None, Field(description="W3C trace context of the request that caused it")
    ] = None
    data: EventData


class EventFilter(Input):
    """Which events are wanted; every field that is given must match."""

    type: Annotated[
        Types, Field(description="Only of these types; each a type or its first words")
    ] = []
    org_id: Annotated[Id | None, Field(description="Only of this tenant")] = None
    project_id: Annotated[Id | None, Field(description="Only of this project")] = None
    app_slug: Annotated[Id | None, Field(description="Only of this app")] = None
    app_instance_id: Annotated[Id | None, Field(description="Only of this instance")] = None
    correlation_id: Annotated[Id | None, Field(description="Only under this correlation id")] = None


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
    above: Annotated[
        bool,
        Field(description="With `project_id`: also what is of no project, but of its surroundings"),
    ] = False


class StreamGap(Model):
    """Data of the stream's own event `stream.gap`: what came between is no longer kept."""

    after: Annotated[int, Field(description="The sequence that was asked for")]
    first_kept: Annotated[int, Field(description="The first sequence that can still be read")]


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

    types: Annotated[
        Types, Field(description="Only of these types, or their first words; all when empty")
    ] = []
    app_slug: Annotated[Id | None, Field(description="Only of this app")] = None
    app_instance_id: Annotated[Id | None, Field(description="Only of this instance")] = None


Url = Annotated[
    str,
    Field(
        max_length=2000, pattern=r"^https?://[^\s]+$", examples=["https://receiver.example/hook"]
    ),
]


class WebhookCreate(Input):
    """A new webhook. Its secret is made by the platform and shown once, in the answer."""

    url: Annotated[Url, Field(description="Where events are sent by POST")]
    description: Annotated[Text, Field(description="What it is for")] = ""
    filter: Annotated[
        WebhookFilter, Field(description="Which events it gets; all of its place unless narrowed")
    ] = WebhookFilter()


class WebhookUpdate(Input):
    """Changes of a webhook; what is not given stays. Enabling clears its failures."""

    url: Annotated[Url | None, Field(description="Where events are sent from now on")] = None
    description: Annotated[Text | None, Field(description="What it is for")] = None
    filter: Annotated[
        WebhookFilter | None, Field(description="Which events it gets; replaces the one before")
    ] = None
    status: Annotated[
        WebhookStatus | None,
        Field(description="`disabled` stops it; `active` lets it go on and clears failures"),
    ] = None


class Webhook(Model):
    """A place events are delivered to, in order, until it answers 2xx."""

    id: str
    org_id: str
    project_id: Annotated[
        str | None, Field(description="Null: it gets the events of the whole tenant")
    ]
    url: str
    description: str
    filter: WebhookFilter
    status: WebhookStatus
    disabled_reason: Annotated[str, Field(description="Why it is disabled")]
    delivered_sequence: Annotated[int, Field(description="Events up to here are dealt with")]
    failing_since: Annotated[datetime | None, Field(description="When its failures in a row began")]
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
    response_status: Annotated[
        int | None, Field(description="HTTP status of the last answer; null: there was none")
    ]
    error: Annotated[str, Field(description="Why the last attempt failed")]
    at: datetime


class Redelivered(Model):
    """How many dead deliveries were put back on their way."""

    count: int
