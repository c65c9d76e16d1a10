"""Machines made to order: every way an order can go, with a provider that does as it is told."""

import asyncio

import pytest
from eventually import eventually
from made_machines import HOST_KEY, Never, Site
from observed_calls import observe_calls

from gpuaas_platform.capacity.orders import ATTEMPTS
from gpuaas_platform.capacity.workshop import Workshop

pytestmark = pytest.mark.integration


async def test_a_machine_is_made_when_one_is_wanted_and_unmade_when_it_is_given_back(
    site: Site,
) -> None:
    site.fake.gate.clear()
    asked = await site.ask()
    assert asked.status_code == 201
    assert (asked.json()["status"], asked.json()["address"]) == ("requested", None)
    allocation_id = asked.json()["id"]
    await site.became(allocation_id, "provisioning")
    site.fake.gate.set()
    active = await site.became(allocation_id, "active")
    assert (active["address"], active["host_keys"]) == ("10.0.0.7", [HOST_KEY])
    order = site.fake.orders[0]
    assert order["options"] == {"colour": "blue"}
    assert order["sku"] == {"name": "small", "cpus": 2, "memory_mib": 4096, "gpus": 0}
    nodes = (await site.client.get("/nodes", headers=site.root)).json()["items"]
    assert [(one["provider"], one["allocation_id"]) for one in nodes] == [("fake", allocation_id)]

    assert (await site.release(allocation_id)).json()["status"] == "releasing"
    released = await site.became(allocation_id, "released")
    assert released["address"] is None
    assert site.fake.machines == {}
    assert (await site.client.get("/nodes", headers=site.root)).json()["items"] == []
    assert await site.platform.db.fetchval("SELECT count(*) FROM machine_orders") == 0


async def test_what_may_succeed_later_is_tried_again_and_says_so(site: Site) -> None:
    site.fake.failures = [OSError("the hypervisor is busy")]
    asked = await site.ask()
    active = await site.became(asked.json()["id"], "active")
    assert active["status_reason"] == ""
    assert len(site.fake.orders) == 2


@pytest.mark.parametrize("times", [1, ATTEMPTS])
async def test_what_cannot_be_made_fails_with_its_reason_and_leaves_nothing(
    site: Site, times: int
) -> None:
    failure = Never("no such image") if times == 1 else OSError("no such image")
    site.fake.failures = [failure] * times
    asked = await site.ask()
    failed = await site.became(asked.json()["id"], "failed")
    assert failed["status_reason"] == "no such image"
    assert site.fake.machines == {}
    assert len(site.fake.orders) == times
    await site.release(failed["id"])
    await site.became(failed["id"], "released")


async def test_what_cannot_be_taken_away_stays_visible(site: Site) -> None:
    asked = await site.ask()
    await site.became(asked.json()["id"], "active")
    site.fake.stuck = [Never("the disk does not let go")]
    await site.release(asked.json()["id"])
    blocked = await site.became(asked.json()["id"], "cleanup_blocked")
    assert blocked["status_reason"] == "the disk does not let go"
    await site.release(asked.json()["id"])
    await site.became(asked.json()["id"], "released")


async def test_given_back_while_it_is_being_made(site: Site) -> None:
    site.fake.gate.clear()
    asked = await site.ask()
    await site.became(asked.json()["id"], "provisioning")
    await asyncio.wait_for(site.fake.begun.wait(), 60)
    assert (await site.release(asked.json()["id"])).json()["status"] == "releasing"
    site.fake.gate.set()
    await site.became(asked.json()["id"], "released")
    assert site.fake.machines == {}


async def test_an_order_whose_worker_is_gone_is_taken_up_again(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A replica that claimed and died: its lease lapses."""
    works = observe_calls(monkeypatch, Workshop, "_work")
    site.fake.gate.clear()
    asked = (await site.ask()).json()["id"]
    await asyncio.wait_for(site.fake.begun.wait(), 60)
    await site.platform.db.execute(
        "UPDATE machine_orders SET token = 'dead', attempt = 1 WHERE allocation_id = $1", asked
    )
    site.fake.gate.set()
    await eventually(lambda: works.ended, what="the end of the work without its token")
    path = f"/allocations/{asked}"
    found = (await site.client.get(path, headers=site.admin)).json()
    assert found["status"] == "provisioning"  # the one that lost its token changed nothing
    site.clock.advance(seconds=21)
    site.platform.signals.send(("capacity.orders",))
    await site.became(asked, "active")
    assert len(site.fake.orders) == 2


async def test_two_replicas_do_not_work_on_one_order(site: Site) -> None:
    site.fake.gate.clear()
    await site.ask()
    await asyncio.wait_for(site.fake.begun.wait(), 60)
    other = Workshop(site.platform)
    await other.turn()
    await other.close()
    site.fake.gate.set()
    assert len(site.fake.orders) == 1


async def test_a_node_cannot_be_chosen_where_machines_are_made(site: Site) -> None:
    path = f"/projects/{site.place.project_id}/allocations"
    body = {"name": "a", "sku": "small", "region": "made", "node_id": "node_1"}
    refused = await site.client.post(path, json=body, headers=site.root)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["pointer"] == "/node_id"


async def test_a_provider_that_is_not_installed_is_refused(site: Site) -> None:
    region = {"name": "other", "display_name": "Other", "provider": "clouds"}
    refused = await site.client.post("/regions", json=region, headers=site.root)
    assert refused.status_code == 422
    assert "fake" in refused.json()["errors"][0]["message"]
