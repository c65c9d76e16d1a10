"""Companies with providers and domains of their own, for tests of linking people to accounts."""

from dataclasses import dataclass
from typing import Any

from dns_server import NameServer
from identity_fixtures import PASSWORD, Browser, World, tenant_scope
from oidc_fixtures import RunningProvider
from oidc_provider import CLIENT_ID, CLIENT_SECRET

BOB = "bob@example.org"


@dataclass(frozen=True)
class Tenant:
    """A tenant and its administrator, signed in."""

    id: str
    boss: Browser


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
