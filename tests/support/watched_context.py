"""A person's browser window that may not complain: whatever its pages throw, or say on their
console as an error, fails the test, in every tab, to the end.

What its pages showed last is kept: a test that failed for what was not there says what was.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

from playwright.async_api import Browser, BrowserContext, ConsoleMessage, Error, Page, WebError

_MOST = 1500
_PATIENCE_SECONDS = 30
_SHOWN = "() => (document.querySelector('main') ?? document.body).innerText"

LAST_SEEN: list[str] = []
"""Where the pages of the latest windows were when these closed, and what stood there."""


@asynccontextmanager
async def watched(browser: Browser, **options: Any) -> AsyncIterator[BrowserContext]:
    """A context that is watched for the length of a block."""
    context = await browser.new_context(**options)
    complaints: list[str] = []

    def thrown(problem: WebError) -> None:
        complaints.append(str(problem.error))

    def said(message: ConsoleMessage) -> None:
        if _complains(message):
            complaints.append(message.text)

    context.on("weberror", thrown)
    context.on("console", said)
    try:
        yield context
        await _settled(context)
    finally:
        LAST_SEEN[:] = [*LAST_SEEN[-3:], *[await _seen(page) for page in context.pages]]
        await context.close()
    assert complaints == [], "\n".join(["the page complains:", *complaints])


async def _settled(context: BrowserContext) -> None:
    """What pages are about to do they have done, and what they said of it has arrived."""
    for page in context.pages:
        # It goes to another page just now, or a test that failed left its clock stopped.
        with suppress(Error, TimeoutError):
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await page.evaluate("() => new Promise((done) => setTimeout(done))")


async def _seen(page: Page) -> str:
    try:
        async with asyncio.timeout(5):
            shown = await page.evaluate(_SHOWN)
    except (Error, TimeoutError) as error:
        shown = f"nothing can be asked of it: {error}"
    return f"{page.url}: {' | '.join(shown.splitlines())[:_MOST]}"


def _complains(message: ConsoleMessage) -> bool:
    """Chromium tells of every answer that is not a success; those are the page's to deal with."""
    return message.type == "error" and not message.text.startswith("Failed to load resource")
