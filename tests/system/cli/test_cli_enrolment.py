"""Bare machines join by `gpuaas node enroll`, and are used at once: by the command it prints, or by
the same command that it runs over ssh, as root or as somebody who may become root."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cli_site import EMAIL, Said, Site, served_site
from eventually import eventually

from gpuaas_lab import Lab, Machine

pytestmark = pytest.mark.system
_PATIENCE = 120.0


@pytest.fixture(scope="module")
async def lab(lab_factory: Callable[..., Awaitable[Lab]]) -> Lab:
    return await lab_factory("cli-enrolment", 3)


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

    await held_and_entered(site, "mine", machine)


async def test_a_machine_without_sudo_joins_over_ssh_as_root(
    site: Site, lab: Lab, tmp_path: Path
) -> None:
    machine = lab.machine("n2")
    await machine.run("rm /usr/bin/sudo")
    where = f"root@{machine.address} {ssh_options(lab, machine, tmp_path)}"
    said = await typed(site, *inviting(site, lab, "gpu-8"), "--ssh", where, "--wait", "-o", "json")
    assert said.code == 0, said.err
    assert said.json()["name"] == "gpu-8"
    assert "gpe_" not in said.out + said.err  # the token is told to the host alone
    await held_and_entered(site, "second", machine)


async def test_a_machine_joins_over_ssh_by_somebody_who_may_become_root(
    site: Site, lab: Lab, tmp_path: Path
) -> None:
    machine = lab.machine("n3")
    await machine.run(
        "useradd -m -s /bin/bash admin && install -d -m 700 -o admin /home/admin/.ssh"
        " && install -m 600 -o admin /root/.ssh/authorized_keys /home/admin/.ssh/"
        " && echo 'admin ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/admin"
    )
    where = f"admin@{machine.address} {ssh_options(lab, machine, tmp_path)}"
    said = await typed(site, *inviting(site, lab, "gpu-9"), "--ssh", where, "--wait")
    assert said.code == 0, said.err
    assert "gpu-9" in said.out
    await held_and_entered(site, "third", machine)


async def test_a_host_nobody_knows_is_not_entered(site: Site, lab: Lab, tmp_path: Path) -> None:
    machine = lab.machine("n1")
    where = f"root@{machine.address} {ssh_options(lab, None, tmp_path)}"
    said = await typed(site, *inviting(site, lab, "gpu-10"), "--ssh", where)
    assert said.code == 1
    assert "the host has not joined" in said.err
    assert "gpu-10" not in site.gpuaas("node", "list", "--field", "name").out


def ssh_options(lab: Lab, machine: Machine | None, folder: Path) -> str:
    """How ssh enters with the lab's key, trusting the machine's own key and no other."""
    known = folder / "known_hosts"
    known.write_text(f"{machine.address} {machine.host_key}\n" if machine else "")
    given = {"IdentityFile": lab.key, "UserKnownHostsFile": known, "IdentitiesOnly": "yes"}
    more = {"GlobalKnownHostsFile": "none", "BatchMode": "yes"}
    return " ".join(["-F none", *(f"-o {name}={value}" for name, value in (given | more).items())])


def inviting(site: Site, lab: Lab, name: str) -> tuple[str, ...]:
    """The words that invite a host which reaches the platform over the bridge."""
    bridge = f"http://{lab.host_address}:{urlsplit(site.url).port}"
    kind = ("--region", "north", "--sku", "small")
    return ("node", "enroll", name, *kind, "--platform-url", bridge)


async def held_and_entered(site: Site, name: str, machine: Machine) -> None:
    """Hold the machine that is free, and log in to it."""
    kind = ("--region", "north", "--sku", "small")
    held = site.done("allocation", "create", "--name", name, *kind)
    assert held["status"] == "active"
    said = await login(site, name)
    assert (said.code, said.out) == (0, f"{machine.name}\n"), said.err


async def joined(site: Site, lab: Lab, machine: Machine) -> None:
    """Invite a host, run on it what was printed, and see the invitation end."""
    command_line = site.process("gpuaas", *inviting(site, lab, "gpu-7"), "--wait")
    assert command_line.stdout is not None
    command = await asyncio.to_thread(command_line.stdout.readline)
    assert "python3" in command
    await machine.run(command)
    out, err = await asyncio.to_thread(command_line.communicate, timeout=_PATIENCE)
    assert command_line.returncode == 0, err
    assert "gpu-7" in out


async def login(site: Site, name: str) -> Said:
    """What the machine says of itself, as soon as its sshd lets the holder in."""
    said: list[Said] = []

    async def let_in() -> Said | None:
        said.append(await typed(site, "ssh", name, "--", "hostname"))
        return said[-1] if said[-1].code == 0 else None

    return await eventually(let_in, within=_PATIENCE, what=lambda: f"{name}: {said[-1].err}")


async def typed(site: Site, *words: str) -> Said:
    return await asyncio.to_thread(site.gpuaas, *words)
