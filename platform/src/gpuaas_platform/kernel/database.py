"""The pool of connections to PostgreSQL, and transactions.

One pool per process. Connections carry the restricted role, so append-only tables are append-only
for the platform itself. Services open transactions here; stores get the connection handed in.
Statements are short and nothing else is awaited inside a transaction.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from typing import Any, TypeAlias

import asyncpg
import msgspec

from gpuaas_platform.kernel.migrate import APP_ROLE, SCHEMA
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


class _PlainConnection(asyncpg.Connection):
    """A connection that needs no reset when it goes back: we leave no session state behind."""

    def get_reset_query(self) -> str:
        return ""


class Database:
    """A pool, opened once."""

    def __init__(self, url: str, *, size: int) -> None:
        self.url = url
        self._size = size
        self._pool: asyncpg.Pool[Record] | None = None

    async def open(self) -> None:
        """Connect. Fails with `Unavailable` when the server does not answer."""
        with lost_is_unavailable():
            self._pool = await asyncpg.create_pool(
                self.url,
                min_size=2,
                max_size=self._size,
                connection_class=_PlainConnection,
                init=prepare_connection,
                server_settings=server_settings(),
                command_timeout=timedelta(seconds=30).total_seconds(),
            )

    async def close(self) -> None:
        """Close every connection."""
        if self._pool is not None:
            await self._pool.close()
            self._pool = None

    def pool_use(self) -> tuple[int, int, int]:
        """Connections in use, idle, and allowed at most."""
        if self._pool is None:
            return 0, 0, self._size
        idle = self._pool.get_idle_size()
        return self._pool.get_size() - idle, idle, self._size

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[Connection]:
        """A connection without a transaction, for reads of one statement."""
        if self._pool is None:
            raise Unavailable("The database")
        with lost_is_unavailable():
            async with self._pool.acquire(timeout=10) as connection:
                yield connection

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
