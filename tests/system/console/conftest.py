"""The site and the browser for the console's tests, made once; and people who visit with a browser.

    async def test_something(visit: Visit) -> None:
        page = await visit(OWNER)

Needs the built console and a chromium; the set-up brings both. Without them the tests skip with
the reason in one line, and fail where nothing may skip.
"""

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from console_ground import CONSOLE, PASSWORD, Ground, ground
from deaf_chromium import deaf_chromium
from playwright.async_api import Browser, Page, StorageState, async_playwright, expect
from watched_context import LAST_SEEN, watched

Visit = Callable[..., Awaitable[Page]]
Picture = Callable[..., Awaitable[None]]
expect.set_options(timeout=45_000)

QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let a test that failed say what its pages showed last."""
    report = yield
    if report.when == "setup":
        LAST_SEEN.clear()
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    if report.when == "teardown" and item.stash.get(_FAILED, False):
        report.user_properties.extend(("last seen", one) for one in LAST_SEEN)
    return report


@pytest.fixture(scope="session")
def site() -> Iterator[Ground]:
    """The platform with the console, people and machines, and the template app at work."""
    if not (CONSOLE / "index.html").exists():
        pytest.skip("the console is not built: make setup")
    # Webhooks of the tests are received here, and given up at once when they are refused.
    receivers = {"WEBHOOK_ALLOWED_NETWORKS": '["127.0.0.0/8"]', "WEBHOOK_ATTEMPTS": "1"}
    # An agent that has nothing to say speaks every 25 seconds: its silence is told soon after.
    silence = {"AGENT_ABSENT_SECONDS": "27"}
    with ground(**receivers, **silence) as made:
        yield made


@pytest.fixture(scope="session")
async def browser(anyio_backend: str) -> AsyncIterator[Browser]:
    """A real chromium, for which the network of the host stands still."""
    program = deaf_chromium()
    if program is None:
        pytest.skip("there is no chromium: make setup")
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield made
        await made.close()


@pytest.fixture(scope="session")
def signed_in() -> dict[str | None, StorageState]:
    """What a browser keeps of those who have signed in: they come back as they left."""
    return {}


@pytest.fixture
async def visit(
    browser: Browser, site: Ground, signed_in: dict[str | None, StorageState]
) -> AsyncIterator[Visit]:
    """Open the console as somebody who was never here; signed in when an email is given, by hand
    the first time.

    What the page complains of fails the test, but for answers it must be able to take.
    """
    async with AsyncExitStack() as windows:

        async def open_(email: str | None = None, *, examined: bool = False) -> Page:
            window = watched(
                browser,
                base_url=site.home,
                storage_state=signed_in.get(email),
                viewport={"width": 1280, "height": 900},
                locale="en-GB",
                bypass_csp=examined,  # what examines a page is a stranger to its policy
                reduced_motion="reduce" if examined else None,  # and judges colours at rest
            )
            context = await windows.enter_async_context(window)
            page = await context.new_page()
            page.set_default_timeout(45_000)
            if email in signed_in:
                await page.goto("/home")
            elif email is not None:
                await sign_in(page, email)
                signed_in[email] = await context.storage_state()
            return page

        yield open_


@pytest.fixture
async def picture() -> Picture:
    """Take a picture of a page, light and dark, where GPUAAS_PICTURES names a folder for them.

    It ends where a window does, or below the panel with the heading `until`.
    """
    folder = os.environ.get("GPUAAS_PICTURES")

    async def take(page: Page, name: str, until: str | None = None, width: int = 1280) -> None:
        if folder is None:
            return
        dismiss = "for (const one of document.querySelectorAll('[aria-label=Dismiss]')) one.click()"
        await page.evaluate(f"() => {{ {dismiss} }}")
        await page.mouse.move(0, 0)
        height = 900 if until is None else await _height(page, until)
        await page.set_viewport_size({"width": width, "height": height})
        for scheme in ("light", "dark"):
            await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            await expect(page.locator("body.awsui-dark-mode")).to_have_count(int(scheme == "dark"))
            path = Path(folder) / f"console-{name}-{scheme}.png"
            await page.screenshot(path=path, animations="disabled")
        await page.emulate_media(color_scheme="light")
        await page.set_viewport_size({"width": 1280, "height": 900})

    return take


async def _height(page: Page, until: str) -> int:
    """How tall a window is in which a page is seen down to the end of a panel."""
    await page.set_viewport_size({"width": 1280, "height": 4000})
    heading = page.get_by_role("heading", name=until, level=2).last
    bottom = "one => one.closest('[class*=awsui_child]').getBoundingClientRect().bottom"
    return int(await heading.evaluate(bottom)) + 20


async def sign_in(page: Page, email: str, password: str = PASSWORD) -> None:
    """Sign in on the sign-in page, as a person does."""
    await page.goto("/sign-in")
    await page.get_by_label("Email").fill(email)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name=re.compile("^sign in", re.IGNORECASE)).click()
    await page.wait_for_url("**/home")
