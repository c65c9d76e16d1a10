"""The clock of a page stands still for the length of a block, but for what `page.clock` does.

The page has had its clock since `await page.clock.install()`, before it was opened.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Page

_AHEAD_SECONDS = 5
"""A clock stops at a time to come. What is due until then happens before."""


@asynccontextmanager
async def clock_stopped(page: Page) -> AsyncIterator[None]:
    """Stop the clock, and let it go on."""
    now_ms = await page.evaluate("Date.now()")
    await page.clock.pause_at(now_ms / 1000 + _AHEAD_SECONDS)
    try:
        yield
    finally:
        await page.clock.resume()
