"""Fixtures of the platform's tests: a real PostgreSQL, a database of one's own, a client.

One server per test session, one database per test, copied from a migrated template. Callers are
registered by a test with exactly the permissions it wants (`callers.add(...)` returns a token);
tests of the identity room use real tokens instead.
"""

import dataclasses
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import asyncpg
import httpx2
import pytest
from app_pool import app_running
from fastapi import Request
from observed_calls import Waits

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import ROLES, Permission, RoleName
from gpuaas_platform.http.edge import Edge
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind, Grant, Place
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.embedded import EmbeddedPostgres
from gpuaas_platform.kernel.migrate import migrate
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.main import platform_make

_databases = count()


class FakeClock(Clock):
    """A clock that moves only when told to (and a hair per id, so that ids stay ordered)."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def advance(self, **how_long: float) -> None:
        self._now += timedelta(**how_long)


class Callers:
    """Identities made up by a test; the token is the caller's id."""

    def __init__(self) -> None:
        self._known: dict[str, Caller] = {}
        self._numbers = count(1)

    def add(
        self,
        permissions: RoleName | frozenset[Permission],
        place: Place = PLATFORM,
        kind: CallerKind = CallerKind.USER,
    ) -> str:
        keys = ROLES[permissions] if isinstance(permissions, RoleName) else permissions
        token = f"{kind}-{next(self._numbers)}"
        self._known[token] = Caller(kind, token, place, (Grant(frozenset(keys), place),))
        return token

    def remove(self, token: str) -> None:
        del self._known[token]

    async def authenticate(self, _: Platform, request: Request) -> Caller:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if token not in self._known:
            raise PlatformError(ErrorCode.UNAUTHENTICATED, "Sign in first.")
        return self._known[token]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A PostgreSQL server for this session, with a migrated template database."""
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-test-"))
    folder.chmod(0o711)
    server = EmbeddedPostgres(folder)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture(scope="session")
async def template(postgres_url: str) -> str:
    """Name of a database with the newest schema in it."""
    admin = await asyncpg.connect(postgres_url)
    await admin.execute("CREATE DATABASE template_gpuaas")
    # Nothing here outlives the server: no copy of the template waits for a disk.
    await admin.execute("ALTER SYSTEM SET fsync = off")
    await admin.execute("SELECT pg_reload_conf()")
    await admin.close()
    await migrate(_with_database(postgres_url, "template_gpuaas"))
    return "template_gpuaas"


@pytest.fixture
async def database_url(postgres_url: str, template: str) -> AsyncIterator[str]:
    """A database of this test's own."""
    name = f"test_{os.getpid()}_{next(_databases)}"
    admin = await asyncpg.connect(postgres_url)
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    yield _with_database(postgres_url, name)
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def callers() -> Callers:
    return Callers()


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, rate_limit_per_second=1e6, rate_limit_burst=1_000_000)


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    return Waits(monkeypatch)


@pytest.fixture
async def platform(
    database_url: str, settings: Settings, clock: FakeClock, callers: Callers
) -> AsyncIterator[Platform]:
    """A platform whose process-wide parts run, on this test's database."""
    made = dataclasses.replace(
        platform_make(settings, database_url), clock=clock, authenticate=callers.authenticate
    )
    async with app_running(made) as app:
        made.parts["test.app"] = app
        yield made


@pytest.fixture
async def client(platform: Platform) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of the whole application, in process."""
    edge = Edge(platform.parts["test.app"], max_body_bytes=platform.settings.max_body_bytes)
    transport = httpx2.ASGITransport(edge)
    async with httpx2.AsyncClient(transport=transport, base_url="http://test/api/v1") as made:
        yield made


def _with_database(url: str, name: str) -> str:
    return url.replace("/gpuaas?", f"/{name}?")
