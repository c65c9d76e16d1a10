"""Spans sent by OTLP/HTTP. Imported by `kernel/telemetry.py` only when an endpoint is configured.

The provider is ours alone and never made global, so that no library starts to record by itself.
Spans carry names, ids and codes: no bodies, no query strings, no messages of exceptions.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    TraceFlags,
)

from gpuaas_platform import __version__
from gpuaas_platform.kernel.replica import replica_name
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.kernel.telemetry import RequestSpan

_SEND_SECONDS: Final = 5.0
_QUEUE: Final = 4096
_PREFIX: Final = "gpuaas."


def tracing_start(settings: Settings) -> "OtlpTracing":
    """Begin to send spans to the configured endpoint, in batches, from a thread of its own."""
    endpoint = f"{(settings.otlp_endpoint or '').rstrip('/')}/v1/traces"
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(settings.otlp_sample_ratio)),
        resource=Resource.create(
            {
                "service.name": "gpuaas-platform",
                "service.version": __version__,
                "service.instance.id": replica_name(),
            }
        ),
        shutdown_on_exit=False,
    )
    exporter = OTLPSpanExporter(endpoint=endpoint, timeout=_SEND_SECONDS)
    provider.add_span_processor(BatchSpanProcessor(exporter, max_queue_size=_QUEUE))
    return OtlpTracing(provider)


class OtlpTracing:
    """The process's spans."""

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider
        self._tracer = provider.get_tracer("gpuaas_platform", __version__)

    @contextmanager
    def request(self, traceparent: str | None, correlation_id: str) -> Iterator[RequestSpan]:
        """A server span that continues the caller's trace, or begins one."""
        with self._tracer.start_as_current_span(
            "request",
            context=_parent(traceparent),
            kind=SpanKind.SERVER,
            attributes={f"{_PREFIX}correlation_id": correlation_id},
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            yield _RequestSpan(span)

    def span(self, name: str) -> AbstractContextManager[object]:
        """A span below the current one; of a failure it keeps the type, never the message."""
        return _child(self._tracer, name)

    def describe(self, attributes: dict[str, str]) -> None:
        """Add attributes to the current span."""
        span = trace.get_current_span()
        for name, value in attributes.items():
            span.set_attribute(_PREFIX + name, value)

    def traceparent(self) -> str | None:
        """The current span's context, if there is one."""
        context = trace.get_current_span().get_span_context()
        return _traceparent(context) if context.is_valid else None

    def stop(self) -> None:
        """Send what is left and end the thread."""
        self._provider.shutdown()


class _RequestSpan:
    def __init__(self, span: Span) -> None:
        self._span = span
        self.traceparent = _traceparent(span.get_span_context())

    def done(self, name: str, status: int) -> None:
        method, _, route = name.partition(" ")
        self._span.update_name(name)
        self._span.set_attributes(
            {
                "http.request.method": method,
                "http.route": route,
                "http.response.status_code": status,
            }
        )
        if status >= 500:
            self._span.set_status(Status(StatusCode.ERROR))


@contextmanager
def _child(tracer: trace.Tracer, name: str) -> Iterator[None]:
    with tracer.start_as_current_span(
        name, record_exception=False, set_status_on_exception=False
    ) as span:
        try:
            yield
        except Exception as error:
            span.set_status(Status(StatusCode.ERROR))
            span.set_attribute("error.type", type(error).__name__)
            raise


def _traceparent(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"


def _parent(traceparent: str | None) -> Context:
    """The caller's span as the parent; an empty context where there was none."""
    if traceparent is None:
        return Context()
    _, trace_id, span_id, flags = traceparent.split("-")
    remote = SpanContext(int(trace_id, 16), int(span_id, 16), True, TraceFlags(int(flags, 16)))
    return trace.set_span_in_context(NonRecordingSpan(remote), Context())
