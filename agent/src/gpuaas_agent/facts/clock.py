"""Time: what the clock says, whether something keeps it right, how far off a reference it is."""

import struct
from dataclasses import dataclass
from datetime import UTC, datetime

from gpuaas_agent.facts.reading import Notes, Reader, UnreadableError

STA_UNSYNC = 0x0040
"""The kernel's own mark that nothing has disciplined the clock (adjtimex(2))."""


@dataclass(frozen=True)
class ClockFacts:
    """What `facts` prints under `time`.

    `offset_seconds` is this clock minus the reference; it contains the time the reference took to
    get here, so a caller that cares compares it with the length of its own call.
    """

    now: str
    epoch: float
    synchronised: bool | None
    max_error_seconds: float | None
    offset_seconds: float | None
    timezone: str | None


@dataclass(frozen=True)
class KernelClock:
    """The part of adjtimex(2) that says how good the clock is."""

    synchronised: bool
    max_error_seconds: float


def clock_facts(reader: Reader, notes: Notes, now: float, reference: float | None) -> ClockFacts:
    """Read the clock; `now` is the caller's reading of it, in seconds since 1970."""
    kernel = notes.take("time.synchronised", reader.answer, "adjtimex", parse_timex)
    return ClockFacts(
        now=datetime.fromtimestamp(now, UTC).isoformat(),
        epoch=now,
        synchronised=None if kernel is None else kernel.synchronised,
        max_error_seconds=None if kernel is None else kernel.max_error_seconds,
        offset_seconds=None if reference is None else round(now - reference, 6),
        timezone=notes.take("time.timezone", _timezone, reader),
    )


def parse_timex(raw: bytes) -> KernelClock:
    """Read maxerror and status out of a 64-bit ``struct timex``."""
    _modes, _offset, _frequency, max_error, _estimated, status = struct.unpack_from("@Iqqqqi", raw)
    return KernelClock(not status & STA_UNSYNC, max_error / 1_000_000)


def parse_localtime(target: str) -> str:
    """Return the zone's name from where /etc/localtime points."""
    _, separator, zone = target.partition("zoneinfo/")
    if not separator or not zone:
        raise UnreadableError("/etc/localtime", f"points at {target}, which is no zone")
    return zone


def _timezone(reader: Reader) -> str:
    if not reader.exists("/etc/localtime"):
        return "UTC"  # what localtime(5) says a missing link means
    return parse_localtime(reader.link("/etc/localtime"))
