"""How fast the lab brings machines to their first SSH, beside the bare systemd-nspawn commands.

Both sides use the same image in the same run, one after the other, several times; the middle run
counts. The bare side is what a person would type: overlays, network files, systemd-nspawn in the
background, and ssh until it answers. The lab's side is the command `gpuaas-lab up`, its own start
included. Run it with `python -m bench.lab`, or through `make bench`.
"""

from __future__ import annotations

import asyncio
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import Settings, nspawn, process, seed, sources, status, teardown
from gpuaas_lab.image import image_ensure

LAB = "bench-lab"
LIMIT_RATIO = 2.0
LIMIT_MIB = 1536
_PATIENCE = 120

# $1: image. $2: folder. $3: how many. $4: bridge. $5: the first three numbers of the subnet.
_BARE = r"""
set -e
cd "$2"
ip link add "$4" type bridge
ip addr add "$5.1/24" dev "$4"
ip link set "$4" up
for i in $(seq "$3"); do
  mkdir -p "m$i/upper/etc/systemd/network" "m$i/upper/etc/ssh" "m$i/upper/root/.ssh" \
    "m$i/work" "m$i/root"
  printf '[Match]\nName=host0\n[Network]\nAddress=%s.%s/24\n' "$5" "$((i + 10))" \
    > "m$i/upper/etc/systemd/network/10-host0.network"
  cp host_key "m$i/upper/etc/ssh/ssh_host_ed25519_key"
  cp key.pub "m$i/upper/root/.ssh/authorized_keys"
  chmod 700 "m$i/upper/root" "m$i/upper/root/.ssh"
  : > "m$i/upper/etc/machine-id"
  mount -t overlay overlay -o "lowerdir=$1,upperdir=m$i/upper,workdir=m$i/work" "m$i/root"
  setsid systemd-nspawn --register=no --keep-unit -D "m$i/root" --machine="$4-$i" \
    --network-bridge="$4" -b </dev/null >"m$i/log" 2>&1 &
  echo $! >> pids
done
for i in $(seq "$3"); do
  (until ssh -F none -i key -o BatchMode=yes -o ConnectTimeout=1 -o StrictHostKeyChecking=no \
      -o UserKnownHostsFile=/dev/null -o LogLevel=QUIET "root@$5.$((i + 10))" true; do
    sleep 0.05
  done) &
  waiting="$waiting $!"
done
wait $waiting
"""

# $1: folder. $2: bridge. Machines first, then what they stood on.
_BARE_AWAY = r"""
cd "$1"
for pid in $(cat pids); do
  for child in $(cat "/proc/$pid/task/$pid/children" 2>/dev/null); do kill -9 "$child"; done
done
for pid in $(cat pids); do
  for _ in $(seq 100); do [ -d "/proc/$pid" ] || break; sleep 0.05; done
  kill -9 "$pid" 2>/dev/null
done
for root in m*/root; do umount -l "$root"; done
ip link delete "$2"
"""


@dataclass(frozen=True)
class Row:
    """One size of lab: seconds to first SSH on every machine, and what the machines hold."""

    machines: int
    bare: float
    lab: float
    memory_mib: float
    """What the lab's processes hold, shared pages counted once."""
    host_mib: float
    """How much less memory the host has available with the lab up: kernel and caches included."""

    @property
    def ratio(self) -> float:
        """How many times the bare commands' time the lab takes."""
        return self.lab / self.bare


async def measure(
    counts: Iterable[int] = (2, 16), *, repeat: int = 3, settings: Settings | None = None
) -> list[Row]:
    """Measure each size; both sides alternate so that a busy moment hits both."""
    settings = settings or Settings.from_environment()
    suite = sources.default_suite(sources.host_release())
    image = await image_ensure(settings, suite)
    nspawn.limits_raise()
    rows = []
    for count in counts:
        bare, lab = [], []
        for _round in range(repeat):
            bare.append(await _bare(image.root, count))
            lab.append(await _lab(settings, count))
        middle = statistics.median_low(run.seconds for run in lab)
        chosen = next(run for run in lab if run.seconds == middle)
        memory = max(run.memory_mib for run in lab), max(run.host_mib for run in lab)
        rows.append(Row(count, statistics.median_low(bare), chosen.seconds, *memory))
    return rows


def show(rows: list[Row]) -> str:
    """The table people read."""
    lines = [
        f"First SSH on every machine, seconds (limits: {LIMIT_RATIO} times bare, {LIMIT_MIB} MiB)",
        "machines  bare nspawn  gpuaas-lab  ratio  processes      host",
    ]
    lines += [
        f"{row.machines:>8} {row.bare:>12.2f} {row.lab:>11.2f} {row.ratio:>6.2f} "
        f"{row.memory_mib:>6.0f} MiB {row.host_mib:>5.0f} MiB"
        for row in rows
    ]
    return "\n".join(lines)


def within(rows: list[Row]) -> bool:
    """Whether the lab keeps what it promises."""
    return all(row.ratio <= LIMIT_RATIO and row.host_mib <= LIMIT_MIB for row in rows)


async def _bare(image: Path, count: int) -> float:
    bridge, subnet = "glbare", "10.214.250"
    with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as name:
        folder = Path(name)
        _keys(folder)
        began = time.monotonic()
        try:
            async with asyncio.timeout(_PATIENCE):
                await process.output(
                    *("bash", "-c", _BARE, "bash", image, folder, str(count), bridge, subnet)
                )
            return time.monotonic() - began
        finally:
            await process.output("bash", "-c", _BARE_AWAY, "bash", folder, bridge)


def _keys(folder: Path) -> None:
    """Made before the clock starts: the bare side is not charged for them."""
    for name in ("key", "host_key"):
        key = seed.host_key_make(name)
        (folder / name).touch(mode=0o600)
        (folder / name).write_text(key.private)
        (folder / f"{name}.pub").write_text(f"{key.public}\n")


@dataclass(frozen=True)
class _Run:
    seconds: float
    memory_mib: float
    host_mib: float


async def _lab(settings: Settings, count: int) -> _Run:
    await teardown.lab_remove(settings, LAB)
    before = _available()
    began = time.monotonic()
    try:
        command = (sys.executable, "-m", "gpuaas_lab.main", "up", str(count), "--name", LAB)
        await process.output(*command, "-o", "json")
        seconds = time.monotonic() - began
        held = status.lab_status(settings, LAB).memory
        return _Run(seconds, held / (1 << 20), (before - _available()) / (1 << 20))
    finally:
        await teardown.lab_remove(settings, LAB)


def _available() -> int:
    line = next(x for x in Path("/proc/meminfo").read_text().splitlines() if "MemAvailable" in x)
    return int(line.split()[1]) * 1024


async def _main() -> int:
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    rows = await measure()
    print(show(rows))
    return 0 if within(rows) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(_main()))
