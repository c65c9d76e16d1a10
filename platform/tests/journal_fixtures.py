"""Things that happen, for tests of the audit and the events: one mutation of the system each."""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncIterator
from typing import Any, Protocol

import httpx2
import uvicorn
from eventually import eventually

from gpuaas_contract.common import Model
from gpuaas_contract.permissions import Permission, RoleName
from gpuaas_platform.http.edge import Edge
from gpuaas_platform.kernel.call import Platform, system_call
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.work import Answer, Happened, Target, Work, mutate

ORG = "org_a"
PROJECT = Place(ORG, "proj_a")
OTHER_PROJECT = Place(ORG, "proj_b")
OTHER_ORG = Place("org_b", "proj_c")


class Callers(Protocol):
    """What a test needs of the fixture `callers`."""

    def add(self, permissions: RoleName | frozenset[Permission], place: Place = ...) -> str: ...
    def remove(self, token: str) -> None: ...


class Hands(Protocol):
    """What a test needs of the fixture `clock`."""

    def advance(self, **how_long: float) -> None: ...


class Nothing(Model):
    """The answer of a mutation nobody waits for."""


async def happen(
    platform: Platform, place: Place = PROJECT, *, count: int = 1, **event: Any
) -> None:
    """One committed mutation with `count` events."""
    template = {
        "type": "apps.instance.running",
        "subject": "inst_1",
        "data": {"n": 0},
        "app_slug": "demo",
        "app_instance_id": "inst_1",
    } | event
    correlation = template.pop("correlation_id", "cor-test")
    detail = template.pop("detail", {})
    action = template.pop("action", "test.thing.change")

    async def handler(work: Work) -> Answer[Nothing]:
        work.audit(Target("thing", str(template["subject"]), place, after={"n": 1}, detail=detail))
        for number in range(count):
            data = {**template["data"], "n": template["data"].get("n", 0) + number}
            work.emit(Happened(**{**template, "data": data}, place=place))
        return Answer(Nothing())

    await mutate(system_call(platform, "/test", correlation), action, handler)


async def numbered(platform: Platform, count: int) -> list[dict[str, Any]]:
    """Wait until so many events have their number; all of them, in order."""

    async def enough() -> bool:
        return int(await platform.db.fetchval("SELECT count(*) FROM events")) >= count

    await eventually(enough)
    return [dict(row) for row in await platform.db.fetch("SELECT * FROM events ORDER BY seq")]


@contextlib.asynccontextmanager
async def listening(platform: Platform) -> AsyncIterator[str]:
    """The platform behind a real server on a real socket, for streams; its address.

    The server itself is the platform's part `test.server`.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    edge = Edge(platform.parts["test.app"], max_body_bytes=platform.settings.max_body_bytes)
    config = uvicorn.Config(edge, lifespan="off", log_config=None, timeout_graceful_shutdown=5)
    server = platform.parts["test.server"] = uvicorn.Server(config)
    task = asyncio.create_task(server._serve([listener]))
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api/v1"
    finally:
        server.should_exit = True
        platform.signals.finish()
        await task


class Reader:
    """One client of an event stream."""

    def __init__(self, response: httpx2.Response) -> None:
        self.response = response
        self._lines = response.aiter_lines()
        self.last_id = ""
        self.comments: list[str] = []

    async def next(self, seconds: float = 60) -> dict[str, Any]:
        """The next event; its `sse_type` and `sse_id` are the message's own."""
        message: dict[str, Any] = {}
        async with asyncio.timeout(seconds):
            async for line in self._lines:
                field, _, value = line.partition(": ")
                if field == "id":
                    self.last_id = value
                elif field == "event":
                    message["sse_type"] = value
                elif field == "data":
                    message |= json.loads(value)
                elif line.startswith(":"):
                    self.comments.append(line)
                elif line == "" and message:
                    return message | {"sse_id": self.last_id}
        raise EOFError("the stream ended")

    async def take(self, count: int) -> list[dict[str, Any]]:
        """The next events."""
        return [await self.next() for _ in range(count)]


@contextlib.asynccontextmanager
async def stream(
    url: str, token: str, *, last_id: str | None = None, **query: Any
) -> AsyncIterator[Reader]:
    """An open event stream."""
    headers = {"Authorization": f"Bearer {token}"}
    if last_id is not None:
        headers["Last-Event-ID"] = last_id
    async with (
        httpx2.AsyncClient(timeout=60) as client,
        client.stream("GET", f"{url}/events/stream", params=query, headers=headers) as response,
    ):
        assert response.status_code == 200, (await response.aread()).decode()
        yield Reader(response)


__all__ = [
    "ORG",
    "OTHER_ORG",
    "OTHER_PROJECT",
    "PLATFORM",
    "PROJECT",
    "Callers",
    "Hands",
    "happen",
    "listening",
    "numbered",
    "stream",
]
