"""Signing in through a real OIDC provider's own pages, with the browser: let in with what its
groups carry, back on the page that was wanted; and told when they are not let in. Through the
provider of a tenant, an account with a password is linked by its password, once; and who has
accounts in several tenants chooses."""

import shutil
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from console_ground import ADMIN, CONSOLE, Api
from console_ground import PASSWORD as ADMIN_PASSWORD
from oidc_fixtures import RunningProvider, provider_running
from oidc_provider import CLIENT_ID, CLIENT_SECRET, PASSWORD
from playwright.async_api import Browser, Page, expect
from served_platform import served
from watched_context import watched

from gpuaas_contract.identity import LOOPBACK_OIDC_COOKIE


@dataclass(frozen=True)
class Federated:
    """A platform that trusts a provider, and the provider."""

    home: str
    admin: Api
    provider: RunningProvider


@pytest.fixture(scope="module")
def federated() -> Iterator[Federated]:
    if not (CONSOLE / "index.html").exists():
        pytest.skip("the console is not built: make setup")
    port = _free_port()
    home = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gpuaas-federated-")))
        folder.chmod(0o711)  # the database's user passes through
        provider = stack.enter_context(provider_running(f"{home}/api/v1/auth/oidc/callback"))
        settings = _settings(folder, provider)
        platform = stack.enter_context(served(PORT=str(port), **settings))
        admin = Api(platform.await_listening(), ADMIN)
        stack.callback(admin.close)
        yield Federated(home, admin, provider)
        platform.stop()


@pytest.fixture
async def page(browser: Browser, federated: Federated) -> AsyncIterator[Page]:
    async with watched(browser, base_url=federated.home, locale="en-GB") as context:
        yield await context.new_page()


async def test_a_person_of_the_organisation_comes_in_where_they_wanted_to(
    page: Page, federated: Federated
) -> None:
    admin = federated.admin
    tenant = admin.made("/tenants", {"name": "acme", "display_name": "Acme Research"})
    admin.made("/admin/break-glass", {"org_id": tenant["id"], "reason": "a test's group"})
    project = admin.made(f"/tenants/{tenant['id']}/projects", {"name": "vision"})
    scope = {"kind": "tenant", "org_id": tenant["id"]}
    admin.made("/group-mappings", {"group": "staff", "role": "project_viewer", "scope": scope})
    await federated.provider.change(groups={"staff": ["ada"]}, forget_codes=True)

    wanted = f"/projects/{project['id']}/instances"
    await page.goto(wanted)
    await _named_at_the_provider(page, "ada")
    await _let_in_by_the_provider(page)
    await page.wait_for_url(f"{federated.home}{wanted}")
    await expect(page.get_by_role("heading", name="Instances", level=1)).to_be_visible()
    await expect(page.get_by_role("button", name="Ada", exact=True)).to_be_visible()
    # What the group does not carry is not offered.
    navigation = page.get_by_role("navigation")
    await expect(navigation.get_by_role("link", name="Tenants", exact=True)).to_have_count(0)
    await page.get_by_role("button", name="Ada", exact=True).click()
    await page.get_by_role("menuitem", name="Sign out").click()
    await expect(page.get_by_label("Email")).to_be_visible()


async def test_who_is_not_let_in_is_told_so_with_the_correlation_id(
    page: Page, federated: Federated
) -> None:
    await federated.provider.change(forget_codes=True)
    await page.goto("/sign-in")
    await _named_at_the_provider(page, "bob")
    # Whoever finishes must be who began: without what the platform gave them, nobody is let in.
    await page.context.clear_cookies(name=LOOPBACK_OIDC_COOKIE)
    await _let_in_by_the_provider(page)
    await page.wait_for_url(f"{federated.home}/sign-in?**")
    await expect(page.get_by_text("You are not signed in")).to_be_visible()
    await expect(page.get_by_text("sign_in_failed")).to_be_visible()
    await expect(page.get_by_role("button", name="Copy the correlation id")).to_be_visible()
    await expect(page.get_by_label("Email")).to_be_visible()


async def test_an_account_with_a_password_is_linked_once_at_the_tenants_provider(
    page: Page, federated: Federated
) -> None:
    admin, provider = federated.admin, federated.provider
    tenant = admin.made("/tenants", {"name": "contoso", "display_name": "Contoso"})
    admin.made("/admin/break-glass", {"org_id": tenant["id"], "reason": "a test's provider"})
    bob = {"email": "bob@example.org", "password": ADMIN_PASSWORD}
    admin.made(f"/tenants/{tenant['id']}/users", bob)
    wish = {
        "name": "Contoso ID",
        "issuer": provider.issuer,
        "client_id": CLIENT_ID,
        "client_secret": CLIENT_SECRET,
        "trust_email": True,
    }
    made = admin.made(f"/tenants/{tenant['id']}/identity-providers", wish)
    claim = admin.made(f"/tenants/{tenant['id']}/domains", {"domain": "example.org"})
    callback = f"{federated.home}{made['redirect_path']}"
    await provider.change(redirect_uri=callback, forget_codes=True)

    await _signed_in_by_hand(page)
    await page.goto(f"/tenants/{tenant['id']}?tab=sign-in")
    await expect(page.get_by_text("Claim a domain below")).to_be_visible()
    await page.get_by_role("button", name="Decide example.org").click()
    await page.get_by_label("Reason").fill("The contract names this domain.")
    await page.get_by_role("button", name="Give it").click()
    await expect(page.get_by_text("Nothing to do: the operator decided it")).to_be_visible()
    assert claim["state"] == "pending"
    await page.context.clear_cookies()

    await page.goto(made["sign_in_path"])
    await _named_at_the_provider(page, "bob")
    await _let_in_by_the_provider(page)
    await expect(page.get_by_text("Your account of Contoso has a password")).to_be_visible()
    await page.locator("input[name=password]").fill("a wrong guess at it")
    await page.get_by_role("button", name="Link and sign in").click()
    await expect(page.get_by_text("Email or password is wrong.")).to_be_visible()
    await page.locator("input[name=password]").fill(ADMIN_PASSWORD)
    await page.get_by_role("button", name="Link and sign in").click()
    await expect(page.get_by_role("button", name="bob", exact=True)).to_be_visible()


async def test_who_has_accounts_in_several_tenants_chooses_after_the_password(
    page: Page, federated: Federated
) -> None:
    admin = federated.admin
    for name in ("Fabrikam", "Northwind"):
        tenant = admin.made("/tenants", {"name": name.lower(), "display_name": name})
        who = {"email": "eve@example.org", "display_name": f"Eve at {name}"}
        admin.made(f"/tenants/{tenant['id']}/users", {**who, "password": ADMIN_PASSWORD})
    await page.goto("/sign-in")
    await page.get_by_label("Email").fill("eve@example.org")
    await page.get_by_label("Password").fill("a wrong guess at it")
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_text("Email or password is wrong.")).to_be_visible()
    await page.get_by_label("Password").fill(ADMIN_PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.get_by_role("button", name="Northwind").click()
    await expect(page.get_by_role("button", name="Eve at Northwind")).to_be_visible()


async def _signed_in_by_hand(page: Page) -> None:
    await page.goto("/sign-in")
    await page.get_by_label("Email").fill(ADMIN)
    await page.get_by_label("Password").fill(ADMIN_PASSWORD)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("navigation", name="Side")).to_be_visible()


async def _named_at_the_provider(page: Page, name: str) -> None:
    """From the console's sign-in page to the provider's own."""
    await page.get_by_role("link", name="Sign in with").click()
    await page.locator("input[name=login]").fill(name)
    await page.locator("input[name=login]").press("Enter")
    await expect(page.locator("input[name=password]")).to_be_visible()


async def _let_in_by_the_provider(page: Page) -> None:
    await page.locator("input[name=password]").fill(PASSWORD)
    await page.locator("input[name=password]").press("Enter")


def _settings(folder: Path, provider: RunningProvider) -> dict[str, str]:
    (folder / "password").write_text(ADMIN_PASSWORD)
    (folder / "client-secret").write_text(CLIENT_SECRET)
    shutil.copytree(CONSOLE, folder / "console")
    return {
        "DATA_DIR": str(folder / "data"),
        "CONSOLE_DIR": str(folder / "console"),
        "BOOTSTRAP_ADMIN_EMAIL": ADMIN,
        "BOOTSTRAP_ADMIN_PASSWORD_FILE": str(folder / "password"),
        "OIDC_ISSUER": provider.issuer,
        "OIDC_CLIENT_ID": CLIENT_ID,
        "OIDC_CLIENT_SECRET_FILE": str(folder / "client-secret"),
        "PROVIDER_ALLOWED_NETWORKS": '["127.0.0.0/8"]',
    }


def _free_port() -> int:
    """The provider must know where the platform will be before the platform knows the provider."""
    with socket.create_server(("127.0.0.1", 0)) as held:
        return int(held.getsockname()[1])
