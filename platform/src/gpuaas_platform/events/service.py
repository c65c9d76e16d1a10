"""Rules of reading events: who sees which, where a stream begins."""

from dataclasses import replace

import msgspec
from fastapi import Request, Response

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.events import EventFilter, EventListQuery, EventStreamQuery, StreamGap
from gpuaas_contract.permissions import Permission
from gpuaas_platform.events.envelope import cloud_event, source_of
from gpuaas_platform.events.interest import Interest
from gpuaas_platform.events.sse import EventStream, Opening
from gpuaas_platform.events.store import sequence
from gpuaas_platform.events.stream import hub_of, reader_of
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.caller import Caller
from gpuaas_platform.kernel.paging import cursor_decode, cursor_encode
from gpuaas_platform.kernel.problems import PlatformError


async def event_list(call: Call, query: EventListQuery) -> Response:
    """One page: newest first, or on from `after` in the order of the sequence."""
    wanted = _filter(query)
    span = _span(query)
    async with call.db.connection() as conn:
        rows = await sequence.events_list(conn, _interest(call.caller, wanted), span)
    items, more = rows[: query.limit], len(rows) > query.limit
    source = source_of(call.platform.settings)
    page = {
        "items": [cloud_event(row, source) for row in items],
        "next_cursor": cursor_encode(str(items[-1]["seq"])) if more else None,
    }
    return Response(msgspec.json.encode(page), media_type="application/json")


async def event_stream(
    call: Call, request: Request, query: EventStreamQuery, after: int | None
) -> Response:
    """A stream of what the caller may read, behind `after` or from now on."""
    platform = call.platform
    hub = hub_of(platform)
    reader = reader_of(call)
    hub.admit(reader)
    interest = _streamed(call.caller, query)
    after, gap = await _begin(platform, after)

    async def recheck() -> Interest:
        return _streamed(await platform.authenticate(platform, request), query)

    return EventStream(hub, Opening(reader, interest, after, gap), recheck)


def _streamed(caller: Caller, query: EventStreamQuery) -> Interest:
    return replace(_interest(caller, _filter(query)), above=query.above)


def _filter(query: EventFilter) -> EventFilter:
    return EventFilter.model_validate(query.model_dump(include=set(EventFilter.model_fields)))


def _interest(caller: Caller, wanted: EventFilter) -> Interest:
    reach = caller.reach(Permission.EVENT_READ)
    if not (reach.everywhere or reach.org_ids or reach.project_ids):
        caller.require(Permission.EVENT_READ, caller.home)
    return Interest(wanted, reach)


def _span(query: EventListQuery) -> sequence.Span:
    """The stretch of the sequence a page shows; one row more says whether there is another page."""
    key = cursor_decode(query.cursor)
    if key is not None and not (key.isascii() and key.isdigit() and len(key) < 19):
        raise PlatformError(
            ErrorCode.INVALID_CURSOR, "The cursor was not made by this list; start over."
        )
    limit = query.limit + 1
    if query.after is not None:
        return sequence.Span(limit, after=query.after if key is None else int(key))
    return sequence.Span(limit, up_to=None if key is None else int(key) - 1, descending=True)


async def _begin(platform: Platform, after: int | None) -> tuple[int | None, StreamGap | None]:
    """Where to begin, and what is missing: events swept away, or numbers that never were.

    A number beyond the newest event comes from another life of this database (a restored backup).
    """
    if after is None:
        return None, None
    async with platform.db.connection() as conn:
        head, first = await sequence.event_head(conn), await sequence.event_first_kept(conn)
    if after > head:
        return head, StreamGap(after=after, first_kept=head + 1)
    if after + 1 < first:
        return after, StreamGap(after=after, first_kept=first)
    return after, None
