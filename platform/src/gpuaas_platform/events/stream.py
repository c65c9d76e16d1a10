"""Live events of one process: one reader of the database, any number of subscribers.

The hub reads each new event once and hands it to the subscribers that take it. A subscriber's queue
is bounded; one that overflows is left behind and reads from the database by number, at its own
pace, until it has caught up: nothing is lost and nobody waits for it.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Final

from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.events.envelope import Frame, event_frame, source_of
from gpuaas_platform.events.interest import Interest
from gpuaas_platform.events.store import sequence
from gpuaas_platform.kernel.call import Call, Platform
from gpuaas_platform.kernel.database import Record
from gpuaas_platform.kernel.limits import address_shared
from gpuaas_platform.kernel.loops import Loop, loop_running
from gpuaas_platform.kernel.problems import PlatformError

PART: Final = "events.hub"
QUEUE_FRAMES: Final = 256
HEARTBEAT_SECONDS: Final = 15.0
_STUCK_SECONDS: Final = 60.0
_SWEEP_SECONDS: Final = 5.0
_BATCH: Final = 100
_PAGE: Final = 200
_CATCHING_UP: Final = 4


@dataclass(frozen=True)
class Reader:
    """Who reads a stream: a caller, of a tenant or none, at an address."""

    caller_id: str
    org_id: str | None
    address: str


class Subscription:
    """One reader's place in the stream. `cursor` is the last event it is done with."""

    def __init__(self, hub: "Hub", interest: Interest, after: int | None) -> None:
        self.interest = interest
        self.cursor = after
        self.closed = False
        self.blocked_since: float | None = None
        self.abandon: Callable[[], object] = self.close
        self._hub = hub
        self._live = False
        self._queue: deque[Frame] = deque()
        self._wake = asyncio.Event()

    @property
    def live(self) -> bool:
        """Whether it gets events as they happen (else it is still catching up)."""
        return self._live

    def offer(self, frame: Frame) -> None:
        """Hand over a new event; called by the hub, never waits."""
        if not self._live or not self.interest.takes(frame):
            return
        if len(self._queue) >= QUEUE_FRAMES:
            self._queue.clear()
            self._live = False
        else:
            self._queue.append(frame)
        self._wake.set()

    def rouse(self) -> None:
        """Wake the reader although nothing happened: time for a heartbeat, or for the end."""
        self._wake.set()

    def close(self) -> None:
        """Let the reader end after what it is doing."""
        self.closed = True
        self._wake.set()

    async def begin(self) -> None:
        """Fix the place it begins at: whatever happens after this comes to the reader."""
        if self.cursor is None:
            self.cursor = await self._hub.located()

    async def next(self) -> bytes:
        """The next messages; nothing when it was roused or closed."""
        while not self.closed:
            if not self._live:
                chunk = await self._catch_up()
                if chunk:
                    return chunk
            elif self._queue:
                return self._take()
            else:
                self._wake.clear()
                await self._wake.wait()
                if self._idle():
                    self.cursor = self._hub.offered
                    return b""
        return b""

    def _idle(self) -> bool:
        return self._live and not self._queue

    def _take(self) -> bytes:
        chunk = b"".join([frame.sse for frame in self._queue])
        self.cursor = self._queue[-1].seq
        self._queue.clear()
        return chunk

    async def _catch_up(self) -> bytes:
        """One page from the database, up to where the hub is; live when there is no more."""
        offered = await self._hub.located()
        if self.cursor is None or self.cursor >= offered:
            self.cursor = offered
            self._live = True  # nothing was awaited since the hub was asked: no event between
            return b""
        frames = await self._hub.page(self.interest, self.cursor, offered)
        self.cursor = frames[-1].seq if len(frames) == _PAGE else offered
        return b"".join([frame.sse for frame in frames])


class Hub:
    """The process's one reader of new events. `offered` is the last one it has handed out."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._source = source_of(platform.settings)
        self._subscriptions: set[Subscription] = set()
        self._streams_of: Counter[str] = Counter()
        self._catching_up = asyncio.Semaphore(_CATCHING_UP)
        self.offered: int | None = None

    @contextmanager
    def subscribed(
        self, reader: Reader, interest: Interest, after: int | None
    ) -> Iterator[Subscription]:
        """A subscription for the length of a block; `after` None begins with what comes next."""
        self.admit(reader)
        subscription = Subscription(self, interest, after)
        self._subscriptions.add(subscription)
        keys = [key for key, *_ in self._limits(reader)]
        self._streams_of.update(keys)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
            self._streams_of.subtract(keys)
            for key in keys:
                if not self._streams_of[key]:
                    del self._streams_of[key]

    def _limits(self, reader: Reader) -> list[tuple[str, int, str]]:
        """What a reader's streams are counted by: the key, how many it may have, in words."""
        settings = self._platform.settings
        limits = [(reader.caller_id, settings.event_streams_per_caller, "A caller")]
        if reader.org_id is not None:
            limits.append(
                (f"tenant:{reader.org_id}", settings.event_streams_per_tenant, "A tenant")
            )
        if not address_shared(reader.address, settings.trusted_proxies):
            most = settings.event_streams_per_address
            limits.append((f"address:{reader.address}", most, "An address"))
        return limits

    def admit(self, reader: Reader) -> None:
        """Refuse one stream too many: of this caller, its tenant, its address, or of all."""
        settings = self._platform.settings
        if self._platform.signals.finishing:
            raise PlatformError(ErrorCode.SHUTTING_DOWN, "This replica ends; connect again.")
        for key, most, whose in self._limits(reader):
            if self._streams_of[key] >= most:
                raise PlatformError(
                    ErrorCode.RATE_LIMITED,
                    f"{whose} may have {most} event streams open at once.",
                    retry_after=5,
                )
        if len(self._subscriptions) >= settings.event_streams_max:
            raise PlatformError(
                ErrorCode.UNAVAILABLE, "This replica has no stream to spare.", retry_after=5
            )

    async def located(self) -> int:
        """The last event handed out; where the sequence stands when nobody listened before."""
        if self.offered is None:
            async with self._platform.db.connection() as conn:
                head = await sequence.event_head(conn)
            if self.offered is None:  # somebody else may have asked at the same time
                self.offered = head
        return self.offered

    async def page(self, interest: Interest, after: int, up_to: int) -> list[Frame]:
        """Events for one who is behind; few at a time, so that others get connections too."""
        span = sequence.Span(_PAGE, after=after, up_to=up_to)
        async with self._catching_up, self._platform.db.connection() as conn:
            rows = await sequence.events_list(conn, interest, span)
        return [event_frame(row, self._source) for row in rows]

    async def turn(self) -> None:
        """Read what is new and hand it out; costs nothing while nobody listens."""
        if self._platform.signals.finishing:
            self.close()
            return
        if not self._subscriptions:
            self.offered = None
            return
        after = await self.located()
        while True:
            async with self._platform.db.connection() as conn:
                rows = await sequence.events_after(conn, after, _BATCH)
            self._offer(rows)
            if len(rows) < _BATCH:
                return
            after = rows[-1]["seq"]
            await asyncio.sleep(0)  # let readers send before the next batch fills their queues

    def accept(self, rows: Sequence[Record]) -> None:
        """Take events from the relay's hands, if they are the next ones and somebody listens."""
        if self._subscriptions and self.offered == rows[0]["seq"] - 1 and len(rows) <= _BATCH:
            self._offer(rows)

    def _offer(self, rows: Sequence[Record]) -> None:
        for row in rows:
            if self.offered is None or row["seq"] <= self.offered:
                continue  # came from the relay's hands while it was read
            frame = event_frame(row, self._source)
            for subscription in self._subscriptions:
                subscription.offer(frame)
            self.offered = frame.seq

    async def beat(self) -> None:
        """Rouse every reader for its heartbeat; end those whose peer takes nothing any more."""
        now = asyncio.get_running_loop().time()
        for subscription in list(self._subscriptions):
            since = subscription.blocked_since
            if since is not None and now - since > _STUCK_SECONDS:
                subscription.abandon()
            else:
                subscription.rouse()
            await asyncio.sleep(0)

    def close(self) -> None:
        """Let every stream end; their clients come back to another replica."""
        for subscription in self._subscriptions:
            subscription.close()


@asynccontextmanager
async def hub_running(platform: Platform) -> AsyncIterator[None]:
    """Run the hub of this process for as long as the block runs."""
    hub = Hub(platform)
    platform.parts[PART] = hub
    loops = (
        Loop("events-hub", hub.turn, every=_SWEEP_SECONDS, topic="events"),
        Loop("events-heartbeat", hub.beat, every=HEARTBEAT_SECONDS, topic="events.heartbeat"),
    )
    async with AsyncExitStack() as stack:
        for loop in loops:
            await stack.enter_async_context(loop_running(platform.signals, loop))
        yield
        hub.close()
    del platform.parts[PART]


def hub_accept(platform: Platform, rows: Sequence[Record]) -> None:
    """Hand new events, in order, to the hub of this process, if one runs."""
    hub: Hub | None = platform.parts.get(PART)
    if hub is not None:
        hub.accept(rows)


def hub_of(platform: Platform) -> Hub:
    """The hub that runs in this process."""
    hub: Hub = platform.parts[PART]
    return hub


def reader_of(call: Call) -> Reader:
    """Who reads, for a call."""
    return Reader(call.caller.id, call.caller.home.org_id, call.source)
