"""A row of the events as a CloudEvent: for lists, streams, webhooks and NATS alike. Pure.

Called once per event and process; what is sent to many is encoded once.
"""

from dataclasses import dataclass
from datetime import UTC
from typing import Any, Final, Protocol

import msgspec

from gpuaas_platform.kernel.settings import Settings

DEFAULT_SOURCE: Final = "/gpuaas"
_EXTENSIONS: Final = (
    ("orgid", "org_id"),
    ("projectid", "project_id"),
    ("appslug", "app_slug"),
    ("appinstanceid", "app_instance_id"),
    ("traceparent", "traceparent"),
)


class Row(Protocol):
    """A row of the events."""

    def __getitem__(self, name: str, /) -> Any:  # noqa: ANN401 - a column of any type
        ...


@dataclass(frozen=True, slots=True)
class Frame:
    """One event, encoded for the wire, with what decides who gets it."""

    seq: int
    type: str
    org_id: str | None
    project_id: str | None
    app_slug: str | None
    app_instance_id: str | None
    correlation_id: str
    sse: bytes


def source_of(settings: Settings) -> str:
    """What names this installation in its events; the same for all replicas."""
    return settings.public_url or DEFAULT_SOURCE


def cloud_event(row: Row, source: str) -> dict[str, Any]:
    """The event in the form of the contract; attributes without a value are left out."""
    event = {
        "specversion": "1.0",
        "id": row["id"],
        "source": source,
        "type": row["type"],
        "subject": row["subject"],
        "time": row["at"].astimezone(UTC),
        "datacontenttype": "application/json",
        "sequence": str(row["seq"]),
        "correlationid": row["correlation_id"],
    }
    for attribute, column in _EXTENSIONS:
        if row[column]:
            event[attribute] = row[column]
    event["data"] = row["data"] | {
        "correlation_id": row["correlation_id"],
        "org_id": row["org_id"],
        "project_id": row["project_id"],
        "app_slug": row["app_slug"],
        "app_instance_id": row["app_instance_id"],
    }
    return event


def event_json(row: Row, source: str) -> bytes:
    """The event as structured JSON."""
    return msgspec.json.encode(cloud_event(row, source))


def event_frame(row: Row, source: str) -> Frame:
    """The event as a message of a `text/event-stream`."""
    body = event_json(row, source)  # JSON has no raw line break: it is one `data` line
    return Frame(
        seq=row["seq"],
        type=row["type"],
        org_id=row["org_id"],
        project_id=row["project_id"],
        app_slug=row["app_slug"],
        app_instance_id=row["app_instance_id"],
        correlation_id=row["correlation_id"],
        sse=b"id: %d\nevent: %b\ndata: %b\n\n" % (row["seq"], row["type"].encode(), body),
    )
