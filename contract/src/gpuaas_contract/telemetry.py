"""Log lines and spans a controller hands to the platform, for the timeline of their correlation id.

Best effort on both sides: a sender never waits for it, the platform keeps a bounded number of them
for a while and says how many it did not keep. Pure.
"""

from enum import StrEnum
from typing import Annotated, Final

from pydantic import AwareDatetime, Field

from gpuaas_contract.common import CORRELATION_PATTERN, Input, Model

LINE_MAX: Final = 4000
BATCH_MAX: Final = 200
FIELDS_MAX: Final = 24
FIELD_VALUE_MAX: Final = 500

Id = Annotated[str, Field(min_length=1, max_length=64)]
SpanId = Annotated[str, Field(min_length=1, max_length=200)]
Fields = Annotated[
    dict[
        Annotated[str, Field(min_length=1, max_length=64)],
        Annotated[str, Field(max_length=FIELD_VALUE_MAX)],
    ],
    Field(max_length=FIELDS_MAX, description="More about it; readable by others, so no secrets"),
]


class LogLevel(StrEnum):
    """How much a line matters."""

    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class SpanOutcome(StrEnum):
    """How what took so long ended."""

    OK = "ok"
    ERROR = "error"


class _About(Input):
    """What a line or a span is about."""

    app_instance_id: Annotated[Id, Field(description="The instance it is about")]
    correlation_id: Annotated[
        str,
        Field(pattern=CORRELATION_PATTERN, description="Of the instance or one of its operations"),
    ]
    at: Annotated[
        AwareDatetime, Field(description="By the sender's clock; of a span, its beginning")
    ]


class TelemetryLine(_About):
    """A log line."""

    level: Annotated[LogLevel, Field(description="How much it matters")]
    message: Annotated[
        str, Field(max_length=LINE_MAX, description="The line, without time and level")
    ]
    span_id: Annotated[SpanId | None, Field(description="The span it was written in")] = None
    fields: Fields = {}


class TelemetrySpan(_About):
    """Something that took a while and has ended."""

    id: Annotated[SpanId, Field(description="Unlike any other span's")]
    parent_id: Annotated[
        SpanId | None,
        Field(
            description="Another span, an operation's id, or one of its steps",
            examples=["op_01/preflight"],
        ),
    ] = None
    name: Annotated[str, Field(min_length=1, max_length=200, description="What took so long")]
    seconds: Annotated[float, Field(ge=0, le=1e8, description="How long it took")]
    outcome: Annotated[SpanOutcome, Field(description="How it ended")] = SpanOutcome.OK
    fields: Fields = {}


class TelemetryDropped(_About):
    """Lines and spans the sender had no room for; `at` is when the last of them was."""

    count: Annotated[int, Field(ge=1, le=10**9, description="How many were dropped")]


class TelemetrySend(Input):
    """A batch; sent again it is not kept again."""

    batch: Annotated[str, Field(pattern=r"^[0-9a-f]{16,32}$", description="Unlike any other")]
    replica: Annotated[
        str, Field(min_length=1, max_length=128, description="Which process sends it")
    ]
    sent_at: Annotated[
        AwareDatetime,
        Field(description="By the sender's clock, which the platform compares with its own"),
    ]
    lines: Annotated[list[TelemetryLine], Field(max_length=BATCH_MAX, description="Log lines")] = []
    spans: Annotated[
        list[TelemetrySpan], Field(max_length=BATCH_MAX, description="Spans that have ended")
    ] = []
    dropped: Annotated[
        list[TelemetryDropped],
        Field(max_length=BATCH_MAX, description="What the sender had no room for"),
    ] = []


class TelemetryTaken(Model):
    """What became of a batch."""

    kept: Annotated[int, Field(description="Lines and spans that are in their timelines now")]
    refused: Annotated[
        int,
        Field(
            description="Those about an instance you do not control, or under a correlation id that"
            " is neither the instance's nor an operation's of it"
        ),
    ]
