"""What is of no project comes by itself too, whichever project one works in: the stream carries it.

The page's clock stands still but for moments, so that nothing it reads now and then is read."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

from console_ground import ADMIN, Ground, template_manifest
from eventually import eventually
from playwright.async_api import Page, Request, Response, expect
from stopped_clock import clock_stopped

MOMENT_MS, MOMENTS = 5, 1000
"""Twice that is less than lies between two reads of what nobody tells of."""


async def test_an_operator_sees_what_another_one_makes(visit: Any, site: Ground) -> None:
    async with _standing(visit, ADMIN, "/admin/capacity?tab=regions", "north", "/regions") as page:
        site.admin.made("/regions", {"name": "far-away", "display_name": "Far away"})
        await _comes(page, "far-away")


async def test_a_version_that_is_published_comes_to_the_catalog(visit: Any, site: Ground) -> None:
    made = {"slug": "moving", "display_name": "Moving on", "publisher": "Example"}
    site.admin.made("/apps", made)
    _published(site, "1.0.0")
    for place in (f"/tenants/{site.tenant_id}", f"/projects/{site.project_id}"):
        site.admin.made(f"{place}/entitlements", {"app_slug": "moving"})
    catalog = f"/projects/{site.project_id}/catalog"
    async with _standing(visit, ADMIN, catalog, "Moving on", "/apps") as page:
        _published(site, "8.7.6")
        await _comes(page, "8.7.6")


def _published(site: Ground, version: str) -> None:
    body = {"version": version, "manifest": template_manifest(), "publish": True}
    site.admin.made("/apps/moving/versions", body)


@asynccontextmanager
async def _standing(
    visit: Any, who: str, address: str, seen: str, read: str
) -> AsyncIterator[Page]:
    """The page with what it shows at first, its stream open, and its clock stopped for a while."""
    page: Page = await visit(who)
    await page.clock.install()
    opened, anew = [], []

    def answered(response: Response) -> None:
        if "/events/stream" in response.url:
            opened.append(response)

    def ended(request: Request) -> None:
        if opened and urlsplit(request.url).path.endswith(read):
            anew.append(request)

    page.on("response", answered)
    page.on("requestfinished", ended)
    await page.goto(address)
    await expect(page.get_by_text(seen).first).to_be_visible()
    async with clock_stopped(page):
        await _until(page, lambda: _is(anew), "what opening the stream makes it read again")
        yield page


async def _comes(page: Page, text: str) -> None:
    await _until(page, page.get_by_text(text).count, text)


async def _is(found: list[Any]) -> bool:
    return bool(found)


async def _until(page: Page, holds: Callable[[], Awaitable[Any]], what: str) -> None:
    """Until it holds; the page's clock goes on by moments, as far as they last."""
    left = MOMENTS

    async def moment() -> bool:
        nonlocal left
        if left > 0:
            left -= 1
            await page.clock.run_for(MOMENT_MS)
        return bool(await holds())

    await eventually(moment, what=what)
