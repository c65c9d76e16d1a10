"""What holds for every request, before any route: correlation, size, headers, log, metrics, span.

The outermost ASGI layer. Accepts or mints the correlation id and the W3C trace context, puts both
on the answer and on every log line, refuses bodies that are too large or JSON that is nested too
deeply, answers what nobody caught.
"""

import re
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpuaas_contract.artifacts import PART_BYTES_MAX
from gpuaas_contract.common import API_PREFIX, CORRELATION_HEADER, CORRELATION_PATTERN
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.events import EVENT_STREAM_MEDIA_TYPE
from gpuaas_platform.http.errors import problem_response
from gpuaas_platform.kernel import telemetry
from gpuaas_platform.kernel.limits import Networks, OpenLimit, address_shared
from gpuaas_platform.kernel.logs import request_log
from gpuaas_platform.kernel.problems import PlatformError, invalid

_log = structlog.get_logger("gpuaas.access")
_CORRELATION: Final = re.compile(CORRELATION_PATTERN)
_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
# Any answer may hold a secret or a tenant's data: none of the API's is kept by a cache.
_NOT_STORED: Final = "no-store"
_HTTPS_ONLY: Final = f"max-age={365 * 86_400}"
# Serializers refuse a value that is nested too deeply (pydantic: 255 levels), and pages and events
# put some levels around what a caller gave.
_JSON_DEPTH_MAX: Final = 64
# Possessive, and a string that does not end is a token too: no body makes the search start over.
_JSON_TOKEN: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|[][{}]', re.DOTALL)
# A part of an artifact is larger than any other body; its route streams it.
_PART_PATH: Final = re.compile(rf"{API_PREFIX}/artifacts/[^/]+/parts/[^/]+")
_NO_ROUTE: Final = "none"  # one label for every path that is not ours


class TooLarge(PlatformError):
    """The body went over the limit while it was read."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            ErrorCode.REQUEST_TOO_LARGE, f"A request body may have {limit} bytes at most."
        )


@dataclass(frozen=True)
class Addresses:
    """How many requests each address may have open; those of proxies themselves do not count."""

    limit: OpenLimit
    proxies: Networks = ()

    def enter(self, address: str) -> Callable[[], None]:
        """Count a request; what ends it. Raises when it is one too many."""
        if address_shared(address, self.proxies):
            return _nothing
        if not self.limit.enter(address):
            raise PlatformError(
                ErrorCode.RATE_LIMITED,
                f"An address may have {self.limit.most} requests open at once.",
                retry_after=5,
            )
        return partial(self.limit.leave, address)


def _nothing() -> None:
    """What ends a request that was not counted."""


class Edge:
    """Wraps the application. `https` says that its public address is reached over TLS alone."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        max_body_bytes: int,
        https: bool = False,
        addresses: Addresses | None = None,
    ) -> None:
        self._app = app
        self._addresses = addresses
        self._max = max_body_bytes
        self._headers = _SECURITY_HEADERS | (
            {"Strict-Transport-Security": _HTTPS_ONLY} if https else {}
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        exchange = _Exchange(scope, send, correlation_of(headers), self._headers)
        given = traceparent_of(headers)
        traced = telemetry.request_span(given, exchange.correlation)
        if traced is None:
            await self._serve(exchange, receive, given or traceparent_new())
            return
        with traced as span:
            await self._serve(exchange, receive, span.traceparent)
            span.done(f"{scope['method']} {exchange.route}", exchange.status)

    async def _serve(self, exchange: "_Exchange", receive: Receive, traceparent: str) -> None:
        scope = exchange.scope
        state = scope.setdefault("state", {})
        state["correlation_id"], state["traceparent"] = exchange.correlation, traceparent
        _, trace_id, span_id, _ = traceparent.split("-")
        exchange.ids |= {"trace_id": trace_id, "span_id": span_id}
        structlog.contextvars.bind_contextvars(**exchange.ids)
        state["started"] = started = time.perf_counter()
        state["at_end"] = at_end = list[Callable[[], None]]()
        telemetry.IN_FLIGHT.inc()
        try:
            if self._addresses is not None:
                at_end.append(self._addresses.enter((scope.get("client") or ("",))[0]))
            limited = _limited(Headers(scope=scope), receive, self._limit_of(scope))
            await self._app(scope, limited, exchange.send)
        except PlatformError as error:
            await exchange.fail(error, receive)
        except Exception as error:  # noqa: BLE001 - the last line: whatever it is, answer and log it
            _log.exception("unhandled", error=type(error).__name__)
            failure = PlatformError(ErrorCode.INTERNAL, "The platform failed; it has been logged.")
            await exchange.fail(failure, receive)
        finally:
            for end in at_end:
                end()
            exchange.end(time.perf_counter() - started)
            structlog.contextvars.clear_contextvars()

    def _limit_of(self, scope: Scope) -> int:
        if scope["method"] == "PUT" and _PART_PATH.fullmatch(scope["path"]):
            return PART_BYTES_MAX
        return self._max


class _Exchange:
    """A request and the answer on its way out: adds the common headers, remembers the status."""

    def __init__(
        self, scope: Scope, send: Send, correlation: str, headers: Mapping[str, str]
    ) -> None:
        self.scope = scope
        self.correlation = correlation
        self.status = 0
        self.ids = {"correlation_id": correlation}
        self._send = send
        self._headers = headers
        self._streams = False

    @property
    def route(self) -> str:
        """The template of the route that was taken."""
        return getattr(self.scope.get("route"), "path_format", _NO_ROUTE)

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[CORRELATION_HEADER] = self.correlation
            self._streams = headers.get("content-type", "").startswith(EVENT_STREAM_MEDIA_TYPE)
            for name, value in self._headers.items():
                headers.setdefault(name, value)
            if self.scope["path"].startswith(API_PREFIX):
                headers.setdefault("Cache-Control", _NOT_STORED)
        await self._send(message)

    async def fail(self, error: PlatformError, receive: Receive) -> None:
        if self.status:
            return  # the answer had begun: the connection breaks off, which the client sees
        await problem_response(error, self.correlation)(self.scope, receive, self.send)

    def end(self, seconds: float) -> None:
        """Log and count it. How long a stream was open says nothing about the platform."""
        method = self.scope["method"]
        telemetry.IN_FLIGHT.dec()
        telemetry.request_observe(
            method, self.route, self.status, None if self._streams else seconds
        )
        request_log(
            {
                "method": method,
                "path": self.scope["path"],
                "status": self.status,
                "milliseconds": round(seconds * 1000, 1),
                **self.ids,
            }
        )


def correlation_of(headers: Headers) -> str:
    """The caller's correlation id when it is well formed, else a new one."""
    given = headers.get(CORRELATION_HEADER, "")
    return given if _CORRELATION.match(given) else correlation_new()


def correlation_new() -> str:
    """A correlation id of our own."""
    return f"cor_{secrets.token_hex(12)}"


def traceparent_of(headers: Headers) -> str | None:
    """The caller's trace context when it is well formed."""
    match = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    if match is not None and match[1] != "0" * 32 and match[2] != "0" * 16:
        return match[0]
    return None


def traceparent_new() -> str:
    """The start of a trace of our own."""
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def _limited(headers: Headers, receive: Receive, limit: int) -> Receive:
    """Refuse an announced length that is too large, and count what arrives unannounced."""
    announced = headers.get("content-length", "0")
    if not announced.isdecimal() or int(announced) > limit:
        raise TooLarge(limit)
    kept = "json" in headers.get("content-type", "").lower() and limit != PART_BYTES_MAX
    parts: list[bytes] | None = [] if kept else None
    total = 0

    async def counted() -> Message:
        nonlocal parts, total
        message = await receive()
        body = message.get("body", b"")
        total += len(body)
        if total > limit:
            raise TooLarge(limit)
        if parts is not None:
            parts.append(body)
            if not message.get("more_body", False):
                whole, parts = b"".join(parts), None
                _depth_require(whole)
        return message

    return counted


def _depth_require(body: bytes) -> None:
    """Refuse JSON that is nested too deeply. Most bodies have fewer brackets than that at all."""
    if b"\0" in body:  # UTF-16 or UTF-32, which the parser would take; UTF-8 escapes this byte
        raise invalid("/", "JSON is sent as UTF-8")
    if body.count(b"[") + body.count(b"{") <= _JSON_DEPTH_MAX:
        return
    depth = 0
    for token in _JSON_TOKEN.finditer(body):
        first = body[token.start()]
        if first in b"[{":
            depth += 1
        elif first in b"]}":
            depth -= 1
        if depth > _JSON_DEPTH_MAX:
            raise invalid("/", f"JSON may be nested {_JSON_DEPTH_MAX} levels deep at most")
