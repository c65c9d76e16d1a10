"""Webhooks by clicks: a secret shown once, deliveries to a real receiver, dead ones sent again."""

import re
from typing import Any

from console_ground import MEMBER, OWNER, Ground
from eventually import eventually
from playwright.async_api import Page, expect
from receiver_fixtures import Receiver, receiving


async def test_a_webhook_is_made_watched_repaired_paused_and_ended(
    visit: Any, site: Ground
) -> None:
    page = await visit(OWNER)
    async with receiving() as receiver:
        receiver.default = 503
        secret = await _made(page, site, receiver)
        site.hold("hook-01")

        await page.get_by_role("link", name=receiver.url).click()
        await page.wait_for_url("**/webhooks/**")
        await expect(page.get_by_text("This secret is shown once")).to_have_count(0)
        await page.get_by_role("button", name="Which deliveries").click()
        await page.get_by_role("option", name="Dead: given up").click()
        table = page.get_by_role("table")
        await expect(table.get_by_text("503").first).to_be_visible()
        await expect(table.get_by_text("Dead").first).to_be_visible()

        receiver.default = 204
        refused = len(receiver.received)
        await page.get_by_role("button", name="Redeliver all that are dead").click()
        await page.get_by_role("dialog").get_by_role("button", name="Redeliver").click()
        await expect(page.get_by_text("Nothing was given up.")).to_be_visible()
        # They are sent behind the answer that they will be.
        await eventually(lambda: len(receiver.received) > refused, what="one is sent again")
        assert all(one.signed_by(secret) for one in receiver.received)
        assert receiver.received[-1].event["type"].startswith("capacity.allocation")

        await _confirmed(page, "Pause", "Pause")
        await expect(page.get_by_text("Nothing is delivered now")).to_be_visible()
        await _confirmed(page, "Resume", "Resume")
        await expect(page.get_by_text("Nothing is delivered now")).to_have_count(0)
        await _confirmed(page, "Rotate the secret", "Rotate")
        shown = page.locator(".copy-block pre")
        await expect(shown).to_contain_text("whsec_")
        assert await shown.inner_text() != secret
        await _confirmed(page, "Delete", "Delete")
        await page.wait_for_url(re.compile("/events.tab=webhooks"))
        await expect(page.get_by_text("No webhook yet")).to_be_visible()


async def test_who_may_not_see_webhooks_sees_events_alone(visit: Any, site: Ground) -> None:
    page = await visit(MEMBER)
    await page.goto(f"/projects/{site.project_id}/events?tab=webhooks")
    await expect(page.get_by_role("heading", name="Events").first).to_be_visible()
    await expect(page.get_by_role("tab", name="Webhooks")).to_have_count(0)


async def _made(page: Page, site: Ground, receiver: Receiver) -> str:
    """Add a webhook for what happens to allocations, and read its secret."""
    await page.goto(f"/projects/{site.project_id}/events")
    await page.get_by_role("tab", name="Webhooks").click()
    await page.get_by_role("button", name="Add a webhook").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="URL").fill("nowhere")
    await dialog.get_by_role("button", name="Add", exact=True).last.click()
    await expect(dialog.get_by_text("URL begins with https:// or http://.")).to_be_visible()
    await dialog.get_by_role("textbox", name="URL").fill(receiver.url)
    await dialog.get_by_role("textbox", name="Description").fill("Allocations, elsewhere")
    types = dialog.get_by_role("textbox", name=re.compile("Types of events"))
    await types.fill("capacity.allocation")
    await types.press("Enter")
    await dialog.get_by_role("button", name="Add", exact=True).last.click()
    await expect(page.get_by_text("This secret is shown once")).to_be_visible()
    return await page.locator(".copy-block pre").inner_text()


async def _confirmed(page: Page, button: str, confirm: str) -> None:
    await page.get_by_role("button", name=button, exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("button", name=confirm, exact=True).click()
    await expect(dialog).to_have_count(0)
