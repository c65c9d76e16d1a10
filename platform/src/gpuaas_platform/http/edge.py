"""What holds for every request, before any route: correlation, size, headers, the access log.

The outermost ASGI layer. Accepts or mints the correlation id and the W3C trace context, puts both
on the answer and on every log line, refuses bodies that are too large, answers what nobody caught.
"""

import re
import secrets
import time
from typing import Final

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gpuaas_contract.common import CORRELATION_HEADER, CORRELATION_PATTERN
from gpuaas_contract.errors import ErrorCode
from gpuaas_platform.http.errors import problem_response
from gpuaas_platform.kernel.problems import PlatformError

_log = structlog.get_logger("gpuaas.access")
_CORRELATION: Final = re.compile(CORRELATION_PATTERN)
_TRACEPARENT: Final = re.compile(r"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})")
_SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


class TooLarge(PlatformError):
    """The body went over the limit while it was read."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            ErrorCode.REQUEST_TOO_LARGE, f"A request body may have {limit} bytes at most."
        )


class Edge:
    """Wraps the application."""

    def __init__(self, app: ASGIApp, *, max_body_bytes: int) -> None:
        self._app = app
        self._max = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        correlation = correlation_of(headers)
        traceparent = traceparent_of(headers)
        state = scope.setdefault("state", {})
        state["correlation_id"], state["traceparent"] = correlation, traceparent
        structlog.contextvars.bind_contextvars(
            correlation_id=correlation, trace_id=traceparent.split("-")[1]
        )
        exchange = _Exchange(scope, send, correlation)
        started = time.perf_counter()
        try:
            await self._app(scope, _limited(headers, receive, self._max), exchange.send)
        except PlatformError as error:
            await exchange.fail(error, receive)
        except Exception as error:  # noqa: BLE001 - the last line: whatever it is, answer and log it
            _log.exception("unhandled", error=type(error).__name__)
            failure = PlatformError(ErrorCode.INTERNAL, "The platform failed; it has been logged.")
            await exchange.fail(failure, receive)
        finally:
            _log.info(
                "request",
                method=scope["method"],
                path=scope["path"],
                status=exchange.status,
                milliseconds=round((time.perf_counter() - started) * 1000, 1),
            )
            structlog.contextvars.clear_contextvars()


class _Exchange:
    """The answer on its way out: adds the common headers and remembers the status."""

    def __init__(self, scope: Scope, send: Send, correlation: str) -> None:
        self._scope = scope
        self._send = send
        self._correlation = correlation
        self.status = 0

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[CORRELATION_HEADER] = self._correlation
            for name, value in _SECURITY_HEADERS.items():
                headers.setdefault(name, value)
        await self._send(message)

    async def fail(self, error: PlatformError, receive: Receive) -> None:
        if self.status:
            return  # the answer had begun: the connection breaks off, which the client sees
        await problem_response(error, self._correlation)(self._scope, receive, self.send)


def correlation_of(headers: Headers) -> str:
    """The caller's correlation id when it is well formed, else a new one."""
    given = headers.get(CORRELATION_HEADER, "")
    return given if _CORRELATION.match(given) else f"cor_{secrets.token_hex(12)}"


def traceparent_of(headers: Headers) -> str:
    """The caller's trace context when it is well formed, else the start of a new trace."""
    match = _TRACEPARENT.fullmatch(headers.get("traceparent", ""))
    if match is not None and match[1] != "0" * 32 and match[2] != "0" * 16:
        return match[0]
    return f"00-{secrets.token_hex(16)}-{secrets.token_hex(8)}-01"


def _limited(headers: Headers, receive: Receive, limit: int) -> Receive:
    """Refuse an announced length that is too large, and count what arrives unannounced."""
    announced = headers.get("content-length", "0")
    if not announced.isdigit() or int(announced) > limit:
        raise TooLarge(limit)
    total = 0

    async def counted() -> Message:
        nonlocal total
        message = await receive()
        total += len(message.get("body", b""))
        if total > limit:
            raise TooLarge(limit)
        return message

    return counted
