"""Everything that carries one correlation id, from every room, in one order.

Called by the routes. Each room tells its own part (`kernel/correlation.py`) and decides what the
caller may see of it; this merges the parts, and waits for a change when asked to.
"""

import hashlib
import heapq
import re
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from gpuaas_contract.common import API_PREFIX
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.operate import Diagnosis, EntrySpan, Timeline, TimelineEntry, TimelineKind
from gpuaas_platform.apps import correlated as apps
from gpuaas_platform.artifacts import service as artifacts
from gpuaas_platform.audit import service as audit
from gpuaas_platform.capacity import allocations
from gpuaas_platform.events import following as events
from gpuaas_platform.fleet import correlated as fleet
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.correlation import BEGINNING, Correlated, CorrelationQuery, scope_of
from gpuaas_platform.kernel.database import Connection, Record
from gpuaas_platform.kernel.paging import cursor_decode, cursor_encode
from gpuaas_platform.kernel.problems import PlatformError, not_found
from gpuaas_platform.operate import keeping, store

# Not everything that changes is told by an event: look again after this long at the latest.
_LOOK_AGAIN_SECONDS: Final = 2.0
_MAX_DIAGNOSES: Final = 10
_AFTER_ALL: Final = "~"  # behind every id
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_CURSOR: Final = re.compile(r"(\d{1,17}) (\d{1,2}) ([\w/.-]{1,200})", re.ASCII)

Read = Callable[[Connection, CorrelationQuery], Awaitable[list[Correlated]]]
Position = tuple[datetime, int, str]


@dataclass(frozen=True)
class TimelineQuery:
    """Which page, how long, and how long to wait until it reads differently from `after`."""

    cursor: str | None
    limit: int
    wait_seconds: float
    after: str | None


async def timeline_read(call: Call, correlation_id: str, query: TimelineQuery) -> Timeline:
    """One page of the timeline. Nothing that the caller may see is nothing at all: 404."""
    if query.wait_seconds <= 0:
        return _required(await _timeline(call, correlation_id, query), correlation_id)
    until = time.monotonic() + query.wait_seconds
    async with events.correlation_following(call, correlation_id) as following:
        while True:
            found = await _timeline(call, correlation_id, query)
            left = until - time.monotonic()
            if found is not None and found.revision != query.after:
                return found
            if left <= 0 or call.platform.signals.finishing:
                return _required(found, correlation_id)
            await following.wait(min(left, _LOOK_AGAIN_SECONDS))


async def _requests(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    return [_request(row) for row in await store.requests_correlated(conn, query)]


# In the order in which one request leaves them behind; breaks ties of the same moment.
_SOURCES: Final[tuple[Read, ...]] = (
    _requests,
    audit.correlated,
    allocations.correlated,
    artifacts.artifacts_correlated,
    artifacts.deliveries_correlated,
    apps.instances_correlated,
    apps.members_correlated,
    apps.operations_correlated,
    apps.steps_correlated,
    fleet.tasks_correlated,
    fleet.outputs_correlated,
    events.correlated,
    keeping.lost_correlated,
    keeping.told_correlated,
)


async def _timeline(call: Call, correlation_id: str, query: TimelineQuery) -> Timeline | None:
    position = _position(query.cursor)
    wanted = CorrelationQuery(correlation_id, call.caller, BEGINNING, query.limit + 1)
    parts = []
    async with call.db.connection() as conn:
        for rank, read in enumerate(_SOURCES):
            behind = replace(wanted, after=_behind(position, rank))
            parts.append([(_key(rank, one), one.entry) for one in await read(conn, behind)])
        merged = list(heapq.merge(*parts, key=lambda item: item[0]))
        if not merged and query.cursor is None:
            return None
        entries = [entry for _, entry in merged[: query.limit]]
        limited = replace(wanted, limit=_MAX_DIAGNOSES)
        diagnoses = await apps.diagnoses(conn, limited, _instance_ids(entries))
    more = len(merged) > query.limit
    return Timeline(
        correlation_id=correlation_id,
        revision=_revision(entries, diagnoses, more=more),
        trace_ids=_trace_ids(entries),
        diagnoses=diagnoses or [Diagnosis(correlation_id=correlation_id)],
        entries=entries,
        next_cursor=_cursor(merged[query.limit - 1][0]) if more else None,
    )


def _required(found: Timeline | None, correlation_id: str) -> Timeline:
    if found is None:
        raise not_found("trace of", correlation_id)
    return found


def _key(rank: int, one: Correlated) -> Position:
    return one.entry.at, rank, one.key


def _behind(position: Position | None, rank: int) -> tuple[datetime, str]:
    """Where a source goes on: of the same moment, sources before the position's are through."""
    if position is None:
        return BEGINNING
    at, reached, key = position
    if rank == reached:
        return at, key
    return at, _AFTER_ALL if rank < reached else ""


def _cursor(position: Position) -> str:
    at, rank, key = position
    return cursor_encode(f"{(at - _EPOCH) // timedelta(microseconds=1)} {rank} {key}")


def _position(cursor: str | None) -> Position | None:
    text = cursor_decode(cursor)
    if text is None:
        return None
    match = _CURSOR.fullmatch(text)
    if match is None:
        raise PlatformError(
            ErrorCode.INVALID_CURSOR, "The cursor was not made by this list; start over."
        )
    microseconds, rank, key = match.groups()
    return _EPOCH + timedelta(microseconds=int(microseconds)), int(rank), key


def _revision(entries: list[TimelineEntry], diagnoses: list[Diagnosis], *, more: bool) -> str:
    """A digest of what the page shows; every replica makes the same."""
    digest = hashlib.sha256(b"more" if more else b"end")
    for shown in (*entries, *diagnoses):
        digest.update(shown.model_dump_json().encode())
    return digest.hexdigest()[:32]


def _trace_ids(entries: list[TimelineEntry]) -> list[str]:
    found = (entry.detail.get("trace_id") for entry in entries)
    return list(dict.fromkeys(one for one in found if one))


def _instance_ids(entries: list[TimelineEntry]) -> list[str]:
    found = (entry.detail.get("app_instance_id") for entry in entries)
    return list(dict.fromkeys(one for one in found if one))


def _request(row: Record) -> Correlated:
    answered = f"{row['status']}" + (f" ({row['code']})" if row["code"] else "")
    trace = (row["traceparent"] or "").split("-")
    entry = TimelineEntry(
        at=row["at"],
        kind=TimelineKind.REQUEST,
        id=row["id"],
        title=f"{row['method']} {row['path']} was answered {answered}.",
        status=str(row["status"]),
        actor=row["actor_id"],
        scope=scope_of(Place(row["org_id"], row["project_id"])),
        links={"self": row["path"]} if row["path"].startswith(API_PREFIX) else {},
        detail={"code": row["code"], "trace_id": trace[1] if len(trace) == 4 else None},
        span=_request_span(row),
    )
    return Correlated(row["tl_key"], entry)


def _request_span(row: Record) -> EntrySpan | None:
    """How long it took, up to the moment its answer was written down."""
    if row["milliseconds"] is None:
        return None
    return EntrySpan(id=row["id"], at=row["at"], seconds=round(row["milliseconds"] / 1000, 4))
