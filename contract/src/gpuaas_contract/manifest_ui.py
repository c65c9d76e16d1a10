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

    label: Title
    pointer: JsonPointer
    format: ValueFormat = ValueFormat.TEXT
    help: Sentence = ""


class Column(Input):
    """One column of a table; the pointer starts at the row."""

    label: Title
    pointer: JsonPointer
    format: ValueFormat = ValueFormat.TEXT


class Edge(Input):
    """A line of the topology picture between members of two components."""

    source: Key
    target: Key
    label: Sentence = ""


class _Panel(Input):
    # No field is named like a kind: the location of an error holds both, the document only one.
    key: Key
    title: Title
    description: Sentence = ""
    source: PanelSource = PanelSource.INSTANCE
    empty: Annotated[Sentence, Field(description="Shown when there is nothing to show")] = ""


class FactsPanel(_Panel):
    """Labelled values."""

    kind: Literal["facts"]
    items: Annotated[tuple[Fact, ...], Field(min_length=1, max_length=40)]


class TablePanel(_Panel):
    """Rows of an array, or of an object's values."""

    kind: Literal["table"]
    rows: JsonPointer = ""
    columns: Annotated[tuple[Column, ...], Field(min_length=1, max_length=20)]


class StatusPanel(_Panel):
    """One status with its conditions, spelled by the health vocabulary."""

    kind: Literal["status"]
    health: JsonPointer = "/health"
    summary: JsonPointer = "/adapter_detail/summary"
    conditions: JsonPointer = "/conditions"


class TopologyPanel(_Panel):
    """Members as boxes, grouped by component, joined by the edges named here."""

    kind: Literal["topology"]
    edges: Annotated[tuple[Edge, ...], Field(max_length=40)] = ()
    label: JsonPointer = "/resource_name"


class QueuePanel(_Panel):
    """Queues and jobs of an app that runs jobs."""

    kind: Literal["queue"]
    source: Literal[PanelSource.JOBS, PanelSource.QUEUES] = PanelSource.JOBS
    columns: Annotated[tuple[Column, ...], Field(max_length=20)] = ()


class MarkdownPanel(_Panel):
    """Text of the app's own: fixed, or taken from the read model."""

    kind: Literal["markdown"]
    pointer: JsonPointer | None = None
    text: Annotated[str, Field(max_length=20_000)] = ""
    severity: Severity = Severity.INFO


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

    operation: Key
    place: ActionPlace
    label: Title
    primary: bool = False
