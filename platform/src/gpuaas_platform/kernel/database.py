"""The pool of connections to PostgreSQL, and transactions.

One pool per process. Connections carry the restricted role, so append-only tables are append-only
for the platform itself. Services open transactions here; stores get the connection handed in.
Statements are short and nothing else is awaited inside a transaction.
"""

from contextlib import AbstractAsyncContextManager
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
    # Another password, or no such database: as good as one that does not answer.
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
)
_CONNECT_SECONDS = 10


class Database:
    """A pool, opened once."""

    def __init__(self, url: str, *, size: int) -> None:
        self.url = url
        self._size = size
        self._pool: Pool | None = None

    async def open(self) -> None:
        """Connect. Fails with `Unavailable` when the server does not answer."""
        pool = Pool(self._connect, size=self._size, least=2)
        try:
            await pool.open()
        except _LOST as error:
            raise Unavailable("The database") from error
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

    def connection(self) -> AbstractAsyncContextManager[Connection]:
        """A connection without a transaction, for reads of one statement."""
        return _Use(self._pool)

    def transaction(self) -> AbstractAsyncContextManager[Connection]:
        """A connection inside one transaction: committed at the end, rolled back on any error."""
        return _Transaction(self._pool)

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
            timeout=_CONNECT_SECONDS,
            server_settings=server_settings(),
            command_timeout=timedelta(seconds=30).total_seconds(),
        )
        try:
            await prepare_connection(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection


class _Use(AbstractAsyncContextManager[Connection]):
    """One use of a connection, given back whatever happens; one that was lost is `Unavailable`.

    A class of its own and no generator: every request passes here, most of them twice.
    """

    def __init__(self, pool: Pool | None) -> None:
        if pool is None:
            raise Unavailable("The database")
        self._pool = pool

    async def __aenter__(self) -> Connection:
        try:
            self._connection = await self._pool.take()
        except _LOST as error:
            raise Unavailable("The database") from error
        return self._connection

    async def __aexit__(
        self, _: type[BaseException] | None, error: BaseException | None, __: object
    ) -> None:
        lost = isinstance(error, _LOST)
        broken_off = error is not None and not isinstance(error, Exception)
        self._pool.give(self._connection, sound=not (lost or broken_off))
        if lost:
            raise Unavailable("The database") from error


class _Transaction(_Use):
    """The same, inside a transaction."""

    async def __aenter__(self) -> Connection:
        connection = await super().__aenter__()
        self._transaction = connection.transaction()
        try:
            await self._transaction.start()
        except BaseException as error:
            await super().__aexit__(type(error), error, None)
            raise
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: object
    ) -> None:
        try:
            await (self._transaction.commit() if error is None else self._transaction.rollback())
        except BaseException as later:
            await super().__aexit__(type(later), later, trace)
            raise
        await super().__aexit__(kind, error, trace)


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
