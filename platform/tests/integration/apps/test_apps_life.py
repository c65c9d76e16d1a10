"""The full life of an instance, driven by a controller that knows only the public API."""

from typing import Any

from apps_fake_controller import FakeController
from apps_fixtures import Site


async def test_full_life_from_deploy_to_nothing_left(
    site: Site, controller: FakeController
) -> None:
    requested = await site.deploy()
    instance_id = requested["instance"]["id"]
    assert requested["operation"]["status"] == "requested"
    assert requested["operation"]["ready"] is True
    await controller.drain_queue()
    running = await site.instance(instance_id)
    assert (running["status"], running["health"]) == ("running", "healthy")
    assert running["topology"] == "single_node"
    assert running["runtime_version"] == "echo 7.2"
    assert running["settings_applied_revision"] == 1

    added = await site.asked(instance_id, "add_voice", input={"allocations": site.machines[1:4]})
    assert added["topology_changed_from"] == "single_node"
    assert len(added["operations"]) == 3
    assert sum(one["ready"] for one in added["operations"]) == 2  # as wide as the app allows
    await controller.drain_queue()
    group = await site.got(f"/operation-groups/{added['group_id']}")
    assert (group["status"], group["counts"]) == ("succeeded", {"succeeded": 3})
    voices = [m for m in await site.members(instance_id) if m["component_key"] == "voice"]
    assert [m["status"] for m in voices] == ["ready"] * 3
    assert (await site.instance(instance_id))["topology"] == "multi_node"

    await _done(site, controller, instance_id, "hush", voices[0]["id"])
    assert (await site.got(f"/app-members/{voices[0]['id']}"))["status"] == "drained"
    await _done(site, controller, instance_id, "remove_voice", voices[0]["id"])
    tombstone = await site.got(f"/app-members/{voices[0]['id']}")
    assert (tombstone["status"], tombstone["absence"]["runtime_verified_absent"]) == (
        "removed",
        True,
    )
    assert len(await site.members(instance_id)) == 3
    assert len(await site.members(instance_id, removed="true")) == 4

    await _done(
        site, controller, instance_id, "replace_voice", voices[1]["id"],
        input={"allocation": site.machines[1]},
    )  # fmt: skip
    components = [(m["component_key"], m["allocation_id"]) for m in await site.members(instance_id)]
    assert ("voice", site.machines[1]) in components
    assert ("voice", site.machines[2]) not in components

    await _done(site, controller, instance_id, "stop")
    assert (await site.instance(instance_id))["status"] == "stopped"
    await _done(site, controller, instance_id, "start")
    assert (await site.instance(instance_id))["status"] == "running"
    await _done(site, controller, instance_id, "upgrade", version="1.1.0")
    upgraded = await site.instance(instance_id)
    assert (upgraded["app_version"], upgraded["previous_version"]) == ("1.1.0", "1.0.0")
    await _done(site, controller, instance_id, "roll_back")
    assert (await site.instance(instance_id))["app_version"] == "1.0.0"

    deleting = await site.ask("DELETE", f"/app-instances/{instance_id}")
    assert deleting.status_code == 202, deleting.text
    assert deleting.json()["instance"]["status"] == "deleting"
    await controller.drain_queue()
    gone = await site.instance(instance_id)
    assert gone["status"] == "deleted"
    assert await site.members(instance_id) == []
    for machine in site.machines:
        assert (await site.got(f"/allocations/{machine}"))["bound_instance_id"] is None
    again = await site.deploy()  # the name is free again
    assert again["instance"]["id"] != instance_id


async def test_deploy_seeds_workers_after_it_succeeded(
    site: Site, controller: FakeController
) -> None:
    requested = await site.deploy(voices=site.machines[1:3])
    deploy, *seeded = requested["operations"]
    assert [one["kind"] for one in seeded] == ["add_voice", "add_voice"]
    assert {one["waits_for"] for one in seeded} == {deploy["id"]}
    assert not any(one["ready"] for one in seeded)
    first = await controller.claim(10)
    assert [one["operation"]["id"] for one in first] == [deploy["id"]]
    await controller.work(first[0])
    await controller.drain_queue()
    assert [kind for kind, _ in controller.diary] == ["deploy", "add_voice", "add_voice"]
    members = await site.members(requested["instance"]["id"])
    assert [m["status"] for m in members] == ["ready"] * 3


async def test_a_voice_on_the_hub_is_brought_up_by_deploy(
    site: Site, controller: FakeController
) -> None:
    requested = await site.deploy(voice_on_hub=True)
    assert [one["kind"] for one in requested["operations"]] == ["deploy"]
    assert requested["instance"]["topology"] == "single_node"
    intent = requested["instance"]["placement_intent"]["members"]
    assert [one["shared"] for one in intent] == [True, True]
    await controller.drain_queue()
    members = await site.members(requested["instance"]["id"])
    assert [(m["status"], m["shares_allocation"]) for m in members] == [("ready", True)] * 2


async def test_everything_carries_the_correlation_of_its_request(
    site: Site, controller: FakeController
) -> None:
    path = f"/projects/{site.place.project_id}/app-instances"
    body = {"app_slug": "echo", "name": "traced", "settings": {"hub": site.machines[0]}}
    answer = await site.ask("POST", path, body, X_Correlation_ID="incident-42")
    instance_id = answer.json()["instance"]["id"]
    await controller.drain_queue()
    events = await site.events(instance_id)
    assert {event["correlation_id"] for event in events} == {"incident-42"}
    statuses = [e["type"].split(".")[-1] for e in events if e["type"].startswith("apps.instance")]
    assert [one for one in statuses if one != "updated"] == ["requested", "deploying", "running"]
    sql = "SELECT DISTINCT action FROM audit_entries WHERE correlation_id = 'incident-42'"
    actions = {row["action"] for row in await site.platform.db.fetch(sql)}
    assert actions >= {
        "apps.instance.create", "apps.operation.claim", "apps.operation.report",
        "apps.operation.complete",
    }  # fmt: skip


async def _done(
    site: Site, controller: FakeController, instance_id: str, kind: str, *members: str, **body: Any
) -> None:
    asked = await site.asked(instance_id, kind, *members, **body)
    await controller.drain_queue()
    ended = await site.operation(asked["operation"]["id"])
    assert ended["status"] == "succeeded", ended
