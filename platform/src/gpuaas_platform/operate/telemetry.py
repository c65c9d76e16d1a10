"""Log lines and spans of controllers, taken about instances they control.

Called by the routes. Nothing of a batch is believed but its words: where a line belongs follows
from its instance, when it was from the platform's clock, who told it from the caller; its id must
be the instance's or one of its operations'. Credentials in it are masked once more.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, TypeVar

from gpuaas_contract.permissions import Permission
from gpuaas_contract.telemetry import (
    SpanOutcome,
    TelemetryDropped,
    TelemetryLine,
    TelemetrySend,
    TelemetrySpan,
    TelemetryTaken,
)
from gpuaas_platform.apps.correlated import places_worked
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.database import Connection
from gpuaas_platform.kernel.kept import Lost, Told
from gpuaas_platform.kernel.masking import secrets_masked, shapes_masked
from gpuaas_platform.kernel.problems import Denied, not_found
from gpuaas_platform.kernel.work import refusal_record
from gpuaas_platform.operate.keeping import told_keep

_OLDEST: Final = timedelta(days=1)
_SAME_CLOCK: Final = timedelta(seconds=1)
_WRONG_CLOCK: Final = timedelta(days=366 * 100)

_One = TelemetryLine | TelemetrySpan | TelemetryDropped
E = TypeVar("E", TelemetryLine, TelemetrySpan, TelemetryDropped)


async def telemetry_send(call: Call, body: TelemetrySend) -> TelemetryTaken:
    """Keep a batch. Changes nothing but timelines, so it leaves no audit row."""
    try:
        async with call.db.transaction() as conn:
            return await _taken(call, conn, body)
    except Denied as error:
        await refusal_record(call, "operate.telemetry.send", error)
        raise


@dataclass(frozen=True)
class _Batch:
    """What holds for all of a batch."""

    batch: str
    source: str
    mark: str
    shift: timedelta
    now: datetime

    def key(self, number: int) -> str:
        return f"{self.batch}.{number:05d}.{self.mark}"

    def moment(self, at: datetime) -> datetime:
        """The moment by the platform's clock, and within what can be."""
        if abs(self.now - at) > _OLDEST + abs(self.shift):
            return self.now  # no clock that is merely wrong says this
        return max(min(at + self.shift, self.now), self.now - _OLDEST)


async def _taken(call: Call, conn: Connection, body: TelemetrySend) -> TelemetryTaken:
    about: list[_One] = [*body.lines, *body.spans, *body.dropped]
    places = await _places(call, conn, about)
    batch = _batch(call, body)
    told = [_line(batch, n, places[_of(one)], one) for n, one in _ours(places, body.lines)]
    told += [_span(batch, n, places[_of(one)], one) for n, one in _ours(places, body.spans)]
    lost = [
        Lost((one.correlation_id, places[_of(one)]), one.count, batch.moment(one.at))
        for _, one in _ours(places, body.dropped)
    ]
    await told_keep(call.platform, conn, told, lost)
    refused = len(about) - len(told) - len(lost)
    return TelemetryTaken(kept=len(told), refused=refused)


async def _places(
    call: Call, conn: Connection, about: Sequence[_One]
) -> dict[tuple[str, str], Place]:
    """Where what may be told belongs, by instance and correlation id.

    One that may not be told is left out; where that holds for all of them the whole is refused.
    """
    instance_ids = list(dict.fromkeys(one.app_instance_id for one in about))
    correlation_ids = list(dict.fromkeys(one.correlation_id for one in about))
    known = await places_worked(conn, instance_ids, correlation_ids)
    ours = {
        instance_id: found
        for instance_id, found in known.items()
        if call.caller.allows(Permission.OPERATION_CONTROL, found[0])
    }
    if instance_ids and not ours:
        first = instance_ids[0]
        if first not in known:
            raise not_found("app instance", first)
        call.caller.require(Permission.OPERATION_CONTROL, known[first][0])
    return {(one, id_): place for one, (place, ids) in ours.items() for id_ in ids}


def _batch(call: Call, body: TelemetrySend) -> _Batch:
    now = call.platform.clock.now()
    source = f"{call.caller.id}/{shapes_masked(body.replica)}"
    shift = now - body.sent_at
    return _Batch(
        batch=body.batch,
        source=source,
        mark=hashlib.sha256(source.encode(errors="replace")).hexdigest()[:12],
        shift=shift if _SAME_CLOCK < abs(shift) < _WRONG_CLOCK else timedelta(),
        now=now,
    )


def _of(one: _One) -> tuple[str, str]:
    return one.app_instance_id, one.correlation_id


def _ours(places: dict[tuple[str, str], Place], some: Sequence[E]) -> list[tuple[int, E]]:
    return [(n, one) for n, one in enumerate(some) if _of(one) in places]


def _line(batch: _Batch, number: int, place: Place, one: TelemetryLine) -> Told:
    return Told(
        kind="log",
        correlation_id=one.correlation_id,
        place=place,
        at=batch.moment(one.at),
        key=batch.key(number),
        title=secrets_masked(one.message),
        status=one.level,
        source=batch.source,
        span_id=_id(one.span_id),
        fields=_fields(one.fields),
    )


def _span(batch: _Batch, number: int, place: Place, one: TelemetrySpan) -> Told:
    how = "took" if one.outcome is SpanOutcome.OK else "failed after"
    return Told(
        kind="span",
        correlation_id=one.correlation_id,
        place=place,
        at=batch.moment(one.at),
        key=batch.key(10_000 + number),
        title=f"{secrets_masked(one.name)} {how} {one.seconds:.3f} s.",
        status=one.outcome,
        source=batch.source,
        span_id=_id(one.id),
        parent_id=_id(one.parent_id),
        seconds=one.seconds,
        fields=_fields(one.fields) | {"name": secrets_masked(one.name)},
    )


def _fields(given: dict[str, str]) -> dict[str, str]:
    """Fields without credentials, told by their form, by their name, or by a name inside them."""
    found = {}
    for given_name, value in given.items():
        name = shapes_masked(given_name)
        found[name] = secrets_masked(f"{name}={value}").removeprefix(f"{name}=")
    return found


def _id(given: str | None) -> str | None:
    return None if given is None else shapes_masked(given)
