"""The server's HTTP protocol with bounds: requests that do not arrive, and too many connections.

uvicorn ends an idle connection after an answer, but waits without end for a first request, for the
rest of a request's head and for the rest of its body. Here each has a time. A body's time grows
with what has arrived, so a large upload over a slow link passes and a few bytes now and then do
not. Connections are counted by address; those of proxies are not, since they stand for many people.
"""

import asyncio
from dataclasses import dataclass, field
from typing import Any, Final

from gpuaas_contract.errors import MEDIA_TYPE, ErrorCode
from gpuaas_platform.http.edge import correlation_new
from gpuaas_platform.http.errors import problem_of
from gpuaas_platform.http.zero_copy import ZeroCopyProtocol
from gpuaas_platform.kernel.limits import OpenLimit, address_shared
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.settings import Settings

BODY_BYTES_PER_SECOND: Final = 4096
_REASONS: Final = {408: b"Request Timeout", 429: b"Too Many Requests"}


@dataclass(frozen=True)
class Bounds:
    """What one replica grants each connection, and how many each address has."""

    settings: Settings
    addresses: OpenLimit = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "addresses", OpenLimit(self.settings.connections_per_address))


def bounded_protocol(settings: Settings) -> type[ZeroCopyProtocol]:
    """The protocol class for uvicorn, with these bounds."""
    return type("Bounded", (BoundedProtocol,), {"bounds": Bounds(settings)})


class BoundedProtocol(ZeroCopyProtocol):
    """uvicorn's protocol, which ends connections that do not bring a request in time."""

    bounds: Bounds

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
        """A client has connected: it is counted, and its first request is awaited."""
        super().connection_made(transport)
        self._timer: asyncio.TimerHandle | None = None
        self._counted: str | None = None
        self._in_head = False
        self._in_body = False
        self._body_began = 0.0
        self._body_bytes = 0
        address = (transport.get_extra_info("peername") or ("",))[0]
        settings = self.bounds.settings
        if address and not address_shared(address, settings.trusted_proxies):
            if not self.bounds.addresses.enter(address):
                self._refuse(
                    PlatformError(
                        ErrorCode.RATE_LIMITED,
                        f"An address may have {settings.connections_per_address} connections open"
                        " at once.",
                        retry_after=5,
                    )
                )
                return
            self._counted = address
        self._watch(settings.request_head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is over."""
        self._unwatch()
        if self._counted is not None:
            self.bounds.addresses.leave(self._counted)
            self._counted = None
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what came; what is not whole by now is awaited for a while."""
        super().data_received(data)
        if self._timer is not None or self.transport.is_closing():
            return
        if self._in_body:
            self._body_began, self._body_bytes = self.loop.time(), 0
            self._watch(self.bounds.settings.request_body_seconds)
        elif self._in_head or not self._serving():
            self._watch(self.bounds.settings.request_head_seconds)

    def on_message_begin(self) -> None:
        """The first line of a request has begun."""
        super().on_message_begin()
        self._in_head = True

    def on_headers_complete(self) -> None:
        """A request's head is whole."""
        self._unwatch()
        self._in_head, self._in_body = False, True
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """A part of a body has come."""
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """A request is whole."""
        self._unwatch()
        self._in_body = False
        super().on_message_complete()

    def _serving(self) -> bool:
        """Whether an answer is under way."""
        cycle: Any = self.cycle
        return cycle is not None and not cycle.response_complete

    def _watch(self, seconds: float) -> None:
        self._timer = self.loop.call_later(seconds, self._late)

    def _unwatch(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _late(self) -> None:
        """The time is over: end the connection, unless it is the platform that is not ready."""
        self._timer = None
        if self.transport.is_closing():
            return
        settings = self.bounds.settings
        if self._in_body:
            if self.flow.read_paused:  # the route takes its time, the client does not
                self._watch(settings.request_body_seconds)
                return
            granted = settings.request_body_seconds + self._body_bytes / BODY_BYTES_PER_SECOND
            left = self._body_began + granted - self.loop.time()
            if left > 0:
                self._watch(left)
                return
        elif self._serving():  # bytes of a next request came early
            self._watch(settings.request_head_seconds)
            return
        elif not self._in_head:  # nothing was asked: browsers open connections in advance
            self.transport.close()
            return
        what = "body" if self._in_body else "head"
        detail = f"The {what} of the request did not arrive in time."
        self._refuse(PlatformError(ErrorCode.REQUEST_TIMEOUT, detail))

    def _refuse(self, error: PlatformError) -> None:
        """Answer, where no answer has begun, and close."""
        cycle: Any = self.cycle
        serving = self._serving()
        if not (serving and cycle.response_started):
            body = problem_of(error, correlation_new()).model_dump_json().encode()
            head = [
                b"HTTP/1.1 %d %b" % (error.kind.status, _REASONS[error.kind.status]),
                b"content-type: %b" % MEDIA_TYPE.encode(),
                b"content-length: %d" % len(body),
                b"connection: close",
            ]
            if error.retry_after is not None:
                head.append(b"retry-after: %d" % error.retry_after)
            self.transport.write(b"\r\n".join([*head, b"", body]))
        self.transport.close()
        if serving:  # the route learns at once that nobody listens any more
            cycle.disconnected = True
            cycle.message_event.set()
