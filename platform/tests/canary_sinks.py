"""Secrets that must not be seen, and all the places where they could be."""

import base64
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from gpuaas_platform.kernel.embedded import EmbeddedPostgres


@dataclass
class Canaries:
    """Secrets by name; a secret is looked for as it is and in the encodings of our sinks."""

    secrets: dict[str, str] = field(default_factory=dict)

    def keep(self, name: str, secret: str) -> str:
        """Remember a secret; returns it."""
        assert len(secret) >= 12, "too short to be told from other text"
        self.secrets[f"{name} {len(self.secrets)}"] = secret
        return secret

    def seen_in(self, sink: bytes) -> list[str]:
        """Names of the secrets a sink holds."""
        lowered = sink.lower()
        return [
            name
            for name, secret in self.secrets.items()
            if any(form in sink or form.lower() in lowered for form in _forms(secret))
        ]


def _forms(secret: str) -> Iterator[bytes]:
    prefix, _, rest = secret.partition("_")
    bodies = {secret}
    if prefix in {"gpk", "gpt", "gpp", "gps", "whsec"}:
        # The random part alone would be as good as the whole; a key's id before it is public.
        bodies.add(rest.split("_", 1)[1] if prefix == "gpk" else rest)
    for body in bodies:
        raw = body.encode()
        yield raw
        yield raw.hex().encode()
        yield base64.b64encode(raw).rstrip(b"=")
        yield base64.urlsafe_b64encode(raw).rstrip(b"=")


def database_dump(url: str, folder: Path) -> bytes:
    """The whole database, as somebody with a backup would have it."""
    binary = EmbeddedPostgres(folder)._binaries() / "pg_dump"
    return subprocess.run([binary, "--inserts", url], check=True, capture_output=True).stdout


@dataclass
class Taken:
    """What a webhook's target was sent: headers and bodies, and how it answers."""

    url: str = ""
    status: int = 200
    sent: list[bytes] = field(default_factory=list)


@contextmanager
def webhook_target() -> Iterator[Taken]:
    """A target for webhooks on loopback."""
    taken = Taken()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            taken.sent.append(str(self.headers).encode() + body)
            self.send_response(taken.status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    taken.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    try:
        yield taken
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
