"""What is of no project comes by itself too, whichever project one works in: the stream carries it.

The page's clock stands still but for moments, so that nothing it reads now and then is read."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from console_ground import ADMIN, Ground, template_manifest
from playwright.async_api import Page, expect

MOMENT_MS = 300
SETTLED, MOMENTS = 10, 60  # together fewer than lie between two reads of what nobody tells of


async def test_an_operator_sees_what_another_one_makes(visit: Any, site: Ground) -> None:
    async with _standing(visit, ADMIN, "/admin/capacity?tab=regions", "north") as page:
        site.admin.made("/regions", {"name": "far-away", "display_name": "Far away"})
        assert await _comes(page, "far-away")


async def test_a_version_that_is_published_comes_to_the_catalog(visit: Any, site: Ground) -> None:
    made = {"slug": "moving", "display_name": "Moving on", "publisher": "Example"}
    site.admin.made("/apps", made)
    _published(site, "1.0.0")
    for place in (f"/tenants/{site.tenant_id}", f"/projects/{site.project_id}"):
        site.admin.made(f"{place}/entitlements", {"app_slug": "moving"})
    catalog = f"/projects/{site.project_id}/catalog"
    async with _standing(visit, ADMIN, catalog, "Moving on") as page:
        _published(site, "8.7.6")
        assert await _comes(page, "8.7.6")


def _published(site: Ground, version: str) -> None:
    body = {"version": version, "manifest": template_manifest(), "publish": True}
    site.admin.made("/apps/moving/versions", body)


@asynccontextmanager
async def _standing(visit: Any, who: str, address: str, seen: str) -> AsyncIterator[Page]:
    """The page with what it shows at first, its stream open, and its clock stopped for a while."""
    page: Page = await visit(who)
    await page.clock.install()
    async with page.expect_response("**/api/v1/events/stream*"):
        await page.goto(address)
    await expect(page.get_by_text(seen).first).to_be_visible()
    await page.clock.pause_at(await page.evaluate("Date.now() + 1"))
    for _ in range(SETTLED):  # what opening the stream makes it read again
        await _moment(page)
    try:
        yield page
    finally:
        await page.clock.resume()


async def _comes(page: Page, text: str) -> bool:
    for _ in range(MOMENTS):
        if await page.get_by_text(text).count():
            return True
        await _moment(page)
    return False


async def _moment(page: Page) -> None:
    await page.clock.run_for(MOMENT_MS)
    await asyncio.sleep(0.1)
