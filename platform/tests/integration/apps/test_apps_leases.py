"""Claims and leases: one holder at a time, silence costs an attempt, a stale holder stops."""

import asyncio
from datetime import datetime
from typing import Any

import httpx2
import pytest
from apps_fake_controller import Crashed, FakeController, crashing, failing
from apps_fixtures import Site
from eventually import eventually
from journal_fixtures import listening
from observed_calls import Waits

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.apps.store.operations import ClaimFilter, claim_peek
from gpuaas_platform.apps.sweeps import sweep
from gpuaas_platform.kernel.caller import CallerKind, Reach


async def test_racing_claims_never_share_an_operation(
    site: Site, controller: FakeController
) -> None:
    names = [f"i{number}" for number in range(6)]
    for name, machine in zip(names, site.machines, strict=True):
        await site.deploy(name, hub=machine)
    racers = [FakeController(site, f"echo-{number}") for number in range(6)]
    claimed = await asyncio.gather(*(racer.claim(2) for racer in racers))
    ids = [one["operation"]["id"] for part in claimed for one in part]
    assert len(ids) == len(set(ids)) == 6
    holders = {(await site.operation(one))["lease"]["replica"] for one in ids}
    assert holders <= {racer.replica for racer in racers}


async def test_a_claim_that_waits_looks_again_the_moment_a_lease_ends(
    site: Site, controller: FakeController
) -> None:
    await site.deploy()
    [held] = await controller.claim(1)
    wanted = ClaimFilter(Reach(True, (), ()), "echo", None, None)
    async with site.platform.db.connection() as conn:
        found, soonest = await claim_peek(conn, wanted, site.platform.clock.now())
    assert not found
    assert soonest is not None
    assert soonest == datetime.fromisoformat(held["lease"]["until"])


async def test_claim_waits_for_work_and_is_woken(
    site: Site, controller: FakeController, waits: Waits
) -> None:
    waiting = asyncio.create_task(controller.claim(1, wait_seconds=20))
    await waits.begun(f"claim:echo:{site.place.project_id}")
    assert not waiting.done()
    requested = await site.deploy()
    claimed = await waiting
    assert claimed[0]["operation"]["id"] == requested["operation"]["id"]
    assert claimed[0]["instance"]["id"] == requested["instance"]["id"]
    assert [m["component_key"] for m in claimed[0]["members"]] == ["hub"]
    assert await controller.claim(1) == []


async def test_who_hung_up_while_it_waited_is_given_nothing(
    site: Site, controller: FakeController, waits: Waits
) -> None:
    body = {"app_slug": "echo", "controller": {"replica": "killed"}, "wait_seconds": 20}
    async with listening(site.platform) as url:
        async with httpx2.AsyncClient(base_url=url, headers=site.robot) as killed:
            waiting = asyncio.create_task(killed.post("/operations/claim", json=body))
            await waits.begun(f"claim:echo:{site.place.project_id}")
            waiting.cancel()
            await asyncio.wait([waiting])
        connections = site.platform.parts["test.server"].server_state.connections
        await eventually(lambda: not connections, what="the server hears of it")
        requested = await site.deploy()
        claimed = await controller.claim(1, wait_seconds=5)
        assert [one["operation"]["id"] for one in claimed] == [requested["operation"]["id"]]
    lease = (await site.operation(requested["operation"]["id"]))["lease"]
    assert lease["replica"] == controller.replica


async def test_a_claim_repeated_with_its_key_gives_the_same_lease(
    site: Site, controller: FakeController
) -> None:
    await site.deploy()
    body = {"app_slug": "echo", "controller": {"replica": "echo-0"}}
    key = "claim-0123456789abcdef"
    first = await controller.tell("/operations/claim", body, Idempotency_Key=key)
    again = await controller.tell("/operations/claim", body, Idempotency_Key=key)
    assert first.json()["items"][0]["lease"]["token"]
    assert again.json() == first.json()
    sql = "SELECT count(*) FROM idempotency WHERE position($1::bytea in answer) > 0"
    token = first.json()["items"][0]["lease"]["token"].encode()
    assert await site.platform.db.fetchval(sql, token) == 0


async def test_silence_returns_the_operation_with_one_attempt_more(
    site: Site, controller: FakeController, clock: Any
) -> None:
    requested = await site.deploy()
    controller.trouble["deploy"] = crashing(1)
    claimed = (await controller.claim())[0]
    with pytest.raises(Crashed):
        await controller.work(claimed)
    clock.advance(seconds=61)
    await sweep(site.platform)
    back = await site.operation(requested["operation"]["id"])
    assert (back["status"], back["attempt"], back["lease"]) == ("requested", 2, None)
    stale = await controller.say(claimed, "report")
    assert (stale.status_code, stale.json()["code"]) == (409, "lease_lost")
    clock.advance(seconds=10)
    second = FakeController(site, "echo-1")
    assert await second.drain_queue() == 1
    done = await site.operation(requested["operation"]["id"])
    assert (done["status"], done["attempt"]) == ("succeeded", 2)
    assert (await site.instance(requested["instance"]["id"]))["status"] == "running"


async def test_a_lapsed_lease_is_found_by_the_next_claim_too(
    site: Site, controller: FakeController, clock: Any
) -> None:
    await site.deploy()
    first = (await controller.claim())[0]
    clock.advance(seconds=61)
    lost = await controller.say(first, "heartbeat")
    assert lost.json()["code"] == "lease_lost"
    await FakeController(site, "echo-1").claim()  # returns it to the queue, with its delay
    clock.advance(seconds=11)
    second = (await FakeController(site, "echo-1").claim())[0]
    assert second["operation"]["id"] == first["operation"]["id"]
    assert second["lease"]["fence"] == first["lease"]["fence"] + 1
    assert second["lease"]["token"] != first["lease"]["token"]


async def test_attempts_end_and_say_the_ways_out(
    site: Site, controller: FakeController, clock: Any
) -> None:
    requested = await site.deploy()
    operation_id = requested["operation"]["id"]
    for attempt in (1, 2, 3):
        claimed = (await controller.claim())[0]
        assert claimed["operation"]["attempt"] == attempt
        await controller.say(claimed, "report")
        clock.advance(seconds=61)
        await sweep(site.platform)
        clock.advance(seconds=3600)
    ended = await site.operation(operation_id)
    assert (ended["status"], ended["error"]["code"]) == ("failed", "attempts_exhausted")
    assert {way["action"] for way in ended["next_actions"]} == {"retry", "reconcile", "abandon"}
    instance = await site.instance(requested["instance"]["id"])
    assert instance["status"] == "failed"
    assert "operation_failed" in [one["type"] for one in instance["conditions"]]
    assert "retry" in [way["action"] for way in instance["next_actions"]]
    retried = await site.ask("POST", f"/operations/{operation_id}/retry")
    assert (retried.status_code, retried.json()["attempt"]) == (202, 4)
    await controller.drain_queue()
    running = await site.instance(requested["instance"]["id"])
    assert (running["status"], running["health"]) == ("running", "healthy")
    assert "operation_failed" not in [one["type"] for one in running["conditions"]]


async def test_heartbeat_extends_and_tells_of_a_cancel(
    site: Site, controller: FakeController, clock: Any
) -> None:
    requested = await site.deploy()
    claimed = (await controller.claim())[0]
    clock.advance(seconds=50)
    kept = (await controller.say(claimed, "heartbeat")).json()
    assert kept["cancel_requested"] is False
    clock.advance(seconds=50)
    path = f"/operations/{requested['operation']['id']}/cancel"
    assert (await site.ask("POST", path)).status_code == 202
    assert (await controller.say(claimed, "heartbeat")).json()["cancel_requested"] is True


async def test_release_hands_back_without_counting(site: Site, controller: FakeController) -> None:
    await site.deploy()
    claimed = (await controller.claim())[0]
    await controller.say(claimed, "report", steps=[{"name": "prepare", "state": "running"}])
    released = await controller.say(claimed, "release")
    assert (released.json()["status"], released.json()["attempt"]) == ("requested", 1)
    assert (await controller.say(claimed, "report")).json()["code"] == "lease_lost"
    again = (await controller.claim())[0]
    assert (again["operation"]["attempt"], again["lease"]["fence"]) == (1, 2)


async def test_temporary_failure_waits_its_delay_permanent_ends(
    site: Site, controller: FakeController, clock: Any
) -> None:
    requested = await site.deploy()
    controller.trouble["deploy"] = failing(1, retry_after_seconds=30)
    await controller.drain_queue()
    waiting = await site.operation(requested["operation"]["id"])
    assert (waiting["status"], waiting["attempt"]) == ("requested", 2)
    assert waiting["error"]["code"] == "no_voice"
    assert await controller.claim() == []
    clock.advance(seconds=31)
    controller.trouble["deploy"] = failing(1, family="permanent", instance_usable=False)
    await controller.drain_queue()
    ended = await site.operation(requested["operation"]["id"])
    assert (ended["status"], ended["error"]["family"]) == ("failed", "permanent")
    assert (await site.instance(requested["instance"]["id"]))["status"] == "failed"


async def test_only_a_holder_in_reach_reports(
    site: Site, controller: FakeController, callers: Any
) -> None:
    await site.deploy()
    claimed = (await controller.claim())[0]
    twin = callers.add(RoleName.APP_OPERATOR, site.place, CallerKind.SERVICE_ACCOUNT)
    other = FakeController(site, "echo-1", {"Authorization": f"Bearer {twin}"})
    assert (await other.say(claimed, "report")).json()["code"] == "lease_lost"
    stranger = FakeController(site, "echo-2", site.viewer)
    refused = await stranger.say(claimed, "report")
    assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
    claim = {"app_slug": "echo", "controller": {"replica": "x"}}
    assert (await stranger.tell("/operations/claim", claim)).status_code == 403


async def test_a_controller_of_another_project_gets_nothing(
    site: Site, controller: FakeController, callers: Any
) -> None:
    await site.deploy()
    from_elsewhere = callers.add(
        RoleName.APP_OPERATOR,
        type(site.place)("org_other", "proj_other"),
        CallerKind.SERVICE_ACCOUNT,
    )
    other = FakeController(site, "echo-9", {"Authorization": f"Bearer {from_elsewhere}"})
    assert await other.claim(10) == []
    body = {"app_slug": "echo", "controller": {"replica": "x"}, "project_id": site.place.project_id}
    assert (await other.tell("/operations/claim", body)).status_code == 404
    claimed = (await controller.claim())[0]
    assert (await other.say(claimed, "heartbeat")).status_code == 404
