"""Parsers of what NVIDIA's driver says: its files under /proc and the texts of `nvidia-smi`.

`gpus.py` calls them. Pure: nothing here reads or runs anything.
"""

import csv
import re
from dataclasses import dataclass

SMI_FIELDS = (
    "index",
    "uuid",
    "name",
    "pci.bus_id",
    "memory.total",
    "driver_version",
    "mig.mode.current",
)
SMI_GPUS = (
    "nvidia-smi",
    f"--query-gpu={','.join(SMI_FIELDS)}",
    "--format=csv,noheader,nounits",
)
SMI_PROCESSES = (
    "nvidia-smi",
    "--query-compute-apps=pid,process_name,gpu_uuid,used_memory",
    "--format=csv,noheader,nounits",
)
SMI_TOPOLOGY = ("nvidia-smi", "topo", "-m")

MIB = 1024 * 1024
DEVICE = re.compile(r"^nvidia\d+$")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
ABSENT = {"", "N/A", "[N/A]", "[Not Supported]"}


@dataclass(frozen=True)
class SmiGpu:
    """A line of ``nvidia-smi --query-gpu``."""

    index: int
    uuid: str
    name: str
    bus_id: str
    memory: int | None
    driver: str
    mig: str | None


@dataclass(frozen=True)
class SmiProcess:
    """A line of ``nvidia-smi --query-compute-apps``."""

    pid: int
    name: str
    gpu_uuid: str
    memory: int | None


@dataclass(frozen=True)
class Topology:
    """``nvidia-smi topo -m``: how each GPU reaches the others, and the threads near it."""

    links: dict[str, dict[str, str]]
    cpu_affinity: dict[str, str]
    numa_affinity: dict[str, str]


def parse_smi_gpus(text: str) -> list[SmiGpu]:
    """Return the GPUs of ``--query-gpu`` with SMI_FIELDS."""
    found = []
    for row in _rows(text):
        if len(row) != len(SMI_FIELDS):
            raise ValueError(f"unexpected line {','.join(row)!r}")
        index, uuid, name, bus_id, memory, driver, mig = row
        found.append(
            SmiGpu(
                int(index),
                uuid,
                name,
                bus_address(bus_id),
                None if memory in ABSENT else int(memory) * MIB,
                driver,
                None if mig in ABSENT else mig.lower(),
            )
        )
    return found


def parse_smi_processes(text: str) -> list[SmiProcess]:
    """Return the processes of ``--query-compute-apps``."""
    found = []
    for row in _rows(text):
        if len(row) < 4:
            raise ValueError(f"unexpected line {','.join(row)!r}")
        # A process name may hold commas; the other fields never do.
        memory = row[-1]
        found.append(
            SmiProcess(
                int(row[0]),
                ",".join(row[1:-2]),
                row[-2],
                None if memory in ABSENT else int(memory) * MIB,
            )
        )
    return found


def parse_driver_gpu(text: str) -> dict[str, str]:
    """Return the fields of /proc/driver/nvidia/gpus/*/information."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def parse_driver_version(text: str) -> str:
    """Return the version in /proc/driver/nvidia/version."""
    found = re.search(r"NVRM version:.*?\s(\d+\.\d+(?:\.\d+)?)\s", text)
    if found is None:
        raise ValueError("no version in the line NVRM")
    return found[1]


def parse_topology(text: str) -> Topology:
    """Return the matrix of ``topo -m``; rows and columns of GPUs and of network cards alike."""
    lines = [COLOURS.sub("", line) for line in text.splitlines()]
    start = next((n for n, line in enumerate(lines) if "GPU0" in line.split()), None)
    if start is None:
        raise ValueError("no line of columns with GPU0")
    columns = [word.strip() for word in lines[start].split("\t")]
    # The first column has no title; drivers differ in the tabs around it.
    titles = [title for title in columns if title]
    links: dict[str, dict[str, str]] = {}
    cpus: dict[str, str] = {}
    numa: dict[str, str] = {}
    for line in lines[start + 1 :]:
        if not line.strip():
            break
        name, *cells = [cell.strip() for cell in line.split("\t")]
        row = dict(zip(titles, cells, strict=False))
        links[name] = {k: v for k, v in row.items() if _is_device(k) and k != name}
        _keep(cpus, name, row.get("CPU Affinity"))
        _keep(numa, name, row.get("NUMA Affinity"))
    return Topology(links, cpus, numa)


def bus_address(text: str) -> str:
    """Return a PCI address in the kernel's form; nvidia-smi writes an eight-digit domain."""
    domain, _, rest = text.lower().partition(":")
    return f"{int(domain, 16):04x}:{rest}"


def _rows(text: str) -> list[list[str]]:
    rows = csv.reader(text.splitlines(), skipinitialspace=True)
    return [[cell.strip() for cell in row] for row in rows if row]


def _is_device(title: str) -> bool:
    return re.fullmatch(r"(GPU|NIC|mlx)\S*", title) is not None and " " not in title


def _keep(into: dict[str, str], name: str, value: str | None) -> None:
    if value and value not in ABSENT:
        into[name] = value
