"""Fixtures of the operate room's tests."""

from typing import Any

import httpx2
import pytest
from apps_fake_controller import FakeController
from apps_fixtures import Site, site_make

from gpuaas_platform.kernel.call import Platform


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> Site:
    return await site_make(client, platform, callers, machines=2)


@pytest.fixture
def controller(site: Site) -> FakeController:
    return FakeController(site)
