"""What a cluster is: machines with what was found on them, partitions, accounting, a generation.

Plain frozen data. Plans and renderers read it, the operations make it from facts and intent. It
checks what it is given, because every value ends up in a configuration file: a name that could end
a line or open a quote never gets in. It does no I/O and knows no machine session.
"""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from ipaddress import ip_address

from gpuaas_slurm.version import OLDEST, SlurmVersion

NAME = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
"""A host label: what Slurm, DNS and systemd all take."""

WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
"""Names inside Slurm: partitions, accounts, features, types."""

DEVICE = re.compile(r"/dev/[A-Za-z0-9/_.-]+")

ADMISSION = "gpuaas_admission"
"""The feature of a node that is not ready yet, and the hidden partition that reaches every node.

Partitions of users take nodes by feature; a node with only this one is in none of them, and root's
test job reaches it through the partition of the same name.
"""


class ModelError(ValueError):
    """A value that cannot be part of a cluster; the message names it."""


class Containment(StrEnum):
    """How jobs are kept together; one choice for the whole cluster, made when it is deployed."""

    CGROUP = "cgroup"
    PROCESS = "process"


class Cgroups(StrEnum):
    """What a machine's control groups allow, as its facts say."""

    V2 = "v2"
    V1 = "v1"
    UNUSABLE = "unusable"


class GpuVendor(StrEnum):
    """Whose GPUs; it decides which variables a job gets."""

    NVIDIA = "nvidia"
    AMD = "amd"


@dataclass(frozen=True)
class Gpus:
    """GPUs of one type on one machine, by their device files."""

    type: str
    files: tuple[str, ...]
    vendor: GpuVendor = GpuVendor.NVIDIA

    def __post_init__(self) -> None:
        _match(WORD, self.type, "GPU type")
        if not self.files:
            raise ModelError(f"GPU type {self.type} has no device files")
        for file in self.files:
            _match(DEVICE, file, "device file")

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.files)


@dataclass(frozen=True)
class Machine:
    """One machine and what was found on it.

    `name` is what Slurm calls the node, whatever the machine calls itself (`hostname`).
    `admitted` says it passed its test and may carry users' jobs: only then are `features` its own.
    """

    name: str
    address: str
    sockets: int
    cores_per_socket: int
    threads_per_core: int
    memory_mib: int
    hostname: str = ""
    gpus: tuple[Gpus, ...] = ()
    cgroups: Cgroups = Cgroups.UNUSABLE
    features: tuple[str, ...] = ()
    admitted: bool = False

    def __post_init__(self) -> None:
        _match(NAME, self.name, "machine name")
        if self.hostname:
            _match(NAME, self.hostname, "host name")
        for feature in self.features:
            _match(WORD, feature, "feature")
        if ADMISSION in self.features:
            raise ModelError(f"the feature {ADMISSION} is set by admission, not by intent")
        try:
            ip_address(self.address)
        except ValueError as error:
            raise ModelError(f"{self.name}: {error}") from error
        for fact in ("sockets", "cores_per_socket", "threads_per_core", "memory_mib"):
            if getattr(self, fact) < 1:
                raise ModelError(f"{self.name}: {fact} must be at least 1")
        _unique((gpu.type for gpu in self.gpus), f"{self.name}: GPU type")

    @property
    def host(self) -> str:
        """What the machine calls itself."""
        return self.hostname or self.name

    @property
    def cpus(self) -> int:
        """Threads Slurm may hand out."""
        return self.sockets * self.cores_per_socket * self.threads_per_core

    @property
    def node_features(self) -> tuple[str, ...]:
        """The features the node registers with."""
        return self.features if self.admitted else (ADMISSION,)


@dataclass(frozen=True)
class Build:
    """The Slurm that is installed: its version and what it can load, read from the machine."""

    version: SlurmVersion
    plugins: frozenset[str] = frozenset()
    pmix_library: bool = False
    """The plugin can load its library (Debian's 22.05 looks for one only a -dev package has)."""

    def __post_init__(self) -> None:
        if self.version < OLDEST:
            raise ModelError(f"Slurm {self.version} is older than {OLDEST}")

    @property
    def nvml(self) -> bool:
        """The build asks NVIDIA's library for GPUs; without it, files must be named."""
        return "gpu_nvml" in self.plugins

    @property
    def pmix(self) -> bool:
        """MPI programs can be started through PMIx."""
        return "mpi_pmix" in self.plugins and self.pmix_library


@dataclass(frozen=True)
class Partition:
    """A queue: the nodes with any of its features, open to its accounts (none named: to all)."""

    name: str
    features: tuple[str, ...]
    default: bool = False
    accounts: tuple[str, ...] = ()
    qos: tuple[str, ...] = ()
    max_minutes: int | None = None

    def __post_init__(self) -> None:
        _match(WORD, self.name, "partition")
        if self.name == ADMISSION:
            raise ModelError(f"the partition {ADMISSION} is the app's own")
        if not self.features:
            raise ModelError(f"partition {self.name} names no feature, so no node could be in it")
        for word in (*self.features, *self.accounts, *self.qos):
            _match(WORD, word, f"partition {self.name}")
        if self.max_minutes is not None and self.max_minutes < 1:
            raise ModelError(f"partition {self.name}: max_minutes must be at least 1")


@dataclass(frozen=True)
class Accounting:
    """Accounting in a database on the controller, reached over its socket: there is no password."""

    database: str = "slurm_acct_db"

    def __post_init__(self) -> None:
        _match(re.compile(r"[a-z][a-z0-9_]{0,31}"), self.database, "database")


@dataclass(frozen=True)
class Switch:
    """A network switch with the machines or the switches below it."""

    name: str
    machines: tuple[str, ...] = ()
    switches: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for word in (self.name, *self.machines, *self.switches):
            _match(WORD, word, "switch")
        if bool(self.machines) == bool(self.switches):
            raise ModelError(f"switch {self.name} has machines or switches below it, not both")


@dataclass(frozen=True)
class Cluster:
    """A whole cluster at one configuration generation.

    A controller that also carries jobs (same-node placement) is among the workers too, under its
    own name. Workers come and go without a change to what the others read.
    """

    name: str
    generation: int
    build: Build
    controller: Machine
    workers: tuple[Machine, ...] = ()
    partitions: tuple[Partition, ...] = field(
        default_factory=lambda: (Partition("main", ("main",), default=True),)
    )
    containment: Containment = Containment.PROCESS
    memory_per_cpu_mib: int = 1024
    """What a job that does not ask gets for each CPU; without it one job takes all of a node's."""
    accounting: Accounting | None = field(default_factory=Accounting)
    switches: tuple[Switch, ...] = ()
    max_nodes: int = 1024
    finished_job_seconds: int = 300
    """How long the controller remembers a job that ended; a worker it names stays that long."""

    def __post_init__(self) -> None:
        _match(re.compile(r"[a-z][a-z0-9_-]{0,39}"), self.name, "cluster name")
        for number in ("generation", "memory_per_cpu_mib", "max_nodes", "finished_job_seconds"):
            if getattr(self, number) < 1:
                raise ModelError(f"{number} must be at least 1")
        _unique((machine.name for machine in self.workers), "worker")
        _unique((partition.name for partition in self.partitions), "partition")
        if sum(partition.default for partition in self.partitions) > 1:
            raise ModelError("more than one partition is the default")
        if len(self.workers) > self.max_nodes:
            raise ModelError(f"{len(self.workers)} workers are more than max_nodes")
        if self.containment is Containment.CGROUP:
            self._require_cgroups()

    @property
    def machines(self) -> tuple[Machine, ...]:
        """Every machine once, the controller first."""
        others = (worker for worker in self.workers if worker.name != self.controller.name)
        return (self.controller, *others)

    def worker(self, name: str) -> Machine | None:
        """Return the worker of this name."""
        return next((worker for worker in self.workers if worker.name == name), None)

    def _require_cgroups(self) -> None:
        without = [m.name for m in self.workers if m.cgroups is Cgroups.UNUSABLE]
        if without:
            raise ModelError(f"no usable control groups on {', '.join(without)}")


def containment_for(machines: tuple[Machine, ...]) -> Containment:
    """Choose for a new cluster: control groups, unless some machine cannot."""
    if machines and all(machine.cgroups is not Cgroups.UNUSABLE for machine in machines):
        return Containment.CGROUP
    return Containment.PROCESS


def memory_per_cpu_for(machines: tuple[Machine, ...]) -> int:
    """Choose for a new cluster: the share of the machine that has least memory for each CPU."""
    return max(1, min((machine.memory_mib // machine.cpus for machine in machines), default=1024))


def _match(pattern: re.Pattern[str], text: str, what: str) -> None:
    if pattern.fullmatch(text) is None:
        raise ModelError(f"{what} {text!r} is not of the form {pattern.pattern}")


def _unique(names: Iterable[str], what: str) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ModelError(f"{what} {twice[0]} is named twice")
