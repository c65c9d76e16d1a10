"""Overlays through the API on a real database: narrowing, explanation, history, refusals."""

from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import RoleName
from gpuaas_contract.policy import Dimension
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place
from gpuaas_platform.kernel.problems import PlatformError
from gpuaas_platform.policy import service

pytestmark = pytest.mark.integration
GLOBAL = "/policy-overlays"


@dataclass(frozen=True)
class House:
    """One tenant with one project, and everybody who writes policy there."""

    client: httpx2.AsyncClient
    place: Place
    platform_admin: dict[str, str]
    tenant_admin: dict[str, str]
    project_admin: dict[str, str]

    @property
    def tenant(self) -> str:
        return f"/tenants/{self.place.org_id}/policy-overlays"

    @property
    def project(self) -> str:
        return f"/projects/{self.place.project_id}/policy-overlays"

    async def add(self, path: str, name: str, **rules: Any) -> dict[str, Any]:
        who = {GLOBAL: self.platform_admin, self.tenant: self.tenant_admin}
        headers = who.get(path, self.project_admin)
        body = {"name": name, "rules": rules}
        answer = await self.client.post(path, json=body, headers=headers)
        assert answer.status_code == 201, answer.text
        made: dict[str, Any] = answer.json()
        return made

    async def explain(self, dimension: str, value: str) -> dict[str, Any]:
        answer = await self.client.get(
            f"/projects/{self.place.project_id}/effective-policy",
            params={"dimension": dimension, "value": value},
            headers=self.project_admin,
        )
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found


@pytest.fixture
async def house(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> House:
    place = await project_make(platform, "acme", "research")
    return House(
        client,
        place,
        bearer(callers.add(RoleName.PLATFORM_ADMIN)),
        bearer(callers.add(RoleName.TENANT_ADMIN, Place(place.org_id))),
        bearer(callers.add(RoleName.PROJECT_ADMIN, place)),
    )


async def test_a_global_deny_is_final_and_named_to_the_project(house: House) -> None:
    overlay = await house.add(GLOBAL, "embargo", regions={"deny": ["xx-*"]})
    await house.add(house.tenant, "wide", regions={"allow": ["*"]})
    await house.add(house.project, "wider", regions={"allow": ["xx-1"]})
    decision = (await house.explain("regions", "xx-1"))["decision"]
    assert decision["allowed"] is False
    assert decision["decided_by"]["overlay_id"] == overlay["id"]
    assert decision["decided_by"]["rule"] == "deny"
    assert [found["scope"]["kind"] for found in decision["chain"]] == [
        "platform",
        "tenant",
        "project",
    ]


async def test_the_merged_view_is_the_meet_of_all_levels(house: House) -> None:
    await house.add(GLOBAL, "base", skus={"allow": ["h*", "a100"], "deny": ["h100-old"]})
    await house.add(house.tenant, "own", skus={"allow": ["h100*", "b200"]})
    found = await house.explain("skus", "h100-80g")
    assert found["rules"]["skus"]["allow"] == ["h100*"]
    assert found["rules"]["skus"]["deny"] == ["h100-old"]
    assert found["rules"]["regions"] == {"allow": None, "deny": [], "sources": []}
    assert found["decision"]["allowed"] is True
    assert (await house.explain("skus", "a100"))["decision"]["allowed"] is False


async def test_trying_to_broaden_is_accepted_and_said(house: House) -> None:
    above = await house.add(GLOBAL, "base", skus={"allow": ["h*"]})
    made = await house.add(house.project, "dream", skus={"allow": ["h100", "b200"]})
    assert made["warnings"] == [
        {
            "code": "ineffective",
            "pointer": "/rules/skus/allow/1",
            "message": "'b200' allows nothing: the global overlay base does not allow it.",
            "overlay_id": above["id"],
        }
    ]
    assert (await house.explain("skus", "b200"))["decision"]["allowed"] is False


async def test_update_is_guarded_and_its_history_is_in_the_audit(
    house: House, platform: Platform
) -> None:
    made = await house.add(house.tenant, "own", skus={"deny": ["a100"]})
    path = f"{GLOBAL}/{made['id']}"
    body = {"rules": {"skus": {"deny": ["h100"]}}}
    read = await house.client.get(path, headers=house.tenant_admin)
    assert read.headers["ETag"] == '"1"'
    stale = house.tenant_admin | {"If-Match": '"7"'}
    assert (await house.client.put(path, json=body, headers=stale)).status_code == 412
    fresh = house.tenant_admin | {"If-Match": '"1"'}
    updated = await house.client.put(path, json=body, headers=fresh)
    assert updated.headers["ETag"] == '"2"'
    gone = await house.client.delete(path, headers=house.tenant_admin | {"If-Match": '"2"'})
    assert gone.status_code == 204
    rows = await platform.db.fetch(
        "SELECT action, detail FROM audit_entries WHERE target_id = $1 ORDER BY id", made["id"]
    )
    assert [(row["action"], row["detail"]["changes"]["skus.deny"]) for row in rows] == [
        ("policy.overlay.create", {"added": ["a100"], "removed": [], "list": ["began"]}),
        ("policy.overlay.update", {"added": ["h100"], "removed": ["a100"]}),
        ("policy.overlay.delete", {"added": [], "removed": ["h100"], "list": ["ended"]}),
    ]
    events = await platform.db.fetch(
        "SELECT type FROM (SELECT position::text AS p, subject, type FROM outbox"
        " UNION ALL SELECT seq::text, subject, type FROM events) AS e WHERE subject = $1",
        made["id"],
    )
    assert {row["type"] for row in events} == {
        "policy.overlay.created",
        "policy.overlay.updated",
        "policy.overlay.deleted",
    }


async def test_a_repeat_with_the_same_key_makes_one_overlay(house: House) -> None:
    headers = house.tenant_admin | {"Idempotency-Key": "once"}
    body = {"name": "own", "rules": {"skus": {"deny": ["a100"]}}}
    first = await house.client.post(house.tenant, json=body, headers=headers)
    again = await house.client.post(house.tenant, json=body, headers=headers)
    assert first.json() == again.json()
    twice = await house.client.post(house.tenant, json=body, headers=house.tenant_admin)
    assert twice.json()["code"] == "name_taken"


async def test_require_refuses_with_the_rule_in_the_problem(
    house: House, platform: Platform
) -> None:
    overlay = await house.add(house.tenant, "own", skus={"deny": ["h*"]})
    async with platform.db.connection() as conn:
        await service.require(conn, house.place, Dimension.SKUS, "a100")
        with pytest.raises(PlatformError, match="tenant overlay own") as refused:
            await service.require(conn, house.place, Dimension.SKUS, "h100")
        many = await service.decide_many(conn, house.place, Dimension.SKUS, ["a100", "h100"])
    assert refused.value.code is ErrorCode.POLICY_DENIED
    assert refused.value.context["overlay_id"] == overlay["id"]
    assert refused.value.context["rule"] == "deny h*"
    assert {value: one.allowed for value, one in many.items()} == {"a100": True, "h100": False}


async def test_an_overlay_of_another_tenant_does_not_hold_here(
    house: House, platform: Platform, callers: Any
) -> None:
    other = await project_make(platform, "umbrella", "lab")
    await house.add(f"/tenants/{house.place.org_id}/policy-overlays", "own", skus={"allow": []})
    async with platform.db.connection() as conn:
        await service.require(conn, other, Dimension.SKUS, "a100")
    assert (await house.explain("skus", "a100"))["decision"]["allowed"] is False


async def test_who_may_not_is_refused(house: House, platform: Platform, callers: Any) -> None:
    other = await project_make(platform, "umbrella", "lab")
    stranger = bearer(callers.add(RoleName.TENANT_ADMIN, Place(other.org_id)))
    viewer = bearer(callers.add(RoleName.PROJECT_VIEWER, house.place))
    made = await house.add(house.tenant, "own", skus={"deny": ["a100"]})
    body = {"name": "x", "rules": {}}
    client = house.client
    for path, headers, status in (
        (GLOBAL, house.tenant_admin, 403),
        (house.tenant, house.project_admin, 403),
        (house.tenant, stranger, 404),
        (house.project, stranger, 404),
        (house.project, viewer, 403),
        ("/projects/proj_none/policy-overlays", house.platform_admin, 404),
    ):
        answer = await client.post(path, json=body, headers=headers)
        assert (path, answer.status_code) == (path, status)
    single = f"{GLOBAL}/{made['id']}"
    assert (await client.get(single, headers=stranger)).status_code == 404
    assert (await client.get(single, headers=viewer)).status_code == 403
    assert (await client.delete(single, headers=stranger)).status_code == 404
    assert (await client.delete(single, headers=house.project_admin)).status_code == 403
    effective = f"/tenants/{house.place.org_id}/effective-policy"
    assert (await client.get(effective, headers=stranger)).status_code == 404
    assert (await client.get(effective, headers=house.tenant_admin)).status_code == 200
    assert (await client.get(GLOBAL)).status_code == 401


async def test_what_is_wrong_with_an_overlay_is_named(house: House) -> None:
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({"planets": {}}, "/rules/planets"),
        ({"skus": {"deny": ["a*b"]}}, "/rules/skus/deny/0"),
        ({"skus": {"deni": []}}, "/rules/skus/deni"),
    )
    for rules, pointer in cases:
        body = {"name": "x", "rules": rules}
        answer = await house.client.post(house.tenant, json=body, headers=house.tenant_admin)
        assert answer.status_code == 422
        assert answer.json()["errors"][0]["pointer"].startswith(pointer)
    half = f"/tenants/{house.place.org_id}/effective-policy?dimension=skus"
    answer = await house.client.get(half, headers=house.tenant_admin)
    assert answer.json()["errors"][0]["pointer"] == "/query/value"


async def test_lists_are_paged_by_name(house: House) -> None:
    for name in ("c", "a", "b"):
        await house.add(house.tenant, name)
    first = await house.client.get(house.tenant, params={"limit": 2}, headers=house.tenant_admin)
    assert [one["name"] for one in first.json()["items"]] == ["a", "b"]
    second = await house.client.get(
        house.tenant,
        params={"limit": 2, "cursor": first.json()["next_cursor"]},
        headers=house.tenant_admin,
    )
    assert [one["name"] for one in second.json()["items"]] == ["c"]
    assert second.json()["next_cursor"] is None
