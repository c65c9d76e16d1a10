"""A page that is pressed keeps still: what comes meanwhile takes no click away."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from console_ground import OWNER, Ground
from page_facts import fact
from playwright.async_api import Locator, Page, Request, Route, expect
from stopped_clock import clock_stopped

TURNS = """async () => {
    for (let turn = 0; turn < 50; turn += 1) {
        const { port1, port2 } = new MessageChannel();
        await new Promise((done) => { port1.onmessage = done; port2.postMessage(null); });
    }
}"""
"""Time enough to draw what has come, without a clock."""


async def test_a_click_is_not_lost_to_what_comes_meanwhile(visit: Any, site: Ground) -> None:
    """An operation that somebody begins just now moves what stands below it: not under a finger."""
    site.hold("press-01", "press-02")
    instance = site.deploy("pressed", "press-01")
    site.silence("press-02")
    page = await visit(OWNER)
    await page.clock.install()
    await page.goto(f"/instances/{instance['id']}")
    await _healthy(page)
    await expect(page.get_by_role("link", name="Connection: Live")).to_be_visible()
    tab = page.get_by_role("tab", name="History")
    path = f"/app-instances/{instance['id']}/operations"
    asked = {"kind": "add_server", "input": {"allocation_ids": [site.allocations["press-02"]]}}
    held = await _held_back(page, path)
    await asyncio.to_thread(site.admin.made, path, asked)
    await held.there.wait()
    under_way = page.get_by_role("heading", name=re.compile("Add servers.*press-02"))
    async with _pressed(page, tab, held):
        await expect(under_way).to_have_count(0)
    await expect(tab).to_have_attribute("aria-selected", "true")
    await expect(under_way).to_be_visible()
    site.wake("press-02")


async def test_a_choice_is_not_lost_to_what_the_platform_foresees(visit: Any, site: Ground) -> None:
    """What will happen is told while more is chosen: the rows do not move under a finger."""
    site.hold("press-03", "press-04", "press-05")
    instance = site.deploy("foreseen", "press-03")
    page = await visit(OWNER)
    await page.clock.install()
    await page.goto(f"/instances/{instance['id']}")
    await _healthy(page)
    await page.get_by_role("button", name="Add servers").click()
    dialog = page.get_by_role("dialog")
    first, second = (dialog.get_by_role("checkbox", name=f"press-0{n}") for n in (4, 5))
    held = await _held_back(page, "/operations/preview")
    await first.click()
    await held.there.wait()
    foreseen = dialog.get_by_text("The topology changes from")
    async with _pressed(page, second, held):
        await expect(foreseen).to_have_count(0)
    await expect(second).to_be_checked()
    await expect(first).to_be_checked()
    # What will happen stands below what was chosen, beside the button that does it.
    await expect(foreseen).to_be_visible()
    said = await dialog.get_by_text("What will happen").bounding_box()
    row = await second.bounding_box()
    assert said is not None
    assert row is not None
    assert said["y"] > row["y"]


@dataclass
class _Held:
    """An answer that the page waits for."""

    path: str
    there: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)


async def _held_back(page: Page, path: str) -> _Held:
    """Hold back what the platform answers there, until it is let go on."""
    held = _Held(path)

    async def hold(route: Route) -> None:
        answer = await route.fetch()
        held.there.set()
        await held.go.wait()
        await route.fulfill(response=answer)

    await page.route(lambda url: urlsplit(url).path.endswith(path), hold)
    return held


@asynccontextmanager
async def _pressed(page: Page, one: Locator, held: _Held) -> AsyncIterator[None]:
    """A press that begins before the answer comes, and ends with the block.

    The clock stands still meanwhile: a press is waited for a second and no longer.
    """

    def answered(request: Request) -> bool:
        return urlsplit(request.url).path.endswith(held.path)

    await one.hover()
    async with clock_stopped(page):
        await page.mouse.down()
        async with page.expect_event("requestfinished", answered):
            held.go.set()
        await page.evaluate(TURNS)
        yield
        await page.mouse.up()


async def _healthy(page: Page) -> None:
    await expect(fact(page, "Health")).to_contain_text("Healthy")
    await expect(fact(page, "Status")).to_contain_text("Running")
