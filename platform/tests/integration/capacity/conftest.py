"""What the tests of made machines share."""

from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from made_machines import Fake, Site
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.capacity.providers import PART
from gpuaas_platform.kernel.call import Platform


@pytest.fixture
async def site(
    client: httpx2.AsyncClient, platform: Platform, callers: Any, clock: Any
) -> AsyncIterator[Site]:
    fake = Fake()
    fake.gate.set()
    platform.parts[PART] = {"fake": fake}
    root = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    place = await project_make(platform, "acme", "research")
    kind = {"name": "small", "display_name": "Small", "cpus": 2, "memory_mib": 4096}
    region = {"name": "made", "display_name": "Made", "provider": "fake"}
    for path, body in (
        ("/regions", region | {"provider_options": {"colour": "blue"}}),
        ("/skus", kind | {"price_per_hour": "0.50"}),
    ):
        answer = await client.post(path, json=body, headers=root)
        assert answer.status_code == 201, answer.text
    admin = bearer(callers.add(RoleName.PROJECT_ADMIN, place))
    yield Site(client, platform, clock, place, root, admin, fake)
    fake.gate.set()
