"""The settings of an instance that runs are changed in a form drawn from its manifest; what was
typed stays when somebody else was faster."""

from typing import Any

from console_ground import MEMBER, OWNER, Ground
from playwright.async_api import expect


async def test_settings_are_changed_and_nothing_typed_is_lost_to_a_faster_person(
    visit: Any, site: Ground
) -> None:
    site.hold("set-01")
    instance = site.deploy("settled", "set-01")
    page = await visit(OWNER)
    await page.goto(f"/instances/{instance['id']}?tab=settings")
    await page.get_by_role("button", name="Change settings").click()
    dialog = page.get_by_role("dialog")
    # Where it runs is no setting.
    await expect(dialog.get_by_text("Service account of the controller")).to_be_visible()
    await expect(dialog.get_by_text("Gateway machine")).to_have_count(0)
    await expect(dialog.get_by_text("Where the servers run")).to_have_count(0)
    await dialog.get_by_text("Settings", exact=True).click()
    port = dialog.get_by_role("spinbutton", name="Port")
    await port.fill("80")
    await expect(dialog.get_by_text("Port must be 1024 or more.")).to_be_visible()
    await port.fill("8080")
    await dialog.get_by_role("textbox", name="Greeting").fill("Good evening")

    changed = dict(instance["settings"]) | {"settings": {"port": 9090, "greeting": "Moin"}}
    path = f"/app-instances/{instance['id']}"
    assert site.admin.send("PATCH", path, {"settings": changed}).status_code == 200
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog.get_by_text("They changed Port, Greeting.")).to_be_visible()
    await expect(port).to_have_value("9090")
    await expect(dialog.get_by_role("textbox", name="Greeting")).to_have_value("Good evening")
    await dialog.get_by_role("button", name="Save").click()
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_text("Good evening")).to_be_visible()
    now = site.admin.get(path)["settings"]
    assert now["settings"] == {"port": 9090, "greeting": "Good evening", "request_log": True}
    assert now["gateway_allocation_id"] == site.allocations["set-01"]


async def test_who_may_not_change_settings_is_not_offered_it(visit: Any, site: Ground) -> None:
    site.hold("set-02")
    instance = site.deploy("looked-at", "set-02")
    page = await visit(MEMBER)
    await page.goto(f"/instances/{instance['id']}?tab=settings")
    await expect(page.get_by_text("Greeting")).to_be_visible()
    await expect(page.get_by_role("button", name="Change settings")).to_have_count(0)
