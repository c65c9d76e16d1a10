"""Who gets a machine that another tenant held: that tenant alone, until it is cleaned."""

import asyncio
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.capacity import CLEANING_MEANING, CleaningMethod
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place

HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ"
CROWD = 100


@dataclass(frozen=True)
class Tenant:
    """A project of a tenant, and who asks for machines there."""

    client: httpx2.AsyncClient
    place: Place
    admin: dict[str, str]

    async def ask(self, name: str, **more: Any) -> httpx2.Response:
        body = {"name": name, "sku": "small", "region": "north"} | more
        path = f"/projects/{self.place.project_id}/allocations"
        return await self.client.post(path, json=body, headers=self.admin)

    async def release(self, answer: httpx2.Response) -> httpx2.Response:
        path = f"/allocations/{answer.json()['id']}/release"
        return await self.client.post(path, headers=self.admin)


@dataclass(frozen=True)
class Site:
    """Two tenants, the first with two projects, and one region of hand-registered machines."""

    client: httpx2.AsyncClient
    root: dict[str, str]
    mine: Tenant
    neighbour: Tenant
    rival: Tenant

    async def node(self, name: str) -> dict[str, Any]:
        nodes = (await self.client.get("/nodes", headers=self.root)).json()["items"]
        found: dict[str, Any] = next(one for one in nodes if one["name"] == name)
        return found

    async def cleaning_set(self, who: dict[str, str] | None = None, **body: Any) -> httpx2.Response:
        path = "/regions/north/cleaning"
        return await self.client.put(path, json=body, headers=who or self.root)


@pytest.fixture
async def site(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> Site:
    root = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    kind = {"name": "small", "display_name": "Small", "cpus": 2, "memory_mib": 4096}
    node = {"name": "n1", "region": "north", "sku": "small", "address": "n1.lab"}
    for path, body in (
        ("/regions", {"name": "north", "display_name": "North"}),
        ("/skus", kind | {"price_per_hour": "0.50"}),
        ("/nodes", node | {"host_keys": [HOST_KEY]}),
    ):
        answer = await client.post(path, json=body, headers=root)
        assert answer.status_code == 201, answer.text
    tenants = []
    for tenant, project in (("acme", "research"), ("acme", "design"), ("rival", "research")):
        place = await project_make(platform, tenant, project)
        tenants.append(Tenant(client, place, bearer(callers.add(RoleName.PROJECT_ADMIN, place))))
    return Site(client, root, *tenants)


async def test_another_tenant_never_gets_a_machine_that_was_not_cleaned(site: Site) -> None:
    assert (await site.node("n1"))["last_org_id"] is None
    held = await site.mine.ask("a")
    assert held.status_code == 201, held.text
    assert (await site.mine.release(held)).json()["status"] == "released"
    node = await site.node("n1")
    assert (node["status"], node["allocation_id"]) == ("ready", None)
    assert node["last_org_id"] == site.mine.place.org_id
    refused = await asyncio.gather(*(site.rival.ask(f"b{number}") for number in range(CROWD)))
    assert {one.json()["code"] for one in refused} == {"no_capacity"}
    assert CLEANING_MEANING[CleaningMethod.SAME_TENANT_ONLY] in refused[0].json()["detail"]
    assert (await site.node("n1"))["allocation_id"] is None
    warm = await site.neighbour.ask("c")  # another project of the same tenant
    assert (warm.status_code, warm.json()["address"]) == (201, "n1.lab")


async def test_a_crowd_of_both_tenants_never_crosses(site: Site) -> None:
    """Each round releases the machine while both tenants ask for it."""
    held = await site.mine.ask("first")
    for turn in range(5):
        asked = [
            asked
            for number in range(CROWD // 10)
            for asked in (site.rival.ask(f"b{turn}-{number}"), site.mine.ask(f"a{turn}-{number}"))
        ]
        _, *answers = await asyncio.gather(site.mine.release(held), *asked)
        got = [one for one in answers if one.status_code == 201]
        assert {one.json()["org_id"] for one in got} <= {site.mine.place.org_id}
        held = got[0] if got else await site.mine.ask(f"again{turn}")
        assert held.status_code == 201, held.text


async def test_an_operator_cannot_place_a_tenant_on_such_a_machine(site: Site) -> None:
    held = await site.mine.ask("a")
    await site.mine.release(held)
    node = await site.node("n1")
    body = {"name": "b", "sku": "small", "region": "north", "node_id": node["id"]}
    path = f"/projects/{site.rival.place.project_id}/allocations"
    refused = await site.client.post(path, json=body, headers=site.root)
    assert (refused.status_code, refused.json()["code"]) == (409, "no_capacity")
    for status in ("cordoned", "ready"):
        change = {"status": status}
        await site.client.patch(f"/nodes/{node['id']}", json=change, headers=site.root)
    assert (await site.rival.ask("c")).json()["code"] == "no_capacity"


async def test_a_tenant_gets_its_own_machine_before_a_clean_one(site: Site) -> None:
    await site.mine.release(await site.mine.ask("a"))
    clean = {"name": "n0", "region": "north", "sku": "small", "address": "n0.lab"}
    await site.client.post("/nodes", json=clean | {"host_keys": [HOST_KEY]}, headers=site.root)
    assert (await site.rival.ask("b")).json()["address"] == "n0.lab"
    assert (await site.mine.ask("c")).json()["address"] == "n1.lab"


async def test_a_region_says_in_words_how_it_cleans(site: Site) -> None:
    [region] = (await site.client.get("/regions", headers=site.mine.admin)).json()["items"]
    assert region["cleaning"] == "same_tenant_only"
    assert region["cleaning_meaning"] == CLEANING_MEANING[CleaningMethod.SAME_TENANT_ONLY]


async def test_who_may_set_the_cleaning_and_to_what(site: Site) -> None:
    denied = await site.cleaning_set(site.mine.admin, method="attested")
    assert denied.status_code == 403
    read = await site.client.get("/regions/north/cleaning", headers=site.mine.admin)
    assert read.status_code == 403
    for body, pointer in (
        ({"method": "recreate"}, "/method"),
        ({"method": "reimage"}, "/reimage"),
        ({"method": "attested", "reimage": {"url": "https://example.org/"}}, "/reimage"),
        ({"method": "reimage", "reimage": {"url": "https://127.0.0.1/"}}, "/reimage/url"),
    ):
        refused = await site.cleaning_set(**body)
        assert refused.status_code == 422, refused.text
        assert refused.json()["errors"][0]["pointer"] == pointer
    missing = await site.client.put(
        "/regions/south/cleaning", json={"method": "attested"}, headers=site.root
    )
    assert missing.status_code == 404
    hook = {"url": "https://example.org/reimage", "deadline_seconds": 600}
    saved = await site.cleaning_set(method="reimage", reimage=hook, keep_warm_seconds=0)
    assert saved.status_code == 200, saved.text
    assert saved.json()["secret"].startswith("whsec_")
    again = await site.cleaning_set(method="reimage", reimage=hook, keep_warm_seconds=60)
    assert again.json()["secret"] is None
    shown = (await site.client.get("/regions/north/cleaning", headers=site.root)).json()
    assert (shown["keep_warm_seconds"], shown["reimage"]["url"]) == (60, hook["url"])


async def test_a_node_is_cleaned_only_where_that_is_possible_and_nothing_else_opens_it(
    site: Site,
) -> None:
    held = await site.mine.ask("a")
    path = f"/nodes/{(await site.node('n1'))['id']}"
    in_use = await site.client.post(f"{path}/clean", json={}, headers=site.root)
    assert (in_use.status_code, in_use.json()["code"]) == (409, "in_use")
    await site.mine.release(held)
    denied = await site.client.post(f"{path}/clean", json={}, headers=site.mine.admin)
    assert denied.status_code == 403
    nothing = await site.client.post(f"{path}/clean", json={}, headers=site.root)
    assert (nothing.status_code, "cleans no machine" in nothing.json()["detail"]) == (409, True)
    await site.cleaning_set(method="attested")
    begun = await site.client.post(f"{path}/clean", json={"reason": "sold"}, headers=site.root)
    assert (begun.status_code, begun.json()["status"]) == (202, "cleaning")
    for status in ("ready", "cordoned"):
        opened = await site.client.patch(path, json={"status": status}, headers=site.root)
        assert (opened.status_code, opened.json()["code"]) == (409, "state_conflict")
    for tenant in (site.mine, site.rival):
        assert (await tenant.ask("z")).json()["code"] == "no_capacity"
