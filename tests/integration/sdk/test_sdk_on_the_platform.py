"""The SDK's contract cases on the real platform: the whole application on a real PostgreSQL.

The clock alone is the test's, so that leases lapse without waiting, and who calls is given.
"""

import dataclasses
import shutil
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import asyncpg
import httpx2
import pytest
from fastapi import Request

from gpuaas_contract.identity import Project, ProjectCreate, Tenant, TenantCreate
from gpuaas_contract.permissions import ROLES, RoleName
from gpuaas_platform.http.app import app_make
from gpuaas_platform.http.edge import Edge
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import PLATFORM, Caller, CallerKind, Grant, Place
from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.embedded import EmbeddedPostgres
from gpuaas_platform.kernel.migrate import migrate
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.main import platform_make
from gpuaas_sdk import BearerToken, Client, Retries
from gpuaas_sdk.testing.conformance import CASES
from gpuaas_sdk.testing.example import SLUG, notes_manifest
from gpuaas_sdk.testing.ground import Ground

pytestmark = pytest.mark.integration

_databases = count()
_AT_ONCE = Retries(attempts=2, first_delay=0.0, longest_delay=0.0)


class TurnedClock(Clock):
    """A clock that moves when told to, and a hair with each look."""

    def __init__(self) -> None:
        self._now = datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        self._now += timedelta(milliseconds=1)
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)


class Doors:
    """Who calls, by token."""

    def __init__(self) -> None:
        self.known: dict[str, Caller] = {}

    def add(self, role: RoleName, place: Place, kind: CallerKind) -> str:
        token = f"{kind}-{role}-{len(self.known)}"
        self.known[token] = Caller(kind, token, place, (Grant(frozenset(ROLES[role]), place),))
        return token

    async def authenticate(self, _: Platform, request: Request) -> Caller:
        return self.known[request.headers["Authorization"].removeprefix("Bearer ")]


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    folder = Path(tempfile.mkdtemp(prefix="gpuaas-test-"))
    folder.chmod(0o711)
    server = EmbeddedPostgres(folder)
    try:
        yield server.start()
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.fixture
async def database(postgres: str) -> AsyncIterator[str]:
    name = f"sdk_{next(_databases)}"
    admin = await asyncpg.connect(postgres)
    await admin.execute(f"CREATE DATABASE {name}")
    url = postgres.replace("/gpuaas?", f"/{name}?")
    await migrate(url)
    yield url
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


@pytest.fixture
async def ground(database: str, tmp_path: Path) -> AsyncIterator[Ground]:
    clock, doors = TurnedClock(), Doors()
    settings = Settings(data_dir=tmp_path, rate_limit_per_second=1e6, rate_limit_burst=1_000_000)
    platform = dataclasses.replace(
        platform_make(settings, database), clock=clock, authenticate=doors.authenticate
    )
    app = app_make(platform)
    transport = httpx2.ASGITransport(Edge(app, max_body_bytes=settings.max_body_bytes))

    def client(role: RoleName, place: Place, kind: CallerKind = CallerKind.USER) -> Client:
        token = BearerToken(doors.add(role, place, kind))
        return Client("http://test", token, retries=_AT_ONCE, transport=transport)

    async with app.router.lifespan_context(app), client(RoleName.PLATFORM_ADMIN, PLATFORM) as root:
        tenant = await root.post("/tenants", _tenant(), Tenant)
        made = ProjectCreate(name="research", display_name="Research")
        project = await root.post(f"/tenants/{tenant.id}/projects", made, Project)
        place = Place(tenant.id, project.id)
        machines = await _furnish(transport, doors, place)
        robot = client(RoleName.APP_OPERATOR, place, CallerKind.SERVICE_ACCOUNT)
        async with robot, client(RoleName.PROJECT_ADMIN, place) as person:
            yield Ground(robot, person, project.id, machines, clock.advance)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
async def test_the_contract_holds_on_the_platform(
    case: Callable[[Ground], Awaitable[None]], ground: Ground
) -> None:
    await case(ground)


def _tenant() -> TenantCreate:
    return TenantCreate(name="acme", display_name="Acme")


async def _furnish(transport: httpx2.ASGITransport, doors: Doors, place: Place) -> tuple[str, ...]:
    """A region, a kind of machine, the example app, six machines held by the project."""
    token = doors.add(RoleName.PLATFORM_ADMIN, PLATFORM, CallerKind.USER)
    http = httpx2.AsyncClient(
        transport=transport,
        base_url="http://test/api/v1",
        headers={"Authorization": f"Bearer {token}"},
    )

    async def make(path: str, body: dict[str, Any]) -> dict[str, Any]:
        answer = await http.post(path, json=body)
        assert answer.status_code < 300, answer.text
        return dict(answer.json())

    sku = {"display_name": "Small", "cpus": 2, "memory_mib": 4096, "price_per_hour": "0.5"}
    await make("/regions", {"name": "north", "display_name": "North"})
    await make("/skus", {"name": "small", **sku})
    await make("/apps", {"slug": SLUG, "display_name": "Notes", "publisher": "Tests"})
    for version, split in (("1.0.0", False), ("1.1.0", True)):
        manifest = notes_manifest(split=split)
        body = {"version": version, "manifest": manifest, "publish": True}
        await make(f"/apps/{SLUG}/versions", body)
    for scope in (f"tenants/{place.org_id}", f"projects/{place.project_id}"):
        await make(f"/{scope}/entitlements", {"app_slug": SLUG})
    machines = []
    for number in range(6):
        name = f"n{number}"
        node = {"name": name, "region": "north", "sku": "small", "address": f"{name}.lab"}
        await make("/nodes", node | {"host_keys": ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"]})
        held = {"name": name, "sku": "small", "region": "north"}
        made = await make(f"/projects/{place.project_id}/allocations", held)
        machines.append(str(made["id"]))
    await http.aclose()
    return tuple(machines)
