"""Tokens looked up together: one statement for many, none older than its question."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, cast

import pytest
from anyio.lowlevel import checkpoint

from gpuaas_platform.identity.resolving import Resolver
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.database import Database


class Slow:
    """A database that answers when it is told to; what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[list[bytes]] = []
        self.began = asyncio.Event()
        self.answer = asyncio.Event()
        self.failure: Exception | None = None

    @asynccontextmanager
    async def connection(self) -> AsyncIterator["Slow"]:
        yield self

    async def fetch(self, _sql: str, hashes: list[bytes], _now: datetime) -> list[dict[str, Any]]:
        self.asked.append(hashes)
        self.began.set()
        await self.answer.wait()
        if self.failure is not None:
            raise self.failure
        return [{"hash": one, "look": len(self.asked)} for one in hashes if one != b"unknown"]


@pytest.fixture
def slow() -> Slow:
    return Slow()


def _asking(resolver: Resolver, *hashes: bytes) -> list[asyncio.Task[Any]]:
    return [asyncio.create_task(resolver.resolve(one)) for one in hashes]


async def test_who_asks_during_a_look_up_is_served_by_the_next_one(slow: Slow) -> None:
    resolver = Resolver(cast("Database", slow), Clock())
    first = _asking(resolver, b"a")
    await slow.began.wait()
    later = _asking(resolver, b"a", b"b", b"a", b"unknown")
    await checkpoint()
    slow.answer.set()
    assert [row["look"] for row in await asyncio.gather(*first)] == [1]
    found = await asyncio.gather(*later)
    assert [row and (row["hash"], row["look"]) for row in found] == [
        (b"a", 2), (b"b", 2), (b"a", 2), None,
    ]  # fmt: skip
    assert slow.asked == [[b"a"], [b"a", b"b", b"unknown"]]


async def test_a_failure_is_everybodys_and_does_not_stay(slow: Slow) -> None:
    resolver = Resolver(cast("Database", slow), Clock())
    slow.failure = OSError("gone")
    slow.answer.set()
    told = await asyncio.gather(*_asking(resolver, b"a", b"b"), return_exceptions=True)
    assert [type(one) for one in told] == [OSError, OSError]
    slow.failure = None
    assert await resolver.resolve(b"a") is not None
