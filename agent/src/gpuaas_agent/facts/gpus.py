"""GPUs: what the device files, the driver and its tool say, each shown for itself.

A machine can have device files and a broken driver, or a driver and no tool. So the files are
listed as found, and a GPU is only tied to its file when the driver says which one it is.
"""

from dataclasses import dataclass

from gpuaas_agent.facts import amd, nvidia
from gpuaas_agent.facts.reading import Notes, Reader, UnreadableError

DRIVER = "/proc/driver/nvidia"


@dataclass(frozen=True)
class Gpu:
    """One GPU; `device_file` is null when nothing on the machine says which file is its."""

    vendor: str
    index: int | None
    name: str | None
    uuid: str | None
    bus_id: str | None
    memory: int | None
    device_file: str | None
    numa_node: int | None
    mig: str | None


@dataclass(frozen=True)
class GpuProcess:
    """A process that holds a GPU."""

    pid: int
    name: str
    gpu_uuid: str
    memory: int | None


@dataclass(frozen=True)
class GpuFacts:
    """What `facts` prints under `gpus`."""

    devices: list[Gpu] | None
    device_files: list[str]
    driver: str | None
    topology: nvidia.Topology | None
    processes: list[GpuProcess] | None


def gpu_facts(reader: Reader, notes: Notes) -> GpuFacts:
    """Read the GPUs. No sign of any is zero GPUs; a sign that cannot be followed is unknown."""
    names = notes.take("gpus.device_files", reader.names, "/dev") or []
    files = sorted((n for n in names if nvidia.DEVICE.match(n)), key=lambda n: int(n[6:]))
    has_driver = reader.exists(DRIVER)
    listed = _smi(reader, notes, bool(files) or has_driver)
    minors = _minors(reader, notes) if has_driver else {}
    radeon = amd.amd_gpus(reader, notes) if "kfd" in names else []
    found = None if listed is None else [_nvidia(reader, notes, g, minors) for g in listed]
    return GpuFacts(
        devices=None if found is None else found + [_radeon(gpu) for gpu in radeon],
        device_files=[f"/dev/{name}" for name in files]
        + [gpu.device_file for gpu in radeon if gpu.device_file],
        driver=_driver(reader, notes, listed, has_driver=has_driver),
        topology=_topology(reader, notes) if listed else None,
        processes=_processes(reader, notes) if listed else [],
    )


def _smi(reader: Reader, notes: Notes, expected: bool) -> list[nvidia.SmiGpu] | None:
    if not expected:
        try:
            return reader.program(nvidia.SMI_GPUS, nvidia.parse_smi_gpus)
        except UnreadableError:
            return []
    return notes.take("gpus.devices", reader.program, nvidia.SMI_GPUS, nvidia.parse_smi_gpus)


def _minors(reader: Reader, notes: Notes) -> dict[str, int]:
    """Map a PCI address to the number of the GPU's device file."""
    found: dict[str, int] = {}
    for address in notes.take("gpus.minors", reader.names, f"{DRIVER}/gpus") or []:
        path = f"{DRIVER}/gpus/{address}/information"
        information = notes.take("gpus.minors", reader.parsed, path, nvidia.parse_driver_gpu)
        minor = (information or {}).get("Device Minor", "")
        if minor.isdigit():
            found[address.lower()] = int(minor)
    return found


def _nvidia(reader: Reader, notes: Notes, gpu: nvidia.SmiGpu, minors: dict[str, int]) -> Gpu:
    fact = f"gpus.devices.{gpu.index}"
    if gpu.bus_id not in minors:
        notes.add(f"{fact}.device_file", DRIVER, f"does not name the file of {gpu.bus_id}")
    path = f"/sys/bus/pci/devices/{gpu.bus_id}/numa_node"
    numa = notes.take(f"{fact}.numa_node", reader.number, path)
    if numa is not None and numa < 0:
        notes.add(f"{fact}.numa_node", path, "the firmware names no node")
    minor = minors.get(gpu.bus_id)
    return Gpu(
        vendor="nvidia",
        index=gpu.index,
        name=gpu.name,
        uuid=gpu.uuid,
        bus_id=gpu.bus_id,
        memory=gpu.memory,
        device_file=None if minor is None else f"/dev/nvidia{minor}",
        numa_node=None if numa is None or numa < 0 else numa,
        mig=gpu.mig,
    )


def _radeon(gpu: amd.AmdGpu) -> Gpu:
    return Gpu(
        vendor="amd",
        index=None,
        name=gpu.name,
        uuid=gpu.unique_id,
        bus_id=gpu.bus_id,
        memory=None,
        device_file=gpu.device_file,
        numa_node=None,
        mig=None,
    )


def _driver(
    reader: Reader, notes: Notes, listed: list[nvidia.SmiGpu] | None, *, has_driver: bool
) -> str | None:
    if has_driver:
        return notes.take(
            "gpus.driver", reader.parsed, f"{DRIVER}/version", nvidia.parse_driver_version
        )
    return listed[0].driver if listed else None


def _topology(reader: Reader, notes: Notes) -> nvidia.Topology | None:
    return notes.take("gpus.topology", reader.program, nvidia.SMI_TOPOLOGY, nvidia.parse_topology)


def _processes(reader: Reader, notes: Notes) -> list[GpuProcess] | None:
    found = notes.take(
        "gpus.processes", reader.program, nvidia.SMI_PROCESSES, nvidia.parse_smi_processes
    )
    if found is None:
        return None
    return [GpuProcess(p.pid, p.name, p.gpu_uuid, p.memory) for p in found]
