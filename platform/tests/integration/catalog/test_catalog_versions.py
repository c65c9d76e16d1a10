"""Apps and versions through the API on a real database: publish once, never change."""

import asyncio
from typing import Any

import asyncpg
import httpx2
import pytest
from catalog_fixtures import app_publish, entitle, template_manifest
from platform_calls import bearer
from tenancy_fixtures import project_make

from gpuaas_contract.permissions import RoleName
from gpuaas_platform.kernel.call import Platform
from gpuaas_platform.kernel.caller import Place

pytestmark = pytest.mark.integration
APP = {"slug": "web", "display_name": "Web", "publisher": "House"}


@pytest.fixture
def publisher(callers: Any) -> dict[str, str]:
    return bearer(callers.add(RoleName.PLATFORM_ADMIN))


async def _create(
    client: httpx2.AsyncClient, headers: dict[str, str], version: str, **more: Any
) -> httpx2.Response:
    body = {"version": version, "manifest": template_manifest()} | more
    return await client.post("/apps/web/versions", json=body, headers=headers)


async def test_a_draft_is_published_deprecated_and_withdrawn(
    client: httpx2.AsyncClient, publisher: dict[str, str], platform: Platform
) -> None:
    assert (await client.post("/apps", json=APP, headers=publisher)).status_code == 201
    draft = await _create(client, publisher, "1.0.0")
    assert (draft.status_code, draft.json()["status"]) == (201, "draft")
    assert (await client.get("/apps/web", headers=publisher)).json()["latest_version"] is None
    at = "/apps/web/versions/1.0.0"
    published = await client.post(f"{at}/publish", headers=publisher)
    assert published.json()["status"] == "published"
    assert published.json()["published_at"] is not None
    await _create(client, publisher, "1.1.0", publish=True)
    words = {"message": "Has a leak.", "replacement": "1.1.0"}
    deprecated = await client.post(f"{at}/deprecate", json=words, headers=publisher)
    assert (deprecated.json()["message"], deprecated.json()["replacement"]) == (
        "Has a leak.",
        "1.1.0",
    )
    withdrawn = await client.post(f"{at}/withdraw", json={"reason": "Leaks."}, headers=publisher)
    assert withdrawn.json()["status"] == "withdrawn"
    again = await client.post(f"{at}/publish", headers=publisher)
    assert (again.status_code, again.json()["code"]) == (409, "state_conflict")
    assert (await client.get("/apps/web", headers=publisher)).json()["latest_version"] == "1.1.0"
    rows = await platform.db.fetch(
        "SELECT action, reason FROM audit_entries WHERE target_id = $1 ORDER BY id",
        draft.json()["id"],
    )
    assert [tuple(row) for row in rows] == [
        ("catalog.version.create", ""),
        ("catalog.version.publish", ""),
        ("catalog.version.deprecate", "Has a leak."),
        ("catalog.version.withdraw", "Leaks."),
    ]


async def test_a_deprecation_can_be_taken_back(
    client: httpx2.AsyncClient, publisher: dict[str, str]
) -> None:
    await app_publish(client, publisher, "web", "1.0.0")
    at = "/apps/web/versions/1.0.0"
    for replacement in ("1.0.0", "9.9.9"):
        words = {"message": "Old.", "replacement": replacement}
        wrong = await client.post(f"{at}/deprecate", json=words, headers=publisher)
        assert wrong.json()["errors"][0]["pointer"] == "/replacement"
    await client.post(f"{at}/deprecate", json={"message": "Old."}, headers=publisher)
    back = await client.post(f"{at}/publish", headers=publisher)
    assert (back.json()["status"], back.json()["message"]) == ("published", "")


async def test_a_version_never_changes_not_even_by_sql(
    client: httpx2.AsyncClient, publisher: dict[str, str], platform: Platform
) -> None:
    await app_publish(client, publisher, "web", "1.0.0")
    other = template_manifest() | {"summary": "Something else."}
    for manifest, same in ((other, "false"), (template_manifest(), "true")):
        body = {"version": "1.0.0", "manifest": manifest, "publish": True}
        answer = await client.post("/apps/web/versions", json=body, headers=publisher)
        assert answer.status_code == 409
        assert answer.json()["context"]["same_manifest"] == same
    for change in (
        "UPDATE app_versions SET manifest = '{}'",
        "UPDATE app_versions SET digest = 'sha256:0'",
        "UPDATE app_versions SET version = '1.0.1', sort_key = 'x'",
        "DELETE FROM app_versions",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError, match="never changes"):
            await platform.db.execute(change)
    kept = await client.get("/apps/web/versions/1.0.0", headers=publisher)
    assert kept.json()["manifest"]["summary"] == template_manifest()["summary"]


async def test_a_manifest_that_does_not_hold_together_is_refused_whole(
    client: httpx2.AsyncClient, publisher: dict[str, str]
) -> None:
    await client.post("/apps", json=APP, headers=publisher)
    document = template_manifest()
    document["operations"][0]["input"]["$defs"]["settings"]["properties"]["port"]["minimum"] = "x"
    broken = {"version": "1.0.0", "manifest": document}
    answer = await client.post("/apps/web/versions", json=broken, headers=publisher)
    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_manifest")
    assert [one["pointer"] for one in answer.json()["errors"]] == [
        "/manifest/operations/0/input/$defs/settings/properties/port/minimum"
    ]
    document["operations"][0]["permissions"] = ["scheduler.none"]
    document["components"][0]["key"] = "Gateway!"
    dry = await client.post("/manifest-validations", json={"manifest": document}, headers=publisher)
    assert {one["pointer"] for one in dry.json()["errors"]} == {
        "/manifest/operations/0/permissions/0",
        "/manifest/components/0/key",
    }
    fine = await client.post(
        "/manifest-validations", json={"manifest": template_manifest()}, headers=publisher
    )
    assert fine.json() == {"valid": True, "errors": []}
    versions = await client.get("/apps/web/versions", headers=publisher)
    assert versions.json()["items"] == []


async def test_a_manifest_over_its_bound_is_refused(
    client: httpx2.AsyncClient, publisher: dict[str, str]
) -> None:
    await client.post("/apps", json=APP, headers=publisher)
    document = template_manifest()
    document["operations"][0]["input"]["x-filler"] = "x" * 256 * 1024
    answer = await _create(client, publisher, "1.0.0", manifest=document)
    assert answer.json()["code"] == "invalid_manifest"
    assert answer.json()["errors"][0]["pointer"] == "/manifest"


async def test_versions_are_listed_as_versions_order(
    client: httpx2.AsyncClient, publisher: dict[str, str]
) -> None:
    numbers = ["1.10.0", "1.9.0", "2.0.0-rc.1", "2.0.0-rc.11", "2.0.0-rc.2", "1.2.3"]
    await app_publish(client, publisher, "web", *numbers)
    found: list[str] = []
    cursor: str | None = None
    while True:
        params = {"limit": "2"} | ({"cursor": cursor} if cursor else {})
        page = await client.get("/apps/web/versions", params=params, headers=publisher)
        found += [one["version"] for one in page.json()["items"]]
        cursor = page.json()["next_cursor"]
        if cursor is None:
            break
    assert found == ["2.0.0-rc.11", "2.0.0-rc.2", "2.0.0-rc.1", "1.10.0", "1.9.0", "1.2.3"]
    app = await client.get("/apps/web", headers=publisher)
    assert app.json()["latest_version"] == "1.10.0"


async def test_twins_publish_once(client: httpx2.AsyncClient, publisher: dict[str, str]) -> None:
    await client.post("/apps", json=APP, headers=publisher)
    same_key = publisher | {"Idempotency-Key": "release-1"}
    twins = await asyncio.gather(
        *(_create(client, same_key, "1.0.0", publish=True) for _ in range(3))
    )
    assert {one.status_code for one in twins} == {201}
    assert len({one.json()["id"] for one in twins}) == 1
    rivals = await asyncio.gather(
        *(_create(client, publisher, "1.1.0", notes=str(number)) for number in range(3))
    )
    assert sorted(one.status_code for one in rivals) == [201, 409, 409]


async def test_words_change_under_if_match(
    client: httpx2.AsyncClient, publisher: dict[str, str]
) -> None:
    await client.post("/apps", json=APP, headers=publisher)
    body = {"display_name": "The Web"}
    stale = await client.patch("/apps/web", json=body, headers=publisher | {"If-Match": '"9"'})
    assert stale.status_code == 412
    changed = await client.patch("/apps/web", json=body, headers=publisher | {"If-Match": '"1"'})
    assert (changed.json()["display_name"], changed.json()["publisher"]) == ("The Web", "House")
    assert changed.headers["ETag"] == '"2"'
    twice = await client.post("/apps", json=APP, headers=publisher)
    assert twice.json()["code"] == "name_taken"


async def test_a_tenant_sees_what_it_is_entitled_to_and_no_draft(
    client: httpx2.AsyncClient, publisher: dict[str, str], platform: Platform, callers: Any
) -> None:
    place = await project_make(platform, "acme", "research")
    member = bearer(callers.add(RoleName.PROJECT_MEMBER, place))
    await app_publish(client, publisher, "web", "1.0.0")
    await app_publish(client, publisher, "secret", "1.0.0")
    await _create(client, publisher, "2.0.0")
    assert (await client.get("/apps", headers=member)).json()["items"] == []
    assert (await client.get("/apps/web", headers=member)).status_code == 404
    await entitle(client, publisher, f"/tenants/{place.org_id}", "web")
    listed = await client.get("/apps", headers=member)
    assert [one["slug"] for one in listed.json()["items"]] == ["web"]
    versions = await client.get("/apps/web/versions", headers=member)
    assert [one["version"] for one in versions.json()["items"]] == ["1.0.0"]
    assert (await client.get("/apps/web/versions/1.0.0", headers=member)).status_code == 200
    assert (await client.get("/apps/web/versions/2.0.0", headers=member)).status_code == 404
    assert (await client.get("/apps/secret/versions", headers=member)).status_code == 404
    both = await client.get("/apps", headers=publisher)
    assert [one["slug"] for one in both.json()["items"]] == ["secret", "web"]


async def test_only_a_publisher_publishes(
    client: httpx2.AsyncClient, publisher: dict[str, str], platform: Platform, callers: Any
) -> None:
    place = await project_make(platform, "acme", "research")
    await app_publish(client, publisher, "web", "1.0.0")
    admin = bearer(callers.add(RoleName.TENANT_ADMIN, Place(place.org_id)))
    nobody = bearer(callers.add(frozenset(), place))
    at = "/apps/web/versions/1.0.0"
    for path, body in (
        ("/apps", APP),
        ("/apps/web/versions", {"version": "3.0.0", "manifest": template_manifest()}),
        (f"{at}/publish", None),
        (f"{at}/deprecate", {"message": "x"}),
        (f"{at}/withdraw", {"reason": "x"}),
    ):
        answer = await client.post(path, json=body, headers=admin)
        assert (path, answer.status_code) == (path, 403)
        assert (await client.post(path, json=body)).status_code == 401
    assert (await client.get("/apps", headers=nobody)).status_code == 403
    denied = await platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE outcome = 'denied' AND actor_id = $1",
        admin["Authorization"].removeprefix("Bearer "),
    )
    assert denied == 5
