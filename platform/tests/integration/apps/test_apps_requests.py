"""Requests and reads: what is refused and how, lists, waiting, settings, previews."""

import asyncio
from typing import Any

import httpx2
from apps_fake_controller import FakeController
from apps_fixtures import Site
from observed_calls import Waits
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import Permission, RoleName


async def test_newest_allowed_version_without_one_named(site: Site) -> None:
    answer = await site.create("newest", {"hub": site.machines[0]})
    assert answer.json()["instance"]["app_version"] == "1.1.0"
    assert answer.headers["Location"].endswith(answer.json()["operation"]["id"])


async def test_a_refused_deploy_leaves_nothing(site: Site) -> None:
    machine, elsewhere = site.machines[0], "alloc_00000000000000000000000000"
    cases: list[tuple[dict[str, Any], dict[str, Any], str]] = [
        ({}, {}, "invalid_input"),
        ({"hub": machine, "greeting": "x" * 50}, {}, "invalid_input"),
        ({"hub": machine, "shout": True}, {}, "invalid_input"),
        ({"hub": elsewhere}, {}, "not_found"),
        ({"hub": machine, "voices": [site.machines[1]] * 2}, {}, "in_use"),
        ({"hub": machine}, {"app_slug": "nothing"}, "not_found"),
        ({"hub": machine}, {"version": "9.9.9"}, "not_found"),
        ({"hub": machine}, {"control_plane_scope": "tenant"}, "invalid_request"),
        ({"hub": machine}, {"operating_mode": "platform_managed"}, "invalid_request"),
    ]
    for settings, more, code in cases:
        answer = await site.create("refused", settings, **more)
        assert answer.json()["code"] == code, answer.text
    for table in ("app_instances", "app_members", "operations"):
        assert await site.platform.db.fetchval(f"SELECT count(*) FROM {table}") == 0  # noqa: S608 - names of tables
    bound = "SELECT count(*) FROM allocations WHERE bound_instance_id IS NOT NULL"
    assert await site.platform.db.fetchval(bound) == 0


async def test_errors_of_settings_point_into_the_request(site: Site) -> None:
    answer = await site.create("bad", {"hub": site.machines[0], "greeting": 7})
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/settings/greeting"]


async def test_an_allocation_serves_one_instance_at_a_time(site: Site) -> None:
    first = await site.deploy("first")
    second = await site.create("second", {"hub": site.machines[0]})
    assert (second.status_code, second.json()["code"]) == (409, "in_use")
    assert second.json()["context"]["app_instance_id"] == first["instance"]["id"]
    taken = await site.create("first", {"hub": site.machines[1]})
    assert taken.json()["code"] == "name_taken"


async def test_racing_deploys_into_one_machine_make_one_instance(site: Site) -> None:
    answers = await asyncio.gather(
        *(site.create(f"i{number}", {"hub": site.machines[0]}) for number in range(5))
    )
    assert sorted(answer.status_code for answer in answers) == [202, 409, 409, 409, 409]


async def test_a_repeated_deploy_is_the_same_instance(site: Site) -> None:
    path = f"/projects/{site.place.project_id}/app-instances"
    body = {"app_slug": "echo", "name": "once", "settings": {"hub": site.machines[0]}}
    answers = await asyncio.gather(
        *(site.ask("POST", path, body, Idempotency_Key="deploy-1") for _ in range(3))
    )
    assert {answer.status_code for answer in answers} == {202}
    assert len({answer.json()["instance"]["id"] for answer in answers}) == 1


async def test_operations_are_valid_in_state_and_topology_only(
    site: Site, controller: FakeController
) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    early = await site.request(instance_id, "start")
    assert (early.status_code, early.json()["code"]) == (409, "state_conflict")
    assert "deploy" in early.json()["context"]["available"]
    unknown = await site.request(instance_id, "dance")
    assert (unknown.status_code, unknown.json()["errors"][0]["pointer"]) == (422, "/kind")
    await controller.drain_queue()
    instance = await site.instance(instance_id)
    available = {one["kind"] for one in instance["operations"] if one["available"]}
    assert {"stop", "say", "add_voice", "decommission"} <= available
    assert not {"start", "deploy"} & available
    hub = (await site.members(instance_id))[0]["id"]
    wrong = await site.request(instance_id, "hush", hub)
    assert (wrong.status_code, wrong.json()["context"]["member_id"]) == (409, hub)
    for kind, members, body in (
        ("stop", [hub], {}),
        ("hush", [], {}),
        ("hush", [hub, hub], {}),
        ("stop", [], {"version": "1.1.0"}),
        ("upgrade", [], {}),
        ("replace_voice", [], {"input": {"allocation": site.machines[1]}}),
    ):
        answer = await site.request(instance_id, kind, *members, **body)
        assert answer.status_code == 422, (kind, answer.text)
    nowhere = await site.request(instance_id, "roll_back")
    assert nowhere.json()["code"] == "state_conflict"


async def test_the_same_thing_is_not_asked_twice(site: Site, controller: FakeController) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    await controller.drain_queue()
    first = await site.asked(instance_id, "stop")
    second = await site.request(instance_id, "stop")
    assert second.json()["code"] == "operation_in_progress"
    assert second.json()["context"]["operation_id"] == first["operation"]["id"]


async def test_min_and_max_members_hold(site: Site, controller: FakeController) -> None:
    requested = await site.deploy(voices=[site.machines[1]])
    await controller.drain_queue()
    instance_id = requested["instance"]["id"]
    taken = await site.request(instance_id, "add_voice", input={"allocations": [site.machines[1]]})
    assert (taken.status_code, taken.json()["code"]) == (409, "in_use")


async def test_preview_says_before_what_a_request_changes(
    site: Site, controller: FakeController
) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    await controller.drain_queue()
    body = {"kind": "add_voice", "input": {"allocations": [site.machines[1]]}}
    answer = await site.ask("POST", f"/app-instances/{instance_id}/operations/preview", body)
    told = answer.json()
    assert (told["topology"], told["topology_after"]) == ("single_node", "multi_node")
    assert told["topology_text"] == "Hub and voices on machines of their own."
    assert [one["allocation_id"] for one in told["new_members"]] == [site.machines[1]]
    assert len(await site.members(instance_id)) == 1
    assert (await site.got(f"/allocations/{site.machines[1]}"))["bound_instance_id"] is None


async def test_groups_succeed_and_fail_one_by_one(site: Site, controller: FakeController) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    await controller.drain_queue()
    bad = site.machines[2]

    def broken(operation: dict[str, Any]) -> dict[str, Any] | None:
        if allocations[operation["member_id"]] != bad:
            return None
        return {"code": "broken", "message": "no", "family": "permanent"}

    asked = await site.asked(
        instance_id, "add_voice", input={"allocations": site.machines[1:4]}, parallelism=1
    )
    allocations = {m["id"]: m["allocation_id"] for m in await site.members(instance_id)}
    controller.trouble["add_voice"] = broken
    assert sum(one["ready"] for one in asked["operations"]) == 1
    await controller.drain_queue()
    group = await site.got(f"/operation-groups/{asked['group_id']}")
    assert (group["status"], group["counts"]) == ("partly_failed", {"succeeded": 2, "failed": 1})
    assert [one["status"] for one in group["operations"]].count("succeeded") == 2
    assert (await site.instance(instance_id))["status"] == "running"


async def test_settings_change_with_if_match_and_are_applied_by_the_app(
    site: Site, controller: FakeController
) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    await controller.drain_queue()
    read = await site.ask("GET", f"/app-instances/{instance_id}")
    settings = read.json()["settings"] | {"greeting": "good day"}
    path, etag = f"/app-instances/{instance_id}", read.headers["ETag"]
    changed = await site.ask("PATCH", path, {"settings": settings}, If_Match=etag)
    assert changed.status_code == 200, changed.text
    assert changed.json()["settings_revision"] == 2
    assert "settings_pending" in [one["type"] for one in changed.json()["conditions"]]
    stale = await site.ask("PATCH", path, {"display_name": "late"}, If_Match=etag)
    assert stale.status_code == 412
    moved = settings | {"hub": site.machines[1]}
    refused = await site.ask("PATCH", path, {"settings": moved})
    assert refused.json()["code"] == "state_conflict"
    await site.ask("POST", f"{path}/reconcile")
    claimed = (await controller.claim())[0]
    assert claimed["operation"]["purpose"] == "reconcile"
    ahead = await controller.say(claimed, "report", instance={"settings_revision": 3})
    assert ahead.json()["code"] == "state_conflict"
    await controller.say(claimed, "complete", instance={"settings_revision": 2})
    after = await site.instance(instance_id)
    assert after["settings_applied_revision"] == 2
    assert after["conditions"] == []


async def test_reads_wait_for_something_newer(
    site: Site, controller: FakeController, waits: Waits
) -> None:
    requested = await site.deploy()
    operation = requested["operation"]
    path = f"/operations/{operation['id']}"
    params = {
        "wait": "20s",
        "after_revision": str((await site.operation(operation["id"]))["revision"]),
    }
    waiting = asyncio.create_task(site.client.get(path, params=params, headers=site.admin))
    await waits.begun(f"operation:{operation['id']}")
    assert not waiting.done()
    await controller.claim()
    assert (await waiting).json()["status"] == "accepted"
    instance_id = requested["instance"]["id"]
    revision = (await site.instance(instance_id))["revision"]
    timed_out = await site.client.get(
        f"/app-instances/{instance_id}",
        params={"wait": "200ms", "after_revision": str(revision)},
        headers=site.admin,
    )
    assert timed_out.status_code == 200
    assert timed_out.json()["revision"] >= revision  # the sweep may have noted something meanwhile
    bad = await site.client.get(path, params={"wait": "soon"}, headers=site.admin)
    assert bad.status_code == 422


async def test_lists_filter_and_page(site: Site, controller: FakeController) -> None:
    first = (await site.deploy("first"))["instance"]["id"]
    second = (await site.deploy("second", hub=site.machines[1]))["instance"]["id"]
    await controller.drain_queue()
    project = f"/projects/{site.place.project_id}"
    page = await site.got(f"{project}/app-instances", limit="1")
    assert [one["id"] for one in page["items"]] == [second]
    rest = await site.got(f"{project}/app-instances", cursor=page["next_cursor"])
    assert [one["id"] for one in rest["items"]] == [first]
    assert (await site.got("/app-instances", status="stopped"))["items"] == []
    assert len((await site.got("/app-instances", search="REPEAT"))["items"]) == 2
    for pattern in ("%", "_", "re%at", "rep_at", "\\"):  # characters like any other
        assert (await site.got("/app-instances", search=pattern))["items"] == [], pattern
    for path, query, count in (
        (f"{project}/operations", {"status": "succeeded"}, 2),
        (f"/app-instances/{first}/operations", {"kind": "deploy"}, 1),
        ("/operations", {"kind": "stop"}, 0),
        ("/operations", {"status": ["failed", "succeeded"]}, 2),
        ("/operations", {"status": ["failed", "running"]}, 0),
        ("/app-instances", {"status": ["stopped", "running"]}, 2),
        (f"/app-instances/{first}/members", {"status": ["removed", "failed"]}, 0),
        (f"/app-instances/{first}/members", {"status": ["ready", "failed"]}, 1),
    ):
        assert len((await site.got(path, **query))["items"]) == count
    unknown = await site.client.get(
        "/operations", params={"status": ["failed", "done"]}, headers=site.admin
    )
    assert unknown.status_code == 422
    assert [one["pointer"] for one in unknown.json()["errors"]] == ["/query/status/1"]


async def test_a_listed_operation_reads_as_the_one_read_alone(
    site: Site, controller: FakeController
) -> None:
    requested = await site.deploy(voices=[site.machines[1]])
    claimed = (await controller.claim())[0]
    await controller.say(claimed, "report", steps=[{"name": "prepare", "state": "running"}])
    listed = (await site.got(f"/app-instances/{requested['instance']['id']}/operations"))["items"]
    assert len(listed) == 2
    for one in listed:
        assert one == await site.operation(one["id"])


async def test_an_app_may_ask_for_more_than_the_platforms_own_keys(
    site: Site, callers: Any
) -> None:
    instance_id = (await site.deploy())["instance"]["id"]
    narrow = frozenset({Permission.INSTANCE_READ, Permission.OPERATION_CONTROL})
    who = {"Authorization": f"Bearer {callers.add(narrow, site.place)}"}
    read = await site.ask("GET", f"/app-instances/{instance_id}", who=who)
    assert (read.status_code, read.json()["context"]["permission"]) == (
        403,
        "capacity.allocation.read",
    )
    assert (await site.ask("GET", "/app-instances", who=who)).json()["items"] == []
    claim = {"app_slug": "echo", "controller": {"replica": "x"}}
    claimed = await site.ask("POST", "/operations/claim", claim, who=who)
    assert (claimed.status_code, claimed.json()["context"]["permission"]) == (
        403,
        "custody.grant.create",
    )


async def test_strangers_see_nothing_and_viewers_change_nothing(
    site: Site, controller: FakeController, callers: Any
) -> None:
    requested = await site.deploy()
    instance_id, operation_id = requested["instance"]["id"], requested["operation"]["id"]
    elsewhere = await project_make(site.platform, "other", "secret")
    stranger = {"Authorization": f"Bearer {callers.add(RoleName.PROJECT_ADMIN, elsewhere)}"}
    member_id = (await site.members(instance_id))[0]["id"]
    reads = [
        f"/app-instances/{instance_id}", f"/app-instances/{instance_id}/members",
        f"/app-instances/{instance_id}/operations", f"/operations/{operation_id}",
        f"/app-members/{member_id}", f"/projects/{site.place.project_id}/app-instances",
        f"/projects/{site.place.project_id}/controllers",
    ]  # fmt: skip
    for path in reads:
        assert (await site.ask("GET", path, who=stranger)).status_code == 404, path
        assert (await site.ask("GET", path, who=site.viewer)).status_code == 200, path
    assert (await site.ask("GET", "/operations", who=stranger)).json()["items"] == []
    writes: list[tuple[str, str, dict[str, Any] | None]] = [
        ("DELETE", f"/app-instances/{instance_id}", None),
        ("PATCH", f"/app-instances/{instance_id}", {"display_name": "mine"}),
        ("POST", f"/app-instances/{instance_id}/operations", {"kind": "stop"}),
        ("POST", f"/app-instances/{instance_id}/reconcile", None),
        ("POST", f"/operations/{operation_id}/cancel", None),
        ("POST", f"/operations/{operation_id}/abandon", {"reason": "mine"}),
    ]
    for method, path, body in writes:
        assert (await site.ask(method, path, body, who=stranger)).status_code == 404, path
        refused: httpx2.Response = await site.ask(method, path, body, who=site.viewer)
        assert refused.status_code == 403, path
    denied = "SELECT count(*) FROM audit_entries WHERE outcome = 'denied'"
    assert await site.platform.db.fetchval(denied) >= 2 * len(writes)
