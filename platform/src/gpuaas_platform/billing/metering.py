"""From changes of state and price to stretches of counted time. Pure: time comes with changes.

Called by `recording.py` with what was told, in order, and with the stretches that are open. Every
moment is cut to its second and never lies before the one its subject had last, so the stretches
of a subject tile the time in which it counted: no overlap, no gap, nothing twice.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Final

from gpuaas_contract.billing import Pricing, UsageBasis
from gpuaas_contract.manifest import UsageSource, UsageUnit
from gpuaas_contract.states import AllocationStatus, InstanceStatus

# A machine is paid while it can be used: not while it is made, taken back or waits to be cleaned.
COUNTED_ALLOCATION: Final = frozenset({AllocationStatus.ACTIVE})
COUNTED_INSTANCE: Final = frozenset({InstanceStatus.RUNNING, InstanceStatus.DEGRADED})


@dataclass(frozen=True)
class Price:
    """What a kind of machine costs, as one event told it."""

    sku: str
    event_seq: int
    since: datetime
    price_per_hour: Decimal
    currency: str
    gpus: int
    correlation_id: str


@dataclass(frozen=True)
class Subject:
    """What is counted, and whose it is. `sku` of a machine; an app's runtime has none."""

    source: UsageSource
    id: str
    name: str
    org_id: str
    project_id: str | None
    sku: str | None = None


@dataclass(frozen=True)
class Turn:
    """A subject counts from a moment on, or does not any more."""

    subject_id: str
    at: datetime
    correlation_id: str
    begins: Subject | None
    basis: UsageBasis = UsageBasis.OBSERVED


@dataclass(frozen=True)
class Stretch:
    """Counted time of one subject in one unit at one price; the row of a usage record."""

    id: str
    source: UsageSource
    unit: UsageUnit
    subject_id: str
    subject_name: str
    org_id: str
    project_id: str | None
    sku: str | None
    count: int
    price_per_hour: Decimal | None
    currency: str | None
    pricing: Pricing
    basis: UsageBasis
    started_at: datetime
    ended_at: datetime | None
    began_correlation_id: str
    ended_correlation_id: str | None


class Meter:
    """Takes changes one after the other; afterwards says what to write down.

    `begun` are new stretches (some ended already), `ended` known ones with their end, `undone` ids
    of known ones that turned out to last no second.
    """

    def __init__(
        self,
        going_on: Iterable[Stretch],
        last_ends: Mapping[str, datetime],
        prices: Iterable[Price],
        new_id: Callable[[], str],
    ) -> None:
        self.begun: dict[str, Stretch] = {}
        self.ended: dict[str, Stretch] = {}
        self.undone: list[str] = []
        self._open: dict[str, list[Stretch]] = {}
        self._of_sku: dict[str, set[str]] = {}
        self._last = dict(last_ends)
        self._prices = {price.sku: price for price in prices}
        self._new_id = new_id
        for stretch in going_on:
            self._keep(stretch)

    @property
    def going_on(self) -> list[Stretch]:
        """What is open now."""
        return [stretch for found in self._open.values() for stretch in found]

    def take(self, change: Turn | Price) -> None:
        """One change more. What it says already holds changes nothing."""
        if isinstance(change, Price):
            self._reprice(change)
        elif change.begins is None:
            self._end(change)
        elif change.subject_id not in self._open and self._known(change.begins):
            self._begin(change, change.begins)

    def _known(self, subject: Subject) -> bool:
        """Whether it can be counted: a machine of a kind nobody ever offered cannot."""
        return subject.sku is None or subject.sku in self._prices

    def _begin(self, turn: Turn, subject: Subject) -> None:
        at = self._moment(subject.id, turn.at)
        for unit, count in self._units(subject):
            price = self._price(subject, unit)
            self._put(
                Stretch(
                    self._new_id(), subject.source, unit, subject.id, subject.name,
                    subject.org_id, subject.project_id, subject.sku, count,
                    None if price is None else price.price_per_hour,
                    None if price is None else price.currency,
                    Pricing.INCLUDED if price is None else Pricing.CHARGED,
                    turn.basis, at, None, turn.correlation_id, None,
                )
            )  # fmt: skip

    def _end(self, turn: Turn) -> None:
        at = self._moment(turn.subject_id, turn.at)
        for stretch in self._open.pop(turn.subject_id, ()):
            observed = turn.basis is UsageBasis.OBSERVED
            self._close(stretch, at, turn.correlation_id, stretch.basis if observed else turn.basis)

    def _reprice(self, price: Price) -> None:
        """Whatever runs at another price is ended and goes on at this one."""
        self._prices[price.sku] = price
        for subject_id in sorted(self._of_sku.get(price.sku, ())):
            for stretch in list(self._open.get(subject_id, ())):
                paid = (stretch.price_per_hour, stretch.currency)
                if stretch.unit is not UsageUnit.NODE_HOUR or paid == (
                    price.price_per_hour, price.currency,
                ):  # fmt: skip
                    continue
                at = self._moment(subject_id, price.since)
                self._open[subject_id].remove(stretch)
                self._close(stretch, at, price.correlation_id, stretch.basis)
                self._put(
                    replace(
                        stretch, id=self._new_id(), started_at=at,
                        price_per_hour=price.price_per_hour, currency=price.currency,
                        pricing=Pricing.CHARGED, basis=UsageBasis.OBSERVED,
                        began_correlation_id=price.correlation_id,
                    )
                )  # fmt: skip

    def _units(self, subject: Subject) -> list[tuple[UsageUnit, int]]:
        if subject.sku is None:
            return [(UsageUnit.RUNTIME_HOUR, 1)]
        gpus = self._prices[subject.sku].gpus
        own = [(UsageUnit.NODE_HOUR, 1)]
        return [*own, (UsageUnit.GPU_HOUR, gpus)] if gpus else own

    def _price(self, subject: Subject, unit: UsageUnit) -> Price | None:
        """A machine's hour has a price; its GPUs are in it, and apps cost nothing by themselves."""
        if subject.sku is None or unit is not UsageUnit.NODE_HOUR:
            return None
        return self._prices[subject.sku]

    def _moment(self, subject_id: str, at: datetime) -> datetime:
        """The second, and never before the subject's last: transactions that overlap tell out of
        order, and replicas have clocks of their own."""
        cut = at.replace(microsecond=0)
        known = [stretch.started_at for stretch in self._open.get(subject_id, ())]
        if subject_id in self._last:
            known.append(self._last[subject_id])
        return max([cut, *known])

    def _put(self, stretch: Stretch) -> None:
        self.begun[stretch.id] = stretch
        self._keep(stretch)

    def _keep(self, stretch: Stretch) -> None:
        self._open.setdefault(stretch.subject_id, []).append(stretch)
        if stretch.sku is not None:
            self._of_sku.setdefault(stretch.sku, set()).add(stretch.subject_id)

    def _close(self, stretch: Stretch, at: datetime, by: str, basis: UsageBasis) -> None:
        if (
            at == stretch.started_at
        ):  # as if it had never been: whoever reads on knows nothing of it
            if self.begun.pop(stretch.id, None) is None:
                self.undone.append(stretch.id)
            return
        self._last[stretch.subject_id] = at
        done = replace(stretch, ended_at=at, ended_correlation_id=by, basis=basis)
        if stretch.id in self.begun:
            self.begun[stretch.id] = done
        else:
            self.ended[stretch.id] = done
