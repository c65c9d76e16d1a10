"""What every other browser test rests on: a page's complaint fails its test, and the host's
network, which changes whenever a lab comes or goes, takes no request away from the browser."""

import asyncio
import os
from typing import Any

import pytest
from console_ground import OWNER, Ground
from playwright.async_api import Browser, Request, expect
from watched_context import watched

COMPLAINTS = {
    "says": "console.error('planted')",
    "throws": "setTimeout(() => { throw new Error('planted') })",
    "refuses": "void Promise.reject(new Error('planted'))",
    "breaks-its-policy": "document.body.append(Object.assign("
    "document.createElement('script'), { textContent: 'planted()' }))",
}
BRIDGE = "gpuaas-steady"
ADDRESS = "192.0.2.1/32"
"""For documentation: nothing is sent there."""
CHANGES = 3


@pytest.mark.parametrize("complaint", COMPLAINTS.values(), ids=COMPLAINTS)
async def test_a_complaint_is_heard_even_from_another_tab_at_the_very_end(
    browser: Browser, site: Ground, complaint: str
) -> None:
    with pytest.raises(AssertionError, match=r"planted|Content Security Policy"):
        await _complain(browser, site.home, complaint)


async def test_requests_go_on_while_networks_of_the_host_come_and_go(visit: Any) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root makes bridges")
    page = await visit(OWNER)
    await expect(page.get_by_role("link", name="Connection: Live")).to_be_visible()
    lost: list[str] = []

    def failed(request: Request) -> None:
        if "ERR_ABORTED" not in (request.failure or ""):  # the page's own doing
            lost.append(f"{request.url}: {request.failure}")

    page.on("requestfailed", failed)
    for _ in range(CHANGES):
        await _ip("link", "add", BRIDGE, "type", "bridge")
        try:
            await _ip("addr", "add", ADDRESS, "dev", BRIDGE)
            await _ip("link", "set", BRIDGE, "up")
            await page.goto("/account")
            await expect(page.get_by_role("heading", level=1)).to_be_visible()
        finally:
            await _ip("link", "delete", BRIDGE)
    # The stream of events was open all the time, and pages were fetched.
    assert lost == []


async def _complain(browser: Browser, home: str, complaint: str) -> None:
    async with watched(browser, base_url=home) as context:
        await context.new_page()
        other = await context.new_page()
        await other.goto("/sign-in")
        await other.evaluate(complaint)


async def _ip(*arguments: str) -> None:
    process = await asyncio.create_subprocess_exec("ip", *arguments)
    assert await process.wait() == 0, arguments
