"""What administrators come for, by clicks: the platform's health, the audit and its proof,
accounts, keys and secrets; and dark where somebody wants it dark."""

import re
from typing import Any

from console_ground import ADMIN, OWNER, Ground
from playwright.async_api import Locator, Page, expect

SECRET = "nobody-reads-this-again"


async def test_an_operator_sees_the_health_and_proves_the_audit(
    visit: Any, site: Ground, picture: Any
) -> None:
    page = await visit(ADMIN)
    await page.get_by_role("navigation").get_by_role("link", name="Platform").click()
    seen = page.locator("dt", has_text="template").locator("xpath=following-sibling::dd[1]")
    await expect(seen).to_contain_text("1 at work")
    await expect(page.get_by_text("In order").first).to_be_visible()

    await page.get_by_role("navigation").get_by_role("link", name="Audit").click()
    await page.get_by_role("button", name="Verify the chain").click()
    await expect(page.get_by_text("The chain is sound")).to_be_visible()
    await picture(page, "audit")
    await page.get_by_role("button", name="Filters").click()
    await page.get_by_role("searchbox", name="On what").fill(site.tenant_id)
    await page.get_by_role("searchbox", name="Action").fill("identity.tenant.create")
    first = page.get_by_role("row").nth(1)
    await expect(first.get_by_text("identity.tenant.create")).to_be_visible()
    await expect(page.get_by_role("row")).to_have_count(2)
    await page.get_by_role("button", name="Appearance").click()
    await page.get_by_role("menuitemcheckbox", name="Dark").click()
    dark = page.locator("body.awsui-dark-mode")
    await expect(dark).to_be_visible()
    # What was narrowed is in the address: whoever gets the link sees the same; dark is one's own.
    await page.reload()
    await expect(dark).to_be_visible()
    await expect(page.get_by_role("searchbox", name="Action")).to_have_value(
        "identity.tenant.create"
    )
    await expect(page.get_by_role("row")).to_have_count(2)


async def test_keys_and_secrets_are_made_and_never_shown_again(visit: Any, site: Ground) -> None:
    page = await visit(OWNER)
    await page.goto(f"/projects/{site.project_id}/access?tab=service-accounts")
    await page.get_by_role("button", name="Make a service account").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Name").fill("by-hand")
    await dialog.get_by_role("button", name="Make it").click()
    await page.get_by_role("link", name="by-hand").click()
    await page.wait_for_url("**/service-accounts/**")
    await page.get_by_role("button", name="Make a key").click()
    await dialog.get_by_role("button", name="Make it").click()
    await expect(page.get_by_text("This key is shown once")).to_be_visible()
    key = await page.locator("pre").inner_text()
    await page.reload()
    await expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    assert key not in await page.content()

    await page.goto(f"/projects/{site.project_id}/access?tab=secrets")
    await page.get_by_role("button", name="Keep a secret").click()
    await dialog.get_by_role("textbox", name="Name").fill("by-hand")
    await dialog.get_by_label("Value").fill(SECRET)
    await dialog.get_by_role("button", name="Keep it").click()
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_role("row", name="by-hand")).to_be_visible()
    assert SECRET not in await page.content()


async def test_a_tenant_makes_a_role_of_its_own(visit: Any, site: Ground) -> None:
    page = await visit(ADMIN)
    await page.goto(f"/tenants/{site.tenant_id}?tab=roles")
    await page.get_by_role("button", name="Make a role").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Name").fill("watcher")
    await _choose(page, dialog, "apps.instance.read")
    await dialog.get_by_role("button", name="Make it").click()
    await expect(dialog).to_have_count(0)
    allows = page.get_by_role("button", name=re.compile("that watcher allows$"))
    await expect(allows).to_have_text("1 thing")
    await allows.click()
    await expect(dialog.get_by_text("apps.instance.read")).to_be_visible()
    await dialog.get_by_role("button", name="Close", exact=True).last.click()
    await page.get_by_role("button", name="Change watcher").click()
    await _choose(page, dialog, "apps.operation.read")
    await dialog.get_by_role("button", name="Save").click()
    await expect(allows).to_have_text("2 things")
    await page.get_by_role("button", name="Delete watcher").click()
    await dialog.get_by_role("button", name="Delete", exact=True).click()
    await expect(allows).to_have_count(0)

    # Groups come from an organisation's sign-in: here there is none, and the platform says so.
    await page.get_by_role("button", name="Give a group a role").click()
    await dialog.get_by_role("textbox", name="Group").fill("researchers")
    await dialog.get_by_role("button", name=re.compile("^Role")).click()
    await page.get_by_role("option", name=re.compile("^Project member")).click()
    await dialog.get_by_role("button", name="Give it").click()
    await expect(dialog.get_by_text("No identity provider is configured.")).to_be_visible()


async def _choose(page: Page, dialog: Locator, permission: str) -> None:
    await dialog.get_by_role("button", name=re.compile("^Permissions")).click()
    await page.get_by_role("option", name=re.compile(f"^{re.escape(permission)}: ")).click()
    await page.keyboard.press("Escape")
