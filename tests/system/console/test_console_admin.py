"""What administrators set, by clicks: regions, kinds and prices, an app and its version, who may
use it, rules and their reasons, and keys nobody reads again."""

import json
from typing import Any

import asyncssh
from console_ground import ADMIN, OWNER, Ground, template_manifest
from playwright.async_api import Page, expect


async def test_an_operator_makes_regions_kinds_and_apps(visit: Any, site: Ground) -> None:
    page = await visit(ADMIN)
    await page.goto("/admin/capacity?tab=regions")
    await page.get_by_role("button", name="Add a region").first.click()
    await _fill(page, {"Name": "south", "Label": "South"}, "Add")
    await expect(page.get_by_role("row", name="south")).to_be_visible()

    await page.goto("/admin/capacity?tab=kinds")
    await page.get_by_role("button", name="Add a kind").first.click()
    kind = {"Name": "tiny", "Label": "Tiny", "CPUs": "4", "Memory": "8", "Price per hour": "0.10"}
    await _fill(page, kind, "Add")
    row = page.get_by_role("row", name="tiny")
    await expect(row).to_contain_text("€0.10")
    await row.get_by_role("button", name="Set the price of tiny").click()
    await _fill(page, {"Price per hour": "0.25"}, "Set it")
    await expect(row).to_contain_text("€0.25")

    await page.goto("/admin/apps")
    await page.get_by_role("button", name="Add an app").first.click()
    await _fill(page, {"Slug": "by-hand", "Name": "By hand", "Publisher": "Example"}, "Add")
    await page.get_by_role("link", name="By hand").click()
    await page.get_by_role("button", name="Add a version").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Publish at once").check()
    text = json.dumps(template_manifest())
    await _fill(page, {"Version": "1.0.0", "Manifest": text}, "Add")
    await expect(page.get_by_role("row", name="1.0.0").get_by_text("Published")).to_be_visible()

    await page.goto(f"/tenants/{site.tenant_id}?tab=entitlements")
    await page.get_by_role("button", name="Entitle").first.click()
    await _fill(page, {"App": "by-hand"}, "Save")
    await expect(page.get_by_role("row", name="by-hand")).to_be_visible()

    await page.goto(f"/projects/{site.project_id}/access?tab=explain")
    who = page.get_by_role("combobox", name="Who")
    await who.click()
    await page.get_by_role("option", name="operator").click()
    await page.get_by_role("button", name="Explain").click()
    await expect(page.get_by_text("app_operator").first).to_be_visible()
    await who.fill(site.tenant_id)  # nobody's id
    await expect(page.get_by_text("app_operator")).to_have_count(0)


async def test_an_owner_narrows_what_may_be_used_and_asks_why(visit: Any, site: Ground) -> None:
    page = await visit(OWNER)
    await page.goto(f"/projects/{site.project_id}/policy")
    await page.get_by_role("button", name="Add rules").click()
    dialog = page.get_by_role("dialog")
    words = dialog.get_by_label("Kind of machine: never these")
    await words.fill("quantum-*")
    await words.press("Enter")
    await expect(dialog.get_by_role("button", name="Remove quantum-*")).to_be_visible()
    await _fill(page, {"Name": "no-quantum"}, "Save")
    rules = page.get_by_role("table", name="Rules of this project")
    row = rules.get_by_role("row", name="no-quantum")
    await expect(row).to_contain_text("never quantum-*")
    value = page.get_by_role("combobox", name="Value")
    await value.fill("quantum-9")
    await value.press("Enter")
    await page.get_by_role("button", name="Explain").click()
    await expect(page.get_by_text("quantum-9 is not allowed")).to_be_visible()
    await row.get_by_role("button", name="Remove no-quantum").click()
    await dialog.get_by_role("button", name="Remove").click()
    await expect(row).to_have_count(0)


async def test_a_key_for_machines_is_kept_and_never_shown(visit: Any, site: Ground) -> None:
    page = await visit(OWNER)
    key = asyncssh.generate_private_key("ssh-ed25519").export_private_key().decode()
    await page.goto(f"/projects/{site.project_id}/access?tab=credentials")
    await page.get_by_role("button", name="Put a key into custody").first.click()
    await _fill(page, {"Name": "old-hosts", "Private key": key}, "Keep it")
    await expect(page.get_by_role("row", name="old-hosts")).to_be_visible()
    assert key.splitlines()[2] not in await page.content()


async def _fill(page: Page, fields: dict[str, str], submit: str) -> None:
    """Fill a form in its dialog, send it, and see it taken."""
    dialog = page.get_by_role("dialog")
    for label, value in fields.items():
        await dialog.get_by_label(label, exact=True).fill(value)
    await dialog.get_by_role("button", name=submit, exact=True).click()
    await expect(dialog).to_have_count(0)
