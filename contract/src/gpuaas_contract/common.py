"""Shapes shared by every room: pages, scopes, names, header names, conditions.

Imported by the other modules of the contract and by whoever speaks it. Pure.
"""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from gpuaas_contract import headers

API_PREFIX: Final = headers.API_PREFIX
CORRELATION_HEADER: Final = headers.CORRELATION_HEADER
CORRELATION_PATTERN: Final = headers.CORRELATION_PATTERN
IDEMPOTENCY_HEADER: Final = headers.IDEMPOTENCY_HEADER
IDEMPOTENT_REPLAY_HEADER: Final = headers.IDEMPOTENT_REPLAY_HEADER
CSRF_HEADER: Final = headers.CSRF_HEADER
MAX_PAGE: Final = 500

Name = Annotated[
    str,
    Field(
        pattern=r"^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$",
        description="Lower-case letters, digits and hyphens; starts with a letter",
        examples=["research"],
    ),
]
Text = Annotated[str, Field(max_length=2000)]
Json = dict[str, Any]
# Fields that many answers have.
OrgId = Annotated[str, Field(description="Id of the tenant")]
ProjectId = Annotated[str, Field(description="Id of the project")]
Maker = Annotated[str, Field(description="Id of the user or service account that asked for it")]
Revision = Annotated[int, Field(description="Grows with every change")]
CorrelationId = Annotated[
    str, Field(description="Of the request that caused it; a timeline tells the rest")
]

T = TypeVar("T")


class Model(BaseModel):
    """Base of what the platform answers with: callers must accept fields added later."""

    model_config = ConfigDict(frozen=True)


class Input(BaseModel):
    """Base of what callers send: an unknown field is a mistake, said at once."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Page(Model, Generic[T]):
    """One page of a list. `next_cursor` is absent on the last page."""

    items: list[T]
    next_cursor: Annotated[
        str | None, Field(description="Send it as `cursor` for the next page; null on the last")
    ] = None

    @classmethod
    def model_parametrized_name(cls, params: tuple[Any, ...]) -> str:
        """The name in the published schema: `NodePage`, not `Page_Node_`."""
        return f"{params[0].__name__}Page"


class ScopeKind(StrEnum):
    """Where a binding, an overlay or an entitlement holds."""

    PLATFORM = "platform"
    TENANT = "tenant"
    PROJECT = "project"


class Scope(Model):
    """A place in the tenancy tree. `org_id` is the tenant's id."""

    kind: Annotated[ScopeKind, Field(description="Which of the three levels is meant")]
    org_id: Annotated[
        str | None, Field(description="The tenant; of a tenant's or a project's scope")
    ] = None
    project_id: Annotated[
        str | None, Field(description="The project; of a project's scope alone")
    ] = None


class Severity(StrEnum):
    """How loudly something should be shown."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class Condition(Model):
    """A fact beside a status: what holds, since when, why, and what to do about it."""

    type: Annotated[str, Field(examples=["unreachable", "controller_absent"])]
    since: Annotated[datetime, Field(description="How long it has held")]
    reason: Annotated[str, Field(description="Why, in a word for programs")] = ""
    message: Annotated[str, Field(description="Why, in words for people")] = ""
    next_action: Annotated[str, Field(description="What to do about it")] = ""
