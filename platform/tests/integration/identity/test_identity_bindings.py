"""Who may give which role to whom: no escalation by bindings, roles, keys or passwords."""

import asyncio
from typing import Any

import pytest
from identity_fixtures import (
    PASSWORD,
    Browser,
    MovingClock,
    World,
    operator_made,
    platform_scope,
    project_scope,
    tenant_made,
    tenant_scope,
)

from gpuaas_contract.permissions import ROLES, Permission, RoleName


async def bind(who: Browser, principal_id: str, role: str, scope: dict[str, Any]) -> int:
    body = {"principal_id": principal_id, "role": role, "scope": scope}
    return (await who.post("/role-bindings", body)).status_code


async def test_a_role_holds_below_its_place_and_nowhere_else(world: World, admin: Browser) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    other_org, other_project = await tenant_made(admin, "other")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    member = await world.person(boss, "project_member", project_scope(org_id, project_id))
    assert (await boss.get(f"/projects/{project_id}")).status_code == 200
    assert (await member.get(f"/projects/{project_id}")).status_code == 200
    assert (await member.get(f"/tenants/{org_id}")).status_code == 403
    for path in (f"/projects/{other_project}", f"/tenants/{other_org}"):
        for who in (boss, member):
            assert (await who.get(path)).status_code == 404
    assert len((await member.seen("/projects"))["items"]) == 1
    assert (await member.seen("/tenants"))["items"] == []
    assert (await member.get(f"/tenants/{other_org}/projects")).status_code == 404


async def test_nobody_grants_more_than_they_hold(world: World, admin: Browser) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    tenant, project = tenant_scope(org_id), project_scope(org_id, project_id)
    boss = await world.person(admin, "tenant_admin", tenant)
    lead = await world.person(boss, "project_admin", project)
    friend = await world.person(boss, "project_viewer", project)
    assert await bind(lead, friend.user_id, "project_admin", project) == 201
    assert await bind(lead, friend.user_id, "tenant_admin", project) == 403
    assert await bind(lead, friend.user_id, "project_viewer", tenant) == 403
    assert await bind(boss, friend.user_id, "platform_admin", tenant) == 403
    assert await bind(boss, friend.user_id, "auditor", platform_scope()) == 403
    denied = await world.platform.db.fetchval(
        "SELECT count(*) FROM audit_entries WHERE outcome = 'denied'"
        " AND action = 'identity.role_binding.create'"
    )
    assert denied == 4


async def test_nobody_gives_themselves_a_role(world: World, admin: Browser) -> None:
    org_id, _ = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    me = await admin.seen("/whoami")
    assert await bind(boss, boss.user_id, "project_member", tenant_scope(org_id)) == 403
    assert await bind(admin, me["id"], "tenant_admin", tenant_scope(org_id)) == 403
    fresh, _ = await tenant_made(admin, "fresh")
    assert await bind(admin, me["id"], "tenant_admin", tenant_scope(fresh)) == 201
    named = await admin.made("/tenants", {"name": "named", "admin_user_id": me["id"]})
    held = [one for one in (await admin.seen("/whoami"))["bindings"] if one["scope"]["org_id"]]
    assert {one["scope"]["org_id"] for one in held} == {fresh, named["id"]}
    assert held[0]["scope"]["org_name"] in {"fresh", "named"}


async def test_who_may_not_give_a_role_may_not_take_it(world: World, admin: Browser) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    project = project_scope(org_id, project_id)
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    lead = await world.person(boss, "project_admin", project)
    other = await world.person(boss, "tenant_admin", project)
    binding = (await boss.seen("/role-bindings", principal_id=other.user_id))["items"][0]
    assert (await lead.delete(f"/role-bindings/{binding['id']}")).status_code == 403
    assert (await boss.delete(f"/role-bindings/{binding['id']}")).status_code == 204
    assert (await boss.delete(f"/role-bindings/{binding['id']}")).status_code == 404


async def test_a_role_is_held_once_and_may_run_out(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    user = await admin.made(f"/tenants/{org_id}/users", {"email": "a@b.c", "password": PASSWORD})
    body = {
        "email": "A@B.C",
        "role": "project_viewer",
        "scope": project_scope(org_id, project_id),
        "expires_in_seconds": 3600,
    }
    await admin.made("/role-bindings", body)
    assert (await admin.post("/role-bindings", body)).json()["code"] == "conflict"
    viewer = await world.signed_in("a@b.c")
    assert (await viewer.get(f"/projects/{project_id}")).status_code == 200
    clock.advance(hours=2)
    assert (await viewer.get(f"/projects/{project_id}")).status_code == 404
    assert (await viewer.seen("/whoami"))["bindings"] == []
    await admin.made("/role-bindings", body)
    assert (await viewer.get(f"/projects/{project_id}")).status_code == 200
    assert (await admin.seen("/role-bindings", principal_id=user["id"]))["next_cursor"] is None


async def test_people_of_another_tenant_are_not_found(world: World, admin: Browser) -> None:
    org_id, _ = await tenant_made(admin, "acme")
    other_org, _ = await tenant_made(admin, "other")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    stranger = await world.person(admin, "tenant_admin", tenant_scope(other_org))
    assert await bind(boss, stranger.user_id, "project_viewer", tenant_scope(org_id)) == 422
    assert (await boss.get(f"/users/{stranger.user_id}")).status_code == 404
    assert (await boss.patch(f"/users/{stranger.user_id}", {"active": False})).status_code == 404
    known = (await boss.seen("/users"))["items"]
    assert [one["id"] for one in known] == [boss.user_id]
    guest = {"principal_id": stranger.user_id, "role": "auditor", "scope": tenant_scope(org_id)}
    await admin.made("/role-bindings", guest)
    assert (await boss.get(f"/users/{stranger.user_id}")).status_code == 200
    taken = await boss.patch(f"/users/{stranger.user_id}", {"active": False})
    assert taken.status_code == 404  # a guest is seen, but managed at home


async def test_custom_roles_hold_what_their_maker_holds(world: World, admin: Browser) -> None:
    org_id, _ = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    path = f"/tenants/{org_id}/roles"
    role = await boss.made(
        path, {"name": "clerk", "permissions": ["identity.role.manage", "identity.role.read"]}
    )
    clerk = await world.person(boss, role["id"], tenant_scope(org_id))
    lead = {"name": "lead", "permissions": ["identity.tenant.update"]}
    assert (await clerk.post(path, lead)).status_code == 403
    wider = {"permissions": ["identity.role.manage", "identity.tenant.update"]}
    assert (await clerk.patch(f"/roles/{role['id']}", wider)).status_code == 403
    glass = {"name": "glass", "permissions": [Permission.BREAK_GLASS]}
    assert (await admin.post(path, glass)).status_code == 422
    fewer = await clerk.patch(f"/roles/{role['id']}", {"permissions": ["identity.role.read"]})
    assert fewer.status_code == 200
    assert (await clerk.patch(f"/roles/{role['id']}", {"description": "x"})).status_code == 403


async def test_a_custom_role_changes_for_everybody_at_once(world: World, admin: Browser) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    role = await boss.made(
        f"/tenants/{org_id}/roles", {"name": "reader", "permissions": ["identity.project.read"]}
    )
    reader = await world.person(boss, role["id"], project_scope(org_id, project_id))
    assert (await reader.get(f"/projects/{project_id}")).status_code == 200
    assert (await boss.delete(f"/roles/{role['id']}")).json()["code"] == "in_use"
    stale = await boss.patch(f"/roles/{role['id']}", {"description": "x"}, If_Match='"7"')
    assert stale.json()["code"] == "precondition_failed"
    change = {"permissions": ["identity.tenant.read"]}
    changed = await boss.patch(f"/roles/{role['id']}", change, If_Match='"1"')
    assert changed.headers["ETag"] == '"2"'
    assert (await reader.get(f"/projects/{project_id}")).status_code == 403
    held = (await boss.seen("/role-bindings", principal_id=reader.user_id))["items"][0]
    assert held["role_name"] == "reader"
    await boss.delete(f"/role-bindings/{held['id']}")
    assert (await boss.delete(f"/roles/{role['id']}")).status_code == 204
    assert (await boss.get(f"/roles/{role['id']}")).status_code == 404


async def test_a_custom_role_belongs_to_its_tenant(world: World, admin: Browser) -> None:
    org_id, _ = await tenant_made(admin, "acme")
    other_org, _ = await tenant_made(admin, "other")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    stranger = await world.person(admin, "tenant_admin", tenant_scope(other_org))
    body = {"name": "reader", "permissions": ["identity.project.read"]}
    role = await boss.made(f"/tenants/{org_id}/roles", body)
    assert (await boss.post(f"/tenants/{org_id}/roles", body)).json()["code"] == "name_taken"
    assert (await stranger.get(f"/roles/{role['id']}")).status_code == 404
    assert (await stranger.patch(f"/roles/{role['id']}", {})).status_code == 404
    assert await bind(admin, stranger.user_id, role["id"], tenant_scope(other_org)) == 422
    assert await bind(admin, stranger.user_id, role["id"], platform_scope()) == 422
    names = [one["name"] for one in (await stranger.seen("/roles"))["items"]]
    assert names == list(RoleName)
    assert "reader" in [one["name"] for one in (await boss.seen("/roles"))["items"]]
    first = await boss.seen("/roles", limit=5)
    second = await boss.seen("/roles", limit=5, cursor=first["next_cursor"])
    paged = [one["name"] for one in first["items"] + second["items"]]
    assert (paged, second["next_cursor"]) == ([*names, "reader"], None)
    keys = (await stranger.seen("/permissions"))["items"]
    assert {one["key"] for one in keys} == set(Permission)


async def test_a_key_or_password_for_somebody_stronger_is_refused(
    world: World, admin: Browser
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    tenant = tenant_scope(org_id)
    boss = await world.person(admin, "tenant_admin", tenant)
    operator = await operator_made(boss, project_id)
    helper_role = await boss.made(
        f"/tenants/{org_id}/roles",
        {
            "name": "helpdesk",
            "permissions": [
                Permission.USER_MANAGE,
                Permission.SERVICE_ACCOUNT_MANAGE,
                Permission.BINDING_MANAGE,
            ],
        },
    )
    clerk = await world.person(boss, helper_role["id"], tenant)
    stronger = {"name": "stronger", "roles": ["app_operator"]}
    path = f"/projects/{project_id}/service-accounts"
    assert (await clerk.post(path, stronger)).status_code == 403
    new = {"password": "another horse battery"}
    keys = f"/service-accounts/{operator['id']}/keys"
    sealed = {"public_key": "A" * 43 + "="}
    for who in (clerk, admin):  # the platform's administrator holds less in a tenant, too
        assert (await who.put(f"/users/{boss.user_id}/password", new)).status_code == 403
        moved = await who.patch(f"/users/{boss.user_id}", {"email": "mine@example.org"})
        assert moved.status_code == 403
        assert (await who.post(keys, {})).status_code == 403
        key = await who.put(f"/service-accounts/{operator['id']}/public-key", sealed)
        assert key.status_code == 403
    weak = await world.person(boss, "project_viewer", project_scope(org_id, project_id))
    assert (await boss.put(f"/users/{weak.user_id}/password", new)).status_code == 204
    assert (await weak.get("/whoami")).status_code == 401


async def test_the_last_administrator_stays(world: World, admin: Browser) -> None:
    me = await admin.seen("/whoami")
    binding = me["bindings"][0]["binding_id"]
    assert (await admin.delete(f"/role-bindings/{binding}")).json()["code"] == "conflict"
    gone = await admin.patch(f"/users/{me['id']}", {"active": False})
    assert gone.json()["code"] == "conflict"
    passing = await world.person(admin, "auditor", platform_scope())
    body = {
        "principal_id": passing.user_id,
        "role": "platform_admin",
        "scope": platform_scope(),
        "expires_in_seconds": 3600,
    }
    await admin.made("/role-bindings", body)
    assert (await admin.delete(f"/role-bindings/{binding}")).json()["code"] == "conflict"
    await world.person(admin, "platform_admin", platform_scope())
    assert (await admin.delete(f"/role-bindings/{binding}")).status_code == 204


async def test_an_administrator_managed_by_a_tenant_does_not_count_when_it_is_closed(
    world: World, admin: Browser
) -> None:
    org_id, _ = await tenant_made(admin, "acme")
    made = await admin.made(
        f"/tenants/{org_id}/users", {"email": "in@acme.example", "password": PASSWORD}
    )
    assert await bind(admin, made["id"], "platform_admin", platform_scope()) == 201
    second = await world.signed_in("in@acme.example")
    me = await admin.seen("/whoami")
    assert (await second.patch(f"/users/{me['id']}", {"active": False})).status_code == 200
    closed = await second.patch(f"/tenants/{org_id}", {"active": False})
    assert closed.json()["code"] == "conflict"


async def test_two_administrators_who_remove_each_other_leave_one(
    world: World, admin: Browser
) -> None:
    second = await world.person(admin, "platform_admin", platform_scope())
    mine = (await admin.seen("/whoami"))["bindings"][0]["binding_id"]
    theirs = (await second.seen("/whoami"))["bindings"][0]["binding_id"]
    me = (await admin.seen("/whoami"))["id"]
    answers = await asyncio.gather(
        admin.delete(f"/role-bindings/{theirs}"),
        second.delete(f"/role-bindings/{mine}"),
        second.patch(f"/users/{me}", {"active": False}),
        admin.patch(f"/users/{second.user_id}", {"active": False}),
    )
    assert all(answer.status_code in {200, 204, 401, 403, 409} for answer in answers)
    left = await world.platform.db.fetchval(
        "SELECT count(*) FROM role_bindings b JOIN users u ON u.id = b.user_id"
        " WHERE b.role_name = 'platform_admin' AND u.active"
    )
    assert left == 1


@pytest.mark.parametrize("role", sorted(set(RoleName) - {RoleName.PLATFORM_ADMIN}))
async def test_whoami_tells_exactly_the_keys_of_a_role(
    world: World, admin: Browser, role: RoleName
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    person = await world.person(admin, role, project_scope(org_id, project_id))
    held = (await person.seen("/whoami"))["permissions"]
    assert [entry["scope"]["kind"] for entry in held] == ["project"]
    assert set(held[0]["permissions"]) == ROLES[role]
