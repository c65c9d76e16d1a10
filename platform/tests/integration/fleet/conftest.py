"""A site with one enrolled node that a project holds, and real tokens for its agent."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from app_pool import app_running
from fastapi import Request
from fleet_fixtures import FleetSite, site_make

from gpuaas_platform.identity.authenticator import authenticate
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Caller
from gpuaas_platform.kernel.settings import Settings
from gpuaas_platform.main import platform_make


@pytest.fixture
async def platform(
    database_url: str, settings: Settings, clock: Any, callers: Any
) -> AsyncIterator[Platform]:
    """People are made up, nodes are known by their real tokens."""

    async def known(made: Platform, request: Request) -> Caller:
        if request.headers.get("Authorization", "").startswith("Bearer gpn_"):
            return await authenticate(made, request)
        found: Caller = await callers.authenticate(made, request)
        return found

    made = dataclasses.replace(
        platform_make(settings, database_url), clock=clock, authenticate=known
    )
    async with app_running(made) as app:
        made.parts["test.app"] = app
        yield made


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> FleetSite:
    """A node that is enrolled, signed in and held."""
    made = await site_make(client, platform, callers)
    assert (await made.agent.enrol(made.enrolment["token"])).status_code == 201
    assert (await made.agent.sign_in()).status_code == 201
    wish = {"name": "mine", "sku": "small", "region": "north"}
    path = f"/projects/{made.place.project_id}/allocations"
    answer = await client.post(path, json=wish, headers=made.admin)
    assert answer.status_code == 201, answer.text
    made.allocation_id = answer.json()["id"]
    return made


@pytest.fixture
async def bare(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> FleetSite:
    """An enrolment nobody has used yet."""
    return await site_make(client, platform, callers)
