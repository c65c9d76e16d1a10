"""The workflow without a mouse: every step is reached by Tab and arrows and done by Enter and
Space, from the catalog to an instance that runs, and its dialog is left by Esc."""

from typing import Any

from console_ground import OWNER, Ground
from page_facts import fact
from playwright.async_api import Locator, Page, expect

MOST_TABS = 80
"""More than stand before anything on a page."""
MOST_MACHINES = 40
"""More than a page of the machines to choose from."""


async def test_an_app_is_deployed_and_operated_by_keys_alone(visit: Any, site: Ground) -> None:
    site.hold("keys-01")
    page = await visit(OWNER)
    links = page.get_by_role("navigation", name="Side navigation")
    await _press(page, links.get_by_role("link", name="Catalog", exact=True), "Enter")
    await _press(page, page.get_by_role("link", name="Deploy Web service"), "Enter")
    await _reach(page, page.get_by_role("textbox", name="Name"))
    await page.keyboard.press("ControlOrMeta+A")
    await page.keyboard.type("keys")
    following = page.get_by_role("button", name="Next", exact=True)
    await _press(page, following, "Enter")
    await _choose(page, page.get_by_role("radio", name="keys-01"))
    await _press(page, following, "Enter")
    await _press(page, page.get_by_role("button", name="Deploy", exact=True), "Enter")
    await page.wait_for_url("**/instances/**")
    await expect(fact(page, "Health")).to_contain_text("Healthy")

    actions = page.get_by_role("button", name="Actions")
    await _press(page, actions, "Enter")
    await expect(page.get_by_role("menuitem", name="Stop")).to_be_focused()
    await page.keyboard.press("Enter")
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_be_visible()
    # What is asked stands in a dialog that holds the focus, and is left by Esc.
    await page.wait_for_function(
        "document.querySelector('[role=dialog]').contains(document.activeElement)"
    )
    await page.keyboard.press("Escape")
    await expect(dialog).to_have_count(0)
    await _press(page, actions, "Enter")
    await expect(page.get_by_role("menuitem", name="Stop")).to_be_focused()
    await page.keyboard.press("Enter")
    await _press(page, dialog.get_by_role("button", name="Stop", exact=True), "Enter")
    await expect(fact(page, "Status")).to_contain_text("Stopped")

    await _press(page, page.get_by_role("tab", selected=True), "ArrowRight")
    await expect(page.get_by_role("tab", name="Members (2)", selected=True)).to_be_visible()


async def _press(page: Page, wanted: Locator, key: str) -> None:
    await _reach(page, wanted)
    await page.keyboard.press(key)


async def _choose(page: Page, radio: Locator) -> None:
    """Tab to the machines, of which other tests hold some too, and go to one by the arrows."""
    await expect(radio).to_be_visible()
    await _reach(page, page.locator("input[type=radio]:enabled").first)
    for _ in range(MOST_MACHINES):
        if await radio.evaluate("one => one === document.activeElement"):
            break
        await page.keyboard.press("ArrowDown")
    await page.keyboard.press("Space")
    await expect(radio).to_be_checked()


async def _reach(page: Page, wanted: Locator) -> None:
    """Tab until it has the focus, as somebody does who has no mouse."""
    await expect(wanted).to_be_visible()
    for _ in range(MOST_TABS):
        if await wanted.evaluate("one => one === document.activeElement"):
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"{wanted} is not reached by {MOST_TABS} tabs")
