"""Tenants, projects and people as they change; explanations; break-glass."""

import asyncio

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


async def test_a_tenant_and_its_projects_change_by_revision(world: World, admin: Browser) -> None:
    tenant = await admin.post("/tenants", {"name": "acme", "display_name": "Acme"})
    assert tenant.headers["ETag"] == '"1"'
    path = f"/tenants/{tenant.json()['id']}"
    assert (await admin.post("/tenants", {"name": "acme"})).json()["code"] == "name_taken"
    named = await admin.patch(path, {"display_name": "Acme Inc"}, If_Match='"1"')
    assert (named.json()["display_name"], named.headers["ETag"]) == ("Acme Inc", '"2"')
    late = await admin.patch(path, {"display_name": "Late"}, If_Match='"1"')
    assert (late.status_code, late.json()["code"]) == (412, "precondition_failed")
    project = await admin.made(f"{path}/projects", {"name": "one"})
    again = await admin.post(f"{path}/projects", {"name": "one"})
    assert again.json()["code"] == "name_taken"
    read = await admin.get(f"/projects/{project['id']}")
    assert read.headers["ETag"] == '"1"'
    events = await world.platform.db.fetch(
        "SELECT type FROM (SELECT type, id FROM outbox UNION SELECT type, id FROM events) AS all_"
        " WHERE type LIKE 'identity.tenant.%' OR type LIKE 'identity.project.%' ORDER BY id"
    )
    assert [row["type"] for row in events] == [
        "identity.tenant.created",
        "identity.tenant.updated",
        "identity.project.created",
    ]


async def test_of_many_with_one_name_one_is_made(admin: Browser) -> None:
    answers = await asyncio.gather(*(admin.post("/tenants", {"name": "x"}) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201] + [409] * 7


async def test_lists_go_on_page_by_page(admin: Browser) -> None:
    for number in range(5):
        await admin.made("/tenants", {"name": f"t{number}"})
    first = await admin.seen("/tenants", limit=2)
    second = await admin.seen("/tenants", limit=2, cursor=first["next_cursor"])
    third = await admin.seen("/tenants", limit=2, cursor=second["next_cursor"])
    names = [one["name"] for page in (first, second, third) for one in page["items"]]
    assert names == ["t4", "t3", "t2", "t1", "t0"]
    assert third["next_cursor"] is None


async def test_a_closed_project_or_tenant_admits_nobody_and_reopens(
    world: World, admin: Browser
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    lead = await world.person(boss, "project_admin", project_scope(org_id, project_id))
    project, tenant = f"/projects/{project_id}", f"/tenants/{org_id}"
    assert (await lead.patch(project, {"active": False})).status_code == 403
    assert (await lead.patch(project, {"display_name": "Lab"})).status_code == 200
    assert (await boss.patch(project, {"active": False})).json()["active"] is False
    assert (await lead.get(project)).status_code == 404
    body = {"name": "x"}
    assert (await boss.post(f"{project}/service-accounts", body)).status_code == 404
    await boss.patch(project, {"active": True})
    assert (await lead.get(project)).status_code == 200
    assert (await boss.patch(tenant, {"active": False})).status_code == 403
    await admin.patch(tenant, {"active": False})
    assert (await boss.get(tenant)).json()["code"] == "unauthenticated"
    assert (await world.browser().post("/sessions", {"email": "x", "password": "y"})).is_error
    await admin.patch(tenant, {"active": True})
    assert (await boss.get(tenant)).status_code == 200


async def test_people_are_managed_by_their_tenant(world: World, admin: Browser) -> None:
    org_id, _ = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    made = await boss.made(f"/tenants/{org_id}/users", {"email": "Eve@Acme.example"})
    assert (made["org_id"], made["has_password"], made["display_name"]) == (org_id, False, "Eve")
    taken = await boss.post(f"/tenants/{org_id}/users", {"email": "eve@acme.EXAMPLE"})
    assert taken.json()["code"] == "name_taken"
    path = f"/users/{made['id']}"
    assert (await boss.patch(path, {"email": "eva@acme.example"})).status_code == 200
    assert (await boss.put(f"{path}/password", {"password": PASSWORD})).status_code == 204
    eve = await world.signed_in("EVA@acme.example")
    assert (await eve.patch(path, {"display_name": "Eve A."})).json()["display_name"] == "Eve A."
    assert (await eve.patch(path, {"active": True})).status_code == 403
    assert (await boss.patch(path, {"active": False})).status_code == 200
    assert (await eve.get("/whoami")).json()["code"] == "unauthenticated"
    assert (await boss.post("/users", {"email": "x@y.z"})).status_code == 403
    found = await admin.seen("/users", email="EVA@acme.example")
    assert [one["id"] for one in found["items"]] == [made["id"]]
    weak = await boss.post(f"/tenants/{org_id}/users", {"email": "a@b.c", "password": "short"})
    assert weak.status_code == 422
    same = {"email": "long.enough@b.c", "password": "long.enough@b.c"}
    assert (await boss.post(f"/tenants/{org_id}/users", same)).status_code == 422


async def test_explain_says_by_which_role_or_what_is_missing(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    project = project_scope(org_id, project_id)
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    member = await world.person(boss, "project_member", project)

    async def asked(principal: str, permission: str, scope: dict[str, str]) -> dict[str, object]:
        body = {"principal_id": principal, "permission": permission, "scope": scope}
        answer = await boss.post("/authorization/explain", body)
        assert answer.status_code == 200, answer.text
        found: dict[str, object] = answer.json()
        return found

    yes = await asked(member.user_id, "scheduler.queue.submit", project)
    assert yes["allowed"]
    assert "project_member" in str(yes["summary"])
    no = await asked(member.user_id, "apps.instance.create", project)
    assert not no["allowed"]
    assert "project_admin" in str(no["roles_that_would_do"])
    above = await asked(member.user_id, "scheduler.queue.submit", tenant_scope(org_id))
    assert (above["allowed"], above["bindings"]) == (False, [])
    me = await admin.seen("/whoami")
    body = {"principal_id": me["id"], "permission": "custody.grant.create", "scope": project}
    glass = (await admin.post("/authorization/explain", body)).json()
    assert not glass["allowed"]
    assert "break the glass" in glass["bindings"][0]["verdict"]
    operator = await operator_made(boss, project_id)
    assert (await asked(operator["id"], "apps.operation.control", project))["allowed"]
    await boss.patch(f"/service-accounts/{operator['id']}", {"active": False})
    closed = await asked(operator["id"], "apps.operation.control", project)
    assert (closed["allowed"], "deactivated" in str(closed["summary"])) == (False, True)
    assert (await member.post("/authorization/explain", body)).status_code == 403
    stranger_org, _ = await tenant_made(admin, "other")
    stranger = await world.person(admin, "tenant_admin", tenant_scope(stranger_org))
    body["principal_id"] = stranger.user_id
    assert (await boss.post("/authorization/explain", body)).status_code == 404
    assert (await stranger.post("/authorization/explain", body)).status_code == 404


async def test_break_glass_needs_a_reason_ends_by_itself_and_is_seen_by_the_tenant(
    world: World, admin: Browser, clock: MovingClock
) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    boss = await world.person(admin, "tenant_admin", tenant_scope(org_id))
    operator = await operator_made(boss, project_id)
    keys = f"/service-accounts/{operator['id']}/keys"
    assert (await admin.post(keys, {})).status_code == 403

    path = "/admin/break-glass"
    why = {"org_id": org_id, "reason": " because ", "duration_seconds": 600}
    assert (await admin.post(path, why)).json()["code"] == "reason_required"
    why["reason"] = "the tenant's operator lost its key, ticket 812"
    assert (await boss.post(path, why)).status_code == 403
    visit = await admin.made(path, why)
    assert (await admin.post(keys, {})).status_code == 201
    seen = await boss.seen("/role-bindings", principal_id=visit["user_id"])
    assert [(one["source"], one["reason"]) for one in seen["items"]] == [
        ("break_glass", why["reason"])
    ]
    assert len((await admin.seen(path))["items"]) == 1
    row = await world.platform.db.fetchrow(
        "SELECT reason, org_id, actor_id FROM audit_entries"
        " WHERE action = 'identity.break_glass.open' AND outcome = 'allowed'"
    )
    assert row is not None
    assert (row["reason"], row["org_id"]) == (why["reason"], org_id)

    clock.advance(minutes=11)
    assert (await admin.post(keys, {})).status_code == 403
    assert (await admin.seen(path))["items"] == []

    visit = await admin.made(path, why)
    assert (await boss.delete(f"/role-bindings/{visit['id']}")).status_code == 204
    assert (await admin.post(keys, {})).status_code == 403
    visit = await admin.made(path, why)
    assert (await admin.delete(f"{path}/{visit['id']}")).status_code == 204
    assert (await admin.post(keys, {})).status_code == 403
    assert (await admin.delete(f"{path}/{visit['id']}")).status_code == 404


async def test_an_auditor_reads_and_changes_nothing(world: World, admin: Browser) -> None:
    org_id, project_id = await tenant_made(admin, "acme")
    auditor = await world.person(admin, "auditor", platform_scope())
    for path in ("/tenants", "/projects", "/users", "/role-bindings", "/roles"):
        assert (await auditor.get(path)).status_code == 200
    assert (await auditor.post("/tenants", {"name": "x"})).status_code == 403
    assert (await auditor.patch(f"/projects/{project_id}", {})).status_code == 403
    glass = {"org_id": org_id, "reason": "curiosity, mostly"}
    assert (await auditor.post("/admin/break-glass", glass)).status_code == 403
