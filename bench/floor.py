"""The floor: bare machines to a working Slurm with accounting, by a hand-written parallel script.

What a good engineer would type for K machines at once: fetch the packages from the lab's cache over
HTTP with apt, install, write a munge key and static configuration files, start munge, MariaDB,
slurmdbd, slurmctld and slurmd in order, wait until every node is idle, run one `srun` over all of
them. One script a machine and phase over one SSH connection each, all machines at the same time;
the first machine is the controller and works too. Connecting counts into `deliver`. Seconds on the
wall clock, fresh lab machines for every run, packages already in the host's cache; of three runs of
each size, the one with the middle total. The Slurm app is measured against it and not imported.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from gpuaas_lab import Lab, Machine, depot, packages, sources

SIZES = (2, 8, 16)

WORKER = ("munge", "slurm-client", "slurmd")
CONTROLLER = ("mariadb-server", "slurm-wlm-mysql-plugin", "slurmctld", "slurmdbd")
PMIX = {"bookworm": "libpmix2", "noble": "libpmix2t64", "trixie": "libpmix2t64"}

APT = (
    "-qq -o Dir::Etc::sourcelist=/etc/apt/floor.list -o Dir::Etc::sourceparts=- -o Dpkg::Use-Pty=0"
)
INSTALL = f"DEBIAN_FRONTEND=noninteractive apt-get {APT} -y --no-install-recommends"

# A daemon must not start before it is configured: Debian asks this program.
DELIVER = """
set -e
echo 'deb [trusted=yes] {url} ./' > /etc/apt/floor.list
printf '#!/bin/sh\\nexit 101\\n' > /usr/sbin/policy-rc.d
chmod 755 /usr/sbin/policy-rc.d
apt-get {apt} update
{install} --download-only install {names}
"""

UNPACK = """
set -e
{install} --no-download -o Dpkg::Options::=--force-unsafe-io install {names}
rm /usr/sbin/policy-rc.d
"""

CONFIGURE = """
set -e
echo {key} | base64 -d > /etc/munge/munge.key
chown munge:munge /etc/munge/munge.key
chmod 400 /etc/munge/munge.key
mkdir -p /etc/slurm /var/spool/slurmd
cpus=$(nproc)
memory=$(awk '/MemTotal/ {{print int($2 / 1024 * 0.9)}}' /proc/meminfo)
cat > /etc/slurm/slurm.conf <<END
ClusterName=floor
SlurmctldHost={controller}({address})
SlurmUser=slurm
AuthType=auth/munge
StateSaveLocation=/var/lib/slurm/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
SlurmctldPidFile={pids}/slurmctld.pid
SlurmdPidFile=/run/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/affinity
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
DefMemPerCPU=100
ReturnToService=2
MailProg=/usr/bin/true
JobAcctGatherType=jobacct_gather/linux
AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost={address}
AccountingStorageEnforce=associations
NodeName=DEFAULT CPUs=$cpus RealMemory=$memory
{nodes}
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
"""

CONFIGURE_CONTROLLER = """
install -d -o slurm -g slurm /var/lib/slurm/slurmctld
cat > /etc/slurm/slurmdbd.conf <<END
AuthType=auth/munge
DbdHost={controller}
SlurmUser=slurm
PidFile={pids_dbd}/slurmdbd.pid
StorageType=accounting_storage/mysql
StorageUser=slurm
StorageLoc=slurm_acct_db
END
chown slurm:slurm /etc/slurm/slurmdbd.conf
chmod 600 /etc/slurm/slurmdbd.conf
"""

START_CONTROLLER = """
set -e
systemctl restart munge mariadb
mariadb <<END
CREATE DATABASE slurm_acct_db;
CREATE USER slurm@localhost IDENTIFIED VIA unix_socket;
GRANT ALL ON slurm_acct_db.* TO slurm@localhost;
END
systemctl restart slurmdbd
until sacctmgr -n show cluster >/dev/null 2>&1; do sleep 0.05; done
sacctmgr -i add cluster floor >/dev/null
systemctl restart slurmctld
until scontrol ping | grep -q UP; do sleep 0.05; done
"""

IDLE = "until [ $(sinfo -h -N -t idle -o %N | sort -u | wc -l) = {count} ]; do sleep 0.05; done"
RECORDED = "until sacct -a -X -n -o state | grep COMPLETED; do sleep 0.05; done"


@dataclass(frozen=True)
class Row:
    """One size: seconds of each phase; a phase ends when its last machine is through."""

    machines: int
    deliver: float
    install: float
    configure: float
    start: float
    idle: float
    srun: float

    @property
    def total(self) -> float:
        """Bare machines to the output of srun."""
        return sum((self.deliver, self.install, self.configure, self.start, self.idle, self.srun))


@dataclass(frozen=True)
class Repository:
    """Packages offered to the lab, and where."""

    url: str
    names: str


async def measure(sizes: Iterable[int] = SIZES, *, repeat: int = 3) -> list[Row]:
    """Measure each size on fresh machines; the run with the middle total counts."""
    rows = []
    for size in sizes:
        runs = [await floor_run(size) for _ in range(repeat)]
        middle = statistics.median_low(run.total for run in runs)
        rows.append(next(run for run in runs if run.total == middle))
    return rows


async def floor_run(size: int, suite: str | None = None) -> Row:
    """Bring up bare machines, then take the time of everything after."""
    suite = suite or sources.default_suite(sources.host_release())
    async with Lab.up(f"floor-{size}", size, suite=suite) as lab:
        names = (*WORKER, PMIX[suite])
        async with (
            _repository(lab, suite, names) as worker,
            _repository(lab, suite, (*names, *CONTROLLER)) as controller,
        ):
            await asyncio.gather(*(machine.disconnect() for machine in lab.machines))
            key = base64.b64encode(secrets.token_bytes(1024)).decode()
            return await _phases(lab.machines, worker, controller, key)


async def floor_add_run(size: int, suite: str | None = None) -> float:
    """Seconds to add one more worker to a running floor of `size` machines, until it ran a job.

    As one would by hand: install on the new machine, give it the key and the configuration with its
    line in it, give everybody else that configuration too, and restart their daemons.
    """
    suite = suite or sources.default_suite(sources.host_release())
    async with Lab.up(f"floor-add-{size}", size + 1, suite=suite) as lab:
        names = (*WORKER, PMIX[suite])
        async with (
            _repository(lab, suite, names) as worker,
            _repository(lab, suite, (*names, *CONTROLLER)) as controller,
        ):
            key = base64.b64encode(secrets.token_bytes(1024)).decode()
            await _phases(lab.machines[:size], worker, controller, key)
            new = lab.machines[size]
            await new.disconnect()
            return await _timed([_add(lab.machines, new, worker, key)])


async def _add(machines: list[Machine], new: Machine, worker: Repository, key: str) -> None:
    await new.run(f"{_deliver(worker)}\n{_unpack(worker)}")
    await asyncio.gather(*(m.run(_configure(m, machines, key)) for m in machines))
    first, *others = machines
    await asyncio.gather(
        first.run("systemctl restart slurmctld"), new.run("systemctl restart munge")
    )
    await asyncio.gather(*_all(others, "restart slurmd"), *_all([first], "restart slurmd"))
    await first.run(IDLE.format(count=len(machines)))
    await first.run(f"srun -w {new.name} hostname")


async def _phases(
    machines: list[Machine], worker: Repository, controller: Repository, key: str
) -> Row:
    first, *others = machines
    everyone = [(first, controller), *((machine, worker) for machine in others)]
    row = Row(
        machines=len(everyone),
        deliver=await _timed(m.run(_deliver(offered)) for m, offered in everyone),
        install=await _timed(m.run(_unpack(offered)) for m, offered in everyone),
        configure=await _timed(m.run(_configure(m, machines, key)) for m in machines),
        start=await _timed([first.run(START_CONTROLLER), *_all(others, "restart munge")])
        + await _timed(_all(machines, "restart slurmd")),
        idle=await _timed([first.run(IDLE.format(count=len(everyone)))]),
        srun=await _timed([_srun(first, len(everyone))]),
    )
    await first.run(RECORDED)
    return row


@asynccontextmanager
async def _repository(lab: Lab, suite: str, names: tuple[str, ...]) -> AsyncIterator[Repository]:
    wanted = await packages.fetch(suite, names)
    async with depot.served(wanted.path, lab.host_address) as url:
        yield Repository(url, " ".join(wanted.names))


async def _timed(work: Iterable[Awaitable[object]]) -> float:
    began = time.monotonic()
    await asyncio.gather(*work)
    return time.monotonic() - began


def _all(machines: list[Machine], verb: str) -> list[Awaitable[object]]:
    return [machine.run(f"systemctl {verb}") for machine in machines]


def _deliver(offered: Repository) -> str:
    return DELIVER.format(url=offered.url, names=offered.names, apt=APT, install=INSTALL)


def _unpack(offered: Repository) -> str:
    return UNPACK.format(names=offered.names, install=INSTALL)


def _configure(machine: Machine, machines: list[Machine], key: str) -> str:
    first = machines[0]
    recent = sources.default_suite(sources.host_release()) == "trixie"
    script = CONFIGURE + (CONFIGURE_CONTROLLER if machine.name == first.name else "")
    return script.format(
        key=key,
        controller=first.name,
        address=first.address,
        pids="/run/slurmctld" if recent else "/run",
        pids_dbd="/run/slurmdbd" if recent else "/run",
        nodes="\n".join(f"NodeName={m.name} NodeAddr={m.address}" for m in machines),
    )


async def _srun(controller: Machine, count: int) -> None:
    ran = await controller.run(f"srun -N {count} hostname")
    if len(set(ran.stdout.split())) != count:
        raise RuntimeError(f"srun over {count} machines answered {ran.stdout!r}")
