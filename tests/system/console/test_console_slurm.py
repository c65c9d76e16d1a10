"""The target workflow by clicks on real machines with a real Slurm: one machine first, then three
workers, one of whose bootstraps fails and is recovered by its buttons; one is replaced, all of it
is started anew; then nothing is left."""

import re
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from console_ground import CONSOLE
from page_facts import fact
from playwright.async_api import Browser, Page, expect
from watched_context import LAST_SEEN, watched

from gpuaas_lab import Lab
from tools.ground import ADMINISTRATOR, Ground, ground_up
from tools.slurm_crew import as_person
from tools.slurm_site import bundles_publish, slurm_up
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(900),
    pytest.mark.rotates("the whole workflow by each interface"),
]

SUITE = suites()[0]
LONG = 300_000
"""Milliseconds a real cluster may take for what is waited for."""


@dataclass(frozen=True)
class Real:
    """Machines, the platform on them, and a person in front of it."""

    ground: Ground
    page: Page


@pytest.fixture
async def real(
    lab_factory: Callable[..., Awaitable[Lab]], browser: Browser, tmp_path: Path
) -> AsyncIterator[Real]:
    if not (CONSOLE / "index.html").exists():
        pytest.skip("the console is not built: make setup")
    console = tmp_path / "console"
    shutil.copytree(CONSOLE, console)
    lab = await lab_factory("console", 5, SUITE)
    settings = {"GPUAAS_CONSOLE_DIR": str(console)}
    options = ("--observe-seconds", "2", "--lease-seconds", "10")
    async with ground_up(lab, settings=settings) as ground:
        await bundles_publish(ground, SUITE)
        async with slurm_up(ground, options=options) as site:
            home = ground.url.removesuffix("/api/v1")
            size = {"width": 1280, "height": 900}
            async with watched(browser, base_url=home, viewport=size, locale="en-GB") as context:
                page = await context.new_page()
                page.set_default_timeout(60_000)
                await _sign_in(page, ground.password)
                yield Real(ground, page)
            LAST_SEEN.append(f"the controller: {site.log[-1500:]}")


async def test_a_real_cluster_by_clicks(real: Real, picture: Any) -> None:
    page, lab = real.page, real.ground.lab
    await _deploy(page, picture)
    assert "n1" in (await lab.machine("n1").run(as_person("srun hostname"))).stdout

    # One of the three cannot unpack: the two others come all the same.
    await lab.machine("n4").run("chmod 000 /usr/bin/dpkg-deb")
    await page.get_by_role("button", name="Add workers").click()
    dialog = page.get_by_role("dialog")
    for name in ("n2", "n3", "n4"):
        await dialog.get_by_role("checkbox", name=name).click()
        await expect(dialog.get_by_role("checkbox", name=name)).to_be_checked()
    await expect(dialog.get_by_text("The topology changes from")).to_be_visible()
    await dialog.get_by_role("button", name="Add workers").click()
    await page.get_by_role("tab", name=re.compile("Members")).click()
    for name in ("n2", "n3"):
        row = page.get_by_role("row", name=re.compile(rf"\b{name}\b"))
        await expect(row.get_by_text("Ready").first).to_be_visible(timeout=LONG)
    await page.get_by_role("tab", name="History").click()
    failed = page.get_by_role("row", name=re.compile("Failed"))
    await expect(failed.first).to_be_visible(timeout=LONG)
    await failed.first.get_by_role("link").first.click()
    await page.wait_for_url("**/operations/**")
    # The address is there before its page; the instance's page says what failed, too.
    await expect(fact(page, "Instance")).to_be_visible()
    await _said_why(page)
    await picture(page, "real-failure", until="Steps")

    await lab.machine("n4").run("chmod 755 /usr/bin/dpkg-deb")
    await page.get_by_role("button", name="Retry", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Retry", exact=True).click()
    await expect(page.get_by_text("Succeeded").first).to_be_visible(timeout=LONG)
    await fact(page, "Instance").get_by_role("link").click()
    await _healthy(page)
    ran = await lab.machine("n1").run(as_person("srun --nodes=3 --exclude=n1 hostname || sinfo"))
    assert {"n2", "n3", "n4"} <= set(ran.stdout.split())
    await picture(page, "real-instance", until="Daemons")

    await _replace(page, "n3", "n5")
    await _restart(page)
    ran = await lab.machine("n1").run(as_person("srun --nodes=3 --exclude=n1 hostname || sinfo"))
    assert {"n2", "n4", "n5"} <= set(ran.stdout.split())

    await page.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name="Decommission").click()
    await page.get_by_role("dialog").get_by_role("textbox").last.fill("cluster")
    await page.get_by_role("dialog").get_by_role("button", name="Decommission", exact=True).click()
    await expect(fact(page, "Status")).to_contain_text("Deleted", timeout=LONG)
    for machine in lab.machines:
        assert (await machine.run("command -v slurmd slurmctld", check=False)).status


async def _deploy(page: Page, picture: Any) -> None:
    """From the catalog to a cluster of one machine that is well."""
    await page.get_by_role("navigation").get_by_role("link", name="Catalog", exact=True).click()
    await page.get_by_role("link", name="Deploy Slurm").click()
    await page.get_by_role("textbox", name="Name").fill("cluster")
    await page.get_by_role("button", name="Next", exact=True).click()
    await page.get_by_role("radio", name="n1").click()
    # A worker goes when the jobs it ran are forgotten: that is not waited for here.
    await page.get_by_role("button", name="Settings").click()
    await page.get_by_role("spinbutton", name="Remember finished jobs").fill("2")
    await page.get_by_role("button", name="Next", exact=True).click()
    await page.get_by_role("button", name="Deploy", exact=True).click()
    await page.wait_for_url("**/instances/**")
    await expect(page.get_by_role("heading", name="Deploy", level=2)).to_be_visible()
    await picture(page, "real-progress", until="Deploy")
    await _healthy(page)


async def _said_why(page: Page) -> None:
    """A sentence names the machine; what the failing command said stands below it, as its lines."""
    await expect(page.get_by_text("It failed")).to_be_visible()
    said = page.get_by_text("install ended with 100 on the machine of n4.", exact=True)
    await expect(said).to_be_visible()
    lines = page.locator("pre", has_text="not found in PATH or not executable")
    await expect(lines).to_be_visible()


async def _replace(page: Page, old: str, new: str) -> None:
    """The new one is there before the old one goes."""
    await page.get_by_role("tab", name=re.compile("Members")).click()
    await page.get_by_role("checkbox", name=f"Worker on {old}").click()
    await page.get_by_role("button", name="Replace", exact=True).click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("radio", name=new).click()
    await expect(dialog.get_by_text("The new machine takes jobs first")).to_be_visible()
    await dialog.get_by_role("button", name="Replace a worker").click()
    row = page.get_by_role("row", name=re.compile(rf"\b{new}\b"))
    await expect(row.get_by_text("Ready").first).to_be_visible(timeout=LONG)
    gone = page.get_by_role("checkbox", name=f"Worker on {old}")
    await expect(gone).to_have_count(0, timeout=LONG)


async def _restart(page: Page) -> None:
    await page.get_by_role("button", name="Actions").click()
    await page.get_by_role("menuitem", name="Restart", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Restart", exact=True).click()
    await page.get_by_role("tab", name="History").click()
    done = page.get_by_role("row", name=re.compile("Restart.*Succeeded"))
    await expect(done).to_be_visible(timeout=LONG)
    await _healthy(page)


async def _sign_in(page: Page, password: str) -> None:
    await page.goto("/sign-in")
    await page.get_by_label("Email").fill(ADMINISTRATOR)
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await page.wait_for_url("**/home")


async def _healthy(page: Page) -> None:
    await expect(fact(page, "Status")).to_contain_text("Running", timeout=LONG)
    await expect(fact(page, "Health")).to_contain_text("Healthy", timeout=LONG)
