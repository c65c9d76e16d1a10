"""Partitions: whole and one way, across a reboot, and healed."""

from __future__ import annotations

import asyncio

import pytest

from gpuaas_lab import Lab, LabError
from gpuaas_lab.inside import script


async def test_a_cut_machine_reaches_nobody_and_heals(three: Lab) -> None:
    await three.machine("n1").cut()
    assert not await _hears(three, "n2", "n1", tries=2)
    assert not await _reaches_host(three, "n1", tries=2)
    stranger = Lab(three.settings, three.record)
    with pytest.raises(TimeoutError):
        await stranger.machine("n1").run("true")
    await three.machine("n1").heal()
    assert await _hears(three, "n2", "n1")
    assert await _reaches_host(three, "n1")


async def test_the_link_of_a_cut_machine_stays_up(three: Lab) -> None:
    await three.machine("n1").cut()
    carrier = await script(three.name, "n1", "cat /sys/class/net/host0/carrier")
    await three.machine("n1").heal()
    assert carrier.strip() == "1"


async def test_a_one_way_cut_drops_one_direction_only(three: Lab) -> None:
    await three.machine("n1").cut(to="n2")
    try:
        assert not await _datagram(three, "n1", "n2", tries=3)
        assert await _datagram(three, "n2", "n1")
        assert await _datagram(three, "n1", "n3")
    finally:
        await three.machine("n1").heal(to="n2")
    assert await _datagram(three, "n1", "n2")


async def test_one_way_towards_and_from_the_host(three: Lab) -> None:
    await three.cut("n1", "host")
    assert not await _reaches_host(three, "n1", tries=2)
    assert await _hears(three, "n2", "n1")
    await three.heal("n1", "host")
    await three.cut("host", "n1")
    assert not await _reaches_host(three, "n1", tries=2)
    await three.heal("host", "n1")
    assert await _reaches_host(three, "n1")


async def test_a_cut_outlives_a_power_cycle(three: Lab) -> None:
    machine = three.machine("n3")
    await machine.cut()
    await machine.pull_plug()
    await machine.boot()
    assert not await _hears(three, "n1", "n3", tries=2)
    await machine.heal()
    await three.boot("n3")
    assert await _hears(three, "n1", "n3")


async def test_cutting_twice_and_healing_twice_is_harmless(three: Lab) -> None:
    for _attempt in range(2):
        await three.cut("n1", "n2")
    for _attempt in range(2):
        await three.heal("n1")
    assert three.record.cuts == ()


async def test_the_host_alone_cannot_be_cut(three: Lab) -> None:
    with pytest.raises(LabError, match="cut host --to n1"):
        await three.cut("host")


async def _hears(lab: Lab, listener: str, speaker: str, tries: int = 60) -> bool:
    """Whether a ping from the speaker comes back in time; asked from inside, past the network."""
    command = (
        f"for _ in $(seq {tries}); do ping -c 1 -W 0.4 {listener} >/dev/null 2>&1 && echo yes && "
        "exit; sleep 0.1; done; echo no"
    )
    return (await script(lab.name, speaker, command)).strip() == "yes"


async def _reaches_host(lab: Lab, machine: str, tries: int = 60) -> bool:
    return await _hears(lab, "host", machine, tries)


async def _datagram(lab: Lab, source: str, target: str, tries: int = 60) -> bool:
    """Whether a datagram arrives: one direction, no answer needed."""
    listen = (
        "import pathlib, socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM);"
        "s.bind(('', 9999)); pathlib.Path('/run/listens').touch(); print(s.recv(10).decode())"
    )
    hearing = asyncio.create_task(script(lab.name, target, f'python3 -c "{listen}"'))
    await script(lab.name, target, "until rm /run/listens 2>/dev/null; do sleep 0.05; done")
    for _attempt in range(tries):
        await script(lab.name, source, _send("yes", target))
        if (await asyncio.wait({hearing}, timeout=0.3))[0]:
            break
    else:  # what has not come by now does not come: the listener hears it from beside itself
        await script(lab.name, target, _send("no", "127.0.0.1"))
    return (await hearing).strip() == "yes"


def _send(word: str, target: str) -> str:
    sending = "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto"
    return f"python3 -c \"import socket; {sending}(b'{word}', ('{target}', 9999))\" || true"
