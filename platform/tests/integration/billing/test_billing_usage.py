"""What people see of usage, through the public API, with everything below it real."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from apps_fake_controller import FakeController
from apps_fixtures import Site
from billing_fixtures import usage_settled
from journal_fixtures import Callers, Hands
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.billing import money_of
from gpuaas_contract.permissions import Permission, RoleName
from gpuaas_platform.kernel.caller import Place


async def deployed(site: Site, controller: FakeController, **settings: Any) -> str:
    """An instance that runs; its id."""
    asked = await site.deploy(**settings)
    await controller.drain_queue()
    await usage_settled(site.platform)
    return str(asked["instance"]["id"])


async def read(site: Site, instance_id: str, **query: str) -> dict[str, Any]:
    await usage_settled(site.platform)
    return dict(await site.got(f"/app-instances/{instance_id}/usage", **query))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


async def test_an_instance_costs_what_was_estimated_for_the_same_hours(
    site: Site, controller: FakeController, clock: Hands
) -> None:
    """The estimate is the sum of the SKUs' prices; two members on one machine pay it once."""
    instance_id = await deployed(site, controller, voice_on_hub=True, voices=[site.machines[1]])
    clock.advance(hours=5)
    start = moment((await read(site, instance_id))["since"]) + timedelta(hours=1)
    until = (start + timedelta(hours=3)).isoformat()
    used = await read(site, instance_id, since=start.isoformat(), until=until)
    skus = {one["name"]: one for one in (await site.got("/skus"))["items"]}
    machines = [await site.got(f"/allocations/{one}") for one in site.machines[:2]]
    estimate = sum(Decimal(skus[one["sku"]]["price_per_hour"]) for one in machines)
    assert used["amounts"] == [{"amount": f"{estimate * 3:.4f}", "currency": "EUR"}]
    assert used["price_per_hour"] == [], "the period is over: nothing of it goes on"
    assert used["running_seconds"] == 3 * 3600
    assert [(one["name"], one["hours"], one["amount"]) for one in used["machines"]] == [
        ("n0", "3.000000", "1.5000"),
        ("n1", "3.000000", "1.5000"),
    ]
    assert used["machines"][0]["components"] == ["hub", "voice"]
    now = await read(site, instance_id)
    assert now["open"]
    assert now["price_per_hour"] == [{"amount": f"{estimate:.4f}", "currency": "EUR"}]
    assert now["owner"] == {
        "kind": "project",
        "org_id": site.place.org_id,
        "project_id": site.place.project_id,
    }
    assert now["notes"] == []


async def test_a_machine_costs_an_instance_only_while_it_holds_it(
    site: Site, controller: FakeController, clock: Hands
) -> None:
    instance_id = await deployed(site, controller, voices=[site.machines[1]])
    clock.advance(hours=2)
    voice = next(m for m in await site.members(instance_id) if m["component_key"] == "voice")
    await site.asked(instance_id, "remove_voice", voice["id"])
    await controller.drain_queue()
    clock.advance(hours=10)
    used = await read(site, instance_id)
    hub, gone = used["machines"]
    assert (hub["open"], hub["held_until"]) == (True, None)
    assert not gone["open"]
    held = moment(gone["held_until"]) - moment(gone["held_since"])
    assert abs(gone["seconds"] - held.total_seconds()) <= 1
    await site.asked(instance_id, "stop")
    await controller.drain_queue()
    stopped = await read(site, instance_id)
    clock.advance(hours=3)
    later = await read(site, instance_id)
    assert later["running_seconds"] == stopped["running_seconds"], "what is stopped does not run"
    assert later["machines"][0]["seconds"] >= stopped["machines"][0]["seconds"] + 3 * 3600
    [day] = [one for one in later["days"] if one["unit"] == "runtime_hour"][:1]
    assert day["day"] == "2026-01-01"
    by_day = sum(one["seconds"] for one in later["days"] if one["unit"] == "node_hour")
    assert by_day == sum(one["seconds"] for one in later["machines"])


async def test_a_new_price_counts_from_its_moment(
    site: Site, controller: FakeController, clock: Hands
) -> None:
    instance_id = await deployed(site, controller)
    clock.advance(hours=1)
    answer = await site.ask("PATCH", "/skus/small", {"price_per_hour": "2"}, who=site.operator)
    assert answer.status_code == 200
    clock.advance(hours=1)
    used = await read(site, instance_id)
    assert used["price_per_hour"] == [{"amount": "2.0000", "currency": "EUR"}]
    query = {"unit": "node_hour", "since": used["since"], "until": used["until"]}
    records = (await site.got(_project(site), **query))["items"]
    mine = [one for one in records if one["subject_id"] == site.machines[0]]
    assert [(one["price_per_hour"], one["open"]) for one in mine] == [
        ("2.0000", True),
        ("0.5000", False),
    ]
    assert mine[0]["started_at"] == mine[1]["ended_at"]
    assert mine[0]["began_correlation_id"] == answer.headers["X-Correlation-ID"]
    owed = sum(Decimal(one["price_per_hour"]) * one["seconds"] for one in mine)
    assert used["amounts"] == [{"amount": str(money_of(Decimal(owed))), "currency": "EUR"}]


async def test_records_page_filter_and_sum_to_the_summary(
    site: Site, controller: FakeController, clock: Hands
) -> None:
    instance_id = await deployed(site, controller)
    clock.advance(hours=30)
    released = await site.ask("POST", f"/allocations/{site.machines[2]}/release")
    assert released.status_code == 200
    clock.advance(hours=3)
    await usage_settled(site.platform)
    until = (await site.got(f"/app-instances/{instance_id}/usage"))["until"]
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        page = await site.got(_project(site), until=until, limit="2", **cursor)
        found += page["items"]
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert len({one["id"] for one in found}) == len(found) == 4
    assert [one["open"] for one in found] == [True, True, True, False], "what goes on comes first"
    assert found[-1]["ended_correlation_id"] == released.headers["X-Correlation-ID"]
    for place in (f"/projects/{site.place.project_id}", f"/tenants/{site.place.org_id}"):
        asked = await site.client.get(
            f"{place}/usage/summary", params={"until": until}, headers=site.operator
        )
        days = asked.json()
        for unit in ("node_hour", "runtime_hour"):
            by_day = sum(one["seconds"] for one in days if one["unit"] == unit)
            assert by_day == sum(one["seconds"] for one in found if one["unit"] == unit)
        assert {one["day"] for one in days} == {"2026-01-01", "2026-01-02"}
    apps = await site.got(_project(site), source="app_runtime")
    assert [one["subject_name"] for one in apps["items"]] == ["first"]
    projects = await site.client.get(
        f"/tenants/{site.place.org_id}/usage/summary",
        params={"by": "project", "unit": "node_hour"},
        headers=site.operator,
    )
    assert [one["project_id"] for one in projects.json()] == [site.place.project_id]


@pytest.mark.parametrize(
    ("query", "pointer"),
    [
        ({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}, "/query/until"),
        ({"since": "2020-01-01T00:00:00Z"}, "/query/since"),
    ],
)
async def test_a_period_that_cannot_be_is_refused(
    site: Site, query: dict[str, str], pointer: str
) -> None:
    answer = await site.client.get(f"{_project(site)}/summary", params=query, headers=site.admin)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["pointer"] == pointer


async def test_who_may_not_see_it(site: Site, controller: FakeController, callers: Callers) -> None:
    instance_id = await deployed(site, controller)
    stranger = await project_make(site.platform, "other", "secret")
    far = bearer(callers.add(RoleName.TENANT_ADMIN, Place(stranger.org_id)))
    near = bearer(callers.add(frozenset({Permission.GAP_WRITE}), site.place))
    paths = (
        f"/app-instances/{instance_id}/usage",
        _project(site),
        f"{_project(site)}/summary",
        f"/tenants/{site.place.org_id}/usage",
        f"/tenants/{site.place.org_id}/usage/summary",
    )
    for path in paths:
        assert (await site.client.get(path, headers=far)).status_code == 404
        assert (await site.client.get(path, headers=near)).status_code == 403
    for path in paths[:3]:
        assert (await site.client.get(path, headers=site.viewer)).status_code == 200
    for path in paths[3:]:
        assert (await site.client.get(path, headers=site.admin)).status_code == 403


async def test_what_goes_on_is_found_in_the_states_when_its_events_are_gone(
    site: Site, controller: FakeController, clock: Hands
) -> None:
    """A platform that stood still for longer than events are kept."""
    instance_id = await deployed(site, controller)
    clock.advance(hours=1)
    db = site.platform.db
    await db.execute("DELETE FROM usage_records")
    await db.execute("DELETE FROM events")
    await db.execute("UPDATE usage_watermark SET seq = 0")
    await usage_settled(site.platform)
    clock.advance(hours=2)
    later = await read(site, instance_id)
    assert later["open"]
    assert later["running_seconds"] == pytest.approx(2 * 3600, abs=5)
    assert later["notes"], "that it is not whole is said"
    again = await site.got(_project(site), unit="node_hour")
    assert {one["basis"] for one in again["items"]} == {"reconstructed"}


async def test_a_machine_that_waits_to_be_cleaned_is_not_paid(
    site: Site, controller: FakeController, clock: Hands
) -> None:
    instance_id = await deployed(site, controller)
    operation = await site.asked(instance_id, "decommission")
    await controller.claim()
    clock.advance(minutes=5)
    path = f"/operations/{operation['operation']['id']}/abandon"
    answer = await site.ask("POST", path, {"reason": "its machine burnt"})
    assert answer.status_code == 200, answer.text
    await usage_settled(site.platform)
    first = site.machines[0]
    assert (await site.got(f"/allocations/{first}"))["status"] == "cleanup_blocked"
    records = (await site.got(_project(site), unit="node_hour"))["items"]
    assert [one["open"] for one in records if one["subject_id"] == first] == [False]

    clock.advance(hours=4)
    body = {"controller": {"replica": "echo-0", "version": "0.9.1"}}
    lease = (await controller.tell(f"/app-instances/{instance_id}/observer", body)).json()
    absent = {"runtime_verified_absent": True, "evidence": {}}
    hub = (await site.members(instance_id))[0]["id"]
    report = {
        "lease_token": lease["token"],
        "members": [{"member_id": hub, "absence": absent}],
    }
    proven = await controller.tell(f"/app-instances/{instance_id}/report", report)
    assert proven.status_code == 200, proven.text
    await usage_settled(site.platform)
    clock.advance(minutes=1)
    records = (await site.got(_project(site), unit="node_hour"))["items"]
    mine = [one for one in records if one["subject_id"] == first]
    assert [one["open"] for one in mine] == [True, False], "clean again, it is the project's again"
    idle = moment(mine[0]["started_at"]) - moment(mine[1]["ended_at"])
    assert idle >= timedelta(hours=4)


def _project(site: Site) -> str:
    return f"/projects/{site.place.project_id}/usage"
