"""The timeline: everything that carries a correlation id, in order, to whoever may see it."""

import asyncio
from functools import partial
from typing import Any

import httpx2
from apps_fake_controller import FakeController, failing
from apps_fixtures import Site
from eventually import eventually
from observed_calls import Waits
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import Permission, RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place

CORRELATION = "incident-42"
TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"


async def test_an_incident_is_told_from_the_request_to_the_last_event(
    site: Site, controller: FakeController
) -> None:
    controller.trouble["deploy"] = failing(1, family="permanent", message="No voice on this card.")
    requested = await _deploy(site)
    await controller.drain_queue()
    timeline = await _settled(site, site.admin, "apps.operation.failed")
    kinds = [entry["kind"] for entry in timeline["entries"]]
    assert set(kinds) == {"request", "audit", "instance", "member", "operation", "step", "event"}
    assert kinds[0] == "request"
    moments = [entry["at"] for entry in timeline["entries"]]
    assert moments == sorted(moments)
    first = timeline["entries"][0]
    assert (first["status"], first["actor"]) == ("202", "user-2")
    assert first["title"].startswith("POST /api/v1/projects/")
    steps = {e["detail"]["operation_id"]: e for e in timeline["entries"] if e["kind"] == "step"}
    assert set(steps) == {requested["operation"]["id"]}
    assert timeline["trace_ids"] == [TRACE]
    titles = {entry["title"] for entry in timeline["entries"]}
    name = requested["instance"]["resource_name"]
    assert f"Operation deploy of {name}: failed, attempt 1 of 3." in titles
    assert any(one.startswith("Member hub on ") for one in titles), titles
    for entry in timeline["entries"]:
        assert entry["scope"] == {
            "kind": "project",
            "org_id": site.place.org_id,
            "project_id": site.place.project_id,
        }
        for link in entry["links"].values():
            seen = await site.client.get(link.removeprefix("/api/v1"), headers=site.operator)
            assert seen.status_code in {200, 405}, link


async def test_what_moved_on_since_is_still_told(site: Site, controller: FakeController) -> None:
    """An instance carries the id of its latest change; those before lead to it all the same."""
    requested = await _deploy(site)
    await controller.drain_queue()
    instance_id = requested["instance"]["id"]
    later = await site.client.post(
        f"/app-instances/{instance_id}/operations",
        json={"kind": "stop", "input": {}},
        headers=site.admin | {"X-Correlation-ID": "later-43"},
    )
    assert later.status_code == 202, later.text
    await controller.drain_queue()
    moved = await site.client.get(f"/app-instances/{instance_id}", headers=site.admin)
    assert moved.json()["correlation_id"] == "later-43"
    before = (await site.client.get(f"/correlations/{CORRELATION}", headers=site.admin)).json()
    after = (await site.client.get("/correlations/later-43", headers=site.admin)).json()
    for told in (before, after):
        moments = [entry["at"] for entry in told["entries"]]
        assert moments == sorted(moments)
        assert told["entries"][0]["kind"] == "request"
        found = [entry["id"] for entry in told["entries"] if entry["kind"] == "instance"]
        assert found == [instance_id]
    assert "member" in {entry["kind"] for entry in before["entries"]}


async def test_the_five_questions_are_answered(site: Site, controller: FakeController) -> None:
    controller.trouble["deploy"] = failing(1, family="permanent", message="No voice on this card.")
    requested = await _deploy(site)
    claimed = (await controller.claim())[0]
    hub = claimed["members"][0]["id"]
    detail = {"summary": "card 0 is mute", "severity": "error", "detail": {"exit": 3}}
    members = [{"member_id": hub, "adapter_detail": detail}]
    told = await controller.say(
        claimed, "report", members=members, instance={"adapter_detail": detail}
    )
    assert told.status_code == 200, told.text
    await controller.work(claimed)
    diagnosis = (await _read(site, site.viewer))["diagnoses"][0]
    assert diagnosis["instance"]["id"] == requested["instance"]["id"]
    assert diagnosis["instance"]["status"] == "failed"
    assert diagnosis["operation"]["id"] == requested["operation"]["id"]
    assert diagnosis["operation"]["error"]["message"] == "No voice on this card."
    assert diagnosis["operation"]["step"] == "act"
    assert "retry" in [way["action"] for way in diagnosis["operation"]["next_actions"]]
    assert diagnosis["correlation_id"] == CORRELATION
    assert diagnosis["adapter_detail"]["summary"] == "card 0 is mute"
    add = await site.ask(
        "POST",
        f"/app-instances/{requested['instance']['id']}/operations",
        {"kind": "look"},
        X_Correlation_ID="another",
    )
    assert add.status_code in {202, 409}


async def test_a_member_operation_names_its_member(site: Site, controller: FakeController) -> None:
    await site.deploy()
    await controller.drain_queue()
    instance_id = (await site.got("/app-instances"))["items"][0]["id"]
    controller.trouble["add_voice"] = failing(1, family="permanent")
    body = {"kind": "add_voice", "input": {"allocations": [site.machines[1]]}}
    path = f"/app-instances/{instance_id}/operations"
    answer = await site.ask("POST", path, body, X_Correlation_ID=CORRELATION)
    assert answer.status_code == 202, answer.text
    await controller.drain_queue()
    diagnosis = (await _read(site, site.admin))["diagnoses"][0]
    assert diagnosis["member"]["allocation_id"] == site.machines[1]
    assert diagnosis["member"]["component_key"] == "voice"
    assert diagnosis["operation"]["kind"] == "add_voice"


async def test_other_tenants_entries_do_not_exist(
    site: Site, platform: Platform, callers: Any
) -> None:
    await _deploy(site)
    there = await project_make(platform, "rival", "lab")
    rival = bearer(callers.add(RoleName.PROJECT_ADMIN, there))
    answer = await _get(site.client, rival, CORRELATION)
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    refused = await site.client.post(
        f"/projects/{site.place.project_id}/allocations",
        json={"name": "theirs", "sku": "small", "region": "north"},
        headers=rival | {"X-Correlation-ID": CORRELATION},
    )
    assert refused.status_code == 404
    mine = (await _get(site.client, rival, CORRELATION)).json()
    assert {entry["kind"] for entry in mine["entries"]} == {"request", "audit"}
    assert {entry["scope"]["project_id"] for entry in mine["entries"]} == {there.project_id}
    theirs = await _read(site, site.admin)
    assert "rival" not in str(theirs)


async def test_a_viewer_sees_no_audit_and_an_operator_sees_all(site: Site) -> None:
    await _deploy(site)
    viewer = await _settled(site, site.viewer, "apps.instance.requested")
    assert "audit" not in {entry["kind"] for entry in viewer["entries"]}
    operator = await _read(site, site.operator)
    assert len(operator["entries"]) > len(viewer["entries"])


async def test_whoever_was_refused_finds_the_request(site: Site, callers: Any) -> None:
    nobody = bearer(callers.add(frozenset({Permission.PROJECT_READ}), Place("org_acme")))
    path = f"/projects/{site.place.project_id}/app-instances"
    body = {"app_slug": "echo", "name": "x", "settings": {}}
    refused = await site.client.post(path, json=body, headers=nobody)
    assert refused.status_code == 403
    found = await _get(site.client, nobody, refused.json()["correlation_id"])
    assert [e["detail"]["code"] for e in found.json()["entries"]] == ["permission_denied"]


async def test_a_request_that_was_not_valid_is_found_too(site: Site) -> None:
    known = site.admin | {"X-Correlation-ID": CORRELATION}
    path = f"/projects/{site.place.project_id}/app-instances"
    assert (await site.client.post(path, json={"odd": 1}, headers=known)).status_code == 422
    answer = await site.client.get(f"/correlations/{CORRELATION}", headers=site.admin)
    [entry] = answer.json()["entries"]
    assert (entry["kind"], entry["status"]) == ("request", "422")


async def test_unknown_is_not_found_and_a_bad_cursor_is_said(site: Site) -> None:
    assert (await _get(site.client, site.admin, "never-seen")).status_code == 404
    await _deploy(site)
    bad = await _get(site.client, site.admin, CORRELATION, cursor="x")
    assert (bad.status_code, bad.json()["code"]) == (400, "invalid_cursor")
    wrong = await _get(site.client, site.admin, CORRELATION, wait="soon")
    assert wrong.status_code == 422


async def test_pages_of_any_length_make_the_same_whole(
    site: Site, controller: FakeController
) -> None:
    await _deploy(site, voices=[site.machines[1]])
    await controller.drain_queue()
    whole = (await _settled(site, site.admin, "apps.instance.running"))["entries"]
    for limit in (1, 3, 7):
        parts: list[Any] = []
        cursor = None
        while True:
            query = {"limit": str(limit)} | ({} if cursor is None else {"cursor": cursor})
            page = (await _get(site.client, site.admin, CORRELATION, **query)).json()
            parts += page["entries"]
            cursor = page["next_cursor"]
            if cursor is None:
                break
        assert [e["id"] for e in parts] == [e["id"] for e in whole]


async def test_a_follower_is_told_when_it_changes(
    site: Site, controller: FakeController, waits: Waits
) -> None:
    before = _get(site.client, site.admin, CORRELATION, wait="20s")
    waiting = asyncio.create_task(before)
    await waits.begun(CORRELATION)
    await _deploy(site)
    first = (await waiting).json()
    assert first["entries"]
    settled = await _settled(site, site.admin, "apps.operation.requested")
    async with asyncio.timeout(60):  # the last of what the deploy left may come first
        while True:
            follow = {"wait": "20s", "after": settled["revision"]}
            waits.forget()
            waiting = asyncio.create_task(_get(site.client, site.admin, CORRELATION, **follow))
            await eventually(partial(_waits_or_done, waits, waiting))
            if not waiting.done():
                break
            settled = waiting.result().json()
    await controller.claim()
    told = (await waiting).json()
    assert told["revision"] != settled["revision"]
    async with asyncio.timeout(60):
        while told["diagnoses"][0]["operation"]["status"] != "accepted":
            follow["after"] = told["revision"]
            told = (await _get(site.client, site.admin, CORRELATION, **follow)).json()


def _waits_or_done(waits: Waits, asking: "asyncio.Task[httpx2.Response]") -> bool:
    return asking.done() or CORRELATION in waits.topics


async def test_a_follower_whose_time_is_up_gets_what_there_is(site: Site) -> None:
    await _deploy(site)
    told = await _settled(site, site.admin, "apps.operation.requested")
    async with asyncio.timeout(60):  # until what the deploy left has come
        while True:
            known = told["revision"]
            answer = await _get(site.client, site.admin, CORRELATION, wait="200ms", after=known)
            told = answer.json()
            if told["revision"] == known:
                break
    assert told["entries"]


async def test_an_unforeseen_failure_is_part_of_the_record(
    site: Site, platform: Platform, monkeypatch: Any
) -> None:
    async def fail(*_: Any) -> None:
        raise ZeroDivisionError("secret-value")

    monkeypatch.setattr("gpuaas_platform.capacity.store.machines.region_insert", fail)
    body = {"name": "south", "display_name": "South"}
    headers = site.operator | {"X-Correlation-ID": CORRELATION}
    answer = await site.client.post("/regions", json=body, headers=headers)
    assert answer.status_code == 500
    timeline = await _read(site, site.operator)
    entries = [e for e in timeline["entries"] if e["kind"] != "log"]  # its line comes a bit later
    assert [(e["kind"], e["status"]) for e in entries] == [
        ("request", "500"),
        ("audit", "failed"),
    ]
    assert entries[1]["detail"]["error"] == "ZeroDivisionError"
    assert entries[0]["span"]["seconds"] >= 0
    assert "secret-value" not in str(timeline)


async def _deploy(site: Site, **settings: Any) -> dict[str, Any]:
    body = {
        "app_slug": "echo",
        "name": "first",
        "version": "1.0.0",
        "settings": {"hub": site.machines[0]} | settings,
    }
    answer = await site.ask(
        "POST",
        f"/projects/{site.place.project_id}/app-instances",
        body,
        X_Correlation_ID=CORRELATION,
        traceparent=f"00-{TRACE}-00f067aa0ba902b7-01",
    )
    assert answer.status_code == 202, answer.text
    return dict(answer.json())


async def _get(
    client: httpx2.AsyncClient, who: dict[str, str], correlation_id: str, **query: str
) -> httpx2.Response:
    return await client.get(f"/correlations/{correlation_id}", params=query, headers=who)


async def _read(site: Site, who: dict[str, str]) -> dict[str, Any]:
    answer = await _get(site.client, who, CORRELATION)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


async def _settled(site: Site, who: dict[str, str], last: str) -> dict[str, Any]:
    """The timeline once the relay has numbered an event of this type and nothing waits."""

    async def settled() -> dict[str, Any] | None:
        waiting = await site.platform.db.fetchval("SELECT count(*) FROM outbox")
        timeline = await _read(site, who)
        types = {entry["detail"].get("type") for entry in timeline["entries"]}
        return timeline if waiting == 0 and last in types else None

    return await eventually(settled, what=f"a numbered event {last}")
