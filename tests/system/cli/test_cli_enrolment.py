"""A bare machine joins by the command that `gpuaas node enroll` prints, and is used at once."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from urllib.parse import urlsplit

import pytest
from cli_site import EMAIL, Said, Site, served_site

from gpuaas_lab import Lab, Machine

pytestmark = pytest.mark.system
_PATIENCE = 120.0


@pytest.fixture(scope="module")
async def lab(lab_factory: Callable[..., Awaitable[Lab]]) -> Lab:
    return await lab_factory("cli-enrolment", 1)


@pytest.fixture(scope="module")
async def site(lab: Lab) -> AsyncIterator[Site]:
    """A platform that knows no machine yet, reached over loopback and the machines' bridge."""
    with served_site(GPUAAS_HOST=f"127.0.0.1,{lab.host_address}") as made:
        made.url = f"http://127.0.0.1:{urlsplit(made.url).port}"
        words = ("login", "--url", made.url, "--email", EMAIL, "--password-file", "password")
        said = await typed(made, *words)
        assert said.code == 0, said.err
        me = made.done("whoami")
        made.done("tenant", "create", "--name", "acme", "--admin-user-id", me["id"])
        assert made.gpuaas("context", "set", "--tenant", "acme").code == 0
        made.done("project", "create", "--name", "research")
        assert made.gpuaas("context", "set", "--project", "research").code == 0
        made.done("region", "create", "--name", "north", "--display-name", "North")
        size = ("--cpus", "2", "--memory-mib", "4096", "--price-per-hour", "0.5")
        made.done("sku", "create", "--name", "small", "--display-name", "Small", *size)
        yield made


async def test_a_machine_joins_by_the_printed_command_and_is_logged_in_to(
    site: Site, lab: Lab
) -> None:
    machine = lab.machine("n1")
    await joined(site, lab, machine)
    nodes = site.done("node", "list")
    assert [(one["name"], one["conditions"]) for one in nodes] == [("gpu-7", [])]
    assert site.gpuaas("enrolment", "list", "--field", "status").out == "used\n"

    held = site.done(
        "allocation", "create", "--name", "mine", "--region", "north", "--sku", "small"
    )
    assert held["status"] == "active"
    said = await login(site)
    assert (said.code, said.out) == (0, "n1\n"), said.err


async def joined(site: Site, lab: Lab, machine: Machine) -> None:
    """Invite a host, run on it what was printed, and see the invitation end."""
    bridge = f"http://{lab.host_address}:{urlsplit(site.url).port}"
    words = ("node", "enroll", "gpu-7", "--region", "north", "--sku", "small")
    inviting = site.process("gpuaas", *words, "--platform-url", bridge, "--wait")
    assert inviting.stdout is not None
    command = await asyncio.to_thread(inviting.stdout.readline)
    assert "python3" in command
    await machine.run(command)
    out, err = await asyncio.to_thread(inviting.communicate, timeout=_PATIENCE)
    assert inviting.returncode == 0, err
    assert "gpu-7" in out


async def login(site: Site) -> Said:
    """What the machine says of itself, as soon as its sshd lets the holder in."""
    until = time.monotonic() + _PATIENCE
    while True:
        said = await typed(site, "ssh", "mine", "--", "hostname")
        if said.code == 0 or time.monotonic() > until:
            return said
        await asyncio.sleep(0.5)


async def typed(site: Site, *words: str) -> Said:
    return await asyncio.to_thread(site.gpuaas, *words)
