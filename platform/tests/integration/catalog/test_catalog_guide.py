"""The example of the manifest guide is no picture: it is published, entitled and tried."""

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from catalog_fixtures import entitle
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform

pytestmark = pytest.mark.integration
GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "manifest.md"
_EXAMPLE = re.compile(r"^```json manifest\n(.*?)^```", re.MULTILINE | re.DOTALL)


async def test_the_guides_example_can_be_published_and_filled_in(
    client: httpx2.AsyncClient, platform: Platform, callers: Any
) -> None:
    found = _EXAMPLE.search(GUIDE.read_text())
    assert found is not None
    place = await project_make(platform, "acme", "research")
    operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    app = {"slug": "server", "display_name": "Server", "publisher": "House"}
    await client.post("/apps", json=app, headers=operator)
    body = {"version": "1.0.0", "manifest": json.loads(found[1]), "publish": True}
    published = await client.post("/apps/server/versions", json=body, headers=operator)
    assert published.status_code == 201, published.text
    await entitle(client, operator, f"/tenants/{place.org_id}", "server")
    await entitle(client, operator, f"/projects/{place.project_id}", "server")
    tried = await client.post(
        f"/projects/{place.project_id}/apps/server/versions/1.0.0/validate-input",
        json={"input": {"machines": ["alloc_1", "alloc_2"]}},
        headers=bearer(callers.add(RoleName.PROJECT_VIEWER, place)),
    )
    assert tried.json() == {
        "valid": True,
        "errors": [],
        "input": {"machines": ["alloc_1", "alloc_2"], "port": 8080},
    }
