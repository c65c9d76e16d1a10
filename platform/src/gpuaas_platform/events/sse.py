"""The answer of an event stream: a `text/event-stream` that follows one subscription.

Written against ASGI itself: an event goes from the hub to the socket in one hop. Ends when the
client goes away, the process ends, or the caller may no longer read; clients resume with the
last id they saw.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

import structlog
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from gpuaas_contract.events import EVENT_STREAM_MEDIA_TYPE, StreamGap
from gpuaas_platform.events.interest import Interest
from gpuaas_platform.events.stream import Hub, Reader, Subscription
from gpuaas_platform.kernel.problems import PlatformError

_log = structlog.get_logger(__name__)
RECHECK_SECONDS: Final = 15.0
_RETRY: Final = b"retry: 1000\n\n"
_HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}

Recheck = Callable[[], Awaitable[Interest]]


@dataclass(frozen=True)
class Opening:
    """How a stream begins: for whom, with what, behind which event, and what it cannot show."""

    reader: Reader
    interest: Interest
    after: int | None
    gap: StreamGap | None = None


class EventStream(Response):
    """A stream of events to one client. `recheck` says what the caller may read by now."""

    media_type = EVENT_STREAM_MEDIA_TYPE

    def __init__(self, hub: Hub, opening: Opening, recheck: Recheck) -> None:
        super().__init__(headers=_HEADERS)
        del self.headers["content-length"]
        self._hub = hub
        self._opening = opening
        self._recheck = recheck

    async def __call__(self, _: Scope, receive: Receive, send: Send) -> None:
        """Serve the stream until it ends."""
        opening = self._opening
        with self._hub.subscribed(opening.reader, opening.interest, opening.after) as subscription:
            await subscription.begin()
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            pump = asyncio.create_task(self._pump(subscription, send))
            gone = asyncio.create_task(_disconnected(receive))
            subscription.abandon = pump.cancel
            try:
                await asyncio.wait({pump, gone}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                pump.cancel()
                gone.cancel()
                results = await asyncio.gather(pump, gone, return_exceptions=True)
            _failure_raise(results[0])

    async def _pump(self, subscription: Subscription, send: Send) -> None:
        clock = asyncio.get_running_loop().time
        recheck_at = clock() + _recheck_delay()
        await send(_body(_RETRY + _gap_frame(self._opening.gap)))
        while not subscription.closed:
            chunk = await subscription.next()
            if not chunk:
                chunk = b": heartbeat\nid: %d\n\n" % (subscription.cursor or 0)
            subscription.blocked_since = clock()
            await send(_body(chunk))
            subscription.blocked_since = None
            if clock() >= recheck_at:
                try:
                    subscription.interest = await self._recheck()
                except PlatformError as error:
                    await send(_body(b": ends: %b\n\n" % error.code.encode()))
                    break
                recheck_at = clock() + _recheck_delay()
        await send(_body(b"", more=False))


def _recheck_delay() -> float:
    """Each stream at a time of its own: many that began together must not all ask at once."""
    return RECHECK_SECONDS * random.uniform(0.5, 1.0)  # noqa: S311 - no secret


def _gap_frame(gap: StreamGap | None) -> bytes:
    if gap is None:
        return b""
    return b"event: stream.gap\ndata: %b\n\n" % gap.model_dump_json().encode()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


def _body(chunk: bytes, *, more: bool = True) -> Message:
    return {"type": "http.response.body", "body": chunk, "more_body": more}


def _failure_raise(result: BaseException | None) -> None:
    """A stream that lost the database breaks off, as a client expects; anything else is a fault."""
    if isinstance(result, PlatformError):
        _log.warning("event_stream_ended", error=result.detail)
    elif isinstance(result, Exception):
        raise result
