"""Linking people to accounts stays within a tenant: providers, domains, passwords, choices."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dns_server import NameServer, name_server
from identity_fixtures import PASSWORD, Browser, World, project_scope, tenant_scope, world_running
from oidc_fixtures import RunningProvider, provider_running
from oidc_provider import CLIENT_ID, CLIENT_SECRET

from gpuaas_contract.identity import LOOPBACK_SESSION_COOKIE
from gpuaas_platform.identity.parts import parts_of
from gpuaas_platform.kernel.clock import Clock

pytestmark = pytest.mark.integration
LOOPBACK = ["127.0.0.0/8"]
BOB = "bob@example.org"


@dataclass(frozen=True)
class Tenant:
    """A tenant and its administrator, signed in."""

    id: str
    boss: Browser


@pytest.fixture(scope="module")
def operators() -> Iterator[RunningProvider]:
    with provider_running() as made:
        yield made


@pytest.fixture(scope="module")
def companys() -> Iterator[RunningProvider]:
    with provider_running() as made:
        yield made


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with name_server() as server:
        yield server


@pytest.fixture
async def world(
    database_url: str, operators: RunningProvider, names: NameServer, tmp_path: Path
) -> AsyncIterator[World]:
    """A platform whose operator's provider proves addresses, and tenants' may be on loopback."""
    settings = operators.settings(
        tmp_path,
        oidc_trust_email=True,
        provider_allowed_networks=LOOPBACK,
        dns_servers=[names.address],
    )
    async with world_running(database_url, settings, Clock()) as made:
        yield made


async def tenant(world: World, admin: Browser, name: str) -> Tenant:
    made = await admin.made("/tenants", {"name": name, "display_name": name.capitalize()})
    boss = await world.person(admin, "tenant_admin", tenant_scope(made["id"]))
    return Tenant(made["id"], boss)


async def visit(
    world: World, provider: RunningProvider, name: str, provider_id: str | None = None
) -> tuple[Browser, str]:
    """Somebody signs in at a provider; the page the platform sends them to."""
    browser = world.browser()
    query = {} if provider_id is None else {"provider": provider_id}
    answer = await browser.get("/auth/oidc/start", return_to="/instances", **query)
    assert answer.status_code == 303, answer.text
    back = await provider.visit(answer.headers["location"], name)
    answer = await browser.client.get(back)
    assert answer.status_code == 303, answer.text
    return browser, answer.headers["location"]


async def provider_made(
    company: Tenant, provider: RunningProvider, **more: object
) -> dict[str, Any]:
    """The company's own provider, set up by its administrator."""
    wish = {
        "name": "Acme",
        "issuer": provider.issuer,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "trust_email": True,
    }
    made = await company.boss.made(f"/tenants/{company.id}/identity-providers", wish | more)
    await provider.change(redirect_uri=f"http://test{made['redirect_path']}")
    return made


async def domain_claimed(
    company: Tenant, names: NameServer, domain: str = "example.org"
) -> dict[str, Any]:
    """A domain that the company has proved by a record."""
    claim = await company.boss.made(f"/tenants/{company.id}/domains", {"domain": domain})
    names.records[claim["record_name"]] = ["v=spf1 -all", claim["record_value"]]
    answer = await company.boss.post(f"/domains/{claim['id']}/verify", {})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def account(company: Tenant, email: str = BOB, password: str | None = PASSWORD) -> str:
    wish = {"email": email} if password is None else {"email": email, "password": password}
    made = await company.boss.made(f"/tenants/{company.id}/users", wish)
    return str(made["id"])


async def denied(world: World, action: str) -> list[str]:
    rows = await world.platform.db.fetch(
        "SELECT target_id FROM audit_entries WHERE action = $1 AND outcome = 'denied' ORDER BY id",
        action,
    )
    return [row["target_id"] for row in rows]


async def audited(world: World, action: str) -> list[dict[str, Any]]:
    rows = await world.platform.db.fetch(
        "SELECT target_id, actor_id, org_id, reason, detail FROM audit_entries"
        " WHERE action = $1 AND outcome = 'allowed' ORDER BY id",
        action,
    )
    return [dict(row) for row in rows]


async def told(world: World, kind: str) -> list[str]:
    rows = await world.platform.db.fetch(
        "SELECT subject FROM (SELECT id, type, subject FROM outbox"
        " UNION SELECT id, type, subject FROM events) AS all_ WHERE type = $1 ORDER BY id",
        kind,
    )
    return [row["subject"] for row in rows]


async def test_another_tenants_account_is_not_taken_for_a_persons_own(
    world: World, operators: RunningProvider
) -> None:
    admin = await world.admin()
    mallory = await tenant(world, admin, "mallory")
    planted = await account(mallory)
    browser, location = await visit(world, operators, "bob")
    assert location == "/instances"
    me = await browser.seen("/whoami")
    assert me["id"] != planted
    assert me["home"]["kind"] == "platform"
    # What the other administrator knows opens the other account alone.
    theirs = await world.signed_in(BOB)
    assert (await theirs.seen("/whoami"))["id"] == planted


async def test_an_account_without_a_password_in_another_tenant_is_not_linked_either(
    world: World, operators: RunningProvider
) -> None:
    admin = await world.admin()
    mallory = await tenant(world, admin, "mallory")
    planted = await account(mallory, password=None)
    browser, _ = await visit(world, operators, "bob")
    assert (await browser.seen("/whoami"))["id"] != planted


async def test_a_group_mapping_does_not_make_people_a_tenants_own(
    world: World, operators: RunningProvider
) -> None:
    admin = await world.admin()
    mallory = await tenant(world, admin, "mallory")
    mapping = {
        "group": "staff",
        "role": "project_viewer",
        "scope": tenant_scope(mallory.id),
    }
    await mallory.boss.made("/group-mappings", mapping)
    await operators.change(groups={"staff": ["bob"]})
    browser, _ = await visit(world, operators, "bob")
    await operators.change(groups={"staff": []})
    me = await browser.seen("/whoami")
    assert me["home"]["kind"] == "platform"
    taken = await mallory.boss.put(f"/users/{me['id']}/password", {"password": PASSWORD})
    assert taken.status_code in {403, 404}


async def test_an_address_in_use_elsewhere_is_neither_visible_nor_blocked(world: World) -> None:
    admin = await world.admin()
    acme, other = await tenant(world, admin, "acme"), await tenant(world, admin, "other")
    first = await acme.boss.post(f"/tenants/{acme.id}/users", {"email": BOB, "password": PASSWORD})
    again = await other.boss.post(
        f"/tenants/{other.id}/users", {"email": BOB, "password": PASSWORD}
    )
    free = await other.boss.post(
        f"/tenants/{other.id}/users", {"email": "free@example.org", "password": PASSWORD}
    )
    assert (first.status_code, again.status_code, free.status_code) == (201, 201, 201)
    assert set(again.json()) == set(free.json())
    twice = await acme.boss.post(f"/tenants/{acme.id}/users", {"email": "BOB@example.org"})
    assert (twice.status_code, twice.json()["code"]) == (409, "name_taken")
    assert twice.json()["detail"] == "Another account of this tenant has this email address."
    seen = await other.boss.seen("/users", email=BOB)
    assert [one["id"] for one in seen["items"]] == [again.json()["id"]]
    # Changing an address meets the accounts of the same tenant only.
    free_id = free.json()["id"]
    moved = await other.boss.patch(f"/users/{free_id}", {"email": BOB})
    assert moved.status_code == 409
    ada = await acme.boss.made(f"/tenants/{acme.id}/users", {"email": "ada@example.org"})
    moved = await acme.boss.patch(f"/users/{ada['id']}", {"email": "free@example.org"})
    assert moved.status_code == 200


async def test_a_role_by_address_goes_to_the_tenants_own_account(world: World) -> None:
    admin = await world.admin()
    acme, other = await tenant(world, admin, "acme"), await tenant(world, admin, "other")
    await account(other)
    ours = await account(acme)
    wish = {"email": BOB, "role": "project_viewer", "scope": tenant_scope(acme.id)}
    assert (await acme.boss.made("/role-bindings", wish))["principal_id"] == ours
    # The operator, who knows both, names the account at the platform by its id.
    wish = {"email": BOB, "role": "auditor", "scope": {"kind": "platform"}}
    refused = await admin.post("/role-bindings", wish)
    assert refused.json()["code"] == "invalid_request"
    assert "name one by principal_id" in refused.json()["detail"]


async def test_signing_in_asks_for_the_tenant_only_who_knows_the_password(world: World) -> None:
    admin = await world.admin()
    acme, other = await tenant(world, admin, "acme"), await tenant(world, admin, "other")
    third = await tenant(world, admin, "third")
    mine = [await account(acme), await account(other)]
    await account(third, password="quite another password")
    browser = world.browser()
    answer = await browser.post("/sessions", {"email": BOB, "password": PASSWORD})
    assert answer.status_code == 200
    assert browser.client.cookies.get(LOOPBACK_SESSION_COOKIE) is None
    offered = answer.json()["accounts"]
    assert {(one["user_id"], one["org_name"]) for one in offered} == {
        (mine[0], "Acme"),
        (mine[1], "Other"),
    }
    chosen = {"email": BOB, "password": PASSWORD, "user_id": mine[1]}
    assert (await browser.post("/sessions", chosen)).status_code == 201
    assert (await browser.seen("/whoami"))["id"] == mine[1]
    # The password of one account alone leads straight to it.
    alone = world.browser()
    wish = {"email": BOB, "password": "quite another password"}
    assert (await alone.post("/sessions", wish)).status_code == 201
    # The id of another account is no way around its password.
    wish = {"email": BOB, "password": "quite another password", "user_id": mine[0]}
    assert (await world.browser().post("/sessions", wish)).status_code == 401


async def test_a_stranger_gets_one_answer_whatever_exists(world: World) -> None:
    admin = await world.admin()
    acme, other = await tenant(world, admin, "acme"), await tenant(world, admin, "other")
    await account(acme)
    await account(other)
    await account(acme, "one@example.org")
    await account(other, "none@example.org", password=None)
    passwords = parts_of(world.platform).passwords
    plain, checked = passwords.verify, 0

    async def counted(stored: str | None, password: str) -> bool:
        nonlocal checked
        checked += 1
        return await plain(stored, password)

    passwords.verify = counted  # type: ignore[method-assign] # counts, and does the same
    answers = []
    for email in (BOB, "one@example.org", "none@example.org", "nobody@example.org"):
        for more in ({}, {"user_id": "user_x"}):
            before = checked
            wish = {"email": email, "password": "a wrong guess at it", **more}
            answer = await world.browser(f"127.0.0.{len(answers) + 9}").post("/sessions", wish)
            problem = answer.json()
            del problem["correlation_id"]
            answers.append((answer.status_code, problem, checked - before))
    assert all(one == answers[0] for one in answers), answers
    assert answers[0][0] == 401
    assert answers[0][1]["detail"] == "Email or password is wrong."
    assert answers[0][2] == 2


async def test_ones_own_account_frees_no_guesses_at_anothers(world: World) -> None:
    admin = await world.admin()
    acme, mallory = await tenant(world, admin, "acme"), await tenant(world, admin, "mallory")
    await account(acme, password="the one to be guessed")
    await account(mallory)
    seen = []
    for number in range(12):
        source = world.browser(f"127.0.1.{number}")
        guess = await source.post("/sessions", {"email": BOB, "password": f"a guess {number:06}"})
        seen.append(guess.status_code)
        await source.post("/sessions", {"email": BOB, "password": PASSWORD})
    assert 429 in seen


async def test_a_tenants_provider_makes_accounts_at_its_proved_domain(
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    made = await provider_made(acme, companys)
    assert (made["state"], made["next_action"]) == ("needs_domain", "claim_domain")
    assert "client_secret" not in made
    _, location = await visit(world, companys, "bob", made["id"])
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
    assert await told(world, "identity.domain.verified") == [claim["id"]]
    assert (await acme.boss.seen(f"/identity-providers/{made['id']}"))["state"] == "ready"

    browser, location = await visit(world, companys, "bob", made["id"])
    assert location == "/instances"
    me = await browser.seen("/whoami")
    assert (me["email"], me["home"]["org_id"]) == (BOB, acme.id)
    again, _ = await visit(world, companys, "bob", made["id"])
    assert (await again.seen("/whoami"))["id"] == me["id"]


async def test_a_tenants_provider_opens_no_account_of_another_tenant(
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    """Also not where it claims the address, or the domain was another's first."""
    admin = await world.admin()
    acme, mallory = await tenant(world, admin, "acme"), await tenant(world, admin, "mallory")
    await domain_claimed(acme, names)
    theirs = await account(acme)
    made = await provider_made(mallory, companys)
    _, location = await visit(world, companys, "bob", made["id"])
    assert location.startswith("/sign-in?error=sign_in_failed")
    claim = await mallory.boss.made(f"/tenants/{mallory.id}/domains", {"domain": "example.org"})
    names.records[claim["record_name"]] = [claim["record_value"]]
    refused = await mallory.boss.post(f"/domains/{claim['id']}/verify", {})
    assert (refused.status_code, refused.json()["code"]) == (409, "conflict")
    assert "operator decides" in refused.json()["detail"]
    _, location = await visit(world, companys, "bob", made["id"])
    assert location.startswith("/sign-in?error=sign_in_failed")
    linked = await world.platform.db.fetch("SELECT user_id FROM user_identities")
    assert theirs not in [row["user_id"] for row in linked]


async def test_linking_an_account_with_a_password_takes_the_password_once(
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    bob = await account(acme)
    browser, location = await visit(world, companys, "bob", made["id"])
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
    assert await denied(world, "identity.session.create") == [bob]
    # Another browser has nothing that waits.
    stranger = await world.browser().get("/auth/oidc/pending")
    assert (stranger.status_code, stranger.json()["code"]) == (404, "not_found")
    right = {"user_id": bob, "password": PASSWORD}
    assert (await browser.post("/auth/oidc/pending", right)).status_code == 201
    assert (await browser.seen("/whoami"))["id"] == bob
    [linked] = await audited(world, "identity.user.link")
    assert (linked["target_id"], linked["actor_id"], linked["org_id"]) == (bob, bob, acme.id)
    assert await told(world, "identity.user.linked") == [bob]
    again = await browser.post("/auth/oidc/pending", right)
    assert again.status_code == 404
    # From now on the provider is enough, and so is the password.
    _, location = await visit(world, companys, "bob", made["id"])
    assert location == "/instances"
    await world.signed_in(BOB)


async def test_linking_may_remove_the_password_and_ends_all_begun_with_it(
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    bob = await account(acme)
    before = await world.signed_in(BOB)
    token = await before.made("/personal-tokens", {"name": "script"})
    script = before.with_token(token["secret"])
    terminal = await world.browser().made("/device-sign-ins", {"name": "laptop"})
    approved = await before.post(
        f"/device-sign-ins/{terminal['user_code']}/decide", {"approve": True}
    )
    assert approved.status_code == 200, approved.text
    browser, _ = await visit(world, companys, "bob", made["id"])
    wish = {"user_id": bob, "remove_password": True}
    assert (await browser.post("/auth/oidc/pending", wish)).status_code == 201
    assert (await browser.seen("/whoami"))["id"] == bob
    assert (await before.get("/whoami")).status_code == 401
    assert (await script.get("/whoami")).status_code == 401
    fetched = await world.browser().post("/device-sign-ins/redeem", {"secret": terminal["secret"]})
    assert fetched.json().get("token") is None
    refused = await world.browser().post("/sessions", {"email": BOB, "password": PASSWORD})
    assert refused.status_code == 401
    assert [one["target_id"] for one in await audited(world, "identity.user.password_remove")] == [
        bob
    ]
    assert await told(world, "identity.user.password_removed") == [bob]


async def test_the_operators_provider_asks_which_account_once_the_address_is_proved(
    world: World, operators: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme, mallory = await tenant(world, admin, "acme"), await tenant(world, admin, "mallory")
    await domain_claimed(acme, names)
    at_platform = (await admin.made("/users", {"email": BOB}))["id"]
    at_acme = await account(acme, password=None)
    await account(mallory, password=None)
    browser, location = await visit(world, operators, "bob")
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
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    """Its word holds there: roles of the account elsewhere take another way to sign in."""
    admin = await world.admin()
    acme, other = await tenant(world, admin, "acme"), await tenant(world, admin, "other")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    bob = await account(acme, password=None)
    for where in (acme, other):
        wish = {"principal_id": bob, "role": "tenant_admin", "scope": tenant_scope(where.id)}
        await admin.made("/role-bindings", wish)
    browser, _ = await visit(world, companys, "bob", made["id"])
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
    terminal = await world.browser().made("/device-sign-ins", {"name": "laptop"})
    await browser.post(f"/device-sign-ins/{terminal['user_code']}/decide", {"approve": True})
    fetched = await world.browser().post("/device-sign-ins/redeem", {"secret": terminal["secret"]})
    assert fetched.json()["token"]["scope"]["org_id"] == acme.id


async def test_an_account_is_one_persons_at_a_provider(
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    browser, _ = await visit(world, companys, "bob", made["id"])
    bob = (await browser.seen("/whoami"))["id"]
    # The account gets the address of somebody else, who then comes for the first time.
    answer = await acme.boss.patch(f"/users/{bob}", {"email": "ada@example.org"})
    assert answer.status_code == 200
    _, location = await visit(world, companys, "ada", made["id"])
    assert location.startswith("/sign-in?error=sign_in_failed")


async def test_the_operator_gives_a_domain_with_a_reason(world: World, names: NameServer) -> None:
    admin = await world.admin()
    acme, other = await tenant(world, admin, "acme"), await tenant(world, admin, "other")
    claim = await acme.boss.made(f"/tenants/{acme.id}/domains", {"domain": "example.org"})
    path = f"/domains/{claim['id']}/approve"
    reason = "Contract 17 names this domain."
    assert (await acme.boss.post(path, {"reason": reason})).status_code == 403
    assert (await other.boss.post(path, {"reason": reason})).status_code in {403, 404}
    short = await admin.post(path, {"reason": "because"})
    assert short.json()["code"] == "reason_required"
    given = await admin.post(path, {"reason": reason})
    assert (given.status_code, given.json()["verified_by"]) == (200, "operator")
    [entry] = await audited(world, "identity.domain.approve")
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
async def test_what_is_no_domain_is_not_claimed(world: World, text: str) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    refused = await acme.boss.post(f"/tenants/{acme.id}/domains", {"domain": text})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")


async def test_another_tenant_sees_and_changes_nothing(
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme, other = await tenant(world, admin, "acme"), await tenant(world, admin, "other")
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
    world: World, companys: RunningProvider
) -> None:
    """Its word lets people in as anybody of the tenant."""
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    keys = ["identity.provider.manage", "identity.provider.read", "identity.tenant.read"]
    role = await acme.boss.made(
        f"/tenants/{acme.id}/roles", {"name": "sign-in", "permissions": keys}
    )
    clerk = await world.person(acme.boss, role["id"], tenant_scope(acme.id))
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
    world: World, operators: RunningProvider, companys: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
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
    browser, _ = await visit(world, companys, "bob", made["id"])
    await companys.change(groups={"staff": []})
    held = [one["role"] for one in (await browser.seen("/whoami"))["bindings"]]
    assert held == ["project_member"]
    # The other provider's word neither adds nor takes them.
    at_operators, _ = await visit(world, operators, "bob")
    held = [one["role"] for one in (await at_operators.seen("/whoami"))["bindings"]]
    assert held == ["project_member"]


async def test_a_provider_that_goes_takes_its_sessions_links_and_groups_with_it(
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    mapping = {"group": "staff", "role": "project_viewer", "provider_id": made["id"]}
    await acme.boss.made("/group-mappings", {**mapping, "scope": tenant_scope(acme.id)})
    browser, _ = await visit(world, companys, "bob", made["id"])
    path = f"/identity-providers/{made['id']}"
    assert (await acme.boss.patch(path, {"active": False})).status_code == 200
    start = await world.browser().get("/auth/oidc/start", provider=made["id"])
    assert (start.status_code, start.json()["code"]) == (404, "not_found")
    assert (await acme.boss.delete(path)).status_code == 204
    assert (await browser.get("/whoami")).status_code == 401
    assert await told(world, "identity.provider.deleted") == [made["id"]]
    left = await world.platform.db.fetch(
        "SELECT 1 FROM user_identities UNION ALL SELECT 1 FROM group_mappings"
    )
    assert left == []


async def test_an_answer_at_another_providers_path_is_refused(
    world: World, operators: RunningProvider, companys: RunningProvider, names: NameServer
) -> None:
    """Else a tenant's provider could have the code of another one sent to itself."""
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys)
    browser = world.browser()
    answer = await browser.get("/auth/oidc/start", provider=made["id"])
    back = await companys.visit(answer.headers["location"], "bob")
    assert f"/callback/{made['id']}?" in back
    answer = await browser.client.get(back.replace(f"/{made['id']}", ""))
    assert answer.headers["location"].startswith("/sign-in?error=sign_in_failed")


async def test_the_sign_in_page_learns_of_a_tenants_provider_by_its_link_alone(
    world: World, companys: RunningProvider
) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    made = await provider_made(acme, companys)
    assert made["sign_in_path"] == f"/sign-in?provider={made['id']}"
    methods = await world.browser().seen("/auth/methods", provider=made["id"])
    assert methods["oidc"]["name"] == "Acme"
    assert methods["oidc"]["start_url"] == f"/api/v1/auth/oidc/start?provider={made['id']}"
    plain = await world.browser().seen("/auth/methods")
    assert plain["oidc"]["name"] == "single sign-on"
    unknown = await world.browser().seen("/auth/methods", provider="idp_unknown")
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
    world: World, companys: RunningProvider, names: NameServer
) -> None:
    admin = await world.admin()
    acme = await tenant(world, admin, "acme")
    await domain_claimed(acme, names)
    made = await provider_made(acme, companys, issuer="http://127.0.0.1:9")
    assert (made["state"], made["next_action"]) == ("unreachable", "check")
    again = await acme.boss.post(f"/identity-providers/{made['id']}/check", {})
    assert again.json()["problem"] == made["problem"]
    other = await provider_made(acme, companys, issuer=f"{companys.issuer}/")
    assert "calls itself" in other["problem"]
