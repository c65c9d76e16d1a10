"""Machines that break: dead, slow, cut off, without power. Each on its own, and nothing assumed."""

import asyncio
from collections.abc import AsyncIterator

import pytest
from eventually import eventually
from lost_packets import sent_in_vain

from gpuaas_lab import inside
from gpuaas_sdk import Machine, MachineFailure, Machines, MachineUnreachable
from gpuaas_sdk.contract import ErrorFamily
from gpuaas_sdk.machines import CertificateAccess, Patience
from tools.ground import Ground

pytestmark = pytest.mark.system
SHORT = CertificateAccess(patience=Patience(answer=2, silence=4))


@pytest.fixture
async def hasty(ground: Ground) -> AsyncIterator[Machines]:
    """Sessions that give a silent machine up after seconds."""
    async with ground.operator() as client:
        made = Machines(client, SHORT).bound("cor_broken")
        yield made
        await made.close()


async def hostname(machine: Machine) -> str:
    """What a machine calls itself."""
    return (await machine.run("hostname")).stdout.strip()


async def test_one_dead_and_one_slow_machine_hold_up_no_other(
    ground: Ground, hasty: Machines
) -> None:
    good, dead, slow = (ground.allocation(name) for name in ("n1", "n2", "n3"))
    order: list[str] = []

    async def work(machine: Machine) -> str:
        said = await hostname(machine)
        order.append(said)
        if said == "n1":
            await ground.lab.machine("n3").run("pkill -CONT -o sshd")
        return said

    # A slow sshd: it takes connections, and nothing happens on them until another is through.
    await ground.lab.machine("n3").run("pkill -STOP -o sshd")
    await ground.machine(dead).pull_plug()
    try:
        ended = await hasty.each([dead, slow, good], work)
    finally:
        await ground.machine(dead).boot()
    assert ended[good] == "n1"
    assert ended[slow] == "n3"
    assert order == ["n1", "n3"]
    failure = ended[dead]
    assert isinstance(failure, MachineFailure)
    assert isinstance(failure, MachineUnreachable)
    assert failure.family is ErrorFamily.TEMPORARY
    assert await hasty.each([dead], hostname) == {dead: "n2"}


async def test_a_partition_in_the_middle_of_a_script(ground: Ground, hasty: Machines) -> None:
    allocation = ground.allocation("n2")
    machine = await hasty.open(allocation)
    running = asyncio.create_task(machine.run("touch /run/cut; exec sleep 4716", timeout=12))
    await ground.machine(allocation).run("until [ -e /run/cut ]; do sleep 0.05; done; rm /run/cut")
    await ground.machine(allocation).cut()
    try:
        with pytest.raises(MachineUnreachable, match="what it did is not known") as raised:
            await running
        assert raised.value.code == "machine_lost"
        with pytest.raises(MachineUnreachable, match="no answer within 2 s"):
            await hasty.open(allocation)
    finally:
        await ground.machine(allocation).heal()
    again = await hasty.open(allocation)
    # The time limit holds on the machine itself, whoever can reach it.
    await again.run("until ! pgrep -f 'sleep 471[6]'; do sleep 0.2; done", timeout=30)


async def test_a_short_cut_is_waited_out(ground: Ground, machines: Machines) -> None:
    allocation = ground.allocation("n2")
    machine = await machines.open(allocation)
    script = "touch /run/cut; until [ -e /run/go ]; do sleep 0.05; done; rm /run/go; echo through"
    running = asyncio.create_task(machine.run(script))
    there = ground.machine(allocation)
    await there.run("until [ -e /run/cut ]; do sleep 0.05; done; rm /run/cut")
    await there.cut()
    await inside.script(ground.lab.name, there.name, "touch /run/go")

    async def unheard() -> bool:
        return await sent_in_vain(ground.lab.name, there, "sport = :22")

    await eventually(unheard, what="what the script says does not arrive")
    await there.heal()
    assert (await running).stdout == "through\n"


async def test_power_is_lost_in_the_middle_of_a_script(ground: Ground, hasty: Machines) -> None:
    allocation = ground.allocation("n2")
    machine = await hasty.open(allocation)
    running = asyncio.create_task(machine.run("touch /run/off; exec sleep 4717", timeout=300))
    await ground.machine(allocation).run("until [ -e /run/off ]; do sleep 0.05; done")
    await ground.machine(allocation).pull_plug()
    with pytest.raises(MachineUnreachable):
        await running
    await ground.machine(allocation).boot()
    assert await hostname(machine) == "n2"  # the same handle: its connection is made anew


async def test_a_machine_that_was_rebooted_between_two_scripts(
    ground: Ground, hasty: Machines
) -> None:
    allocation = ground.allocation("n2")
    machine = await hasty.open(allocation)
    before = (await machine.run("cat /proc/1/stat | cut -d' ' -f22")).stdout
    await ground.machine(allocation).pull_plug()
    await ground.machine(allocation).boot()
    after = (await machine.run("cat /proc/1/stat | cut -d' ' -f22")).stdout
    assert before != after


async def test_a_bug_in_the_work_is_raised_when_all_have_ended(
    ground: Ground, hasty: Machines
) -> None:
    ended: list[str] = []

    async def work(machine: Machine) -> None:
        name = await hostname(machine)
        if name == "n1":
            raise KeyError(name)
        await machine.run("sleep 0.5")
        ended.append(name)

    with pytest.raises(KeyError):
        await hasty.each(ground.allocations, work)
    assert sorted(ended) == ["n2", "n3"]


async def test_the_platform_away_is_told_as_that(ground: Ground, hasty: Machines) -> None:
    machine = await hasty.open(ground.allocation("n1"))
    await ground.served.kill()
    try:
        assert await hostname(machine) == "n1"  # what is open stays open
        with pytest.raises(MachineUnreachable) as raised:
            await hasty.open(ground.allocation("n3"))
        assert raised.value.code == "platform_unreachable"
    finally:
        await ground.served.start()
