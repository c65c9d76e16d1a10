"""The load of `bench/peers.py`: a fixed number of connections, each asking again once answered.

The same for every server that is measured: plain sockets on uvloop, httptools to read the answers,
keep-alive as a client library would. Every answer is looked at; one that is not what was asked for
is counted apart and never as a request served. It must not know whose server it talks to.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

import httptools
import uvloop


@dataclass(frozen=True)
class Ask:
    """A kind of request: how the n-th is written, and what an answer to it must contain."""

    name: str
    write: Callable[[int], bytes]
    good: Callable[[int, bytes], bool]


@dataclass(frozen=True)
class Pressure:
    """How hard and for how long to ask; nothing counts before the warm-up is over."""

    connections: int = 16
    warm_seconds: float = 2.0
    seconds: float = 8.0


@dataclass
class Outcome:
    """What was answered within the time: how long each took, and what was not as it should be."""

    seconds: float
    latencies: list[float] = field(default_factory=list)
    bad: int = 0
    first_bad: str = ""

    @property
    def per_second(self) -> float:
        """Good answers a second."""
        return len(self.latencies) / self.seconds


def load(address: tuple[str, int], ask: Ask, pressure: Pressure, numbers: Iterator[int]) -> Outcome:
    """Put the pressure on a server and say what came of it; runs an event loop of its own."""
    return uvloop.run(_load(address, ask, pressure, numbers))


def request_bytes(method: str, path: str, headers: dict[str, str], body: bytes = b"") -> bytes:
    """A request as it goes over the wire."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1", "Accept: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def _load(
    address: tuple[str, int], ask: Ask, pressure: Pressure, numbers: Iterator[int]
) -> Outcome:
    began = time.perf_counter() + pressure.warm_seconds
    outcome = Outcome(pressure.seconds)
    run = _Run(ask, numbers, began, began + pressure.seconds, outcome)
    loop = asyncio.get_running_loop()
    connections = [_Connection(run) for _ in range(pressure.connections)]
    for connection in connections:
        await loop.create_connection(lambda it=connection: it, *address)  # type: ignore[misc]
    async with asyncio.timeout(pressure.warm_seconds + pressure.seconds + 60):
        await asyncio.gather(*(connection.ended for connection in connections))
    return outcome


@dataclass
class _Run:
    ask: Ask
    numbers: Iterator[int]
    begin: float
    end: float
    outcome: Outcome


class _Connection(asyncio.Protocol):
    """One client: asks, waits for the whole answer, asks again until the time is over."""

    def __init__(self, run: _Run) -> None:
        self._run = run
        self._asked = 0.0
        self._body: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._parser = httptools.HttpResponseParser(self)
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is none by inheritance
        self._next()

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.ended.done():
            self.ended.set_exception(exc or ConnectionError("the server closed the connection"))

    def on_body(self, body: bytes) -> None:
        self._body.append(body)

    def on_message_complete(self) -> None:
        now = time.perf_counter()
        run, body = self._run, b"".join(self._body)
        if run.begin <= now < run.end:
            self._count(now, self._parser.get_status_code(), body)
        if now >= run.end:
            self._finish()
            return
        if not self._parser.should_keep_alive():
            self.ended.set_exception(ConnectionError("the server ends connections"))
            return
        self._parser = httptools.HttpResponseParser(self)
        self._next()

    def _count(self, now: float, status: int, body: bytes) -> None:
        outcome = self._run.outcome
        if self._run.ask.good(status, body):
            outcome.latencies.append(now - self._asked)
            return
        outcome.bad += 1
        outcome.first_bad = outcome.first_bad or f"{status}: {body[:200]!r}"

    def _next(self) -> None:
        if self._transport is None:
            return
        self._body.clear()
        request = self._run.ask.write(next(self._run.numbers))
        self._asked = time.perf_counter()
        self._transport.write(request)

    def _finish(self) -> None:
        self.ended.set_result(None)
        if self._transport is not None:
            self._transport.close()


def numbers_from(first: int) -> Iterator[int]:
    """Numbers no two requests of a run share."""
    return itertools.count(first)
