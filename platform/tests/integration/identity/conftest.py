"""Fixtures of the identity room's tests: a platform with its real authenticator."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from dns_server import NameServer, name_server
from identity_fixtures import Browser, World, world_running
from oidc_fixtures import RunningProvider, provider_running

from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.settings import Settings


@pytest.fixture
async def world(database_url: str, settings: Settings, clock: Clock) -> AsyncIterator[World]:
    async with world_running(database_url, settings, clock) as made:
        yield made


@pytest.fixture
async def admin(world: World) -> Browser:
    return await world.admin()


@pytest.fixture(scope="module")
def operators() -> Iterator[RunningProvider]:
    with provider_running() as made:
        yield made


@pytest.fixture(scope="module")
def companys() -> Iterator[RunningProvider]:
    with provider_running() as made:
        yield made


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with name_server() as server:
        yield server


@pytest.fixture
async def linked_world(
    database_url: str, operators: RunningProvider, names: NameServer, tmp_path: Path
) -> AsyncIterator[World]:
    """A platform whose operator's provider proves addresses, and tenants' may be on loopback."""
    settings = operators.settings(
        tmp_path,
        oidc_trust_email=True,
        provider_allowed_networks=["127.0.0.0/8"],
        dns_servers=[names.address],
    )
    async with world_running(database_url, settings, Clock()) as made:
        yield made
