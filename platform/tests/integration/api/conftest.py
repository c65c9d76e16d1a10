"""Fixtures of the tests over the whole API: one database and one scenario for each module."""

import os
from collections.abc import AsyncIterator
from ipaddress import IPv4Network
from itertools import count
from pathlib import Path

import asyncpg
import pytest
from api_scenario import CLOSED_PORT, Scenario, StillClock, scenario_build
from dns_server import name_server
from identity_fixtures import World, world_running

from gpuaas_platform.kernel.settings import Settings

_databases = count()


@pytest.fixture(scope="module")
async def database_url(postgres_url: str, template: str) -> AsyncIterator[str]:
    """A database of this module's own."""
    name = f"api_{os.getpid()}_{next(_databases)}"
    admin = await asyncpg.connect(postgres_url)
    await admin.execute(f"CREATE DATABASE {name} TEMPLATE {template} STRATEGY file_copy")
    yield postgres_url.replace("/gpuaas?", f"/{name}?")
    await admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
    await admin.close()


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """A dead delivery is one attempt away; an identity provider is named and never reached."""
    folder: Path = tmp_path_factory.mktemp("api")
    return Settings(
        data_dir=folder,
        rate_limit_per_second=1e6,
        rate_limit_burst=1_000_000,
        webhook_allowed_networks=(IPv4Network("127.0.0.0/8"),),
        webhook_attempts=1,
        oidc_issuer=CLOSED_PORT,
        oidc_client_id="gpuaas",
    )


@pytest.fixture(scope="module")
def clock() -> StillClock:
    return StillClock()


@pytest.fixture(scope="module")
async def world(database_url: str, settings: Settings, clock: StillClock) -> AsyncIterator[World]:
    """A platform with its real authenticator, and a name server that knows no names."""
    async with name_server() as names:
        named = settings.model_copy(update={"dns_servers": (names.address,)})
        async with world_running(database_url, named, clock) as made:
            yield made


@pytest.fixture(scope="module")
async def scenario(world: World, clock: StillClock) -> Scenario:
    return await scenario_build(world.browser, await world.admin(), clock.advance)
