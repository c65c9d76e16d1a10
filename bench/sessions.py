"""Grant, open, first command on 16 machines at once, beside raw asyncssh with ready certificates.

Real lab machines and a real platform. Ours: nothing is open; `Machines.each` asks for certificates,
connects with pinned host keys and runs a script on every machine. Raw: `asyncssh.connect` and `run`
of the same script on all at once, with certificates asked for beforehand. Alternating rounds, the
middle one counts. *Again*: a script on all of them over what is open; ours also has a time limit
that holds on the machine, and leaves a line in its journal. Run it with `python -m bench sessions`.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import asyncssh

from gpuaas_lab import Lab
from gpuaas_sdk import Client, Machine, MachineFailure, Machines
from gpuaas_sdk.machines import About, CertificateAccess
from gpuaas_sdk.machines.ssh_wire import Pass
from tools.ground import ground_up

T = TypeVar("T")
MACHINES = 16
ROUNDS = 7
LIMIT = 1.3
SCRIPT = "hostname"


@dataclass(frozen=True)
class Row:
    """One way, on all machines at once."""

    name: str
    seconds: float
    best: float
    ratio: float
    note: str


@dataclass
class _Seconds:
    """What each way took, round by round."""

    raw: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    raw_again: list[float] = field(default_factory=list)
    ours_again: list[float] = field(default_factory=list)


async def measure() -> list[Row]:
    """Boot, hold, and measure both ways."""
    took = _Seconds()
    async with (
        Lab.up("bench-sessions", MACHINES) as lab,
        ground_up(lab) as ground,
        ground.operator() as client,
    ):
        await _round(client, ground.allocations, _Seconds())  # for warming up
        for _ in range(ROUNDS):
            await _round(client, ground.allocations, took)
    return [
        _row("raw asyncssh", took.raw, took.raw, "ready certificates"),
        _row("Machines.each", took.ours, took.raw, f"grant, open, first script; limit {LIMIT}"),
        _row("raw asyncssh again", took.raw_again, took.raw_again, "over what is open"),
        _row("Machines.each again", took.ours_again, took.raw_again, "over what is open"),
    ]


def within(rows: Sequence[Row]) -> bool:
    """Whether being let in costs as little as it must."""
    return rows[1].ratio <= LIMIT


async def _round(client: Client, allocations: Sequence[str], took: _Seconds) -> None:
    passes = await asyncio.gather(*(_pass(client, one) for one in allocations))
    connections: list[asyncssh.SSHClientConnection] = []

    async def raw(given: Pass) -> None:
        connections.append(await _connected(given))
        await connections[-1].run(SCRIPT, check=True)

    took.raw.append((await _timed(lambda: asyncio.gather(*map(raw, passes))))[0])
    again = [connection.run(SCRIPT, check=True) for connection in connections]
    took.raw_again.append((await _timed(lambda: asyncio.gather(*again)))[0])
    for connection in connections:
        connection.abort()
    machines = Machines(client)
    seconds, ended = await _timed(lambda: machines.each(allocations, _script))
    took.ours.append(seconds)
    failed = [one for one in ended.values() if isinstance(one, MachineFailure)]
    if failed:
        raise RuntimeError(f"{len(failed)} machines failed: {failed[0]}")
    took.ours_again.append((await _timed(lambda: machines.each(allocations, _script)))[0])
    await machines.close()


async def _pass(client: Client, allocation_id: str) -> Pass:
    return await CertificateAccess().desk(client).ask(allocation_id, About())


async def _connected(given: Pass) -> asyncssh.SSHClientConnection:
    assert given.certificate is not None  # noqa: S101 - the door gives one
    return await asyncssh.connect(
        given.address,
        config=None,
        username=given.username,
        client_keys=[(given.key, given.certificate)],
        known_hosts=([asyncssh.import_public_key(line) for line in given.host_keys], [], []),
        agent_path=None,
    )


async def _script(machine: Machine) -> str:
    return (await machine.run(SCRIPT)).stdout


async def _timed(work: Callable[[], Awaitable[T]]) -> tuple[float, T]:
    began = time.perf_counter()
    result = await work()
    return time.perf_counter() - began, result


def _row(name: str, took: list[float], beside: list[float], note: str) -> Row:
    middle = statistics.median(took)
    return Row(name, middle, min(took), middle / statistics.median(beside), note)
