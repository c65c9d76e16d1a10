"""An identity that was copied from a held machine: the second host is refused and told of."""

import dataclasses
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
from fleet_fixtures import FleetSite, PaperAgent

from gpuaas_platform.http.edge import Edge
from gpuaas_platform.kernel.call import Platform


@pytest.fixture
async def elsewhere(platform: Platform) -> AsyncIterator[httpx2.AsyncClient]:
    """A client at another address."""
    edge = Edge(platform.parts["test.app"], max_body_bytes=platform.settings.max_body_bytes)
    transport = httpx2.ASGITransport(edge, client=("192.0.2.66", 4711))
    async with httpx2.AsyncClient(transport=transport, base_url="http://test/api/v1") as made:
        yield made


async def conditions(site: FleetSite) -> list[str]:
    node = await site.get(f"/nodes/{site.agent.node_id}", site.root)
    return [one["type"] for one in node["conditions"]]


async def test_a_copied_identity_and_a_copied_token_are_refused_elsewhere(
    site: FleetSite, elsewhere: httpx2.AsyncClient
) -> None:
    task = await site.task({"kind": "run_script", "script": "true"})
    await site.agent.poll()
    copy = dataclasses.replace(site.agent, client=elsewhere)
    refused = await copy.sign_in()
    assert (refused.status_code, "one machine" in refused.json()["detail"]) == (401, True)
    for path in ("/facts", f"/tasks/{task['id']}/start"):
        stolen = await copy.post(path, {"facts": {}} if path == "/facts" else None)
        assert (stolen.status_code, path) == (401, path)
    assert await conditions(site) == ["identity_shared"]
    node = await site.get(f"/nodes/{site.agent.node_id}", site.root)
    assert "192.0.2.66" in node["conditions"][0]["message"]
    audit = await site.get("/audit", site.root, limit=200)
    assert "fleet.node.identity_shared" in {one["action"] for one in audit["items"]}
    said = await site.agent.poll()  # the machine itself goes on
    assert [one["task_id"] for one in said["tasks"]] == [task["id"]]


async def test_the_machine_takes_another_identity_and_the_copy_is_worth_nothing(
    site: FleetSite, elsewhere: httpx2.AsyncClient, clock: Any
) -> None:
    await site.agent.poll()
    copy = dataclasses.replace(site.agent, client=elsewhere)
    await copy.sign_in()
    signed_in = (await site.agent.sign_in()).json()
    assert signed_in["identity_rotates_at"] <= clock.now().isoformat()
    following = PaperAgent(site.client, node_id=site.agent.node_id)
    assert (await site.agent.post("/identities", following.keys())).status_code == 201
    assert (await following.sign_in()).status_code == 201
    assert await conditions(site) == []
    clock.advance(seconds=3600)  # even if the machine is silent
    assert (await copy.sign_in()).status_code == 401


async def test_a_machine_that_was_silent_may_come_back_at_another_address(
    site: FleetSite, elsewhere: httpx2.AsyncClient, clock: Any
) -> None:
    await site.agent.poll()
    clock.advance(seconds=site.platform.settings.agent_absent_seconds + 1)
    site.agent.client = elsewhere
    assert (await site.agent.sign_in()).status_code == 201
    await site.agent.poll()
    assert "identity_shared" not in await conditions(site)
