"""How many webhooks a place may have, also when they are asked for at the same moment."""

import asyncio

import httpx2
import pytest
from journal_fixtures import Callers
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.events import webhook_service
from gpuaas_platform.kernel.call import Platform


async def test_racing_requests_keep_to_the_number_of_webhooks(
    platform: Platform,
    client: httpx2.AsyncClient,
    callers: Callers,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(webhook_service, "_PER_PLACE", 2)
    project = await project_make(platform, "acme", "research")
    admin = bearer(callers.add(RoleName.PROJECT_ADMIN, project))
    path, body = f"/projects/{project.project_id}/webhooks", {"url": "https://receiver.example/"}
    asked = (client.post(path, json=body, headers=admin) for _ in range(5))
    codes = sorted(answer.status_code for answer in await asyncio.gather(*asked))
    assert codes == [201, 201, 409, 409, 409]
