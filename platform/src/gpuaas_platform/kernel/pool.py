"""Connections kept open between uses, so many at most; the one used last is used next.

Used by `kernel/database.py` alone. The driver's own pool makes tasks and timers for every use,
which costs as much as the statements of a small request; here a use costs two calls. A connection
comes back only when it is known to be idle: after a use that was broken off nobody knows what is
still on its way, so it is cut and another is made when needed.
"""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

import asyncpg

Raw: TypeAlias = "asyncpg.Connection[asyncpg.Record]"
_IDLE_SECONDS: Final = 300.0
_CLOSE_SECONDS: Final = 10.0
_TAKE_SECONDS: Final = 10.0


class Pool:
    """At most `size` connections, of which `least` stay open when nobody needs them."""

    def __init__(self, connect: Callable[[], Awaitable[Raw]], *, size: int, least: int) -> None:
        self._connect = connect
        self._size = size
        self._least = least
        self._idle: deque[tuple[float, Raw]] = deque()  # the longest idle first
        self._used: set[Raw] = set()
        self._opening = 0
        self._waiting: deque[asyncio.Future[Raw | None]] = deque()
        self._closed = False
        self._drained = asyncio.Event()

    @property
    def idle(self) -> int:
        """How many connections wait to be used."""
        return len(self._idle)

    @property
    def used(self) -> int:
        """How many are in use, or about to be."""
        return len(self._used) + self._opening

    async def open(self) -> None:
        """Make the connections that are always there; fails when the server does not answer."""
        for connection in [await self.take() for _ in range(self._least)]:
            self.give(connection)

    async def close(self) -> None:
        """Close every connection, giving those in use a moment to come back."""
        self._closed = True
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_result(None)
        while self._idle:
            await self._idle.pop()[1].close(timeout=_CLOSE_SECONDS)
        if self._used:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._drained.wait(), _CLOSE_SECONDS)
        for connection in self._used:
            connection.terminate()

    async def take(self) -> Raw:
        """A connection for the caller alone, until it is given back.

        While all are in use it waits in line, and fails with TimeoutError after a while.
        """
        while not self._closed:
            while self._idle:
                _, connection = self._idle.pop()
                if not connection.is_closed():
                    self._used.add(connection)
                    self._shrink()
                    return connection
            if self.used < self._size:
                return await self._made()
            handed = await self._handed()
            if handed is not None:
                return handed
        raise asyncpg.InterfaceError("the pool is closed")

    def give(self, connection: Raw, *, sound: bool = True) -> None:
        """Give a connection back; one that is not sound is cut."""
        self._used.discard(connection)
        if self._closed or not sound or connection.is_closed() or connection.is_in_transaction():
            connection.terminate()
            self._pass_on(None)
            if self._closed and not self._used:
                self._drained.set()
            return
        if not self._pass_on(connection):
            self._idle.append((asyncio.get_running_loop().time(), connection))

    async def _made(self) -> Raw:
        self._opening += 1
        try:
            connection = await self._connect()
        except BaseException:
            self._pass_on(None)  # the place is free again
            raise
        finally:
            self._opening -= 1
        self._used.add(connection)
        return connection

    async def _handed(self) -> "Raw | None":
        """Stand in line for a connection, or (None) for the place of one."""
        waiter: asyncio.Future[Raw | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            async with asyncio.timeout(_TAKE_SECONDS):
                return await waiter
        except BaseException:
            if waiter.done() and not waiter.cancelled():  # it came, and nobody is here to use it
                self._returned(waiter.result())
            raise

    def _returned(self, handed: "Raw | None") -> None:
        if handed is None:
            self._pass_on(None)
        else:
            self.give(handed)

    def _pass_on(self, connection: "Raw | None") -> bool:
        """Hand a connection, or its place, to whoever has waited longest; whether somebody had."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                if connection is not None:
                    self._used.add(connection)
                waiter.set_result(connection)
                return True
        return False

    def _shrink(self) -> None:
        """Close the connection that nobody needed for longest, once that is long."""
        if not self._idle or len(self._idle) + self.used <= self._least:
            return
        since, connection = self._idle[0]
        if asyncio.get_running_loop().time() - since > _IDLE_SECONDS:
            self._idle.popleft()
            connection.terminate()
