"""Connections through the real server: requests that do not arrive end, and so do too many."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2
import pytest
import uvicorn
from eventually import eventually
from platform_calls import bearer

from gpuaas_contract.events import EventFilter
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.events.interest import Interest
from gpuaas_platform.events.stream import Reader, hub_of
from gpuaas_platform.http.bounded import bounded_protocol
from gpuaas_platform.http.edge import Addresses, Edge
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place, Reach
from gpuaas_platform.kernel.limits import OpenLimit
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.settings import Settings

FEW = 3
FAR = "127.0.0.9"  # not this host's own address, which a proxy has
DEADLINE = 60.0
POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n"


@dataclass
class EchoApp:
    """Answers with the length of the body; remembers who went away before it was whole."""

    gone: list[str] = field(default_factory=list)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                self.gone.append(scope["path"])
                return
            size, more = size + len(message["body"]), message["more_body"]
        body = str(size).encode()
        headers = [(b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@dataclass
class Served:
    """A server, and connections to it."""

    port: int
    app: EchoApp
    protocol: Any

    async def connect(
        self, address: str = FAR
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self.port, local_addr=(address, 0))

    async def asked(self, sent: bytes, address: str = FAR) -> bytes:
        """All that comes on a connection after these bytes, until it ends."""
        reader, writer = await self.connect(address)
        writer.write(sent)
        try:
            return await asyncio.wait_for(reader.read(), DEADLINE)
        finally:
            writer.close()


@asynccontextmanager
async def serving(**settings: Any) -> AsyncIterator[Served]:
    app = EchoApp()
    protocol = bounded_protocol(Settings(**settings))
    config = uvicorn.Config(
        app, http=protocol, lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    listener = socket.create_server(("127.0.0.1", 0))
    task = asyncio.create_task(server.serve(sockets=[listener]))
    await eventually(lambda: server.started)
    try:
        yield Served(listener.getsockname()[1], app, protocol)
    finally:
        server.should_exit = True
        with suppress(KeyboardInterrupt):
            await task
        listener.close()


def _problem(answer: bytes) -> dict[str, Any]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    problem: dict[str, Any] = json.loads(body)
    assert head.startswith(b"HTTP/1.1 %d " % problem["status"])
    assert problem["correlation_id"].startswith("cor_")
    return problem


async def test_a_connection_that_sends_nothing_ends(served_quickly: Served) -> None:
    assert await served_quickly.asked(b"") == b""
    assert await served_quickly.asked(b"\r\n") == b""


@pytest.fixture
async def served_quickly() -> AsyncIterator[Served]:
    async with serving(request_head_seconds=0.3, request_body_seconds=0.3) as made:
        yield made


async def test_an_incomplete_head_times_out(served_quickly: Served) -> None:
    problem = _problem(await served_quickly.asked(b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: "))
    assert (problem["status"], problem["code"]) == (408, "request_timeout")
    assert problem["detail"] == "The head of the request did not arrive in time."
    assert problem["retryable"] is True


async def test_a_head_that_comes_byte_by_byte_times_out(served_quickly: Served) -> None:
    reader, writer = await served_quickly.connect()
    writer.write(b"GET / HTTP/1.1\r\n")
    reading = asyncio.create_task(reader.readline())
    while not reading.done():
        writer.write(b"a")
        await asyncio.wait({reading}, timeout=0.02)
    assert await reading == b"HTTP/1.1 408 Request Timeout\r\n"
    writer.close()


async def test_an_incomplete_body_times_out_and_its_route_ends(served_quickly: Served) -> None:
    problem = _problem(await served_quickly.asked(POST + b"x" * 10))
    assert (problem["status"], problem["code"]) == (408, "request_timeout")
    assert problem["detail"] == "The body of the request did not arrive in time."
    assert served_quickly.app.gone == ["/"]


async def test_a_second_request_is_held_to_the_same_times(served_quickly: Served) -> None:
    whole = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
    answer = await served_quickly.asked(whole + b"GET / HTTP/1.1\r\nHost:")
    first, _, second = answer.partition(b"HTTP/1.1 408")
    assert first.startswith(b"HTTP/1.1 200")
    assert _problem(b"HTTP/1.1 408" + second)["status"] == 408


async def test_a_body_that_comes_steadily_has_the_time_it_needs() -> None:
    """Each 4 KiB grant a second more: pieces later than the first span still are the request's."""
    async with serving(request_head_seconds=0.2, request_body_seconds=0.2) as served:
        reader, writer = await served.connect()
        size, piece, clock = 2_000_000, 50_000, asyncio.get_running_loop().time
        writer.write(POST.replace(b"20000", str(size).encode()))
        reading = asyncio.create_task(reader.readuntil(str(size).encode()))
        begun, sent = clock(), 0
        while clock() < begun + 0.6 and sent < size - piece:  # three times what an empty one has
            writer.write(b"x" * piece)
            sent += piece
            await asyncio.wait({reading}, timeout=0.05)
        writer.write(b"x" * (size - sent))
        assert (await asyncio.wait_for(reading, DEADLINE)).startswith(b"HTTP/1.1 200")
        writer.close()


async def test_connections_are_limited_per_address() -> None:
    async with serving(connections_per_address=FEW) as served:
        held = [await served.connect() for _ in range(FEW)]
        for reader, writer in held:
            writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
            assert (await reader.readline()).startswith(b"HTTP/1.1 200")
        problem = _problem(await served.asked(b""))
        assert (problem["status"], problem["code"]) == (429, "rate_limited")
        assert problem["detail"] == f"An address may have {FEW} connections open at once."
        other = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        for address in ("127.0.0.10", *["127.0.0.1"] * (FEW + 1)):  # a proxy here is not counted
            assert (await served.asked(other, address)).startswith(b"HTTP/1.1 200")
        for _, writer in held:
            writer.close()
        await eventually(lambda: not len(served.protocol.bounds.addresses))
        assert (await served.asked(other)).startswith(b"HTTP/1.1 200")


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        data_dir=tmp_path,
        rate_limit_per_second=1e6,
        rate_limit_burst=1_000_000,
        connections_per_tenant=FEW,
        event_streams_per_tenant=FEW,
        event_streams_per_address=FEW,
    )


async def test_requests_behind_a_proxy_are_limited_per_address(platform: Platform) -> None:
    limit = OpenLimit(FEW)
    edge = Edge(platform.parts["test.app"], max_body_bytes=1024, addresses=Addresses(limit))

    async def status(address: str) -> tuple[int, str]:
        transport = httpx2.ASGITransport(edge, client=(address, 1))
        async with httpx2.AsyncClient(transport=transport, base_url="http://test") as client:
            answer = await client.get("/api/v1/auth/methods")
            return answer.status_code, answer.json().get("detail", "")

    for _ in range(FEW):
        assert limit.enter("203.0.113.9")
    refused = f"An address may have {FEW} requests open at once."
    assert await status("203.0.113.9") == (429, refused)
    assert (await status("203.0.113.8"))[0] == 200
    for _ in range(FEW):
        limit.leave("203.0.113.9")
    for _ in range(FEW + 1):  # each that is over makes room
        assert (await status("203.0.113.9"))[0] == 200
    assert len(limit) == 0


async def test_requests_are_limited_per_tenant(
    platform: Platform, client: httpx2.AsyncClient, callers: Any
) -> None:
    one, two = (bearer(callers.add(RoleName.TENANT_ADMIN, Place("org_a"))) for _ in range(2))
    other = bearer(callers.add(RoleName.TENANT_ADMIN, Place("org_b")))
    for _ in range(FEW):
        assert platform.tenants.enter("org_a")
    for who in (one, two):
        refused = await client.get("/events", headers=who)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
        assert refused.json()["detail"] == f"A tenant may have {FEW} requests open at once."
        assert refused.headers["Retry-After"] == "5"
    assert (await client.get("/events", headers=other)).status_code == 200
    for _ in range(FEW):
        platform.tenants.leave("org_a")
    for _ in range(FEW + 1):
        assert (await client.get("/events", headers=one)).status_code == 200
    assert len(platform.tenants) == 0


@pytest.fixture
def everything() -> Interest:
    return Interest(EventFilter(), Reach(everywhere=True, org_ids=(), project_ids=()))


@pytest.mark.parametrize(
    ("reader", "whose"),
    [
        (Reader("c", "org_a", "127.0.0.1"), "A tenant"),
        (Reader("c", None, "203.0.113.9"), "An address"),
    ],
)
async def test_event_streams_are_limited_per_tenant_and_address(
    platform: Platform, everything: Interest, reader: Reader, whose: str
) -> None:
    hub = hub_of(platform)
    with ExitStack() as stack:
        for number in range(FEW):
            other = Reader(f"c{number}", reader.org_id, reader.address)
            stack.enter_context(hub.subscribed(other, everything, None))
        with pytest.raises(PlatformError, match=f"{whose} may have {FEW} event streams open at"):
            hub.admit(reader)
        hub.admit(Reader("c", "org_b", "203.0.113.8"))
    hub.admit(reader)
    assert not hub._streams_of
