"""What the operate room asks of events: those of a correlation id, a wake-up for it, the backlog.

Called by the operate room through these functions; reads the hub of this process, so that any
number of followers costs one reader of the database.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from gpuaas_contract.common import API_PREFIX
from gpuaas_contract.events import EventFilter
from gpuaas_contract.operate import TimelineEntry, TimelineKind
from gpuaas_platform.events.interest import Interest
from gpuaas_platform.events.store import overview
from gpuaas_platform.events.store.overview import Backlog
from gpuaas_platform.events.stream import Subscription, hub_of, reader_of
from gpuaas_platform.kernel.call import Call
from gpuaas_platform.kernel.caller import Place, Reach
from gpuaas_platform.kernel.correlation import Correlated, CorrelationQuery, scope_of
from gpuaas_platform.kernel.database import Connection, Record

_EVERYTHING = Reach(everywhere=True, org_ids=(), project_ids=())


async def correlated(conn: Connection, query: CorrelationQuery) -> list[Correlated]:
    """Entries of a timeline: what happened under a correlation id."""
    return [_correlated(row) for row in await overview.events_correlated(conn, query)]


async def backlog(conn: Connection) -> Backlog:
    """What waits to be told, and which webhooks are in trouble."""
    return await overview.backlog_read(conn)


class Following:
    """Waits for the next event of one correlation id."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    async def wait(self, seconds: float) -> None:
        """Return when something may have happened, or the time is up."""
        next_event = asyncio.ensure_future(self._subscription.next())
        try:
            await asyncio.wait([next_event], timeout=max(0.0, seconds))
        finally:
            next_event.cancel()
            await asyncio.gather(next_event, return_exceptions=True)


@asynccontextmanager
async def correlation_following(call: Call, correlation_id: str) -> AsyncIterator[Following]:
    """Begin to follow: enter this first, then read the state, then wait.

    A follower is woken by what it may not read too; it looks at the state, which tells it nothing.
    """
    hub = hub_of(call.platform)
    interest = Interest(EventFilter(correlation_id=correlation_id), _EVERYTHING)
    after = await hub.located()
    with hub.subscribed(reader_of(call), interest, after) as subscription:
        yield Following(subscription)


def _correlated(row: Record) -> Correlated:
    links = {"events": f"{API_PREFIX}/events?correlation_id={row['correlation_id']}"}
    if row["app_instance_id"] is not None:
        links["instance"] = f"{API_PREFIX}/app-instances/{row['app_instance_id']}"
    entry = TimelineEntry(
        at=row["at"],
        kind=TimelineKind.EVENT,
        id=row["id"],
        title=f"{row['type']} about {row['subject']}.",
        status=row["type"].rpartition(".")[2],
        scope=scope_of(Place(row["org_id"], row["project_id"])),
        links=links,
        detail={
            "type": row["type"],
            "subject": row["subject"],
            "sequence": str(row["seq"]),
            "app_slug": row["app_slug"],
            "app_instance_id": row["app_instance_id"],
            "data": row["data"],
        },
    )
    return Correlated(row["tl_key"], entry)
