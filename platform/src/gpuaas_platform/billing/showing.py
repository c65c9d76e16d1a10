"""How usage is shown: records within a period, and what one instance used. Pure.

Called by `service.py`, which read everything. Seconds are integers and sums of money are rounded
once, from exact parts; nothing here is a float.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

from gpuaas_contract.billing import (
    MachineUsage,
    Money,
    Pricing,
    UsageBasis,
    UsageRecord,
    UsageTotal,
    hours_of,
    money_of,
)
from gpuaas_contract.common import ScopeKind
from gpuaas_contract.manifest import UsageSource, UsageUnit
from gpuaas_platform.billing.metering import Stretch

Span = tuple[datetime, datetime]


@dataclass(frozen=True)
class Held:
    """A machine of an instance: its members there, and when they were."""

    allocation_id: str
    name: str
    sku: str
    members: Sequence["Seat"]


@dataclass(frozen=True)
class Seat:
    """A member on a machine, from when to when; without an end it is there."""

    member_id: str
    component: str
    since: datetime
    until: datetime | None


@dataclass(frozen=True)
class Part:
    """The part of a stretch that lies within what was asked for."""

    stretch: Stretch
    began: datetime
    ended: datetime
    open: bool

    @property
    def elapsed(self) -> int:
        """Its seconds."""
        return (self.ended - self.began) // timedelta(seconds=1)

    @property
    def seconds(self) -> int:
        """Its seconds, each as often as it counts."""
        return self.stretch.count * self.elapsed

    @property
    def price_seconds(self) -> Decimal | None:
        """Price times seconds, exact; None where nothing is charged."""
        price = self.stretch.price_per_hour
        return None if price is None else price * self.seconds


def record_view(stretch: Stretch, since: datetime | None, until: datetime) -> UsageRecord:
    """A record, counted as far as it lies within a period."""
    part = _part(stretch, (since or stretch.started_at, until))
    owed = part.price_seconds
    return UsageRecord(
        id=stretch.id,
        source=stretch.source,
        unit=stretch.unit,
        subject_id=stretch.subject_id,
        subject_name=stretch.subject_name,
        owner=ScopeKind.TENANT if stretch.project_id is None else ScopeKind.PROJECT,
        org_id=stretch.org_id,
        project_id=stretch.project_id,
        sku=stretch.sku,
        count=stretch.count,
        seconds=part.elapsed,
        quantity=hours_of(part.seconds),
        price_per_hour=stretch.price_per_hour,
        currency=stretch.currency,
        amount=None if owed is None else money_of(owed),
        pricing=stretch.pricing,
        basis=stretch.basis,
        started_at=stretch.started_at,
        ended_at=stretch.ended_at,
        open=stretch.ended_at is None,
        began_correlation_id=stretch.began_correlation_id,
        ended_correlation_id=stretch.ended_correlation_id,
    )


def parts_within(stretches: Iterable[Stretch], spans: Sequence[Span], now: datetime) -> list[Part]:
    """The parts of stretches that lie within any of these spans, which do not overlap."""
    found = []
    for stretch in stretches:
        for span in spans:
            part = _part(stretch, span)
            if part.ended > part.began:
                found.append(replace(part, open=part.open and part.ended >= now))
    return found


def spans_joined(spans: Iterable[Span]) -> list[Span]:
    """The same time as spans that do not overlap, in order."""
    joined: list[Span] = []
    for began, ended in sorted(spans):
        if joined and began <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(joined[-1][1], ended))
        else:
            joined.append((began, ended))
    return joined


def spans_held(held: Held, period: Span) -> list[Span]:
    """When an instance held a machine, within a period. Members that share it count once."""
    spans = []
    for seat in held.members:
        began = max(second_of(seat.since), period[0])
        ended = period[1] if seat.until is None else min(second_of(seat.until), period[1])
        if ended > began:
            spans.append((began, ended))
    return spans_joined(spans)


def machine_view(held: Held, parts: Sequence[Part]) -> MachineUsage:
    """What a machine added."""
    nodes = [part for part in parts if part.stretch.unit is UsageUnit.NODE_HOUR]
    gpus = [part for part in parts if part.stretch.unit is UsageUnit.GPU_HOUR]
    charged = [part for part in nodes if part.price_seconds is not None]
    now = next((part.stretch for part in nodes if part.open), None)
    ends = [seat.until for seat in held.members]
    seconds = sum(part.seconds for part in nodes)
    return MachineUsage(
        allocation_id=held.allocation_id,
        name=held.name,
        sku=held.sku,
        member_ids=[seat.member_id for seat in held.members],
        components=sorted({seat.component for seat in held.members}),
        held_since=min(seat.since for seat in held.members),
        held_until=None if None in ends else max(end for end in ends if end is not None),
        seconds=seconds,
        hours=hours_of(seconds),
        gpu_hours=hours_of(sum(part.seconds for part in gpus)),
        price_per_hour=None if now is None else now.price_per_hour,
        amount=_amount(charged),
        currency=charged[-1].stretch.currency if charged else None,
        open=now is not None,
    )


def totals_of(parts: Iterable[Part]) -> list[UsageTotal]:
    """Sums by unit and currency."""
    grouped: dict[tuple[UsageSource, UsageUnit, str], list[Part]] = defaultdict(list)
    for part in parts:
        one = part.stretch
        grouped[one.source, one.unit, one.currency or ""].append(part)
    return [
        UsageTotal(
            source=source,
            unit=unit,
            seconds=(seconds := sum(part.seconds for part in found)),
            quantity=hours_of(seconds),
            amount=_amount([part for part in found if part.price_seconds is not None]),
            currency=currency or None,
            unpriced_seconds=sum(
                part.seconds for part in found if part.stretch.pricing is Pricing.UNKNOWN
            ),
            open=any(part.open for part in found),
        )
        for (source, unit, currency), found in sorted(grouped.items())
    ]


def days_of(parts: Iterable[Part]) -> list[UsageTotal]:
    """The same for each UTC day in which there was any."""
    by_day: dict[date, list[Part]] = defaultdict(list)
    for part in parts:
        for day, piece in _days(part):
            by_day[day].append(piece)
    return [
        total.model_copy(update={"day": day})
        for day, found in sorted(by_day.items())
        for total in totals_of(found)
    ]


def amounts_of(totals: Iterable[UsageTotal]) -> list[Money]:
    """All that is charged, one amount per currency."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for total in totals:
        if total.amount is not None and total.currency is not None:
            sums[total.currency] += total.amount
    return [Money(amount=amount, currency=currency) for currency, amount in sorted(sums.items())]


def prices_now(parts: Iterable[Part]) -> list[Money]:
    """What goes on costs this by the hour."""
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for part in parts:
        one = part.stretch
        if part.open and one.price_per_hour is not None and one.currency is not None:
            sums[one.currency] += one.price_per_hour
    return [Money(amount=price, currency=currency) for currency, price in sorted(sums.items())]


def notes_of(parts: Sequence[Part]) -> list[str]:
    """What is not known, in words."""
    notes = []
    if any(part.stretch.pricing is Pricing.UNKNOWN for part in parts):
        notes.append(
            "Some of the time is older than the oldest price that was recorded of its kind of"
            " machine: it is counted, and in no sum of money."
        )
    if any(part.stretch.basis is UsageBasis.RECONSTRUCTED for part in parts):
        notes.append(
            "Some of the time lies before usage was recorded: its beginning or end follows from"
            " operations and states that were kept, and may be off."
        )
    return notes


def second_of(moment: datetime) -> datetime:
    """The second a moment lies in."""
    return moment.replace(microsecond=0)


def _part(stretch: Stretch, span: Span) -> Part:
    began = max(stretch.started_at, span[0])
    ended = span[1] if stretch.ended_at is None else min(stretch.ended_at, span[1])
    return Part(stretch, began, ended, stretch.ended_at is None)


def _days(part: Part) -> Iterator[tuple[date, Part]]:
    began = part.began.astimezone(UTC)
    while began < part.ended:
        midnight = datetime(began.year, began.month, began.day, tzinfo=UTC) + timedelta(days=1)
        ended = min(midnight, part.ended)
        yield (
            began.date(),
            replace(part, began=began, ended=ended, open=part.open and ended == part.ended),
        )
        began = ended


def _amount(charged: Sequence[Part]) -> Decimal | None:
    if not charged:
        return None
    return money_of(sum((part.price_seconds or Decimal(0) for part in charged), Decimal(0)))
