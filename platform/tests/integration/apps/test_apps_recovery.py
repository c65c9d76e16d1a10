"""The ways out: cancel, retry, reconcile, abandon; and what a delete does to all else."""

import asyncio
from typing import Any

from apps_fake_controller import FakeController, failing
from apps_fixtures import Site

from gpuaas_platform.apps.sweeps import sweep


async def test_cancel_before_work_began_is_at_once(site: Site, controller: FakeController) -> None:
    instance_id = await _running(site, controller)
    asked = await site.asked(instance_id, "add_voice", input={"allocations": [site.machines[1]]})
    cancelled = await site.ask("POST", f"/operations/{asked['operation']['id']}/cancel")
    assert (cancelled.status_code, cancelled.json()["status"]) == (200, "cancelled")
    assert [m["component_key"] for m in await site.members(instance_id)] == ["hub"]
    assert (await site.instance(instance_id))["topology"] == "single_node"
    assert (await site.got(f"/allocations/{site.machines[1]}"))["bound_instance_id"] is None


async def test_cancel_stops_at_the_next_safe_point(site: Site, controller: FakeController) -> None:
    requested = await site.deploy()
    claimed = (await controller.claim())[0]
    await controller.say(claimed, "report", steps=[{"name": "prepare", "state": "running"}])
    path = f"/operations/{requested['operation']['id']}/cancel"
    assert (await site.ask("POST", path)).json()["cancel_requested"] is True
    stopped = await controller.work(claimed)
    assert stopped.json()["status"] == "cancelled"
    instance = await site.instance(requested["instance"]["id"])
    assert instance["status"] == "failed"
    assert "delete" in [way["action"] for way in instance["next_actions"]]
    again = await site.asked(requested["instance"]["id"], "deploy", input=instance["settings"])
    await controller.drain_queue()
    assert (await site.operation(again["operation"]["id"]))["status"] == "succeeded"


async def test_completion_beats_a_late_cancel_and_the_other_way_round(
    site: Site, controller: FakeController
) -> None:
    requested = await site.deploy()
    claimed = (await controller.claim())[0]
    path = f"/operations/{requested['operation']['id']}/cancel"
    completed, cancelled = await asyncio.gather(
        controller.say(claimed, "complete"), site.ask("POST", path)
    )
    assert completed.json()["status"] == "succeeded"
    assert cancelled.status_code in {202, 409}
    assert (await site.operation(requested["operation"]["id"]))["status"] == "succeeded"
    assert (await site.instance(requested["instance"]["id"]))["status"] == "running"
    late = await site.ask("POST", path)
    assert (late.status_code, late.json()["code"]) == (409, "state_conflict")


async def test_cancel_of_a_deploy_cancels_what_waits_for_it(site: Site) -> None:
    requested = await site.deploy(voices=site.machines[1:3])
    await site.ask("POST", f"/operations/{requested['operation']['id']}/cancel")
    for one in requested["operations"]:
        assert (await site.operation(one["id"]))["status"] == "cancelled"
    for machine in site.machines[1:3]:
        assert (await site.got(f"/allocations/{machine}"))["bound_instance_id"] is None


async def test_workers_wait_through_a_failed_deploy_and_its_retry(
    site: Site, controller: FakeController
) -> None:
    requested = await site.deploy(voices=[site.machines[1]])
    controller.trouble["deploy"] = failing(1, family="permanent")
    await controller.drain_queue()
    seeded = requested["operations"][1]["id"]
    assert (await site.operation(seeded))["status"] == "requested"
    await site.ask("POST", f"/operations/{requested['operation']['id']}/retry")
    await controller.drain_queue()
    assert (await site.operation(seeded))["status"] == "succeeded"


async def test_abandon_without_a_statement_sets_the_machine_aside(
    site: Site, controller: FakeController
) -> None:
    instance_id = await _running(site, controller)
    asked = await site.asked(instance_id, "add_voice", input={"allocations": [site.machines[1]]})
    controller.trouble["add_voice"] = failing(1, family="permanent")
    await controller.drain_queue()
    path = f"/operations/{asked['operation']['id']}/abandon"
    unreasoned = await site.ask("POST", path, {"reason": ""})
    assert unreasoned.status_code == 422
    abandoned = await site.ask("POST", path, {"reason": "the machine is on fire"})
    assert abandoned.json()["status"] == "abandoned"
    member = await site.got(f"/app-members/{asked['operation']['member_id']}")
    assert member["status"] == "cleanup_blocked"
    assert "cleanup_unverified" in [one["type"] for one in member["conditions"]]
    allocation = await site.got(f"/allocations/{site.machines[1]}")
    assert (allocation["status"], allocation["bound_instance_id"]) == (
        "cleanup_blocked",
        instance_id,
    )
    refused = await site.ask("POST", f"/allocations/{site.machines[1]}/release")
    assert refused.json()["code"] == "in_use"
    assert f"used by the member {member['id']} of the instance" in refused.json()["detail"]
    lease = await _observe(controller, instance_id)
    absent = {"runtime_verified_absent": True, "evidence": {"ports": []}}
    report = {"lease_token": lease, "members": [{"member_id": member["id"], "absence": absent}]}
    answer = await controller.tell(f"/app-instances/{instance_id}/report", report)
    assert answer.status_code == 200, answer.text
    tombstone = await site.got(f"/app-members/{member['id']}")
    assert (tombstone["status"], tombstone["absence"]["evidence"]) == ("removed", {"ports": []})
    freed = await site.got(f"/allocations/{site.machines[1]}")
    assert (freed["status"], freed["bound_instance_id"]) == ("active", None)


async def test_abandon_with_a_statement_leaves_a_tombstone(
    site: Site, controller: FakeController
) -> None:
    instance_id = await _running(site, controller)
    asked = await site.asked(instance_id, "add_voice", input={"allocations": [site.machines[1]]})
    member_id = asked["operation"]["member_id"]
    absent = {"runtime_verified_absent": True, "evidence": {"processes": []}}
    members = [{"member_id": member_id, "absence": absent}]
    controller.trouble["add_voice"] = failing(1, family="permanent", members=members)
    await controller.drain_queue()
    path = f"/operations/{asked['operation']['id']}/abandon"
    assert (await site.ask("POST", path, {"reason": "never mind"})).status_code == 200
    assert (await site.got(f"/app-members/{member_id}"))["status"] == "removed"
    assert (await site.got(f"/allocations/{site.machines[1]}"))["bound_instance_id"] is None


async def test_abandoned_decommission_waits_for_the_statement(
    site: Site, controller: FakeController
) -> None:
    instance_id = await _running(site, controller)
    deleting = (await site.ask("DELETE", f"/app-instances/{instance_id}")).json()
    controller.trouble["decommission"] = failing(1, family="permanent")
    await controller.drain_queue()
    assert (await site.instance(instance_id))["status"] == "deleting"
    path = f"/operations/{deleting['operation']['id']}/abandon"
    await site.ask("POST", path, {"reason": "unreachable for weeks"})
    blocked = await site.instance(instance_id)
    assert blocked["status"] == "cleanup_blocked"
    hub = (await site.members(instance_id))[0]
    assert hub["status"] == "cleanup_blocked"
    lease = await _observe(controller, instance_id)
    absent = {"runtime_verified_absent": True, "evidence": {}}
    report = {"lease_token": lease, "members": [{"member_id": hub["id"], "absence": absent}]}
    await controller.tell(f"/app-instances/{instance_id}/report", report)
    assert (await site.instance(instance_id))["status"] == "deleted"


async def test_a_statement_is_void_once_something_is_there_again(
    site: Site, controller: FakeController
) -> None:
    instance_id = await _running(site, controller)
    asked = await site.asked(instance_id, "add_voice", input={"allocations": [site.machines[1]]})
    member_id = asked["operation"]["member_id"]
    absent = {"runtime_verified_absent": True, "evidence": {}}
    members = [{"member_id": member_id, "absence": absent}]
    controller.trouble["add_voice"] = failing(1, family="permanent", members=members)
    await controller.drain_queue()
    await site.ask("POST", f"/operations/{asked['operation']['id']}/retry")
    await controller.drain_queue()
    assert (await site.got(f"/app-members/{member_id}"))["absence"] is None


async def test_delete_ends_what_waits_and_stops_what_runs(
    site: Site, controller: FakeController
) -> None:
    instance_id = await _running(site, controller)
    machines = site.machines[1:4]
    added = await site.asked(instance_id, "add_voice", input={"allocations": machines})
    claimed = (await controller.claim(1))[0]
    await controller.say(claimed, "report", steps=[{"name": "prepare", "state": "running"}])
    deleting = (await site.ask("DELETE", f"/app-instances/{instance_id}")).json()
    statuses = [(await site.operation(one["id"]))["status"] for one in added["operations"]]
    assert sorted(statuses) == ["cancelled", "cancelled", "running"]
    assert (await site.operation(deleting["operation"]["id"]))["ready"] is False
    for kind, body in (
        ("add_voice", {"input": {"allocations": [site.machines[4]]}}),
        ("stop", {}),
        ("decommission", {}),
    ):
        refused = await site.request(instance_id, kind, **body)
        assert (refused.status_code, refused.json()["code"]) == (409, "state_conflict"), kind
    assert (await site.ask("DELETE", f"/app-instances/{instance_id}")).status_code == 409
    stopped = await controller.say(claimed, "stopped")
    assert stopped.json()["status"] == "cancelled"
    await controller.drain_queue()
    assert (await site.instance(instance_id))["status"] == "deleted"


async def test_delete_and_add_at_once_never_leave_an_orphan(
    site: Site, controller: FakeController
) -> None:
    instance_id = await _running(site, controller)
    adding = [
        site.request(instance_id, "add_voice", input={"allocations": [machine]})
        for machine in site.machines[1:5]
    ]
    answers = await asyncio.gather(
        *adding[:2], site.ask("DELETE", f"/app-instances/{instance_id}"), *adding[2:]
    )
    assert {answer.status_code for answer in answers} <= {202, 409}
    await controller.drain_queue()
    assert (await site.instance(instance_id))["status"] == "deleted"
    assert await site.members(instance_id) == []
    for machine in site.machines:
        assert (await site.got(f"/allocations/{machine}"))["bound_instance_id"] is None
    sql = "SELECT count(*) FROM operations WHERE status IN ('requested', 'accepted', 'running')"
    assert await site.platform.db.fetchval(sql) == 0


async def test_delete_of_an_instance_whose_controller_died(
    site: Site, controller: FakeController, clock: Any
) -> None:
    instance_id = await _running(site, controller)
    await site.asked(instance_id, "add_voice", input={"allocations": [site.machines[1]]})
    claimed = (await controller.claim())[0]
    await controller.say(claimed, "report")
    await site.ask("DELETE", f"/app-instances/{instance_id}")
    clock.advance(seconds=61)
    await sweep(site.platform)
    ended = await site.operation(claimed["operation"]["id"])
    assert ended["status"] == "cancelled"
    await FakeController(site, "echo-1").drain_queue()
    assert (await site.instance(instance_id))["status"] == "deleted"


async def test_a_second_attempt_finds_what_the_first_had_done(
    site: Site, controller: FakeController, clock: Any
) -> None:
    """Each ends its work, says so, and falls silent before it can complete."""
    requested = await site.deploy(voices=[site.machines[1]])
    await controller.drain_queue()
    instance_id = requested["instance"]["id"]
    voice = (await site.members(instance_id))[-1]["id"]
    for kind, members, ending in (
        ("hush", [voice], {"members": [{"member_id": voice, "status": "drained"}]}),
        ("remove_voice", [voice], {"members": [{"member_id": voice, "status": "removed"}]}),
        ("stop", [], {"instance": {"status": "stopped"}}),
        ("start", [], {"instance": {"status": "running"}}),
    ):
        asked = await site.asked(instance_id, kind, *members)
        silent = (await controller.claim())[0]
        assert (await controller.say(silent, "report", **ending)).status_code == 200, kind
        clock.advance(seconds=61)
        await sweep(site.platform)
        clock.advance(seconds=60)
        again = (await FakeController(site, "echo-1").claim())[0]
        done = await controller.say(again, "complete")
        assert done.json()["status"] == "succeeded", done.text
        assert (await site.operation(asked["operation"]["id"]))["attempt"] == 2
    assert (await site.got(f"/app-members/{voice}"))["status"] == "removed"
    assert (await site.instance(instance_id))["status"] == "running"


async def test_decommission_is_not_done_while_members_are_left(
    site: Site, controller: FakeController
) -> None:
    instance_id = await _running(site, controller)
    await site.ask("DELETE", f"/app-instances/{instance_id}")
    claimed = (await controller.claim())[0]
    early = await controller.say(claimed, "complete")
    hub = claimed["members"][0]["id"]
    assert (early.status_code, early.json()["context"]["member_ids"]) == (409, hub)
    assert (await site.operation(claimed["operation"]["id"]))["status"] == "accepted"
    blocked = [{"member_id": hub, "status": "cleanup_blocked"}]
    honest = await controller.say(claimed, "complete", members=blocked)
    assert honest.json()["status"] == "succeeded"
    assert (await site.instance(instance_id))["status"] == "cleanup_blocked"
    again = await site.ask("DELETE", f"/app-instances/{instance_id}")
    assert again.status_code == 202
    await controller.drain_queue()
    assert (await site.instance(instance_id))["status"] == "deleted"


async def test_an_upgrade_that_failed_leads_back_to_the_version_it_started_from(
    site: Site, controller: FakeController
) -> None:
    instance_id = await _running(site, controller)
    for version in (None, "1.1.0"):
        early = await site.request(instance_id, "roll_back", version=version)
        assert early.status_code == 409
    assert await _rollback(site, instance_id) == (
        False,
        "There is no earlier version to go back to.",
    )
    controller.trouble["upgrade"] = failing(1, family="permanent")
    await site.asked(instance_id, "upgrade", version="1.1.0")
    await controller.drain_queue()
    assert (await site.instance(instance_id))["app_version"] == "1.0.0"
    assert await _rollback(site, instance_id) == (True, "")
    body = {"kind": "roll_back"}
    foreseen = await site.ask("POST", f"/app-instances/{instance_id}/operations/preview", json=body)
    assert foreseen.json()["target_version"] == "1.0.0"
    asked = await site.asked(instance_id, "roll_back")
    assert asked["operation"]["target_version"] == "1.0.0"
    await controller.drain_queue()
    instance = await site.instance(instance_id)
    assert (instance["status"], instance["app_version"]) == ("running", "1.0.0")
    assert (await site.request(instance_id, "roll_back")).status_code == 409
    assert not (await _rollback(site, instance_id))[0]


async def _rollback(site: Site, instance_id: str) -> tuple[bool, str]:
    """Whether the way back is offered, and why not."""
    offered = (await site.instance(instance_id))["operations"]
    one = next(one for one in offered if one["purpose"] == "rollback")
    return one["available"], one["reason"]


async def _running(site: Site, controller: FakeController) -> str:
    requested = await site.deploy()
    await controller.drain_queue()
    return str(requested["instance"]["id"])


async def _observe(controller: FakeController, instance_id: str) -> str:
    body = {"controller": {"replica": controller.replica}}
    answer = await controller.tell(f"/app-instances/{instance_id}/observer", body)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["token"])
