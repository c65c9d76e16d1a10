"""Machines of a provider between tenants: taken away, with the identity refused at once."""

import asyncio
from dataclasses import dataclass
from typing import Any

import pytest
from eventually import eventually
from fleet_fixtures import HOST_KEY, FleetSite, PaperAgent
from made_machines import Fake, Never, Site

from gpuaas_platform.capacity.providers import PART


@dataclass
class Made:
    """A region whose machines are made, and an agent on the machine of the first tenant."""

    fleet: FleetSite
    site: Site
    agent: PaperAgent
    allocation_id: str

    async def cleaning(self, *statuses: str) -> Any:
        found: list[Any] = []

        async def there() -> bool:
            page = await self.fleet.get("/cleanings", self.site.root, node_id=self.agent.node_id)
            found[:] = page["items"][:1]
            if found and found[0]["status"] in statuses:
                return True
            self.site.clock.advance(seconds=61)
            self.site.platform.signals.send(("capacity.orders",))
            return False

        await eventually(there)
        return found[0]


@pytest.fixture
async def made(bare: FleetSite, clock: Any) -> Made:
    fake = Fake()
    fake.gate.set()
    bare.platform.parts[PART] = {"fake": fake}
    region = {"name": "made", "display_name": "Made", "provider": "fake"}
    answer = await bare.client.post("/regions", json=region, headers=bare.root)
    assert answer.json()["cleaning"] == "recreate"
    site = Site(bare.client, bare.platform, clock, bare.place, bare.root, bare.admin, fake)
    allocation_id = await site.active()
    node = await site.node(allocation_id)
    assert node["last_org_id"] == bare.place.org_id
    enrolment = await bare.enrolment_make(node=None, node_id=node["id"])
    agent = PaperAgent(bare.client)
    assert (await agent.enrol(enrolment["token"], [HOST_KEY])).status_code == 201
    assert (await agent.sign_in()).status_code == 201
    return Made(bare, site, agent, allocation_id)


async def test_the_identity_ends_with_the_release_and_the_machine_with_its_unmaking(
    made: Made,
) -> None:
    await made.agent.poll()
    body = {"agent_version": "0.1.0"}
    assert (await made.site.release(made.allocation_id)).json()["status"] == "releasing"
    assert (await made.agent.post("/poll", body)).status_code == 401  # before anything else
    done = await made.cleaning("succeeded")
    assert (done["method"], done["next_actions"]) == ("recreate", [])
    assert {one["name"] for one in done["steps"]} == {"sessions", "identity", "clean"}
    assert made.site.fake.machines == {}
    assert (await made.agent.sign_in()).status_code == 401
    gone = await made.fleet.get(f"/nodes/{made.agent.node_id}", made.site.root)
    assert (gone["status"], gone["allocation_id"]) == ("retired", None)
    ask = {"name": "next", "sku": "small", "region": "made"}
    path = f"/projects/{made.fleet.other.project_id}/allocations"
    asked = await made.site.client.post(path, json=ask, headers=made.fleet.stranger)
    found: dict[str, Any] = {}

    async def there() -> bool:
        path = f"/allocations/{asked.json()['id']}"
        answer = await made.site.client.get(path, headers=made.fleet.stranger)
        found.update(answer.json())
        return bool(found["status"] == "active")

    await eventually(there)
    assert (await made.site.node(found["id"]))["id"] != made.agent.node_id


async def test_a_machine_that_cannot_be_taken_away_is_set_aside_until_it_is(made: Made) -> None:
    made.site.fake.stuck = [Never("the rack does not answer")]
    await made.site.release(made.allocation_id)
    aside = await made.cleaning("set_aside")
    assert "the rack does not answer" in aside["status_reason"]
    assert aside["next_actions"] == ["retry"]
    node = await made.fleet.get(f"/nodes/{made.agent.node_id}", made.site.root)
    assert node["status"] == "set_aside"
    body = {"reason": "the rack is back"}
    path = f"/cleanings/{aside['id']}/retry"
    retried = await made.site.client.post(path, json=body, headers=made.site.root)
    assert retried.status_code == 200, retried.text
    await made.cleaning("succeeded")
    await made.site.became(made.allocation_id, "released")


async def test_a_hundred_releases_and_requests_share_no_node(made: Made) -> None:
    """Two tenants take and give machines at once: each allocation has a node of its own."""
    first = [(await made.site.ask(f"a{number}")).json()["id"] for number in range(5)]
    for allocation_id in first:
        await made.site.became(allocation_id, "active")
    before = {(await made.site.node(one))["id"] for one in first}
    path = f"/projects/{made.fleet.other.project_id}/allocations"
    bodies = [{"name": f"b{number}", "sku": "small", "region": "made"} for number in range(100)]
    asks = [made.site.client.post(path, json=body, headers=made.fleet.stranger) for body in bodies]
    await asyncio.gather(*(made.site.release(one) for one in first), *asks)

    async def settled() -> bool:
        page = await made.fleet.get("/allocations", made.fleet.stranger, limit=200, status="active")
        return len(page["items"]) == len(bodies)

    await eventually(settled)
    nodes = await made.fleet.get("/nodes", made.site.root, limit=500)
    held = {one["id"] for one in nodes["items"] if one["last_org_id"] == made.fleet.other.org_id}
    assert len(held) == len(bodies)
    assert not held & before
