"""What an idle platform costs: processor time and memory of the process, and of its database.

A real `gpuaas-platform serve` with its embedded PostgreSQL, everything on that is on by default,
and nobody asking anything. The database's processes are measured beside it and told apart. Run it
with `python -m bench.idle`, or through `make bench`.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2

LIMIT_CPU_PERCENT = 1.0
LIMIT_MIB = 200.0
_SETTLE_SECONDS = 5.0
_WATCH_SECONDS = 20.0


@dataclass(frozen=True)
class Row:
    """One figure."""

    name: str
    value: float
    unit: str
    note: str = ""


async def measure() -> list[Row]:
    """Start a platform, let it settle, watch it do nothing."""
    async with _platform() as pid:
        await asyncio.sleep(_SETTLE_SECONDS)
        database = _descendants(pid)
        before = _cpu_seconds([pid]), _cpu_seconds(database), _wakeups(pid)
        began = time.monotonic()
        await asyncio.sleep(_WATCH_SECONDS)
        seconds = time.monotonic() - began
        own = 100 * (_cpu_seconds([pid]) - before[0]) / seconds
        theirs = 100 * (_cpu_seconds(database) - before[1]) / seconds
        wakeups = (_wakeups(pid) - before[2]) / seconds
        note = f"over {_WATCH_SECONDS:g} s"
        return [
            Row("idle platform, CPU", own, "%", f"{note}, limit {LIMIT_CPU_PERCENT:g} %"),
            Row("idle platform, memory", _memory([pid], "Rss"), "MiB", f"limit {LIMIT_MIB:g} MiB"),
            Row("idle platform, wake-ups", wakeups, "1/s", note),
            Row("its database, CPU", theirs, "%", f"{len(database)} processes, {note}"),
            Row("its database, memory", _memory(database, "Pss"), "MiB", "shared pages once"),
        ]


@asynccontextmanager
async def _platform() -> AsyncIterator[int]:
    """A platform process that is ready."""
    with _folder() as folder:
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GPUAAS_")}
        settings = {"GPUAAS_PORT": "0", "GPUAAS_DATA_DIR": str(folder / "data")}
        program = str(Path(sys.executable).with_name("gpuaas-platform"))
        process = await asyncio.create_subprocess_exec(
            program,
            "serve",
            env=clean | settings,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        try:
            await _ready(await _listening(process))
            yield process.pid
        finally:
            process.terminate()
            await process.communicate()


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # the database runs as a user of its own
        yield folder


async def _listening(process: asyncio.subprocess.Process) -> str:
    if process.stdout is None:
        raise RuntimeError("the platform has no output")
    async for line in process.stdout:
        if b" on http://" in line:
            return line.decode().rsplit(" ", 1)[1].strip()
    raise RuntimeError("the platform did not start")


async def _ready(url: str) -> None:
    async with httpx2.AsyncClient(base_url=url, timeout=5) as client:
        for _ in range(200):
            try:
                if (await client.get("/api/v1/health/ready")).status_code == 200:
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.1)
    raise RuntimeError("the platform is not ready")


def _descendants(pid: int) -> list[int]:
    """Every process below this one: the database's."""
    below: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(")", 1)[1].split()[1])
        except OSError:
            continue  # it has ended
        below.setdefault(parent, []).append(int(folder.name))
    found, next_ones = [], below.get(pid, [])
    while next_ones:
        found += next_ones
        next_ones = [child for one in next_ones for child in below.get(one, [])]
    return found


def _cpu_seconds(pids: list[int]) -> float:
    """Time on a processor, to the nanosecond, over all threads."""
    total = 0
    for pid in pids:
        for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
            total += int(task.read_text().split()[0])
    return total / 1e9


def _wakeups(pid: int) -> int:
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/status"):
        for line in task.read_text().splitlines():
            if line.startswith("voluntary_ctxt_switches"):
                total += int(line.split()[1])
    return total


def _memory(pids: list[int], what: str) -> float:
    """Resident memory in MiB; `Pss` counts a page shared by n processes as a part of each."""
    total = 0
    for pid in pids:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(f"{what}:"):
                total += int(line.split()[1])
    return total / 1024


def main() -> None:
    """Measure and show."""
    for row in asyncio.run(measure()):
        print(f"{row.name:32} {row.value:10.2f} {row.unit:4} {row.note}")


if __name__ == "__main__":
    main()
