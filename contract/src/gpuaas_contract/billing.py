"""Billing: what was used, for how long, by whom, and what it cost at the price of the time.

A usage record is one stretch of time in which something was counted at one price: an allocation
that was active, an app that was running. Time is counted in whole seconds (every boundary is cut to
its second, so that stretches tile), money in decimals; neither is ever a float. Prices are those of
the SKUs, which the estimate before a deploy shows too.
"""

from datetime import date, datetime
from decimal import ROUND_HALF_UP, Decimal
from enum import StrEnum
from typing import Annotated, Final

from pydantic import AwareDatetime, Field

from gpuaas_contract.common import MAX_PAGE, Input, Model, OrgId, Scope, ScopeKind
from gpuaas_contract.manifest import UsageSource, UsageUnit

SECONDS_AN_HOUR: Final = 3600
MAX_DAYS: Final = 400
_HOURS_STEP: Final = Decimal("0.000001")
_MONEY_STEP: Final = Decimal("0.0001")


class Pricing(StrEnum):
    """What a record costs."""

    CHARGED = "charged"
    """By the hour, at the price that is said."""
    INCLUDED = "included"
    """Counted and not charged by itself: GPUs are in their machine's price, an app is free."""
    UNKNOWN = "unknown"
    """Counted, but its price at the time was not recorded: in no sum of money."""


class UsageBasis(StrEnum):
    """How well the two ends of a record are known."""

    OBSERVED = "observed"
    """Both were recorded when they happened."""
    RECONSTRUCTED = "reconstructed"
    """From before usage was recorded: an end follows from what else was kept of that time."""


class UsageGrouping(StrEnum):
    """What a summary has a row for."""

    DAY = "day"
    PROJECT = "project"
    TOTAL = "total"


class UsageFilter(Input):
    """Which usage is meant. What lies across an end counts with the part that is within."""

    since: Annotated[AwareDatetime | None, Field(description="From this moment")] = None
    until: Annotated[AwareDatetime | None, Field(description="Up to this moment; now at most")] = (
        None
    )


class UsageRecordQuery(UsageFilter):
    """A list of records."""

    source: Annotated[UsageSource | None, Field(description="Only of this kind")] = None
    unit: Annotated[UsageUnit | None, Field(description="Only in this unit")] = None
    cursor: Annotated[
        str | None, Field(max_length=500, description="`next_cursor` of the page before")
    ] = None
    limit: Annotated[int, Field(ge=1, le=MAX_PAGE, description="Items per page at most")] = 100


class UsageSummaryQuery(UsageFilter):
    """Sums of records."""

    source: Annotated[UsageSource | None, Field(description="Only of this kind")] = None
    unit: Annotated[UsageUnit | None, Field(description="Only in this unit")] = None
    by: Annotated[UsageGrouping, Field(description="One row per UTC day, per project, or one")] = (
        UsageGrouping.DAY
    )


class UsageRecord(Model):
    """One stretch of time in which something was counted at one price."""

    id: str
    subject_name: str
    unit: UsageUnit
    quantity: Annotated[Decimal, Field(description="count times seconds, in hours of the unit")]
    amount: Annotated[
        Decimal | None,
        Field(description="Rounded to a ten-thousandth; sums are rounded once, from exact parts"),
    ]
    currency: str | None
    open: Annotated[bool, Field(description="Goes on: counted up to the moment of this answer")]
    started_at: datetime
    ended_at: Annotated[datetime | None, Field(description="Null while it goes on")]
    seconds: Annotated[int, Field(description="Within what was asked for; exact")]
    count: Annotated[int, Field(description="How many run at once: the GPUs of a machine, else 1")]
    price_per_hour: Annotated[Decimal | None, Field(description="Of one, at the time")]
    pricing: Pricing
    basis: UsageBasis
    source: UsageSource
    subject_id: Annotated[str, Field(description="The allocation or app instance")]
    sku: Annotated[str | None, Field(description="The kind of machine")]
    owner: Annotated[ScopeKind, Field(description="Whose record it is: a project or its tenant")]
    org_id: OrgId
    project_id: Annotated[str | None, Field(description="Null where the tenant is the owner")]
    began_correlation_id: Annotated[str, Field(description="Of what began it")]
    ended_correlation_id: Annotated[str | None, Field(description="Of what ended it")]


class UsageTotal(Model):
    """A sum of records of one unit and currency."""

    day: Annotated[date | None, Field(description="The UTC day, in a summary by day")] = None
    unit: UsageUnit
    quantity: Annotated[Decimal, Field(description="`seconds` in hours")]
    amount: Annotated[Decimal | None, Field(description="Null where nothing is charged")]
    currency: str | None
    seconds: Annotated[int, Field(description="Each counted as often as it was there; exact")]
    open: Annotated[bool, Field(description="Some of it goes on")]
    unpriced_seconds: Annotated[
        int, Field(description="Of `seconds`, those whose price was not recorded")
    ]
    source: UsageSource
    project_id: Annotated[str | None, Field(description="In a summary by project")] = None


class Money(Model):
    """An amount in one currency."""

    amount: Decimal
    currency: str


class MachineUsage(Model):
    """What one machine added to an instance: only the time in which the instance held it."""

    allocation_id: str
    name: str
    sku: str
    member_ids: list[str]
    components: list[str]
    held_since: datetime
    held_until: Annotated[datetime | None, Field(description="Null while the instance holds it")]
    seconds: int
    hours: Decimal
    gpu_hours: Decimal
    price_per_hour: Annotated[Decimal | None, Field(description="Now; null when not counted now")]
    amount: Decimal | None
    currency: str | None
    open: bool


class InstanceUsage(Model):
    """What an app instance used: its own running time and the machines it held."""

    app_instance_id: str
    resource_name: str
    owner: Scope
    since: datetime
    until: datetime
    recorded_to: Annotated[
        datetime, Field(description="Changes after this moment may not be counted yet")
    ]
    open: Annotated[bool, Field(description="Some of it goes on: counted up to `until`")]
    running_seconds: int
    running_hours: Decimal
    totals: list[UsageTotal]
    amounts: Annotated[list[Money], Field(description="All of it, one amount per currency")]
    price_per_hour: Annotated[
        list[Money], Field(description="What it costs at this moment, one amount per currency")
    ]
    machines: list[MachineUsage]
    days: Annotated[list[UsageTotal], Field(description="By UTC day, oldest first")]
    notes: Annotated[list[str], Field(description="What is not known of it, in words")]


def hours_of(seconds: int) -> Decimal:
    """Seconds in hours, rounded to a millionth."""
    return (Decimal(seconds) / SECONDS_AN_HOUR).quantize(_HOURS_STEP, ROUND_HALF_UP)


def money_of(price_seconds: Decimal) -> Decimal:
    """A sum of price per hour times seconds as money, rounded once to a ten-thousandth."""
    return (price_seconds / SECONDS_AN_HOUR).quantize(_MONEY_STEP, ROUND_HALF_UP)
