"""Keeps log lines and spans for timelines: few of each correlation id, and never in the way.

What this process tells gathers in `kernel/kept.py` and is written twice a second; what controllers
send is written when it comes. The newest stay: what goes for want of room is counted, and the
timeline says so. Losing the process loses what was told in the last half second, and nothing else.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final

import structlog

from gpuaas_contract.operate import EntrySpan, TimelineEntry, TimelineKind
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.correlation import Correlated, CorrelationQuery, scope_of
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.elections import duty_lock
from gpuaas_platform.kernel.kept import BUFFER, DROPPED, Lost, Told
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.masking import error_told
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.operate import store

_log = structlog.get_logger(__name__)
_EVERY_SECONDS: Final = 0.5
_SWEEP_SECONDS: Final = 30.0
_LAST_SECONDS: Final = 2.0
_BATCH: Final = 500
_BATCHES: Final = 20
_SHARES: Final = 200
_LOCK: Final = duty_lock("telemetry")


@asynccontextmanager
async def keeping_running(platform: Platform) -> AsyncIterator[None]:
    """Write what is told for as long as the block runs, and what is left at its end."""
    write, sweep = partial(buffer_write, platform), partial(telemetry_sweep, platform)
    signals = platform.signals
    BUFFER.writer_add()
    try:
        async with (
            loop_running(signals, Loop("telemetry", write, _EVERY_SECONDS, "telemetry")),
            loop_running(
                signals, Loop("telemetry_sweep", sweep, _SWEEP_SECONDS, "telemetry_sweep")
            ),
        ):
            yield
        with contextlib.suppress(PlatformError, TimeoutError):
            async with asyncio.timeout(_LAST_SECONDS):
                await buffer_write(platform)
    finally:
        BUFFER.writer_remove()


async def buffer_write(platform: Platform) -> None:
    """Write what this process has told. While the database is away it waits, and may be lost."""
    for _ in range(_BATCHES):
        told, lost = BUFFER.take(_BATCH)
        if not told and not lost:
            return
        try:
            async with platform.db.transaction() as conn:
                await told_keep(platform, conn, told, lost)
        except (PlatformError, asyncio.CancelledError):
            BUFFER.give_back(told, lost)
            raise
        except Exception as error:  # noqa: BLE001 - what cannot be written must not stay for ever
            DROPPED.inc(len(told))
            _log.warning("telemetry_not_kept", count=len(told), error=error_told(error))


async def told_keep(
    platform: Platform, conn: Connection, told: Sequence[Told], lost: Sequence[Lost]
) -> None:
    """Keep these; of an id that has too many, the oldest go."""
    now, most = platform.clock.now(), platform.settings.telemetry_rows_per_correlation
    if most == 0:
        return
    if told:
        shares = await store.told_insert(conn, [_row(one, now) for one in told])
        for share in shares:
            over = share["kept"] - most
            if over > 0:
                DROPPED.inc(over)
                await store.told_drop(conn, share["correlation_id"], share["place"], over)
    if lost:
        await store.lost_add(conn, [_lost_row(one, now) for one in lost])


async def telemetry_sweep(platform: Platform) -> None:
    """Forget what is old; then, while there is too much, the oldest id of whoever keeps most."""
    settings = platform.settings
    before = platform.clock.now() - timedelta(days=settings.telemetry_retention_days)
    for _ in range(_BATCHES):
        async with platform.db.transaction() as conn:
            if not await store.sweep_begin(conn, _LOCK):
                return
            aged = await store.told_sweep(conn, before, _SHARES)
            crowded = await _room_make(conn, settings.telemetry_rows_max)
        if aged < _SHARES and not crowded:
            return


async def told_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Lines and spans of a correlation id, for its timeline."""
    return [_entry(row) for row in await store.told_correlated(conn, query)]


async def lost_correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """What of them is not kept, said where it is missing."""
    return [_missing(row) for row in await store.lost_correlated(conn, query)]


async def _room_make(conn: Connection, most: int) -> bool:
    """Let ids go until what is kept fits; whether there are still too many after so many of them.

    Whoever keeps most gives first, so that nobody's flood pushes out what others keep.
    """
    over = await store.told_total(conn) - most
    for _ in range(_SHARES):
        share = await store.told_largest(conn) if over > 0 else None
        if share is None:
            return False
        count = min(over, share["kept"])
        await store.told_drop(conn, share["correlation_id"], share["place"], count)
        DROPPED.inc(count)
        over -= count
    return over > 0


def _row(told: Told, now: datetime) -> dict[str, Any]:
    return _placed(told.place) | {
        "correlation_id": told.correlation_id,
        "at": min(told.at, now),
        "key": told.key,
        "kind": told.kind,
        "title": _clean(told.title),
        "status": told.status,
        "source": _clean(told.source),
        "span_id": told.span_id,
        "parent_id": told.parent_id,
        "seconds": told.seconds,
        "fields": {_clean(name): _clean(value) for name, value in told.fields.items()},
    }


def _lost_row(lost: Lost, now: datetime) -> dict[str, Any]:
    correlation_id, place = lost.share
    return _placed(place) | {
        "correlation_id": correlation_id,
        "dropped": lost.count,
        "dropped_at": min(lost.at, now),
    }


def _placed(place: Place) -> dict[str, Any]:
    where = place.project_id or place.org_id or ""
    return {"place": where, "org_id": place.org_id, "project_id": place.project_id}


def _clean(text: str) -> str:
    """What PostgreSQL takes as text: no NUL, no half characters."""
    return text.replace("\x00", "\ufffd").encode(errors="replace").decode()


def _entry(row: Record) -> Correlated:
    span = None
    if row["kind"] == TimelineKind.SPAN:
        span = EntrySpan(
            id=row["span_id"], parent_id=row["parent_id"], at=row["at"], seconds=row["seconds"]
        )
    entry = TimelineEntry(
        at=row["at"],
        kind=TimelineKind(row["kind"]),
        id=row["span_id"] if span is not None else row["key"],
        title=row["title"],
        status=row["status"],
        actor=row["source"],
        scope=scope_of(Place(row["org_id"], row["project_id"])),
        detail={"fields": row["fields"], "span_id": row["span_id"]},
        span=span,
    )
    return Correlated(row["tl_key"], entry)


def _missing(row: Record) -> Correlated:
    entry = TimelineEntry(
        at=row["tl_at"],
        kind=TimelineKind.LOG,
        id=row["tl_key"],
        title=f"{row['dropped']} log lines and spans up to here are not kept.",
        status="dropped",
        scope=scope_of(Place(row["org_id"], row["project_id"])),
        detail={"dropped": row["dropped"]},
    )
    return Correlated(row["tl_key"], entry)
