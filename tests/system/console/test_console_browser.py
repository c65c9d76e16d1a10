"""The console in a real browser, on a real platform: sign in, look, lose the platform, sign out.

Needs the built console and a chromium; the set-up brings both. Without them the tests skip with
the reason in one line, and fail where nothing may skip.
"""

import os
import re
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, async_playwright, expect
from served_platform import ServedPlatform, served

CONSOLE = Path(__file__).parents[3] / "console" / "dist"
EMAIL, PASSWORD = "root@example.org", "correct horse battery staple"
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="module")
def platform() -> Iterator[ServedPlatform]:
    if not (CONSOLE / "index.html").exists():
        pytest.skip("the console is not built: make setup")
    with tempfile.TemporaryDirectory(prefix="gpuaas-console-") as folder:
        Path(folder).chmod(0o711)
        password = Path(folder) / "password"
        password.write_text(PASSWORD)
        with served(
            DATA_DIR=folder,
            CONSOLE_DIR=str(CONSOLE),
            BOOTSTRAP_ADMIN_EMAIL=EMAIL,
            BOOTSTRAP_ADMIN_PASSWORD_FILE=str(password),
        ) as running:
            running.await_listening()
            yield running
            running.stop()


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    program = os.environ.get("GPUAAS_BROWSER") or shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: make setup")
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=program, args=list(QUIET))
        yield made
        await made.close()


@pytest.fixture
async def page(browser: Browser, platform: ServedPlatform) -> AsyncIterator[Page]:
    """A page of a browser that was never here, with everything it complains of."""
    context = await browser.new_context(base_url=platform.url.removesuffix("/api/v1"))
    made = await context.new_page()
    complaints: list[str] = []
    made.on("pageerror", lambda error: complaints.append(str(error)))
    made.on(
        "console",
        lambda message: (
            complaints.append(message.text)
            if message.type == "error" and "401" not in message.text
            else None
        ),
    )
    yield made
    await context.close()
    assert complaints == []


async def sign_in(page: Page, password: str) -> None:
    await page.get_by_label("Email").fill(EMAIL)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name=re.compile("^sign in", re.IGNORECASE)).click()


async def test_sign_in_look_and_sign_out(page: Page) -> None:
    await page.goto("/sign-in")
    await sign_in(page, PASSWORD)
    me = page.get_by_role("button", name="root", exact=True)
    await expect(me).to_be_visible()
    await page.goto("/platform")
    await expect(page.get_by_text("database").first).to_be_visible()
    await expect(page.get_by_role("link", name="Connection: Live")).to_be_visible()
    await me.click()
    await page.get_by_role("menuitem", name=re.compile("sign out", re.IGNORECASE)).click()
    await expect(me).to_have_count(0)


async def test_wrong_password_is_said_with_the_correlation_id(page: Page) -> None:
    await page.goto("/sign-in")
    await sign_in(page, "not the password at all")
    await expect(page.get_by_text("sign_in_failed").first).to_be_visible()
    await expect(page.get_by_role("button", name="Copy the correlation id")).to_be_visible()


async def test_nothing_is_fetched_from_elsewhere(page: Page) -> None:
    hosts: set[str] = set()
    page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
    await page.goto("/sign-in")
    await expect(page.get_by_label("Email")).to_be_visible()
    assert len(hosts) == 1
