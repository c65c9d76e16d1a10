"""A real S3 server for a test: SeaweedFS as a process of its own, on loopback."""

import json
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2
from eventually import eventually_sync

from gpuaas_platform.artifacts.sigv4 import Keys, Signed, headers_signed

BUCKET = "artifacts"


@dataclass
class S3Server:
    """A running server with an empty bucket."""

    process: "subprocess.Popen[bytes]"
    url: str
    folder: Path
    keys: Keys

    @property
    def settings(self) -> dict[str, Any]:
        """What a platform that uses it is configured with."""
        return {
            "artifact_store": "s3",
            "s3_endpoint": self.url,
            "s3_bucket": BUCKET,
            "s3_access_key": self.keys.access_key,
            "s3_secret_key_file": self.folder / "secret",
        }

    def ask(self, method: str, path: str, **query: str) -> httpx2.Response:
        """A signed request without a body."""
        host = self.url.removeprefix("http://")
        empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        signed = Signed(method, host, path, query, empty)
        headers = headers_signed(self.keys, signed, datetime.now(UTC))
        return httpx2.request(
            method, f"{self.url}{path}", params=query, headers=headers, timeout=60
        )


@contextmanager
def s3_running() -> Iterator[S3Server]:
    """A server for as long as the block runs; nothing of it is left."""
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-s3-"))
    keys = Keys("gpuaas-test", secrets.token_hex(16), "us-east-1")
    (folder / "secret").write_text(keys.secret_key)
    identity = {
        "name": "test",
        "credentials": [{"accessKey": keys.access_key, "secretKey": keys.secret_key}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [identity]}))
    names = ("master", "volume", "filer", "s3")
    ports = _free_ports(2 * len(names))
    options = [f"-{name}.port={ports[2 * number]}" for number, name in enumerate(names)]
    options += [f"-{name}.port.grpc={ports[2 * number + 1]}" for number, name in enumerate(names)]
    command = [
        *(str(Path(sys.executable).with_name("weed")), f"-logdir={folder}"),
        *("server", "-s3", "-filer"),
        *(f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1", "-volume.max=20"),
        *("-master.volumeSizeLimitMB=64", f"-s3.config={folder / 's3.json'}", *options),
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, cwd=folder)
    server = S3Server(process, f"http://127.0.0.1:{ports[2 * names.index('s3')]}", folder, keys)
    try:
        _wait(server)
        yield server
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(server: S3Server) -> None:
    """Ready is a server that has made the bucket and kept something in it."""
    log = server.folder / "log"

    def writable() -> bool:
        assert server.process.poll() is None, f"the S3 server ended: {log.read_text()}"
        try:
            if server.ask("PUT", f"/{BUCKET}").status_code not in {200, 409}:
                return False
            return server.ask("PUT", f"/{BUCKET}/probe").status_code == 200
        except httpx2.TransportError:
            return False

    eventually_sync(writable, within=120, what=lambda: f"an answer; the log is {log.read_text()}")
    server.ask("DELETE", f"/{BUCKET}/probe")


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]
