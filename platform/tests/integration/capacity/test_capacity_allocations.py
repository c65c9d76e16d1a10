"""Allocations: placed on free nodes, within policy and quota, seen by their project alone."""

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"


@dataclass(frozen=True)
class Site:
    """A platform with three small machines in one region, and a project."""

    client: httpx2.AsyncClient
    place: Place
    operator: dict[str, str]
    admin: dict[str, str]

    async def allocate(self, name: str, **more: str) -> httpx2.Response:
        body = {"name": name, "sku": "small", "region": "north"} | more
        path = f"/projects/{self.place.project_id}/allocations"
        return await self.client.post(path, json=body, headers=self.admin)


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> Site:
    operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    place = await project_make(platform, "acme", "research")
    kind = {"name": "small", "display_name": "Small", "cpus": 2, "memory_mib": 4096}
    for path, body in (
        ("/regions", {"name": "north", "display_name": "North"}),
        ("/skus", kind | {"price_per_hour": "0.50"}),
        *(("/nodes", _node(f"n{number}")) for number in (1, 2, 3)),
    ):
        answer = await client.post(path, json=body, headers=operator)
        assert answer.status_code == 201, answer.text
    return Site(client, place, operator, bearer(callers.add(RoleName.PROJECT_ADMIN, place)))


def _node(name: str) -> dict[str, Any]:
    return {
        "name": name,
        "region": "north",
        "sku": "small",
        "address": f"{name}.lab",
        "host_keys": [HOST_KEY],
    }


async def test_allocation_is_placed_and_released(site: Site) -> None:
    made = await site.allocate("a")
    assert made.status_code == 201
    allocation = made.json()
    assert (allocation["status"], allocation["address"]) == ("active", "n1.lab")
    released = await site.client.post(
        f"/allocations/{allocation['id']}/release", headers=site.admin
    )
    assert released.json()["status"] == "released"
    again = await site.allocate("a")
    assert again.json()["address"] == "n1.lab"
    for status, count in (("active", 1), ("released", 1), (["active", "released"], 2), ([], 2)):
        query = {"status": status}
        listed = await site.client.get("/allocations", params=query, headers=site.admin)
        assert len(listed.json()["items"]) == count


async def test_racing_requests_never_share_a_node(site: Site) -> None:
    answers = await asyncio.gather(*(site.allocate(f"a{number}") for number in range(8)))
    made = [answer.json()["address"] for answer in answers if answer.status_code == 201]
    refused = {answer.json()["code"] for answer in answers if answer.status_code != 201}
    assert sorted(made) == ["n1.lab", "n2.lab", "n3.lab"]
    assert refused == {"no_capacity"}


async def test_cordoned_node_is_not_given_out(site: Site) -> None:
    nodes = (await site.client.get("/nodes", headers=site.operator)).json()["items"]
    for node in nodes:
        if node["name"] != "n2":
            change = {"status": "cordoned", "reason": "repair"}
            await site.client.patch(f"/nodes/{node['id']}", json=change, headers=site.operator)
    assert (await site.allocate("a")).json()["address"] == "n2.lab"
    assert (await site.allocate("b")).json()["code"] == "no_capacity"


async def test_quota_of_tenant_and_project(site: Site) -> None:
    tenant, project = site.place.org_id, site.place.project_id
    path = f"/tenants/{tenant}/projects/{project}/quotas"
    await site.client.put(path, json={"limit": 1}, headers=site.operator)
    assert (await site.allocate("a")).status_code == 201
    refused = await site.allocate("b")
    assert refused.json()["code"] == "quota_exceeded"
    quotas = (await site.client.get(path, headers=site.admin)).json()
    assert [(quota["limit"], quota["used"]) for quota in quotas] == [(1, 1)]


async def test_racing_requests_keep_to_the_quota(site: Site) -> None:
    path = f"/tenants/{site.place.org_id}/quotas"
    set_ = await site.client.put(path, json={"limit": 1}, headers=site.operator)
    assert set_.status_code == 200
    answers = await asyncio.gather(*(site.allocate(f"a{number}") for number in range(3)))
    codes = sorted(answer.status_code for answer in answers)
    assert codes == [201, 409, 409], [answer.text for answer in answers]


async def test_nobody_raises_their_own_quota(site: Site) -> None:
    path = f"/tenants/{site.place.org_id}/projects/{site.place.project_id}/quotas"
    answer = await site.client.put(path, json={"limit": 99}, headers=site.admin)
    assert answer.json()["code"] == "permission_denied"


async def test_choosing_a_node_is_for_administrators(site: Site) -> None:
    nodes = (await site.client.get("/nodes", headers=site.operator)).json()["items"]
    last = next(node for node in nodes if node["name"] == "n3")
    refused = await site.allocate("a", node_id=last["id"])
    assert refused.json()["code"] == "permission_denied"
    path = f"/projects/{site.place.project_id}/allocations"
    body = {"name": "a", "sku": "small", "region": "north", "node_id": last["id"]}
    made = await site.client.post(path, json=body, headers=site.operator)
    assert made.json()["address"] == "n3.lab"


async def test_another_project_sees_nothing(site: Site, platform: Platform, callers: Any) -> None:
    allocation = (await site.allocate("a")).json()
    stranger = await project_make(platform, "other", "secret")
    other = bearer(callers.add(RoleName.PROJECT_ADMIN, stranger))
    read = await site.client.get(f"/allocations/{allocation['id']}", headers=other)
    release = await site.client.post(f"/allocations/{allocation['id']}/release", headers=other)
    listed = await site.client.get("/allocations", headers=other)
    assert (read.status_code, release.status_code) == (404, 404)
    assert listed.json()["items"] == []


async def test_opaque_metadata_is_kept_as_given(site: Site) -> None:
    body = {
        "name": "a",
        "sku": "small",
        "region": "north",
        "scheduler_type": "whatever",
        "integration": {"partition-like": ["x", 1, None]},
    }
    path = f"/projects/{site.place.project_id}/allocations"
    made = (await site.client.post(path, json=body, headers=site.admin)).json()
    assert made["integration"] == body["integration"]
    assert made["scheduler_type"] == "whatever"


async def test_lists_page_through_everything_once(site: Site) -> None:
    for name in ("a", "b", "c"):
        await site.allocate(name)
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        query = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = (await site.client.get("/allocations", params=query, headers=site.admin)).json()
        seen += [item["name"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert seen == ["c", "b", "a"]
