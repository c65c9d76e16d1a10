"""What the tests of machine sessions share: one ground of three machines, and sessions on it."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from gpuaas_sdk import Machines
from tools.ground import Ground


@pytest.fixture(scope="session")
async def ground(shared_ground_factory: Callable[..., Awaitable[Ground]]) -> Ground:
    """A platform with three machines; a test leaves them whole, on, healed and held."""
    return await shared_ground_factory("machines", 3)


@pytest.fixture
async def machines(ground: Ground) -> AsyncIterator[Machines]:
    """Sessions as an app's controller has them."""
    async with ground.operator() as client:
        made = Machines(client).bound("cor_sessions", "a test")
        yield made
        await made.close()
