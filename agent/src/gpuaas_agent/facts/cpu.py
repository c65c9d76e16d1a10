"""Processors: model, and how many sockets, cores and threads are online.

Counts come from the kernel's topology folder, not from arithmetic on /proc/cpuinfo: its `siblings`
and `cpu cores` count what the package has, not what is online.
"""

from dataclasses import dataclass

from gpuaas_agent.facts.reading import Notes, Reader, UnreadableError

CPUS = "/sys/devices/system/cpu"
NODES = "/sys/devices/system/node"


@dataclass(frozen=True)
class NumaNode:
    """One memory node and the threads next to it."""

    id: int
    threads: list[int]


@dataclass(frozen=True)
class CpuFacts:
    """What `facts` prints under `cpu`."""

    model: str | None
    vendor: str | None
    sockets: int | None
    cores: int | None
    threads: int | None
    threads_usable: int | None
    numa_nodes: list[NumaNode] | None


def cpu_facts(reader: Reader, notes: Notes) -> CpuFacts:
    """Read the processors."""
    info = notes.take("cpu.model", reader.parsed, "/proc/cpuinfo", parse_cpuinfo) or {}
    if info and "model name" not in info:
        notes.add("cpu.model", "/proc/cpuinfo", "has no line 'model name' on this architecture")
    online = notes.take("cpu.threads", reader.parsed, f"{CPUS}/online", parse_id_list)
    usable = notes.take("cpu.threads_usable", reader.parsed, "/proc/self/status", parse_allowed)
    return CpuFacts(
        model=info.get("model name"),
        vendor=info.get("vendor_id"),
        sockets=notes.take("cpu.sockets", _sockets, reader, online),
        cores=notes.take("cpu.cores", _cores, reader, online),
        threads=None if online is None else len(online),
        threads_usable=None if usable is None else len(usable),
        numa_nodes=notes.take("cpu.numa_nodes", _numa, reader),
    )


def parse_cpuinfo(text: str) -> dict[str, str]:
    """Return the fields of the first processor of /proc/cpuinfo."""
    first = text.split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def parse_id_list(text: str) -> list[int]:
    """Return the numbers of a kernel list such as ``0-3,8``."""
    numbers: list[int] = []
    for part in filter(None, text.strip().split(",")):
        first, _, last = part.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def parse_allowed(text: str) -> list[int]:
    """Return the threads a process may run on, from /proc/PID/status."""
    for line in text.splitlines():
        if line.startswith("Cpus_allowed_list:"):
            return parse_id_list(line.partition(":")[2])
    raise ValueError("no line Cpus_allowed_list")


def _known(online: list[int] | None) -> list[int]:
    if online is None:
        raise UnreadableError(f"{CPUS}/online", "the threads online are unknown")
    return online


def _sockets(reader: Reader, online: list[int] | None) -> int:
    packages = {reader.word(f"{CPUS}/cpu{n}/topology/physical_package_id") for n in _known(online)}
    if "-1" in packages:
        raise UnreadableError(
            f"{CPUS}/cpu*/topology/physical_package_id", "the firmware does not say"
        )
    return len(packages)


def _cores(reader: Reader, online: list[int] | None) -> int:
    """Count sets of sibling threads: core ids repeat from die to die, sibling sets do not."""
    siblings = "topology/thread_siblings_list"
    return len({reader.word(f"{CPUS}/cpu{n}/{siblings}") for n in _known(online)})


def _numa(reader: Reader) -> list[NumaNode]:
    numbers = sorted(
        int(name[4:]) for name in reader.names(NODES) if name[:4] == "node" and name[4:].isdigit()
    )
    return [NumaNode(n, reader.parsed(f"{NODES}/node{n}/cpulist", parse_id_list)) for n in numbers]
