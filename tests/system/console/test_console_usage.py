"""What an instance cost, on its own page, by machine and by day; and all of its project."""

import re
from typing import Any

from console_ground import MEMBER, Ground
from eventually import eventually
from playwright.async_api import expect


async def test_usage_is_seen_by_machine_and_by_day(visit: Any, site: Ground, picture: Any) -> None:
    site.hold("use-01", sku="h200-8")
    instance = site.deploy("counted", "use-01")
    path = f"/app-instances/{instance['id']}/usage"

    def counted() -> dict[str, Any] | None:
        used: dict[str, Any] = site.admin.get(path)
        return used if used["running_seconds"] else None

    used = await eventually(counted, what="its running time is counted")

    page = await visit(MEMBER)
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url))
    await page.goto(f"/instances/{instance['id']}")
    await expect(page.get_by_role("tab", name="Usage")).to_be_visible()
    assert not [one for one in asked if one.endswith("/usage")], "read when it is wanted"

    await page.get_by_role("tab", name="Usage").click()
    await expect(page.get_by_role("heading", name="By machine")).to_be_visible()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="use-01"))
    await expect(row).to_contain_text("€21.40")
    await expect(row).to_contain_text("Gateway, Server")
    await expect(page.get_by_text("and goes on")).to_be_visible()
    await expect(page.get_by_role("img", name=re.compile("^Cost by day, "))).to_be_visible()
    await page.get_by_role("button", name="By day, in numbers").click()
    days = page.get_by_role("table", name="Usage by day")
    await expect(days.get_by_role("rowheader", name=used["until"][:10])).to_be_visible()
    await picture(page, "usage", until="By machine")

    await page.get_by_role("navigation").get_by_role("link", name="Usage", exact=True).click()
    await page.wait_for_url("**/projects/*/usage")
    record = page.get_by_role("row").filter(has=page.get_by_role("link", name="counted"))
    await expect(record).to_contain_text("Runtime hours")
    await expect(record).to_contain_text("Goes on")
    await expect(page.get_by_role("heading", name="The last 31 days")).to_be_visible()
    await picture(page, "project-usage")
