"""Linking people to accounts stays within a tenant, and takes the password of an account once."""

import pytest
from dns_server import NameServer
from identity_fixtures import PASSWORD, World, tenant_scope
from linking_fixtures import (
    BOB,
    account,
    audited,
    denied,
    domain_claimed,
    provider_made,
    tenant,
    told,
    visit,
)
from oidc_fixtures import RunningProvider

pytestmark = pytest.mark.integration


async def test_another_tenants_account_is_not_taken_for_a_persons_own(
    linked_world: World, operators: RunningProvider
) -> None:
    admin = await linked_world.admin()
    mallory = await tenant(linked_world, admin, "mallory")
    planted = await account(mallory)
    browser, location = await visit(linked_world, operators, "bob")
    assert location == "/instances"
    me = await browser.seen("/whoami")
    assert me["id"] != planted
    assert me["home"]["kind"] == "platform"
    # What the other administrator knows opens the other account alone.
    theirs = await linked_world.signed_in(BOB)
    assert (await theirs.seen("/whoami"))["id"] == planted


async def test_an_account_without_a_password_in_another_tenant_is_not_linked_either(
    linked_world: World, operators: RunningProvider
) -> None:
    admin = await linked_world.admin()
    mallory = await tenant(linked_world, admin, "mallory")
    planted = await account(mallory, password=None)
    browser, _ = await visit(linked_world, operators, "bob")
    assert (await browser.seen("/whoami"))["id"] != planted


async def test_a_group_mapping_does_not_make_people_a_tenants_own(
    linked_world: World, operators: RunningProvider
) -> None:
    admin = await linked_world.admin()
    mallory = await tenant(linked_world, admin, "mallory")
    mapping = {
        "group": "staff",
        "role": "project_viewer",
        "scope": tenant_scope(mallory.id),
    }
    await mallory.boss.made("/group-mappings", mapping)
    await operators.change(groups={"staff": ["bob"]})
    browser, _ = await visit(linked_world, operators, "bob")
    await operators.change(groups={"staff": []})
    me = await browser.seen("/whoami")
    assert me["home"]["kind"] == "platform"
    taken = await mallory.boss.put(f"/users/{me['id']}/password", {"password": PASSWORD})
    assert taken.status_code in {403, 404}


async def test_a_tenants_provider_makes_accounts_at_its_proved_domain(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    made = await provider_made(acme, companys)
    assert (made["state"], made["next_action"]) == ("needs_domain", "claim_domain")
    assert "client_secret" not in made
    _, location = await visit(linked_world, companys, "bob", made["id"])
    assert location.startswith("/sign-in?error=sign_in_failed")

    claim = await acme.boss.made(f"/tenants/{acme.id}/domains", {"domain": "Example.ORG."})
    assert (claim["domain"], claim["state"]) == ("example.org", "pending")
    assert claim["next_action"] == "publish_record"
    early = await acme.boss.post(f"/domains/{claim['id']}/verify", {})
    assert (early.status_code, early.json()["code"]) == (409, "state_conflict")
    assert claim["record_name"] in early.json()["detail"]
    assert claim["record_value"] in early.json()["detail"]
    names.records[claim["record_name"]] = [claim["record_value"]]
    proved = (await acme.boss.post(f"/domains/{claim['id']}/verify", {})).json()
    assert (proved["state"], proved["verified_by"]) == ("verified", "dns")
    assert proved["next_action"] is None
    assert await told(linked_world, "identity.domain.verified") == [claim["id"]]
    assert (await acme.boss.seen(f"/identity-providers/{made['id']}"))["state"] == "ready"

    browser, location = await visit(linked_world, companys, "bob", made["id"])
    assert location == "/instances"
    me = await browser.seen("/whoami")
    assert (me["email"], me["home"]["org_id"]) == (BOB, acme.id)
    again, _ = await visit(linked_world, companys, "bob", made["id"])
    assert (await again.seen("/whoami"))["id"] == me["id"]


async def test_a_tenants_provider_opens_no_account_of_another_tenant(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    """Also not where it claims the address, or the domain was another's first."""
    admin = await linked_world.admin()
    acme, mallory = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "mallory"),
    )
    await domain_claimed(acme, names)
    theirs = await account(acme)
    made = await provider_made(mallory, companys)
    _, location = await visit(linked_world, companys, "bob", made["id"])
    assert location.startswith("/sign-in?error=sign_in_failed")
    claim = await mallory.boss.made(f"/tenants/{mallory.id}/domains", {"domain": "example.org"})
    names.records[claim["record_name"]] = [claim["record_value"]]
    refused = await mallory.boss.post(f"/domains/{claim['id']}/verify", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "operator decides" in refused.json()["detail"]
    _, location = await visit(linked_world, companys, "bob", made["id"])
    assert location.startswith("/sign-in?error=sign_in_failed")
    linked = await linked_world.platform.db.fetch("SELECT user_id FROM user_identities")
    assert theirs not in [row["user_id"] for row in linked]


async def test_linking_an_account_with_a_password_takes_the_password_once(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    bob = await account(acme)
    browser, location = await visit(linked_world, companys, "bob", made["id"])
    assert location == "/sign-in?choose=1&return_to=%2Finstances"
    assert (await browser.get("/whoami")).status_code == 401
    waiting = await browser.seen("/auth/oidc/pending")
    assert (waiting["email"], waiting["provider_name"]) == (BOB, "Acme")
    assert waiting["accounts"] == [
        {"user_id": bob, "org_id": acme.id, "org_name": "Acme", "needs_password": True}
    ]
    nothing = await browser.post("/auth/oidc/pending", {"user_id": bob})
    assert nothing.json()["code"] == "invalid_request"
    wrong = await browser.post(
        "/auth/oidc/pending", {"user_id": bob, "password": "a wrong guess at it"}
    )
    assert (wrong.status_code, wrong.json()["code"]) == (401, "sign_in_failed")
    assert await denied(linked_world, "identity.session.create") == [bob]
    # Another browser has nothing that waits.
    stranger = await linked_world.browser().get("/auth/oidc/pending")
    assert (stranger.status_code, stranger.json()["code"]) == (404, "not_found")
    right = {"user_id": bob, "password": PASSWORD}
    assert (await browser.post("/auth/oidc/pending", right)).status_code == 201
    assert (await browser.seen("/whoami"))["id"] == bob
    [linked] = await audited(linked_world, "identity.user.link")
    assert (linked["target_id"], linked["actor_id"], linked["org_id"]) == (bob, bob, acme.id)
    assert await told(linked_world, "identity.user.linked") == [bob]
    again = await browser.post("/auth/oidc/pending", right)
    assert again.status_code == 404
    # From now on the provider is enough, and so is the password.
    _, location = await visit(linked_world, companys, "bob", made["id"])
    assert location == "/instances"
    await linked_world.signed_in(BOB)


async def test_linking_may_remove_the_password_and_ends_all_begun_with_it(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    bob = await account(acme)
    before = await linked_world.signed_in(BOB)
    token = await before.made("/personal-tokens", {"name": "script"})
    script = before.with_token(token["secret"])
    terminal = await linked_world.browser().made("/device-sign-ins", {"name": "laptop"})
    approved = await before.post(
        f"/device-sign-ins/{terminal['user_code']}/decide", {"approve": True}
    )
    assert approved.status_code == 200, approved.text
    browser, _ = await visit(linked_world, companys, "bob", made["id"])
    wish = {"user_id": bob, "remove_password": True}
    assert (await browser.post("/auth/oidc/pending", wish)).status_code == 201
    assert (await browser.seen("/whoami"))["id"] == bob
    assert (await before.get("/whoami")).status_code == 401
    assert (await script.get("/whoami")).status_code == 401
    fetched = await linked_world.browser().post(
        "/device-sign-ins/redeem", {"secret": terminal["secret"]}
    )
    assert fetched.json().get("token") is None
    refused = await linked_world.browser().post("/sessions", {"email": BOB, "password": PASSWORD})
    assert refused.status_code == 401
    assert [
        one["target_id"] for one in await audited(linked_world, "identity.user.password_remove")
    ] == [bob]
    assert await told(linked_world, "identity.user.password_removed") == [bob]


async def test_the_operators_provider_asks_which_account_once_the_address_is_proved(
    linked_world: World, operators: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme, mallory = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "mallory"),
    )
    await domain_claimed(acme, names)
    at_platform = (await admin.made("/users", {"email": BOB}))["id"]
    at_acme = await account(acme, password=None)
    await account(mallory, password=None)
    browser, location = await visit(linked_world, operators, "bob")
    assert location.startswith("/sign-in?choose=1")
    waiting = await browser.seen("/auth/oidc/pending")
    assert {(one["user_id"], one["org_name"]) for one in waiting["accounts"]} == {
        (at_platform, None),
        (at_acme, "Acme"),
    }
    other = await browser.post("/auth/oidc/pending", {"user_id": "user_x"})
    assert other.json()["code"] == "invalid_request"
    chosen = await browser.post("/auth/oidc/pending", {"user_id": at_acme})
    assert chosen.status_code == 201
    assert (await browser.seen("/whoami"))["id"] == at_acme


async def test_a_session_by_a_tenants_provider_stays_in_that_tenant(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    """Its word holds there: roles of the account elsewhere take another way to sign in."""
    admin = await linked_world.admin()
    acme, other = (
        await tenant(linked_world, admin, "acme"),
        await tenant(linked_world, admin, "other"),
    )
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    bob = await account(acme, password=None)
    for where in (acme, other):
        wish = {"principal_id": bob, "role": "tenant_admin", "scope": tenant_scope(where.id)}
        await admin.made("/role-bindings", wish)
    browser, _ = await visit(linked_world, companys, "bob", made["id"])
    assert (await browser.get(f"/tenants/{acme.id}")).status_code == 200
    assert (await browser.get(f"/tenants/{other.id}")).status_code == 404
    token = await browser.made("/personal-tokens", {"name": "script"})
    assert token["scope"]["org_id"] == acme.id
    script = browser.with_token(token["secret"])
    assert (await script.get(f"/tenants/{other.id}")).status_code == 404
    outside = await browser.post(
        "/personal-tokens", {"name": "wider", "scope": tenant_scope(other.id)}
    )
    assert outside.status_code == 404
    terminal = await linked_world.browser().made("/device-sign-ins", {"name": "laptop"})
    await browser.post(f"/device-sign-ins/{terminal['user_code']}/decide", {"approve": True})
    fetched = await linked_world.browser().post(
        "/device-sign-ins/redeem", {"secret": terminal["secret"]}
    )
    assert fetched.json()["token"]["scope"]["org_id"] == acme.id


async def test_an_account_is_one_persons_at_a_provider(
    linked_world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    browser, _ = await visit(linked_world, companys, "bob", made["id"])
    bob = (await browser.seen("/whoami"))["id"]
    # The account gets the address of somebody else, who then comes for the first time.
    answer = await acme.boss.patch(f"/users/{bob}", {"email": "ada@example.org"})
    assert answer.status_code == 200
    _, location = await visit(linked_world, companys, "ada", made["id"])
    assert location.startswith("/sign-in?error=sign_in_failed")


async def test_an_answer_at_another_providers_path_is_refused(
    linked_world: World, operators: RunningProvider, companys: RunningProvider, names: NameServer
) -> None:
    """Else a tenant's provider could have the code of another one sent to itself."""
    admin = await linked_world.admin()
    acme = await tenant(linked_world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    browser = linked_world.browser()
    answer = await browser.get("/auth/oidc/start", provider=made["id"])
    back = await companys.visit(answer.headers["location"], "bob")
    assert f"/callback/{made['id']}?" in back
    answer = await browser.client.get(back.replace(f"/{made['id']}", ""))
    assert answer.headers["location"].startswith("/sign-in?error=sign_in_failed")
