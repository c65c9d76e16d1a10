"""Fixtures of the billing room's tests."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from apps_fake_controller import FakeController
from apps_fixtures import Site, site_make
from billing_fixtures import Ledger, ledger_open

from gpuaas_platform.kernel.call import Platform


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> Site:
    return await site_make(client, platform, callers, machines=3)


@pytest.fixture
def controller(site: Site) -> FakeController:
    return FakeController(site)


@pytest.fixture
async def ledger(database_url: str, tmp_path: Path) -> AsyncIterator[Ledger]:
    async with ledger_open(database_url, tmp_path) as made:
        yield made
