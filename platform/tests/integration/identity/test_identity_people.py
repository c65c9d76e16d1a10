"""The people of a project, as apps that make accounts on machines read them."""

import asyncio
from typing import Any

import pytest
from eventually import eventually
from identity_fixtures import (
    PASSWORD,
    Browser,
    World,
    operator_made,
    project_scope,
    tenant_made,
    tenant_scope,
)

pytestmark = pytest.mark.integration
FIRST = 200_000


async def test_apps_read_who_belongs_to_a_project(world: World, admin: Browser) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    member = await world.person(boss, "project_member", project_scope(org_id, project_id))
    await boss.made(
        "/role-bindings",
        {"principal_id": member.user_id, "role": "auditor", "scope": tenant_scope(org_id)},
    )
    page = await member.seen(f"/projects/{project_id}/people", limit=1)
    rest = await member.seen(f"/projects/{project_id}/people", cursor=page["next_cursor"])
    people = page["items"] + rest["items"]
    assert [one["user_id"] for one in people] == [boss.user_id, member.user_id]
    assert FIRST < people[0]["posix_uid"] < people[1]["posix_uid"]
    assert people[1]["posix_name"] == people[1]["email"].partition("@")[0]
    assert sorted(people[1]["roles"]) == ["auditor", "project_member"]
    assert "scheduler.queue.submit" in people[1]["permissions"]
    assert all(one["active"] for one in people)


async def test_a_member_sees_who_belongs_and_not_what_others_may_do(
    world: World, admin: Browser
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    scope = project_scope(org_id, project_id)
    member = await world.person(boss, "project_member", scope)
    chief = await world.person(boss, "project_admin", scope)
    auditor = await world.person(boss, "auditor", tenant_scope(org_id))
    for who in (member, await world.person(boss, "project_viewer", scope)):
        other = await _person(who, project_id, chief.user_id)
        assert (other["roles"], other["permissions"]) == (None, None)
        assert other["posix_name"]
        assert other["display_name"]
        own = await _person(who, project_id, who.user_id)
        assert own["roles"]
        assert own["permissions"]
    account = await operator_made(boss, project_id)
    key = await boss.made(f"/service-accounts/{account['id']}/keys", {})
    token = (await boss.post("/tokens", {"key": key["secret"]})).json()["access_token"]
    for who in (boss, chief, auditor, boss.with_token(token)):
        other = await _person(who, project_id, member.user_id)
        assert other["roles"] == ["project_member"]
        assert "scheduler.queue.submit" in other["permissions"]


async def test_whoever_is_let_in_no_longer_is_said_to_be_so_and_keeps_their_number(
    world: World, admin: Browser
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    member = await world.person(boss, "project_member", project_scope(org_id, project_id))
    before = await _person(boss, project_id, member.user_id)
    await boss.patch(f"/users/{member.user_id}", {"active": False})
    gone = await _person(boss, project_id, member.user_id)
    assert gone == before | {"active": False}
    body = {"active": True, "email": "somebody.else@example.org"}
    assert (await boss.patch(f"/users/{member.user_id}", body)).status_code == 200
    back = await _person(boss, project_id, member.user_id)
    assert back == before | {"email": "somebody.else@example.org"}


async def test_people_with_like_addresses_get_names_of_their_own(
    world: World, admin: Browser
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    addresses = [f"ada.l@{number}.example.org" for number in range(12)]
    made = await asyncio.gather(
        *(admin.made("/users", {"email": one, "password": PASSWORD}) for one in addresses)
    )
    scope = project_scope(org_id, project_id)
    for one in made:
        body = {"principal_id": one["id"], "role": "project_member", "scope": scope}
        await admin.made("/role-bindings", body)
    page = await admin.seen(f"/projects/{project_id}/people", limit=100)
    names = [one["posix_name"] for one in page["items"] if one["email"] in addresses]
    assert len(set(names)) == len(addresses)
    assert {"ada-l", "ada-l2", "ada-l9"} <= set(names)
    last = [one for one in page["items"] if not one["posix_name"].startswith("ada-l")]
    assert [f"u{one['posix_uid']}" for one in last] == [one["posix_name"] for one in last]


async def test_an_app_hears_in_its_project_that_somebody_changed(
    world: World, admin: Browser
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    member = await world.person(boss, "project_member", project_scope(org_id, project_id))
    account = await operator_made(boss, project_id)
    key = await boss.made(f"/service-accounts/{account['id']}/keys", {})
    token = (await boss.post("/tokens", {"key": key["secret"]})).json()["access_token"]
    operator = boss.with_token(token)
    assert (await operator.get(f"/projects/{project_id}/people")).status_code == 200
    await boss.patch(f"/users/{member.user_id}", {"active": False})

    async def told() -> list[dict[str, Any]]:
        events = (await operator.seen("/events", limit=100))["items"]
        return [one for one in events if one["type"] == "identity.person.changed"]

    [changed] = await eventually(told)
    assert (changed["subject"], changed["data"]["active"]) == (member.user_id, False)


async def _person(who: Browser, project_id: str, user_id: str) -> dict[str, Any]:
    page = await who.seen(f"/projects/{project_id}/people")
    [found] = [one for one in page["items"] if one["user_id"] == user_id]
    return dict(found)
