"""The command as people and scripts run it, and labs beside each other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gpuaas_lab import Lab, Settings
from gpuaas_lab.packages import fetch
from tools.suites import suites

Command = Callable[..., Awaitable[Any]]
"""The fixture `gpuaas_lab`: arguments in; status, stdout and stderr out."""
BORN = ("cut", "-d' '", "-f22", "/proc/1/stat")
"""When a machine was started, by the kernel's word."""


async def test_up_adds_machines_and_keeps_those_it_has(
    lab_host: Settings, lab_name: str, gpuaas_lab: Command
) -> None:
    first = await gpuaas_lab("up", "1", "--name", lab_name, "-o", "json")
    assert first.status == 0, first.stderr
    assert [machine["name"] for machine in json.loads(first.stdout)["machines"]] == ["n1"]
    born = await gpuaas_lab("ssh", "n1", "--name", lab_name, "--", *BORN)
    second = await gpuaas_lab("up", "2", "--name", lab_name, "-o", "json")
    assert [machine["power"] for machine in json.loads(second.stdout)["machines"]] == ["on", "on"]
    again = await gpuaas_lab("ssh", "n1", "--name", lab_name, "--", *BORN)
    assert again.stdout == born.stdout
    # The machine that was there has learnt the new one's name.
    ping = await gpuaas_lab("ssh", "n1", "--name", lab_name, "--", "ping -c 1 -w 30 n2")
    assert ping.status == 0, ping
    await gpuaas_lab("pull-plug", "n1", "--name", lab_name)
    journal = await gpuaas_lab("logs", "n1", "--name", lab_name)
    assert "Accepted publickey" in journal.stdout
    third = await gpuaas_lab("up", "2", "--name", lab_name, "-o", "json")
    assert [machine["power"] for machine in json.loads(third.stdout)["machines"]] == ["on", "on"]
    down = await gpuaas_lab("down", "--name", lab_name)
    twice = await gpuaas_lab("down", "--name", lab_name)
    assert (down.stdout, twice.stdout) == (
        f"lab {lab_name} is gone\n",
        f"there was no lab {lab_name}\n",
    )


async def test_errors_are_one_line_with_the_remedy(
    lab_host: Settings, lab_name: str, gpuaas_lab: Command
) -> None:
    spoken = await gpuaas_lab("ssh", "n1", "--name", lab_name)
    assert spoken.status == 1
    assert spoken.stderr == (
        f"gpuaas-lab: there is no lab '{lab_name}' (gpuaas-lab up 2 --name {lab_name})\n"
    )
    spoken = await gpuaas_lab("up", "1", "--name", lab_name, "--suite", "potato")
    assert spoken.status == 3
    assert len(spoken.stderr.splitlines()) == 1


async def test_the_doctor_finds_this_host_able(lab_host: Settings, gpuaas_lab: Command) -> None:
    spoken = await gpuaas_lab("doctor", "-o", "json")
    findings = json.loads(spoken.stdout)
    assert spoken.status == 0
    assert {"root", "systemd-nspawn", "overlay", "bridge"} <= {item["what"] for item in findings}


@pytest.mark.parametrize("suite", suites())
async def test_every_suite_boots(lab_host: Settings, lab_name: str, suite: str) -> None:
    async with Lab.up(lab_name, 1, suite=suite, settings=lab_host) as lab:
        release = await lab.machine("n1").read("/etc/os-release")
    assert f"VERSION_CODENAME={suite}\n" in release


async def test_labs_live_side_by_side(three: Lab, lab_host: Settings, lab_name: str) -> None:
    async with Lab.up(lab_name, 1, settings=lab_host) as other:
        assert other.record.subnet != three.record.subnet
        mine, theirs = await asyncio.gather(
            three.machine("n1").run("cat /etc/machine-id"),
            other.machine("n1").run("cat /etc/machine-id"),
        )
        assert mine.stdout != theirs.stdout
        across = await other.machine("n1").run(
            f"ping -c 1 -W 1 {three.machine('n1').address}", check=False
        )
        assert across.status != 0
    assert three.running() == {"n1", "n2", "n3"}


async def test_labs_come_up_at_the_same_time(lab_host: Settings, lab_name: str) -> None:
    labs = await asyncio.gather(
        *(Lab.start(f"{lab_name}-{n}", 1, settings=lab_host) for n in range(3))
    )
    try:
        assert len({lab.record.subnet for lab in labs}) == 3
    finally:
        await asyncio.gather(*(lab.close() for lab in labs))
        await asyncio.gather(*(Lab.down(lab.name, lab_host) for lab in labs))


async def test_packages_are_fetched_once_and_installed_everywhere(
    three: Lab, lab_host: Settings
) -> None:
    first = await fetch(three.record.suite, ["tree", "jq"], settings=lab_host)
    again = await fetch(three.record.suite, ["jq", "tree"], settings=lab_host)
    assert first == again
    assert {"tree", "jq"} <= {file.name.split("_")[0] for file in first.files}
    await three.install(["n1", "n2"], first)
    for name in ("n1", "n2"):
        found = await three.machine(name).run(
            "dpkg-query -W -f '${Package} ' tree jq; ls /etc/apt/sources.list.d"
        )
        assert found.stdout.strip() == "jq tree"
