"""What an idle node agent costs its machine: memory and processor time, with all that it starts.

A real agent on a lab machine, enrolled by its printed command and held by a project, polling a real
platform over the lab's bridge. Processor time is what the kernel has counted for its unit's
processes, threads and ended children; what is done rarely (a new token every ten minutes, facts
every hour) is measured by itself and spread over its period. Beside it stands an idle Python that
has imported the same standard library. Run it with `python -m bench.agent` or `make bench`.
"""

from __future__ import annotations

import asyncio
import re
import time
from dataclasses import dataclass

from gpuaas_contract.capacity import Allocation, AllocationCreate
from gpuaas_contract.fleet import EnrolmentCreate, EnrolmentCreated, NodeAgent
from gpuaas_lab import Lab, Machine
from tools.ground import REGION, SKU, Ground, ground_up

LIMIT_CPU_PERCENT = 0.1
LIMIT_MIB = 40.0
_SETTLE_SECONDS = 35.0
_WATCH_SECONDS = 120.0
_TOKEN_PERIOD = 540.0
_FACTS_PERIOD = 3600.0
_IMPORTS = "asyncio, csv, ctypes, hashlib, http.client, json, ssl, subprocess, tempfile"


@dataclass(frozen=True)
class Row:
    """One figure."""

    name: str
    value: float
    unit: str
    note: str = ""


async def measure() -> list[Row]:
    """Enrol a machine, let its agent settle, watch it wait."""
    async with Lab.up("bench-agent", 1) as lab, ground_up(lab, hold=0) as ground:
        machine = lab.machine("n1")
        await _enrolled(ground, machine)
        await asyncio.sleep(_SETTLE_SECONDS)
        pid = (await machine.run("systemctl show -p MainPID --value gpuaas-agent")).stdout.strip()
        before, began = await _cpu_seconds(machine, pid), time.monotonic()
        await asyncio.sleep(_WATCH_SECONDS)
        seconds = time.monotonic() - began
        polling = 100 * (await _cpu_seconds(machine, pid) - before) / seconds
        token = (
            100
            * await _cost(machine, "ssh-keygen -Y sign -f /tmp/k -n bench /tmp/text")
            / _TOKEN_PERIOD
        )
        facts = 100 * await _cost(machine, "gpuaas-agent facts --compact") / _FACTS_PERIOD
        return [
            Row("idle agent, memory", await _resident(machine, pid), "MiB", f"limit {LIMIT_MIB:g}"),
            Row("idle agent, CPU", polling + token + facts, "%", f"limit {LIMIT_CPU_PERCENT:g} %"),
            Row("of it, polling", polling, "%", f"over {_WATCH_SECONDS:g} s"),
            Row("of it, a new token", token, "%", f"every {_TOKEN_PERIOD:g} s"),
            Row("of it, facts", facts, "%", f"every {_FACTS_PERIOD:g} s"),
            Row(
                "an idle Python with the same imports",
                await _python(machine),
                "MiB",
                "for comparison",
            ),
        ]


def within(rows: list[Row]) -> bool:
    """Whether the limits are kept."""
    found = {row.name: row.value for row in rows}
    return found["idle agent, memory"] < LIMIT_MIB and found["idle agent, CPU"] < LIMIT_CPU_PERCENT


async def _enrolled(ground: Ground, machine: Machine) -> None:
    node_id = ground.nodes[machine.name]
    wish = EnrolmentCreate(node_id=node_id, platform_url=ground.bridge_url)
    made = await ground.admin.post("/enrolments", wish, EnrolmentCreated)
    await machine.run(made.command)
    body = AllocationCreate(name="n1", sku=SKU, region=REGION, node_id=node_id)
    await ground.admin.post(f"/projects/{ground.project_id}/allocations", body, Allocation)
    while not (await ground.admin.get(f"/nodes/{node_id}/agent", NodeAgent)).access_applied:  # noqa: ASYNC110 - a state of another machine
        await asyncio.sleep(0.1)


async def _cpu_seconds(machine: Machine, pid: str) -> float:
    """Processor time of all threads, and of children that have ended."""
    said = (
        await machine.run(f"cat /proc/{pid}/task/*/schedstat; cut -d' ' -f16,17 /proc/{pid}/stat")
    ).stdout.splitlines()
    threads = sum(int(line.split()[0]) for line in said[:-1]) / 1e9
    return threads + sum(int(ticks) for ticks in said[-1].split()) / 100


async def _resident(machine: Machine, pid: str) -> float:
    status = (await machine.run(f"cat /proc/{pid}/status")).stdout
    found = re.search(r"VmRSS:\s+(\d+) kB", status)
    return int(found[1]) / 1024 if found else float("nan")


async def _cost(machine: Machine, command: str) -> float:
    """Processor seconds of a command, the mean of some."""
    await machine.run(
        "test -e /tmp/k || ssh-keygen -q -t ed25519 -N '' -f /tmp/k; echo x > /tmp/text"
    )
    said = await machine.run(
        f"rm -f /tmp/text.sig; bash -c 'time for i in 1 2 3 4 5; do rm -f /tmp/text.sig;"
        f" {command} >/dev/null 2>&1; done' 2>&1"
    )
    found = re.findall(r"(?:user|sys)\s+(\d+)m([\d.]+)s", said.stdout)
    return sum(60 * int(minutes) + float(seconds) for minutes, seconds in found) / 5


async def _python(machine: Machine) -> float:
    await machine.run(
        "systemd-run --quiet --unit=idle-python python3 -I -c"
        f" 'import {_IMPORTS}, time; time.sleep(600)'"
    )
    await asyncio.sleep(2)
    pid = (await machine.run("systemctl show -p MainPID --value idle-python")).stdout.strip()
    return await _resident(machine, pid)


if __name__ == "__main__":
    for row in asyncio.run(measure()):
        print(f"{row.name:40} {row.value:8.3f} {row.unit:4} {row.note}")
