"""Machines that have packages from the start are as those on which somebody installed them."""

from __future__ import annotations

import pytest

from gpuaas_lab import Lab, Settings, packages, sources

pytestmark = [pytest.mark.system, pytest.mark.timeout(300)]

DAEMON = "cron"
KNOWN = f"dpkg --audit; dpkg-query -W -f '${{Status}}' {DAEMON}"
FOUND = f"systemctl is-active {DAEMON}; systemctl is-enabled {DAEMON}; ls -d /etc/gpuaas-lab-asleep"


async def test_a_daemon_is_installed_enabled_and_not_started_before_the_next_boot(
    lab_host: Settings, lab_prefix: str
) -> None:
    suite = sources.default_suite(sources.host_release())
    wanted = await packages.fetch(suite, [DAEMON], settings=lab_host)
    name = f"{lab_prefix}-layered"
    async with Lab.up(name, 2, suite=suite, packages=wanted, settings=lab_host) as lab:
        one, other = lab.machines
        for machine in (one, other):
            assert (await machine.run(KNOWN)).stdout == "install ok installed"
            assert (await machine.run(FOUND, check=False)).stdout == "inactive\nenabled\n"
        await one.run(f"rm /usr/sbin/{DAEMON}")
        await other.pull_plug()
        await other.boot()
        # What one machine did to its disk is no other's, and what was enabled is started now.
        assert (await other.run(FOUND, check=False)).stdout == "active\nenabled\n"
        layer = lab.layer
    async with Lab.up(name, 1, suite=suite, packages=wanted, settings=lab_host) as lab:
        assert lab.layer == layer
        await lab.machine("n1").run(f"test -x /usr/sbin/{DAEMON}")
