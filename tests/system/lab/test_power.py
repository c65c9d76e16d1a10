"""Power: the plug can be pulled, the disk stays, a reboot from inside is a reboot."""

from __future__ import annotations

import asyncio

import asyncssh
import pytest
from eventually import eventually

from gpuaas_lab import Lab, MachineOff, cgroups, names


async def test_files_survive_a_pulled_plug(three: Lab) -> None:
    machine = three.machine("n2")
    await machine.run("echo kept > /srv/kept; systemd-run -q --unit=lasting sleep 1000")
    await machine.pull_plug()
    assert three.running() == {"n1", "n3"}
    await machine.boot()
    assert await machine.read("/srv/kept") == "kept\n"
    assert (await machine.run("systemctl is-active lasting", check=False)).status != 0
    # Nothing was shut down: the journal of that boot simply stops.
    stopped = await machine.run("journalctl -q -b -1 -u ssh --grep Stopp", check=False)
    assert stopped.stdout == ""


async def test_powering_off_and_on_again_is_idempotent(three: Lab) -> None:
    machine = three.machine("n2")
    await machine.pull_plug()
    await machine.pull_plug()
    with pytest.raises(MachineOff):
        await machine.fake_gpus(1)
    await machine.boot()
    born = "cut -d' ' -f22 /proc/1/stat"
    before = (await machine.run(born)).stdout
    await machine.boot()
    assert (await machine.run(born)).stdout == before


async def test_a_machine_whose_last_processes_are_still_ending(three: Lab) -> None:
    """The kernel lets go of killed processes late, and not in every tree of groups at once."""
    machine = three.machine("n2")
    await machine.pull_plug()
    group = cgroups.hierarchies()[0] / f"gpuaas-lab-{names.machine_id(three.name, machine.name)}"
    (group / "payload").mkdir(parents=True, exist_ok=True)
    late = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        (group / "payload" / "cgroup.procs").write_text(str(late.pid))
        booting = asyncio.create_task(machine.boot())
        done, _ = await asyncio.wait({booting}, timeout=1)
    finally:
        late.kill()
        await late.wait()
    await booting
    assert not done or cgroups.host_systemd()  # there, units have groups of their own
    assert (await machine.run("true")).status == 0


async def test_a_reboot_from_inside_comes_back(three: Lab) -> None:
    machine = three.machine("n3")
    await machine.run("touch /run/before", check=False)
    await machine.run("systemctl reboot", check=False)
    await _until_rebooted(three)
    assert "n3" in three.running()


async def _until_rebooted(lab: Lab) -> None:
    machine = lab.machine("n3")

    async def rebooted() -> bool:
        await machine.disconnect()
        try:
            return (await machine.run("test -e /run/before", check=False)).status == 1
        except (OSError, asyncssh.Error):
            return False

    await eventually(rebooted, within=200, what="n3 is up again")
