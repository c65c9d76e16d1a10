"""A real OTLP/HTTP receiver on loopback: takes spans as a collector would, and keeps them."""

import gzip
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span


@dataclass
class Received:
    """What arrived: spans in order, resources, and the bodies as they came over the wire."""

    url: str = ""
    spans: list[Span] = field(default_factory=list)
    resources: list[dict[str, str]] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def named(self, name: str) -> Span:
        """The one span with this name."""
        found = [span for span in self.spans if span.name == name]
        assert len(found) == 1, [span.name for span in self.spans]
        return found[0]


def attributes_of(span: Span) -> dict[str, str]:
    """The span's attributes as text."""
    return {
        item.key: item.value.string_value or str(item.value.int_value) for item in span.attributes
    }


@contextmanager
def otlp_receiving() -> Iterator[Received]:
    """Receive for the length of a block."""
    received = Received()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            assert self.path == "/v1/traces"
            request = ExportTraceServiceRequest.FromString(body)
            received.bodies.append(body)
            for resource in request.resource_spans:
                received.resources.append(
                    {item.key: item.value.string_value for item in resource.resource.attributes}
                )
                for scope in resource.scope_spans:
                    received.spans.extend(scope.spans)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    received.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
