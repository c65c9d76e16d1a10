"""A bare machine becomes a node by the command the console shows, and is read on its page: what its
agent says, who holds it and how its holder gets in, an agent that falls silent, one that is back,
one that is let go. Nothing is said of the machine but what was seen on it."""

import asyncio
import json
import re
import shlex
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncssh
import pytest
from console_ground import ADMIN, MEMBER, OWNER, Ground
from eventually import eventually
from examined_page import examined
from page_facts import fact
from playwright.async_api import Page, expect
from tls_front import tls_front

from gpuaas_lab import Lab, Machine

pytestmark = pytest.mark.system

KIND = {"name": "bare", "display_name": "Bare", "cpus": 2, "memory_mib": 4096}
NODE = "metal-01"
SILENT = "has not been heard since then"
LONG = 90_000
"""Milliseconds within which an agent's silence is seen: it may have spoken just before."""


@dataclass(frozen=True)
class Metal:
    """A machine of nobody, and how it reaches the platform."""

    machine: Machine
    url: str


@pytest.fixture
async def metal(site: Ground, lab_factory: Callable[..., Awaitable[Lab]]) -> AsyncIterator[Metal]:
    """One of the machines agents are tested on; left as bare as it was."""
    lab = await lab_factory("agent", 2)
    machine, address = lab.machine("n2"), lab.host_address
    site.admin.made("/skus", KIND | {"price_per_hour": "0.5"})
    port = urlsplit(site.home).port
    assert port is not None
    async with tls_front(address, port, None) as front:
        yield Metal(machine, f"http://{address}:{front}")
    await machine.fake_gpus(0)
    await machine.run("gpuaas-agent unenroll --offline", check=False)


async def test_a_machine_and_its_agent_are_read_from_first_to_last(
    visit: Any, site: Ground, metal: Metal, tmp_path: Path
) -> None:
    page, machine = await visit(ADMIN), metal.machine
    await machine.run(await _command(page, metal))
    row = page.get_by_role("row", name=NODE)
    await expect(row.get_by_text("Used")).to_be_visible()
    await row.get_by_role("link", name=NODE).click()
    await page.wait_for_url("**/admin/nodes/**")
    place = urlsplit(page.url).path
    await _says_how_it_is(page, machine)
    await _says_what_the_machine_is(page, machine)
    await machine.fake_gpus(2)
    await machine.run("systemctl restart gpuaas-agent")  # it tells when it starts, then every hour
    owner = await visit(OWNER)
    await _hold(owner, site)
    await _sees_what_it_holds(owner, machine)
    await _lets_in(site, place.rsplit("/", 1)[1])
    await expect(fact(page, "Held as").get_by_role("link", name="metal")).to_be_visible()
    await _is_refused(await visit(MEMBER), place)
    await _says_which_gpus_it_has(page, machine)
    assert await examined(await visit(ADMIN, examined=True), [place]) == {}

    await machine.run("systemctl stop gpuaas-agent")
    assert await _entered(owner, tmp_path) == "root n2"  # whom it let in comes in
    await _says_that_it_is_silent(page)
    await expect(fact(owner, "Status")).to_have_text("Active")
    await machine.run("systemctl start gpuaas-agent")
    await owner.get_by_role("button", name="Release").click()
    await owner.get_by_role("dialog").get_by_role("button", name="Release").click()
    await expect(fact(owner, "Status")).to_have_text("Released")
    await expect(page.get_by_text(SILENT)).to_have_count(0)
    await _let_go(page)
    await machine.run("timeout 30 sh -c 'while command -v gpuaas-agent; do sleep 0.1; done'")


async def _command(page: Page, metal: Metal) -> str:
    """Ask for an enrolment by clicks, and take its command as one takes it to a terminal."""
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    await page.get_by_role("navigation").get_by_role("link", name="Capacity").click()
    await page.get_by_role("tab", name="Enrolments").click()
    await page.get_by_role("button", name="Enrol a host").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Name of the node").fill(NODE)
    await _choose(page, "Region", "North")
    await _choose(page, "Kind", "Bare")
    # What calls by way of a proxy is not told by where the call comes from.
    await dialog.get_by_role("textbox", name="Address").fill(str(metal.machine.address))
    await dialog.get_by_role("textbox", name="How the host reaches the platform").fill(metal.url)
    await dialog.get_by_role("button", name="Make the command").click()
    await expect(page.get_by_text(f"Run this on {NODE}, as root")).to_be_visible()
    await expect(page.get_by_role("row", name=NODE).get_by_text("Pending")).to_be_visible()
    await page.get_by_role("button", name="Copy the enrolment command").click()
    await expect(page.get_by_text("Copied")).to_be_visible()
    return str(await page.evaluate("navigator.clipboard.readText()"))


async def _says_how_it_is(page: Page, machine: Machine) -> None:
    """While its agent is at work."""
    await expect(fact(page, "Status")).to_have_text("Ready")
    await expect(fact(page, "Address")).to_contain_text(str(machine.address))
    await expect(fact(page, "Held as")).to_have_text("Nothing: it is free")
    await expect(fact(page, "Status", 1)).to_have_text("Enrolled")
    await expect(fact(page, "Last heard")).to_have_text(re.compile("just now|s ago"))
    await expect(fact(page, "Trusts what it should")).to_have_text("Yes")
    said = json.loads((await machine.run("gpuaas-agent status")).stdout)
    await expect(fact(page, "Version")).to_have_text(said["agent_version"])


async def _says_what_the_machine_is(page: Page, machine: Machine) -> None:
    """The facts beside what the machine itself answers."""
    said = await machine.run(". /etc/os-release; echo $PRETTY_NAME; uname -r; nproc; hostname")
    system, kernel, threads, name = said.stdout.splitlines()
    await expect(fact(page, "System")).to_contain_text(system)
    await expect(fact(page, "System")).to_contain_text(f"Kernel {kernel}")
    await expect(fact(page, "Processor")).to_contain_text(f"{threads} thread")
    await expect(fact(page, "Memory")).to_have_text(re.compile(r"^[\d.]+ [GT]iB"))
    await expect(fact(page, "Runs inside")).to_contain_text("A container: systemd-nspawn")
    await expect(fact(page, "Host name")).to_have_text(re.compile(rf"^{name}(\.|$)"))
    network = page.get_by_role("table", name="Network")
    await expect(network).to_contain_text(f"{machine.address}/")
    await expect(page.get_by_role("table", name="Disks")).to_contain_text(re.compile("[GT]iB"))
    await expect(page.get_by_text("None was found.")).to_be_visible()  # no GPU
    await page.get_by_role("button", name="What runs on it").click()
    ports = page.get_by_role("table", name="Ports that are listened on")
    await expect(ports.get_by_role("row").filter(has_text="sshd").first).to_be_visible()
    await expect(page.get_by_text("What else it says")).to_have_count(0)


async def _hold(page: Page, site: Ground) -> None:
    """Get the machine as the project that pays for it does, by its kind."""
    await page.goto(f"/projects/{site.project_id}/allocations")
    await page.get_by_role("button", name="Get an allocation").first.click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Name").fill("metal")
    await _choose(page, "Kind", "Bare")
    await _choose(page, "Region", "North")
    await dialog.get_by_role("button", name="Get it").click()
    await page.get_by_role("link", name="metal", exact=True).click()
    await page.wait_for_url("**/allocations/alloc_**")


async def _sees_what_it_holds(page: Page, machine: Machine) -> None:
    """A tenant sees what it pays for and how to get in, and no node."""
    await expect(fact(page, "Status")).to_have_text("Active")
    await expect(fact(page, "Held by")).to_have_text("Project Vision, tenant Acme Research")
    await expect(fact(page, "Kind")).to_have_text("Bare: 2 CPUs, 4 GiB")
    await expect(fact(page, "GPUs")).to_have_text("None")
    await expect(fact(page, "Used by")).to_have_text("Nothing: it is free")
    await expect(page.locator("pre", has_text="ssh -o")).to_contain_text(f"USER@{machine.address}")
    await expect(page.locator("pre", has_text=machine.host_key.split()[1])).to_be_visible()


async def _lets_in(site: Ground, node_id: str) -> None:
    """Until its agent has said that its holder may come."""

    def applied() -> bool:
        return bool(site.admin.get(f"/nodes/{node_id}/agent")["access_applied"])

    await eventually(applied, what="the agent has opened it to its holder")


async def _entered(page: Page, home: Path) -> str:
    """Ask for access, keep what comes where the page says, and do what it says."""
    folder, key = home / ".ssh", asyncssh.generate_private_key("ssh-ed25519")
    folder.mkdir(mode=0o700)
    (folder / "key").touch(0o600)
    key.write_private_key(folder / "key")
    await page.get_by_role("button", name="Ask for access").click()
    dialog = page.get_by_role("dialog")
    public = key.export_public_key().decode().strip()
    await dialog.get_by_role("textbox", name="Your public key").fill(public)
    await dialog.get_by_role("radio", name="As whoever runs the machine: root").click()
    await dialog.get_by_role("button", name="Sign", exact=True).click()
    signed = page.get_by_role("group").filter(has_text="The certificate is signed")
    await expect(signed).to_be_visible()
    certificate, known, command = await signed.locator("pre").all_inner_texts()
    name = page.url.rsplit("/", 1)[1]
    (folder / f"{name}-cert.pub").write_text(certificate)
    (folder / f"{name}.known").write_text(known)
    words = shlex.split(command.replace("~/.ssh", str(folder)))
    mine = ("-F", "none", "-i", str(folder / "key"), "-o", "BatchMode=yes")
    process = await asyncio.create_subprocess_exec(
        words[0], *mine, *words[1:], "echo $(id -un) $(hostname)", stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    return said.decode().strip()


async def _is_refused(page: Page, place: str) -> None:
    """Who has no right to the platform's machines learns nothing of one by its address."""
    await page.goto(place)
    await expect(page.get_by_text("permission_denied").first).to_be_visible()
    shown = await page.locator("main").inner_text()
    assert [word for word in (NODE, "Facts", "Let it go") if word in shown] == []


async def _says_that_it_is_silent(page: Page) -> None:
    """Silent is not gone: the node is what it was, and what is known of it is from before."""
    await expect(page.get_by_text(SILENT)).to_be_visible(timeout=LONG)
    await expect(fact(page, "Status", 1)).to_have_text(re.compile("Enrolled.*Agent absent"))
    await expect(fact(page, "Trusts what it should")).to_have_text("Yes, when it was last heard")
    await expect(fact(page, "Status")).to_have_text("Ready")


async def _says_which_gpus_it_has(page: Page, machine: Machine) -> None:
    """Those of the lab, by the name under which they say that they are fake."""
    table = page.get_by_role("table", name="GPUs", exact=True)
    await expect(table.get_by_role("row")).to_have_count(3)
    listed = await machine.run("nvidia-smi --query-gpu=name,uuid --format=csv,noheader")
    for line in listed.stdout.splitlines():
        name, uuid = line.split(", ")
        row = table.get_by_role("row").filter(has_text=uuid)
        await expect(row).to_contain_text(name)
        await expect(row).to_contain_text("80 GiB")


async def _let_go(page: Page) -> None:
    """By its button, until the machine has said that it is clean."""
    await expect(fact(page, "Held as")).to_have_text("Nothing: it is free")
    await page.get_by_role("button", name="Let it go").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox", name="Reason").fill("It goes to the museum")
    await dialog.get_by_role("button", name="Let it go").click()
    await expect(dialog).to_have_count(0)
    await expect(page.get_by_text("Nobody: whoever keeps the host")).to_be_visible()
    await expect(fact(page, "Status")).to_have_text("Cordoned")
    await expect(fact(page, "Reason")).to_have_text("Un-enrolled.")
    await expect(fact(page, "Status", 1)).to_have_text("Left")
    await expect(fact(page, "Trusts what it should", 1)).to_have_text("Not known: it has left")
    await expect(page.get_by_role("button", name="Let it go")).to_have_count(0)


async def _choose(page: Page, label: str, option: str) -> None:
    dialog = page.get_by_role("dialog")
    chosen = dialog.get_by_role("radio", name=option)
    field = dialog.get_by_role("button", name=label)
    await expect(chosen.or_(field).first).to_be_visible()
    if await chosen.count():
        await chosen.click()
        return
    await field.click()
    await page.get_by_role("option", name=option).click()
