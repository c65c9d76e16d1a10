"""The part of a manifest a screen is drawn from: panels of an instance, buttons, widgets.

The console and the CLI know no app; they draw what stands here. Values are bound by JSON pointer
to the public read models, so that an app needs no code in a shell. Part of `manifest.py`. Pure.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from gpuaas_contract.common import Input, Severity
from gpuaas_contract.pointers import JsonPointer

Key = Annotated[
    str,
    Field(
        pattern=r"^[a-z][a-z0-9_]{0,62}$",
        description="Lower-case letters, digits and underscores; starts with a letter",
        examples=["add_worker"],
    ),
]
Title = Annotated[str, Field(min_length=1, max_length=80)]
Sentence = Annotated[str, Field(max_length=500)]


class Widget(StrEnum):
    """What a field of an input form may ask to be shown as (`x-widget` in its schema)."""

    TEXT = "text"
    TEXTAREA = "textarea"
    CODE = "code"
    NUMBER = "number"
    SWITCH = "switch"
    SELECT = "select"
    RADIO = "radio"
    KEY_VALUE = "key_value"
    ALLOCATION_PICKER = "allocation_picker"
    PROJECT_PICKER = "project_picker"
    MEMBER_PICKER = "member_picker"
    CREDENTIAL_PICKER = "credential_picker"
    SECRET_PICKER = "secret_picker"
    SERVICE_ACCOUNT_PICKER = "service_account_picker"
    ARTIFACT_PICKER = "artifact_picker"
    VERSION_PICKER = "version_picker"


class PanelSource(StrEnum):
    """The read model a panel's pointers point into."""

    INSTANCE = "instance"
    MEMBERS = "members"
    OPERATIONS = "operations"
    QUEUES = "queues"
    JOBS = "jobs"
    SHARED_RUNTIME = "shared_runtime"


class ValueFormat(StrEnum):
    """How a value is shown."""

    TEXT = "text"
    CODE = "code"
    NUMBER = "number"
    BYTES = "bytes"
    PERCENT = "percent"
    DATETIME = "datetime"
    AGE = "age"
    DURATION = "duration"
    STATUS = "status"
    HEALTH = "health"
    LINK = "link"
    LIST = "list"
    JSON = "json"


class Fact(Input):
    """One labelled value."""

    label: Annotated[Title, Field(description="What people see")]
    pointer: Annotated[
        JsonPointer, Field(description="JSON pointer to the value in the panel's read model")
    ]
    format: Annotated[ValueFormat, Field(description="How the value is shown")] = ValueFormat.TEXT
    help: Annotated[Sentence, Field(description="What people read beside it")] = ""


class Column(Input):
    """One column of a table; the pointer starts at the row."""

    label: Annotated[Title, Field(description="Its heading")]
    pointer: Annotated[JsonPointer, Field(description="JSON pointer to the value in the row")]
    format: Annotated[ValueFormat, Field(description="How the values are shown")] = ValueFormat.TEXT


class Edge(Input):
    """A line of the topology picture between members of two components."""

    source: Annotated[Key, Field(description="Component the line begins at")]
    target: Annotated[Key, Field(description="Component the line ends at")]
    label: Annotated[Sentence, Field(description="What stands at the line")] = ""


class _Panel(Input):
    # No field is named like a kind: the location of an error holds both, the document only one.
    key: Annotated[Key, Field(description="The app's word for it")]
    title: Annotated[Title, Field(description="Its heading")]
    description: Annotated[Sentence, Field(description="What stands below the heading")] = ""
    source: Annotated[PanelSource, Field(description="The read model its pointers point into")] = (
        PanelSource.INSTANCE
    )
    empty: Annotated[Sentence, Field(description="Shown when there is nothing to show")] = ""


class FactsPanel(_Panel):
    """Labelled values."""

    kind: Annotated[Literal["facts"], Field(description="What it looks like")]
    items: Annotated[
        tuple[Fact, ...], Field(min_length=1, max_length=40, description="The values, in order")
    ]


class TablePanel(_Panel):
    """Rows of an array, or of an object's values."""

    kind: Annotated[Literal["table"], Field(description="What it looks like")]
    rows: Annotated[
        JsonPointer, Field(description="JSON pointer to the array or object in the read model")
    ] = ""
    columns: Annotated[
        tuple[Column, ...], Field(min_length=1, max_length=20, description="The columns, in order")
    ]


class StatusPanel(_Panel):
    """One status with its conditions, spelled by the health vocabulary."""

    kind: Annotated[Literal["status"], Field(description="What it looks like")]
    health: Annotated[JsonPointer, Field(description="JSON pointer to the health")] = "/health"
    summary: Annotated[JsonPointer, Field(description="JSON pointer to the line beside it")] = (
        "/adapter_detail/summary"
    )
    conditions: Annotated[
        JsonPointer,
        Field(
            description="JSON pointer to conditions; the instance's own stand on top of its page"
        ),
    ] = "/conditions"


class TopologyPanel(_Panel):
    """Members as boxes, grouped by component, joined by the edges named here."""

    kind: Annotated[Literal["topology"], Field(description="What it looks like")]
    edges: Annotated[
        tuple[Edge, ...], Field(max_length=40, description="Lines between the boxes")
    ] = ()
    label: Annotated[JsonPointer, Field(description="JSON pointer to what stands on a box")] = (
        "/resource_name"
    )


class QueuePanel(_Panel):
    """Queues and jobs of an app that runs jobs."""

    kind: Annotated[Literal["queue"], Field(description="What it looks like")]
    source: Annotated[
        Literal[PanelSource.JOBS, PanelSource.QUEUES], Field(description="Jobs or queues")
    ] = PanelSource.JOBS
    columns: Annotated[
        tuple[Column, ...], Field(max_length=20, description="The columns, in order")
    ] = ()


class MarkdownPanel(_Panel):
    """Text of the app's own: fixed, or taken from the read model."""

    kind: Annotated[Literal["markdown"], Field(description="What it looks like")]
    pointer: Annotated[
        JsonPointer | None, Field(description="JSON pointer to the text; or give `text`")
    ] = None
    text: Annotated[str, Field(max_length=20_000, description="Fixed text in Markdown")] = ""
    severity: Annotated[Severity, Field(description="How loudly it is shown")] = Severity.INFO


Panel = Annotated[
    FactsPanel | TablePanel | StatusPanel | TopologyPanel | QueuePanel | MarkdownPanel,
    Field(discriminator="kind"),
]


class ActionPlace(StrEnum):
    """Where a button stands."""

    INSTANCE = "instance"
    MEMBERS = "members"
    MEMBER = "member"


class Action(Input):
    """A button that requests an operation. Form, confirmation and validity are the operation's."""

    operation: Annotated[Key, Field(description="The operation's `kind`")]
    place: Annotated[ActionPlace, Field(description="Where the button stands")]
    label: Annotated[Title, Field(description="What stands on it")]
    primary: Annotated[bool, Field(description="It stands out from the others")] = False
