"""Metrics and spans of this process; the only module rooms and the edge report to.

Metrics are always kept (they are cheap) and read by the operate room. Spans cost nothing until an
OTLP endpoint is configured: `kernel/tracing.py` and OpenTelemetry are not even imported before.
Labels take values from code alone (routes, actions, loops), so that their number is bounded and no
tenant, person or secret ever becomes one.
"""

import functools
import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

from gpuaas_platform.kernel.settings import Settings

REGISTRY: Final = CollectorRegistry()
ProcessCollector(namespace="gpuaas", registry=REGISTRY)

_FAST: Final = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SLOW: Final = (0.01, 0.05, 0.1, 0.5, 1, 5, 15, 60, 300, 1800)
_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})

_REQUESTS: Final = Counter(
    "gpuaas_http_requests", "Answers given", ["method", "route", "status"], registry=REGISTRY
)
_DURATION: Final = Histogram(
    "gpuaas_http_request_seconds",
    "From the request to the end of its answer, without streams",
    ["method", "route"],
    buckets=_FAST,
    registry=REGISTRY,
)
IN_FLIGHT: Final = Gauge(
    "gpuaas_http_requests_in_flight", "Requests being answered, streams too", registry=REGISTRY
)
RATE_LIMITED: Final = Counter(
    "gpuaas_http_rate_limited", "Requests refused because of their rate", registry=REGISTRY
)
MUTATIONS: Final = Counter(
    "gpuaas_mutations", "Mutations by outcome", ["action", "outcome"], registry=REGISTRY
)
LOOP_FAILURES: Final = Counter(
    "gpuaas_loop_failures", "Turns of background loops that failed", ["loop"], registry=REGISTRY
)
CLAIM_WAIT: Final = Histogram(
    "gpuaas_operation_claim_seconds",
    "From the moment an operation could be claimed until a controller claimed it",
    buckets=_SLOW,
    registry=REGISTRY,
)


class RequestSpan(Protocol):
    """The span of one request; `traceparent` is what everything that follows from it carries."""

    traceparent: str

    def done(self, name: str, status: int) -> None:
        """Say which route it was and how it was answered."""


class Tracing(Protocol):
    """What `kernel/tracing.py` provides."""

    def request(self, traceparent: str | None, correlation_id: str) -> "_RequestContext":
        """A span for one request, continuing the caller's trace."""

    def span(self, name: str) -> AbstractContextManager[object]:
        """A span below the current one."""

    def describe(self, attributes: dict[str, str]) -> None:
        """Add attributes to the current span."""

    def traceparent(self) -> str | None:
        """The current span's context, if there is one."""

    def stop(self) -> None:
        """Send what is left."""


_RequestContext = AbstractContextManager[RequestSpan]
_NO_SPAN: Final[AbstractContextManager[object]] = nullcontext()
_tracing: Tracing | None = None


@contextmanager
def tracing_running(settings: Settings) -> Iterator[None]:
    """Send spans for as long as the block runs, if an endpoint is configured."""
    global _tracing  # noqa: PLW0603 - one per process, as the metrics are
    if settings.otlp_endpoint is None:
        yield
        return
    # Not imported by those who do not trace: it brings OpenTelemetry's SDK and an HTTP client.
    module = importlib.import_module("gpuaas_platform.kernel.tracing")
    started: Tracing = module.tracing_start(settings)
    _tracing = started
    try:
        yield
    finally:
        _tracing = None
        started.stop()


def request_span(traceparent: str | None, correlation_id: str) -> _RequestContext | None:
    """A span for one request; None while nobody traces."""
    return None if _tracing is None else _tracing.request(traceparent, correlation_id)


def span(name: str) -> AbstractContextManager[object]:
    """A span for the length of a block; nothing while nobody traces."""
    return _NO_SPAN if _tracing is None else _tracing.span(name)


def span_describe(**attributes: str | None) -> None:
    """Say of the current span where and what it is about; absent values are left out."""
    if _tracing is not None:
        _tracing.describe({k: v for k, v in attributes.items() if v is not None})


def traceparent_current() -> str | None:
    """The current span as what follows from it carries it; None while nobody traces."""
    return None if _tracing is None else _tracing.traceparent()


def request_observe(method: str, route: str, status: int, seconds: float | None) -> None:
    """Count one answer; a stream has no duration."""
    count, duration = _series(method if method in _METHODS else "OTHER", route, status)
    count.inc()
    if seconds is not None:
        duration.observe(seconds)
    if status == 429:
        RATE_LIMITED.inc()


@functools.cache  # as many as there are routes and answers; looking labels up costs more
def _series(method: str, route: str, status: int) -> tuple[Counter, Histogram]:
    return _REQUESTS.labels(method, route, str(status)), _DURATION.labels(method, route)
