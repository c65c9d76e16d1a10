"""How long an event takes from its mutation to every open stream, at 200 subscribers.

A real `gpuaas-platform serve` with its embedded PostgreSQL, real streams over HTTP, real mutations
through the API. The clock starts when a mutation's transaction begins (the event's own `time`), so
the commit, the relay and the fan-out are all inside; it stops when a stream's bytes have arrived.
Run it with `python -m bench.events`, or through `make bench`.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import httpx2

from gpuaas_contract.common import CSRF_HEADER
from gpuaas_contract.identity import CSRF_COOKIE

SUBSCRIBERS = 200
LIMIT_MS = 25.0
_EVENTS = 300
_PER_SECOND = 20
_EMAIL = "bench@example.test"


@dataclass(frozen=True)
class Row:
    """One figure."""

    name: str
    value: float
    unit: str
    note: str = ""


async def measure() -> list[Row]:
    """Start a platform, open the streams, make things happen, and say how long they took."""
    async with _platform() as (url, client):
        tenant = await _tenant(client)
        token = client.headers["Authorization"]
        streams = [Stream() for _ in range(SUBSCRIBERS)]
        for stream in streams:
            await stream.open(url, str(token))
        await asyncio.gather(*(stream.opened.wait() for stream in streams))
        begun = time.process_time()
        for number in range(_EVENTS):
            due = asyncio.create_task(asyncio.sleep(1 / _PER_SECOND))
            body = {"display_name": f"Bench {number}"}
            answer = await client.patch(f"/tenants/{tenant}", json=body)
            answer.raise_for_status()
            await due
        await _arrived(streams)
        client_cpu = time.process_time() - begun
        for stream in streams:
            stream.close()
    return _rows(streams, client_cpu)


def within(rows: list[Row]) -> bool:
    """Whether the slowest hundredth keeps the limit."""
    return all(row.value <= LIMIT_MS for row in rows if row.name.endswith("p99"))


class Stream(asyncio.Protocol):
    """One subscriber: notes when each event arrived, and does as little else as it can."""

    def __init__(self) -> None:
        self.arrivals: list[tuple[float, bytes]] = []
        self._transport: asyncio.Transport | None = None
        self._buffer = b""
        self.opened = asyncio.Event()

    async def open(self, url: str, authorization: str) -> None:
        """Connect and ask for the stream."""
        host, port = url.removeprefix("http://").partition("/")[0].split(":")
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_connection(lambda: self, host, int(port))
        self._transport = transport
        transport.write(
            f"GET /api/v1/events/stream?type=identity HTTP/1.1\r\nHost: {host}\r\n"
            f"Authorization: {authorization}\r\n\r\n".encode()
        )

    def close(self) -> None:
        """Leave."""
        if self._transport is not None:
            self._transport.close()

    def data_received(self, data: bytes) -> None:
        """Cut messages out of what arrived."""
        now = time.time()
        self._buffer += data
        while True:
            message, end, rest = self._buffer.partition(b"\n\n")
            if not end:
                return
            self._buffer = rest
            self.opened.set()
            if b"\ndata: " in message:
                self.arrivals.append((now, message))


async def _arrived(streams: list[Stream]) -> None:
    """Wait until nothing is missing, or until nothing more comes."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        if all(len(stream.arrivals) == _EVENTS for stream in streams):
            return
        await asyncio.sleep(0.05)


def _rows(streams: list[Stream], client_cpu: float) -> list[Row]:
    times: dict[bytes, float] = {}
    delays = sorted(
        (arrived - _time_of(message, times)) * 1000
        for stream in streams
        for arrived, message in stream.arrivals
    )
    expected = SUBSCRIBERS * _EVENTS
    if len(delays) != expected:
        raise RuntimeError(f"{len(delays)} of {expected} messages arrived")
    note = f"{SUBSCRIBERS} streams, {_EVENTS} events at {_PER_SECOND}/s, limit {LIMIT_MS:g} ms"
    return [
        Row("event to stream, p50", _at(delays, 0.50), "ms", note),
        Row("event to stream, p99", _at(delays, 0.99), "ms", note),
        Row("event to stream, worst", delays[-1], "ms", note),
        Row("messages received", float(len(delays)), "messages", "none missing"),
        Row("the measuring process's CPU", client_cpu, "s", "shares the cores with the platform"),
    ]


def _time_of(message: bytes, known: dict[bytes, float]) -> float:
    key = message[:24]
    if key not in known:
        text = message.partition(b'"time":"')[2].partition(b'"')[0].decode()
        known[key] = datetime.fromisoformat(text).timestamp()
    return known[key]


def _at(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


@asynccontextmanager
async def _platform() -> AsyncIterator[tuple[str, httpx2.AsyncClient]]:
    """A platform process of its own, and a client signed in as its administrator."""
    with _folder() as folder:
        password = folder / "password"
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GPUAAS_")}
        environment = clean | {
            "GPUAAS_PORT": "0",
            "GPUAAS_DATA_DIR": f"{folder}/data",
            "GPUAAS_LOG_LEVEL": "warning",
            "GPUAAS_BOOTSTRAP_ADMIN_EMAIL": _EMAIL,
            "GPUAAS_BOOTSTRAP_ADMIN_PASSWORD_FILE": str(password),
        }
        program = str(Path(sys.executable).with_name("gpuaas-platform"))
        process = await asyncio.create_subprocess_exec(
            program, "serve", env=environment, stdout=subprocess.PIPE
        )
        try:
            url = await _listening(process)
            async with httpx2.AsyncClient(base_url=f"{url}/api/v1", timeout=30) as client:
                await _sign_in(client, password.read_text())
                yield url, client
        finally:
            process.terminate()
            await process.wait()


@contextmanager
def _folder() -> Iterator[Path]:
    """A data folder with a password in it; the database's user may walk through."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)
        (folder / "password").write_text(secrets.token_urlsafe(24))
        yield folder


async def _listening(process: asyncio.subprocess.Process) -> str:
    if process.stdout is None:
        raise RuntimeError("the platform has no output")
    async for line in process.stdout:
        if b" on http://" in line:
            return line.decode().rsplit(" ", 1)[1].strip()
    raise RuntimeError("the platform did not start")


async def _sign_in(client: httpx2.AsyncClient, password: str) -> None:
    """From the password to a personal token, the way a script gets one."""
    session = await _answered(client, password)
    csrf = {CSRF_HEADER: session.cookies[CSRF_COOKIE]}
    made = await client.post("/personal-tokens", json={"name": "bench"}, headers=csrf)
    made.raise_for_status()
    client.cookies.clear()
    client.headers["Authorization"] = f"Bearer {made.json()['secret']}"


async def _answered(client: httpx2.AsyncClient, password: str) -> httpx2.Response:
    """The first sign-in that works: the platform may still be starting."""
    for _ in range(200):
        try:
            session = await client.post("/sessions", json={"email": _EMAIL, "password": password})
        except httpx2.TransportError:
            await asyncio.sleep(0.1)
            continue
        session.raise_for_status()
        return session
    raise RuntimeError("the platform does not answer")


async def _tenant(client: httpx2.AsyncClient) -> str:
    made = await client.post("/tenants", json={"name": "bench"})
    made.raise_for_status()
    return str(made.json()["id"])


def main() -> None:
    """Measure and show."""
    for row in asyncio.run(measure()):
        print(f"{row.name:32} {row.value:10.2f} {row.unit:9} {row.note}")


if __name__ == "__main__":
    main()
