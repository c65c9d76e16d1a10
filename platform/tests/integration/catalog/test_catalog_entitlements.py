"""Who may deploy what: catalog, entitlement and policy together, each refusal with its reason."""

from dataclasses import dataclass
from typing import Any

import httpx2
import pytest
from catalog_fixtures import app_publish, entitle, template_manifest
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.permissions import RoleName
from gpuaas_platform.catalog import service
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import PLATFORM, Place
from gpuaas_platform.kernel.problems import PlatformError

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class House:
    """A catalog with the versions 1.0.0, 1.1.0 and 2.0.0 of one app, and one tenant."""

    client: httpx2.AsyncClient
    platform: Platform
    place: Place
    operator: dict[str, str]
    admin: dict[str, str]
    member: dict[str, str]

    @property
    def tenant(self) -> str:
        return f"/tenants/{self.place.org_id}"

    @property
    def project(self) -> str:
        return f"/projects/{self.place.project_id}"

    async def entitle_all(self, **project: Any) -> dict[str, Any]:
        await entitle(self.client, self.operator, self.tenant, "web")
        return await entitle(self.client, self.admin, self.project, "web", **project)

    async def refusal(self, version: str, place: Place | None = None) -> PlatformError:
        async with self.platform.db.connection() as conn:
            with pytest.raises(PlatformError) as refused:
                await service.deployable_version(conn, place or self.place, "web", version)
        return refused.value

    async def reasons(self) -> dict[str, list[str]]:
        answer = await self.client.get(f"{self.project}/apps/web", headers=self.member)
        return {
            one["version"]: [reason["code"] for reason in one["reasons"]]
            for one in answer.json()["versions"]
        }


@pytest.fixture
async def house(client: httpx2.AsyncClient, platform: Platform, callers: Any) -> House:
    place = await project_make(platform, "acme", "research")
    operator = bearer(callers.add(RoleName.PLATFORM_ADMIN))
    await app_publish(client, operator, "web", "1.0.0", "1.1.0", "2.0.0")
    admin = bearer(callers.add(RoleName.TENANT_ADMIN, Place(place.org_id)))
    member = bearer(callers.add(RoleName.PROJECT_MEMBER, place))
    return House(client, platform, place, operator, admin, member)


async def test_an_entitled_version_is_deployable(house: House) -> None:
    await house.entitle_all(settings={"fixed": {"/settings/port": 9000}})
    async with house.platform.db.connection() as conn:
        record = await service.deployable_version(conn, house.place, "web", "1.1.0")
        again = await service.deployable_version(conn, house.place, "web", "1.0.0")
    assert (record.slug, record.version) == ("web", "1.1.0")
    assert record.manifest is again.manifest, "one digest is parsed once"
    given = {"gateway_allocation_id": "alloc_1"}
    filled = service.defaults_apply(record, "deploy", given)
    assert filled["settings"]["port"] == 9000
    assert service.input_validate(record, "deploy", filled) == []


async def test_each_level_must_entitle(house: House) -> None:
    assert (await house.refusal("1.0.0")).code is ErrorCode.NOT_FOUND
    assert (await house.refusal("9.9.9")).code is ErrorCode.NOT_FOUND
    early = await house.client.post(
        f"{house.project}/entitlements", json={"app_slug": "web"}, headers=house.admin
    )
    assert early.status_code == 404
    await entitle(house.client, house.operator, house.tenant, "web")
    refused = await house.refusal("1.0.0")
    assert refused.code is ErrorCode.POLICY_DENIED
    assert refused.context["reason"] == "not_entitled"
    async with house.platform.db.connection() as conn:
        await service.deployable_version(conn, Place(house.place.org_id), "web", "1.0.0")
        await service.deployable_version(conn, PLATFORM, "web", "1.0.0")


async def test_version_patterns_only_narrow(house: House) -> None:
    await entitle(house.client, house.operator, house.tenant, "web", versions=["1.*"])
    made = await entitle(
        house.client, house.admin, house.project, "web", versions=["1.0.0", "2.*", "*"]
    )
    assert [(one["pointer"], one["message"]) for one in made["warnings"]] == [
        ("/versions/1", "'2.*' covers nothing: the tenant's entitlement covers no more."),
        ("/versions/2", "'*' covers 1.*: the tenant's entitlement covers no more."),
    ]
    assert (await house.refusal("2.0.0")).context["reason"] == "version_not_entitled"
    assert await house.reasons() == {
        "2.0.0": ["version_not_entitled"],
        "1.1.0": [],
        "1.0.0": [],
    }


async def test_policy_is_asked_and_named(house: House) -> None:
    await house.entitle_all()
    rules = {"app_versions": {"deny": ["web@1.0.*"]}}
    overlay = await house.client.post(
        "/policy-overlays", json={"name": "old", "rules": rules}, headers=house.operator
    )
    refused = await house.refusal("1.0.0")
    assert refused.code is ErrorCode.POLICY_DENIED
    assert refused.context["overlay_id"] == overlay.json()["id"]
    assert "'web@1.0.*'" in refused.detail
    assert (await house.reasons())["1.0.0"] == ["policy_denied"]


async def test_withdrawn_is_a_conflict_and_what_runs_stays_readable(house: House) -> None:
    await house.entitle_all()
    at = "/apps/web/versions/2.0.0"
    words = {"reason": "Loses data.", "replacement": "1.1.0"}
    await house.client.post(f"{at}/withdraw", json=words, headers=house.operator)
    refused = await house.refusal("2.0.0")
    assert refused.code is ErrorCode.STATE_CONFLICT
    assert refused.context["replacement"] == "1.1.0"
    assert "Loses data." in refused.detail
    async with house.platform.db.connection() as conn:
        kept = await service.version_record(conn, "web", "2.0.0")
    assert kept.manifest.deploy.kind == "deploy"
    form = f"{house.project}/apps/web/versions/2.0.0/form"
    assert (await house.client.get(form, headers=house.member)).status_code == 409
    day_two = await house.client.get(form, params={"kind": "add_server"}, headers=house.member)
    assert day_two.json()["title"] == "Add servers"
    await house.client.post(
        "/apps/web/versions/1.1.0/deprecate", json={"message": "Old."}, headers=house.operator
    )
    app = await house.client.get(f"{house.project}/apps/web", headers=house.member)
    assert app.json()["latest_available"] == "1.0.0"


async def test_the_list_is_what_can_be_deployed_and_on_request_why_not(house: House) -> None:
    await app_publish(house.client, house.operator, "other", "1.0.0")
    await app_publish(house.client, house.operator, "empty")
    for slug in ("web", "other", "empty"):
        await entitle(house.client, house.operator, house.tenant, slug)
    for slug in ("web", "empty"):
        await entitle(house.client, house.admin, house.project, slug, versions=["1.*"])
    path = f"{house.project}/apps"
    plain = (await house.client.get(path, headers=house.member)).json()["items"]
    assert [(one["slug"], one["latest_available"]) for one in plain] == [("web", "1.1.0")]
    assert [one["version"] for one in plain[0]["versions"]] == ["1.1.0", "1.0.0"]
    every = await house.client.get(
        path, params={"include": "unavailable", "limit": 2}, headers=house.member
    )
    assert [
        (one["slug"], [reason["code"] for reason in one["reasons"]])
        for one in every.json()["items"]
    ] == [("empty", ["no_version"]), ("other", ["not_entitled"])]
    rest = await house.client.get(
        path,
        params={"include": "unavailable", "cursor": every.json()["next_cursor"]},
        headers=house.member,
    )
    assert [one["slug"] for one in rest.json()["items"]] == ["web"]


async def test_an_app_is_described_by_its_publisher_or_else_by_the_version_offered(
    house: House,
) -> None:
    for version, summary in (("3.0.0", "One for all."), ("3.1.0", "Two for all.")):
        body = {
            "version": version,
            "manifest": template_manifest() | {"summary": summary},
            "publish": True,
        }
        made = await house.client.post("/apps/web/versions", json=body, headers=house.operator)
        assert made.status_code == 201, made.text
    await app_publish(house.client, house.operator, "empty")
    for slug in ("web", "empty"):
        await entitle(house.client, house.operator, house.tenant, slug)
        await entitle(house.client, house.admin, house.project, slug, versions=["3.0.0"])
    path = f"{house.project}/apps"

    async def described() -> dict[str, str]:
        answer = await house.client.get(
            path, params={"include": "unavailable"}, headers=house.member
        )
        return {one["slug"]: one["description"] for one in answer.json()["items"]}

    assert await described() == {"web": "One for all.", "empty": ""}
    words = {"description": "In our words."}
    current = await house.client.get("/apps/web", headers=house.operator)
    changed = await house.client.patch(
        "/apps/web",
        json=words,
        headers=house.operator | {"If-Match": current.headers["etag"]},
    )
    assert changed.status_code == 200, changed.text
    assert (await described())["web"] == "In our words."
    one = await house.client.get(f"{path}/empty", headers=house.member)
    assert one.json()["description"] == ""


async def test_taking_back_stops_new_deploys_at_once(house: House) -> None:
    given = await house.entitle_all()
    path = f"/entitlements/{given['id']}"
    stale = await house.client.delete(path, headers=house.admin | {"If-Match": '"4"'})
    assert stale.status_code == 412
    gone = await house.client.delete(path, headers=house.admin | {"If-Match": '"1"'})
    assert gone.status_code == 204
    assert (await house.refusal("1.0.0")).context["reason"] == "not_entitled"
    assert (await house.client.get(path, headers=house.admin)).status_code == 404


async def test_what_was_entitled_once_stays_readable_but_not_deployable(house: House) -> None:
    tenant = await entitle(house.client, house.operator, house.tenant, "web")
    await entitle(house.client, house.admin, house.project, "web")
    gone = await house.client.delete(f"/entitlements/{tenant['id']}", headers=house.operator)
    assert gone.status_code == 204
    assert (await house.refusal("1.0.0")).code is ErrorCode.NOT_FOUND
    path = f"{house.project}/entitlements"
    early = await house.client.post(path, json={"app_slug": "web"}, headers=house.admin)
    assert early.status_code == 404
    listed = await house.client.get("/apps", headers=house.member)
    assert listed.json()["items"] == []
    kept = await house.client.get("/apps/web/versions/1.0.0", headers=house.member)
    assert kept.json()["manifest"]["operations"][0]["kind"] == "deploy"
    form = f"{house.project}/apps/web/versions/1.0.0/form"
    day_two = await house.client.get(form, params={"kind": "stop"}, headers=house.member)
    assert day_two.json()["confirmation"]["title"] == "Stop the service?"
    assert (await house.client.get(form, headers=house.member)).status_code == 404
    await entitle(house.client, house.operator, house.tenant, "web")
    async with house.platform.db.connection() as conn:
        await service.deployable_version(conn, house.place, "web", "1.0.0")


async def test_an_input_is_tried_without_asking_for_anything(house: House) -> None:
    limits = {"/settings/port": {"maximum": 9000}}
    await house.entitle_all(settings={"limits": limits})
    path = f"{house.project}/apps/web/versions/1.0.0/validate-input"
    wrong = {"input": {"settings": {"port": 9001}}}
    answer = await house.client.post(path, json=wrong, headers=house.member)
    assert answer.status_code == 200
    assert {one["pointer"] for one in answer.json()["errors"]} == {
        "/gateway_allocation_id",
        "/settings/port",
    }
    right = {"input": {"gateway_allocation_id": "alloc_1"}}
    answer = await house.client.post(path, json=right, headers=house.member)
    assert answer.json()["valid"] is True
    assert answer.json()["input"]["settings"]["port"] == 8080
    unknown = await house.client.post(path, json={"kind": "fly"}, headers=house.member)
    assert unknown.status_code == 404


async def test_an_entitlement_is_changed_with_its_history(house: House) -> None:
    given = await house.entitle_all()
    path = f"/entitlements/{given['id']}"
    body = {
        "versions": ["1.*"],
        "settings": {"fixed": {"/settings/port": 9000}, "defaults": {"/nowhere": 1}},
    }
    changed = await house.client.put(path, json=body, headers=house.admin | {"If-Match": '"1"'})
    assert (changed.status_code, changed.headers["ETag"]) == (200, '"2"')
    assert [one["pointer"] for one in changed.json()["warnings"]] == [
        "/settings/defaults/~1nowhere"
    ]
    rows = await house.platform.db.fetch(
        "SELECT action, detail FROM audit_entries WHERE target_id = $1 ORDER BY id", given["id"]
    )
    assert [row["detail"]["after"]["versions"] for row in rows] == [None, ["1.*"]]
    listed = await house.client.get(f"{house.project}/entitlements", headers=house.member)
    assert [one["id"] for one in listed.json()["items"]] == [given["id"]]
    twice = await house.client.post(
        f"{house.project}/entitlements", json={"app_slug": "web"}, headers=house.admin
    )
    assert twice.json()["code"] == "name_taken"


async def test_a_repeat_with_the_same_key_entitles_once(house: House) -> None:
    headers = house.operator | {"Idempotency-Key": "grant-web"}
    path, body = f"{house.tenant}/entitlements", {"app_slug": "web"}
    first = await house.client.post(path, json=body, headers=headers)
    again = await house.client.post(path, json=body, headers=headers)
    assert (first.status_code, first.json()) == (201, again.json())
    other = await house.client.post(path, json={"app_slug": "x"}, headers=headers)
    assert other.json()["code"] == "idempotency_conflict"


async def test_who_may_not_is_refused(house: House, callers: Any) -> None:
    given = await house.entitle_all()
    other = await project_make(house.platform, "umbrella", "lab")
    stranger = bearer(callers.add(RoleName.TENANT_ADMIN, Place(other.org_id)))
    project_admin = bearer(callers.add(RoleName.PROJECT_ADMIN, house.place))
    client, body = house.client, {"app_slug": "web"}
    for path, headers, status in (
        (house.tenant, house.admin, 403),
        (house.tenant, stranger, 404),
        (house.project, project_admin, 403),
        (house.project, stranger, 404),
        ("/tenants/org_none", house.operator, 404),
    ):
        answer = await client.post(f"{path}/entitlements", json=body, headers=headers)
        assert (path, answer.status_code) == (path, status)
    single = f"/entitlements/{given['id']}"
    assert (await client.get(single, headers=stranger)).status_code == 404
    assert (await client.delete(single, headers=stranger)).status_code == 404
    assert (await client.put(single, json={}, headers=project_admin)).status_code == 403
    for path in ("entitlements", "apps", "apps/web", "apps/web/versions/1.0.0/form"):
        answer = await client.get(f"{house.project}/{path}", headers=stranger)
        assert (path, answer.status_code) == (path, 404)
    assert (await client.get(f"{house.project}/apps")).status_code == 401


async def test_an_entitlement_of_a_project_cannot_be_made_by_a_role_in_it(
    house: House, callers: Any
) -> None:
    """Also not by a custom role that holds the key: the giver stands one level above."""
    await entitle(house.client, house.operator, house.tenant, "web")
    cunning = bearer(callers.add(RoleName.TENANT_ADMIN, house.place))
    answer = await house.client.post(
        f"{house.project}/entitlements", json={"app_slug": "web"}, headers=cunning
    )
    assert answer.status_code == 403
