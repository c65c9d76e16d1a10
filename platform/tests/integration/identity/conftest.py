"""Fixtures of the identity room's tests: a platform with its real authenticator."""

from collections.abc import AsyncIterator

import pytest
from identity_fixtures import Browser, World, world_running

from gpuaas_platform.kernel.clock import Clock
from gpuaas_platform.kernel.settings import Settings


@pytest.fixture
async def world(database_url: str, settings: Settings, clock: Clock) -> AsyncIterator[World]:
    async with world_running(database_url, settings, clock) as made:
        yield made


@pytest.fixture
async def admin(world: World) -> Browser:
    return await world.admin()
