"""The pool of connections to PostgreSQL, and transactions.

One pool per process. Connections carry the restricted role, so append-only tables are append-only
for the platform itself. Services open transactions here; stores get the connection handed in.
Statements are short and nothing else is awaited inside a transaction.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any, TypeAlias

import asyncpg
import msgspec

from gpuaas_platform.kernel.migrate import APP_ROLE, SCHEMA
from gpuaas_platform.kernel.pool import Pool
from gpuaas_platform.kernel.problems import Unavailable

Record: TypeAlias = asyncpg.Record
Connection: TypeAlias = "asyncpg.Connection[Record] | asyncpg.pool.PoolConnectionProxy[Record]"

_LOST = (
    OSError,
    TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.TooManyConnectionsError,
)
_TAKE_SECONDS = 10


class Database:
    """A pool, opened once."""

    def __init__(self, url: str, *, size: int) -> None:
        self.url = url
        self._size = size
        self._pool: Pool | None = None

    async def open(self) -> None:
        """Connect. Fails with `Unavailable` when the server does not answer."""
        pool = Pool(self._connect, size=self._size, least=2)
        with lost_is_unavailable():
            await pool.open()
        self._pool = pool

    async def close(self) -> None:
        """Close every connection."""
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    def pool_use(self) -> tuple[int, int, int]:
        """Connections in use, idle, and allowed at most."""
        if self._pool is None:
            return 0, 0, self._size
        return self._pool.used, self._pool.idle, self._size

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection without a transaction, for reads of one statement."""
        pool = self._pool
        if pool is None:
            raise Unavailable("The database")
        with lost_is_unavailable():
            async with asyncio.timeout(_TAKE_SECONDS):
                connection = await pool.take()
            sound = False
            try:
                yield connection
                sound = True
            except Exception as error:
                sound = not isinstance(error, _LOST)
                raise
            finally:
                pool.give(connection, sound=sound)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Connection]:
        """A connection inside one transaction: committed at the end, rolled back on any error."""
        async with self.connection() as connection, connection.transaction():
            yield connection

    async def fetch(self, sql: str, *args: object) -> list[Record]:
        """Rows of one statement."""
        async with self.connection() as connection:
            return await connection.fetch(sql, *args)

    async def fetchrow(self, sql: str, *args: object) -> Record | None:
        """First row of one statement."""
        async with self.connection() as connection:
            return await connection.fetchrow(sql, *args)

    async def fetchval(self, sql: str, *args: object) -> Any:  # noqa: ANN401 - a column of any type
        """First value of one statement."""
        async with self.connection() as connection:
            return await connection.fetchval(sql, *args)

    async def execute(self, sql: str, *args: object) -> str:
        """Run one statement by itself."""
        async with self.connection() as connection:
            return await connection.execute(sql, *args)

    async def _connect(self) -> "asyncpg.Connection[Record]":
        connection: asyncpg.Connection[Record] = await asyncpg.connect(
            self.url,
            server_settings=server_settings(),
            command_timeout=timedelta(seconds=30).total_seconds(),
        )
        try:
            await prepare_connection(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection


def server_settings() -> dict[str, str]:
    """Session settings every connection of the platform starts with."""
    return {"role": APP_ROLE, "search_path": SCHEMA, "application_name": "gpuaas-platform"}


async def prepare_connection(connection: "asyncpg.Connection[Record]") -> None:
    """Let jsonb columns read and write as plain Python values."""
    await connection.set_type_codec(
        "jsonb",
        schema="pg_catalog",
        encoder=lambda value: msgspec.json.encode(value).decode(),
        decoder=msgspec.json.decode,
    )


@contextmanager
def lost_is_unavailable() -> Iterator[None]:
    """Turn a lost or refused connection into `Unavailable`; every other error passes."""
    try:
        yield
    except _LOST as error:
        raise Unavailable("The database") from error
