"""Identity providers and domains of tenants: who sets them up, what they need, how they go."""

from pathlib import Path

import pytest
from dns_server import NameServer
from identity_fixtures import World, project_scope, tenant_scope, world_running
from linking_fixtures import (
    audited,
    domain_claimed,
    provider_made,
    tenant,
    told,
    visit,
)
from oidc_fixtures import RunningProvider
from oidc_provider import CLIENT_ID

from gpuaas_platform.kernel.clock import Clock

pytestmark = pytest.mark.integration


async def test_the_operator_gives_a_domain_with_a_reason(
    linked_world: World, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme, other = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "other"),
    )
    claim = await acme.boss.made(f"/tenants/{acme.id}/domains", {"domain": "example.org"})
    path = f"/domains/{claim['id']}/approve"
    reason = "Contract 17 names this domain."
    assert (await acme.boss.post(path, {"reason": reason})).status_code == 403
    assert (await other.boss.post(path, {"reason": reason})).status_code in {403, 404}
    short = await admin.post(path, {"reason": "because"})
    assert short.json()["code"] == "reason_required"
    given = await admin.post(path, {"reason": reason})
    assert (given.status_code, given.json()["verified_by"]) == (200, "operator")
    [entry] = await audited(linked_world, "identity.domain.approve")
    assert (entry["org_id"], entry["reason"]) == (acme.id, reason)
    assert names.asked == []
    # Another tenant may ask, and learns only by its own proof that the domain is taken.
    rival = await other.boss.made(f"/tenants/{other.id}/domains", {"domain": "example.org"})
    assert rival["state"] == "pending"
    taken = await admin.post(f"/domains/{rival['id']}/approve", {"reason": reason})
    assert (taken.status_code, taken.json()["code"]) == (409, "conflict")
    assert (await acme.boss.delete(f"/domains/{claim['id']}")).status_code == 204
    assert (await admin.post(f"/domains/{rival['id']}/approve", {"reason": reason})).is_success


@pytest.mark.parametrize("text", ["localhost", "127.0.0.1", "ex ample.org", "-a.org", "a..org"])
async def test_what_is_no_domain_is_not_claimed(linked_world: World, text: str) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    refused = await acme.boss.post(f"/tenants/{acme.id}/domains", {"domain": text})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")


async def test_another_tenant_sees_and_changes_nothing(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme, other = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "other"),
    )
    claim = await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    boss = other.boss
    provider, domain = f"/identity-providers/{made['id']}", f"/domains/{claim['id']}"
    asked = len(names.asked)
    answers = [
        await boss.get(f"/tenants/{acme.id}/identity-providers"),
        await boss.get(f"/tenants/{acme.id}/domains"),
        await boss.post(f"/tenants/{acme.id}/domains", {"domain": "a.example"}),
        await boss.get(provider),
        await boss.patch(provider, {"active": False}),
        await boss.post(f"{provider}/check", {}),
        await boss.delete(provider),
        await boss.post(f"{domain}/verify", {}),
        await boss.delete(domain),
    ]
    assert [answer.status_code for answer in answers] == [404] * len(answers)
    assert len(names.asked) == asked
    mapping = {
        "group": "staff",
        "role": "project_viewer",
        "scope": tenant_scope(other.id),
        "provider_id": made["id"],
    }
    refused = await boss.post("/group-mappings", mapping)
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")


async def test_who_may_less_than_an_administrator_sets_up_no_provider(
    linked_world: World, companys: RunningProvider
) -> None:
    """Its word lets people in as anybody of the tenant."""
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    keys = ["identity.provider.manage", "identity.provider.read", "identity.tenant.read"]
    role = await acme.boss.made(
        f"/tenants/{acme.id}/roles", {"name": "sign-in", "permissions": keys}
    )
    clerk = await linked_world.person(acme.boss, role["id"], tenant_scope(acme.id))
    wish = {"name": "Acme", "issuer": companys.issuer, "client_id": CLIENT_ID}
    for who in (clerk, admin):
        refused = await who.post(f"/tenants/{acme.id}/identity-providers", wish)
        assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
    made = await provider_made(acme, companys)
    changed = await clerk.patch(f"/identity-providers/{made['id']}", {"client_id": "mine"})
    assert changed.status_code == 403
    stopped = await clerk.patch(f"/identity-providers/{made['id']}", {"active": False})
    assert (stopped.status_code, stopped.json()["state"]) == (200, "inactive")


async def test_groups_of_a_tenants_provider_carry_roles_of_that_tenant(
    linked_world: World, operators: RunningProvider, companys: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    project = await acme.boss.made(f"/tenants/{acme.id}/projects", {"name": "research"})
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    own = {"group": "staff", "role": "project_member", "provider_id": made["id"]}
    own["scope"] = project_scope(acme.id, project["id"])
    mapping = await acme.boss.made("/group-mappings", own)
    assert mapping["provider_id"] == made["id"]
    # A mapping of the operator's provider has the same group and does not apply.
    operators_own = {"group": "staff", "role": "auditor", "scope": {"kind": "platform"}}
    await admin.made("/group-mappings", operators_own)
    await companys.change(groups={"staff": ["bob"]})
    browser, _ = await visit(linked_world, companys, "bob", made["id"])
    await companys.change(groups={"staff": []})
    held = [one["role"] for one in (await browser.seen("/whoami"))["bindings"]]
    assert held == ["project_member"]
    # The other provider's word neither adds nor takes them.
    at_operators, _ = await visit(linked_world, operators, "bob")
    held = [one["role"] for one in (await at_operators.seen("/whoami"))["bindings"]]
    assert held == ["project_member"]


async def test_a_provider_that_goes_takes_its_sessions_links_and_groups_with_it(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    mapping = {"group": "staff", "role": "project_viewer", "provider_id": made["id"]}
    await acme.boss.made("/group-mappings", {**mapping, "scope": tenant_scope(acme.id)})
    browser, _ = await visit(linked_world, companys, "bob", made["id"])
    path = f"/identity-providers/{made['id']}"
    assert (await acme.boss.patch(path, {"active": False})).status_code == 200
    start = await linked_world.browser().get("/auth/oidc/start", provider=made["id"])
    assert (start.status_code, start.json()["code"]) == (404, "not_found")
    assert (await acme.boss.delete(path)).status_code == 204
    assert (await browser.get("/whoami")).status_code == 401
    assert await told(linked_world, "identity.provider.deleted") == [made["id"]]
    left = await linked_world.platform.db.fetch(
        "SELECT 1 FROM user_identities UNION ALL SELECT 1 FROM group_mappings"
    )
    assert left == []


async def test_the_sign_in_page_learns_of_a_tenants_provider_by_its_link_alone(
    linked_world: World, companys: RunningProvider
) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    made = await provider_made(acme, companys)
    assert made["sign_in_path"] == f"/sign-in?provider={made['id']}"
    methods = await linked_world.browser().seen("/auth/methods", provider=made["id"])
    assert methods["oidc"]["name"] == "Acme"
    assert methods["oidc"]["start_url"] == f"/api/v1/auth/oidc/start?provider={made['id']}"
    plain = await linked_world.browser().seen("/auth/methods")
    assert plain["oidc"]["name"] == "single sign-on"
    unknown = await linked_world.browser().seen("/auth/methods", provider="idp_unknown")
    assert unknown["oidc"] is None


async def test_a_provider_inside_the_platforms_network_is_not_reached(
    database_url: str, companys: RunningProvider, operators: RunningProvider, tmp_path: Path
) -> None:
    async with world_running(database_url, operators.settings(tmp_path), Clock()) as closed:
        admin = await closed.admin()
        acme = await tenant(closed, admin, "acme")
        path = f"/tenants/{acme.id}/identity-providers"
        wish = {"name": "Acme", "issuer": companys.issuer, "client_id": CLIENT_ID}
        refused = await acme.boss.post(path, wish)
        assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
        inside = {**wish, "issuer": "https://127.0.0.1:9"}
        refused = await acme.boss.post(path, inside)
        assert refused.status_code == 422
        named = await acme.boss.made(path, {**wish, "issuer": "https://localhost:9"})
        assert named["problem"] is not None
        assert "may not be" in named["problem"]


async def test_a_look_at_a_provider_says_what_is_wrong(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys, issuer="http://127.0.0.1:9")
    assert (made["state"], made["next_action"]) == ("unreachable", "check")
    again = await acme.boss.post(f"/identity-providers/{made['id']}/check", {})
    assert again.json()["problem"] == made["problem"]
    other = await provider_made(acme, companys, issuer=f"{companys.issuer}/")
    assert "calls itself" in other["problem"]
