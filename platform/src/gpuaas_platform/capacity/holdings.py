"""When a released machine leaves its tenant: the rules, without a database. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from gpuaas_contract.capacity import CleaningMethod
from gpuaas_contract.states import NodeStatus

T = TypeVar("T")

SHUT: Final = frozenset({NodeStatus.CLEANING, NodeStatus.SET_ASIDE, NodeStatus.RETIRED})
"""Given out to no tenant; evidence from the cleaning alone leads out of it."""

CLEANING_TOPIC: Final = "fleet.cleaning"
"""Woken when a node leaves its tenant, or something a cleaning waits for has happened."""

CLEANABLE: Final = frozenset({CleaningMethod.ATTESTED, CleaningMethod.REIMAGE})
"""Methods that bring a node back; `recreate` makes another node instead."""


@dataclass(frozen=True)
class Departure:
    """What a release means for the machine: cleaned at once, or kept for its tenant."""

    cleaned_now: bool
    warm_until: datetime | None = None


def departure(method: CleaningMethod, keep_warm: timedelta, now: datetime) -> Departure:
    """What becomes of a machine that was released.

    A machine that is kept is given out to its own tenant only, and without cleaning to no other.
    """
    if method not in CLEANABLE:
        return Departure(cleaned_now=False)
    if keep_warm <= timedelta(0):
        return Departure(cleaned_now=True)
    return Departure(cleaned_now=False, warm_until=now + keep_warm)


def present(value: T | None) -> T:
    """A value that cannot be missing here."""
    if value is None:
        raise RuntimeError("what was just locked or written cannot be missing")
    return value
