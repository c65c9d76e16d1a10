"""What time shows: controllers gone missing, steps past their deadline; and the observer."""

from typing import Any

from apps_fake_controller import FakeController
from apps_fixtures import Site

from gpuaas_platform.apps.sweeps import sweep


async def test_work_nobody_takes_says_so(
    site: Site, controller: FakeController, clock: Any
) -> None:
    requested = await site.deploy()
    instance_id = requested["instance"]["id"]
    condition = requested["instance"]["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("controller_absent", "not_seen")
    ways = [way["action"] for way in requested["instance"]["next_actions"]]
    assert "start_controller" in ways
    await controller.drain_queue()
    await sweep(site.platform)
    assert (await site.instance(instance_id))["conditions"] == []
    seen = await site.got(f"/projects/{site.place.project_id}/controllers")
    assert [(one["replica"], one["version"], one["present"]) for one in seen] == [
        ("echo-0", "0.9.1", True)
    ]
    clock.advance(seconds=61)
    await sweep(site.platform)
    gone = await site.instance(instance_id)
    assert [one["type"] for one in gone["conditions"]] == ["controller_absent"]
    assert gone["status"] == "running"  # absent says nothing about the runtime
    seen = await site.got(f"/projects/{site.place.project_id}/controllers")
    assert [one["present"] for one in seen] == [False]
    types = [event["type"] for event in await site.events(instance_id)]
    assert types[-1] == "apps.instance.updated"


async def test_a_controller_that_looks_but_takes_nothing_is_noticed(
    site: Site, controller: FakeController, clock: Any
) -> None:
    await controller.claim()
    requested = await site.deploy()
    instance_id = requested["instance"]["id"]
    assert requested["instance"]["conditions"] == []
    clock.advance(seconds=61)
    body = {"controller": {"replica": "echo-0"}}
    await controller.tell(f"/app-instances/{instance_id}/observer", body)
    await sweep(site.platform)
    condition = (await site.instance(instance_id))["conditions"][0]
    assert (condition["type"], condition["reason"]) == ("controller_absent", "work_waits")
    await controller.claim()
    await sweep(site.platform)
    assert (await site.instance(instance_id))["conditions"] == []


async def test_a_late_step_is_stuck_not_failed(
    site: Site, controller: FakeController, clock: Any
) -> None:
    requested = await site.deploy()
    controller.lease_seconds = 600
    claimed = (await controller.claim())[0]
    await controller.say(claimed, "report", steps=[{"name": "prepare", "state": "running"}])
    clock.advance(seconds=31)
    await sweep(site.platform)
    await sweep(site.platform)
    stuck = await site.operation(requested["operation"]["id"])
    assert (stuck["status"], stuck["conditions"][0]["type"]) == ("running", "stuck")
    assert stuck["conditions"][0]["reason"] == "prepare"
    assert {way["action"] for way in stuck["next_actions"]} == {"cancel", "abandon"}
    types = [event["type"] for event in await site.events(requested["instance"]["id"])]
    assert types.count("apps.operation.stuck") == 1
    done = await controller.say(
        claimed, "report", steps=[{"name": "prepare", "state": "succeeded"}]
    )
    assert done.json()["conditions"] == []
    clock.advance(seconds=300)
    await controller.say(claimed, "heartbeat", lease_seconds=600)
    clock.advance(seconds=580)
    await sweep(site.platform)
    slow = await site.operation(requested["operation"]["id"])
    assert slow["conditions"][0]["reason"] == "attempt_deadline"


async def test_one_observer_at_a_time(site: Site, controller: FakeController, clock: Any) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    await controller.drain_queue()
    path = f"/app-instances/{instance_id}"
    first = await controller.tell(f"{path}/observer", {"controller": {"replica": "echo-0"}})
    token = first.json()["token"]
    rival = {"controller": {"replica": "echo-1"}}
    refused = await controller.tell(f"{path}/observer", rival)
    assert (refused.status_code, refused.json()["code"]) == (409, "lease_lost")
    kept = await controller.tell(
        f"{path}/observer", {"controller": {"replica": "echo-0"}, "lease_token": token}
    )
    assert kept.json()["token"] == token
    hub = (await site.members(instance_id))[0]["id"]
    unreachable = {"type": "unreachable", "reason": "timeout", "message": "no answer in 30 s"}
    report = {
        "lease_token": token,
        "instance": {"status": "degraded", "health": "degraded"},
        "members": [{"member_id": hub, "health": "unreachable", "conditions": [unreachable]}],
    }
    told = await controller.tell(f"{path}/report", report)
    assert (told.json()["status"], told.json()["health"]) == ("degraded", "degraded")
    member = await site.got(f"/app-members/{hub}")
    assert (member["status"], member["health"]) == (
        "ready",
        "unreachable",
    )  # unreachable is not gone
    since = member["conditions"][0]["since"]
    await controller.tell(f"{path}/report", report)
    assert (await site.got(f"/app-members/{hub}"))["conditions"][0]["since"] == since
    clock.advance(seconds=61)
    lost = await controller.tell(f"{path}/report", report)
    assert lost.json()["code"] == "lease_lost"
    assert (await controller.tell(f"{path}/observer", rival)).status_code == 200


async def test_the_observer_leaves_states_under_work_alone(
    site: Site, controller: FakeController
) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    await controller.drain_queue()
    path = f"/app-instances/{instance_id}"
    lease = await controller.tell(f"{path}/observer", {"controller": {"replica": "echo-0"}})
    await site.asked(instance_id, "stop")
    claimed = (await controller.claim())[0]
    await controller.say(claimed, "report")
    token = {"lease_token": lease.json()["token"]}
    refused = await controller.tell(f"{path}/report", {**token, "instance": {"status": "running"}})
    assert refused.json()["code"] == "operation_in_progress"
    assert refused.json()["context"]["operation_id"] == claimed["operation"]["id"]
    detail = {"adapter_detail": {"summary": "still talking", "severity": "warning"}}
    told = await controller.tell(f"{path}/report", {**token, "instance": detail})
    assert told.json()["adapter_detail"]["summary"] == "still talking"


async def test_reports_obey_the_tables_and_are_all_or_nothing(
    site: Site, controller: FakeController
) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    claimed = (await controller.claim())[0]
    hub = claimed["members"][0]["id"]
    for body in (
        {"members": [{"member_id": hub, "status": "drained"}]},
        {"instance": {"status": "deleted"}},
        {"instance": {"status": "stopped"}},
        {"members": [{"member_id": "mem_00000000000000000000000000", "status": "ready"}]},
        {"instance": {"conditions": [{"type": "controller_absent"}]}},
        {"instance": {"adapter_detail": {"detail": {"text": "x" * 70_000}}}},
    ):
        refused = await controller.say(
            claimed, "report", steps=[{"name": "prepare", "state": "running"}], **body
        )
        assert refused.status_code in {404, 409, 422}, body
    untouched = await site.operation(claimed["operation"]["id"])
    assert (untouched["status"], untouched["progress"][0]["state"]) == ("accepted", "pending")
    assert (await site.instance(instance_id))["status"] == "requested"
