"""AMD GPUs, as the kernel's compute driver lists them; no tool of the vendor is needed."""

from dataclasses import dataclass

from gpuaas_agent.facts.reading import Notes, Reader

NODES = "/sys/class/kfd/kfd/topology/nodes"


@dataclass(frozen=True)
class AmdGpu:
    """One GPU of the compute driver."""

    name: str | None
    unique_id: str | None
    bus_id: str
    device_file: str | None


def amd_gpus(reader: Reader, notes: Notes) -> list[AmdGpu]:
    """Read the GPUs of /dev/kfd; its topology lists processors as well, which have no SIMDs."""
    found = []
    for node in notes.take("gpus.devices", reader.names, NODES) or []:
        at = f"{NODES}/{node}"
        properties = notes.take(
            f"gpus.devices.{node}",
            reader.parsed,
            f"{at}/properties",
            parse_kfd_properties,
        )
        if properties and properties.get("simd_count", 0) > 0:
            name = notes.take(f"gpus.devices.{node}.name", reader.word, f"{at}/name")
            found.append(amd_gpu(properties, name))
    return found


def parse_kfd_properties(text: str) -> dict[str, int]:
    """Return the numbers of a node's `properties` file."""
    pairs = (line.split() for line in text.splitlines() if line.strip())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def amd_gpu(properties: dict[str, int], name: str | None) -> AmdGpu:
    """Return the GPU a node's properties describe."""
    location, domain = properties["location_id"], properties.get("domain", 0)
    bus, device, function = location >> 8 & 0xFF, location >> 3 & 0x1F, location & 0x7
    minor = properties.get("drm_render_minor", 0)
    unique = properties.get("unique_id", 0)
    return AmdGpu(
        name=name or None,
        unique_id=f"{unique:016x}" if unique else None,
        bus_id=f"{domain:04x}:{bus:02x}:{device:02x}.{function}",
        device_file=f"/dev/dri/renderD{minor}" if minor else None,
    )
