"""From a machine's facts, as the platform shows them, to a machine of the model.

Pure. Facts that are unknown are never replaced by a guess: everything missing is named at once, so
that a preflight can say all of it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gpuaas_slurm.model import Cgroups, Gpus, GpuVendor, Machine

MIB = 1024 * 1024
RESERVED_MIB = 512
RESERVED_SHARE = 0.02
"""Memory kept back for the system; also what keeps a node from being drained as too small when
its kernel, after an update, reports a little less than it did."""

NEEDED_CONTROLLERS = {"cpuset", "memory"}


class FactsMissingError(Exception):
    """Facts a machine of a cluster needs are unknown; `missing` says which, and why."""

    def __init__(self, missing: list[str]) -> None:
        super().__init__("; ".join(missing))
        self.missing = missing


@dataclass(frozen=True)
class Place:
    """What intent says of a machine, beside what its facts say."""

    name: str
    address: str
    features: tuple[str, ...] = ()
    admitted: bool = False


def machine_from_facts(place: Place, facts: Mapping[str, Any]) -> Machine:
    """Return the machine, or raise with every fact that is missing."""
    reasons = {note["fact"]: note["reason"] for note in facts.get("unknown", ())}
    missing = [
        f"{name}: {_reason(reasons, name)}"
        for name in ("cpu.sockets", "cpu.cores", "cpu.threads", "memory.total", "system.hostname")
        if _value(facts, name) is None
    ]
    missing += _gpu_gaps(facts, reasons)
    if missing:
        raise FactsMissingError(missing)
    cpu = facts["cpu"]
    return Machine(
        name=place.name,
        address=place.address,
        hostname=facts["system"]["hostname"].partition(".")[0].lower(),
        sockets=cpu["sockets"],
        cores_per_socket=cpu["cores"] // cpu["sockets"],
        threads_per_core=cpu["threads"] // cpu["cores"],
        memory_mib=schedulable_memory(facts["memory"]["total"]),
        gpus=gpus_from_facts(facts["gpus"]),
        cgroups=cgroups_from_facts(facts["cgroups"]),
        features=place.features,
        admitted=place.admitted,
    )


def schedulable_memory(total: int) -> int:
    """Return what jobs may have of a machine's bytes, in MiB."""
    mib = total // MIB
    return max(1, min(mib - RESERVED_MIB, int(mib * (1 - RESERVED_SHARE))))


def gpus_from_facts(facts: Mapping[str, Any]) -> tuple[Gpus, ...]:
    """Group GPUs by type; where the driver ties no GPU to a file, one type can still take all."""
    devices: list[Mapping[str, Any]] = facts.get("devices") or []
    kinds = {(gpu_type(gpu["name"] or gpu["vendor"]), GpuVendor(gpu["vendor"])) for gpu in devices}
    if len(kinds) == 1 and len(facts["device_files"]) == len(devices):
        ((kind, vendor),) = kinds
        return (Gpus(kind, tuple(facts["device_files"]), vendor),)
    grouped: dict[tuple[str, GpuVendor], list[str]] = {}
    for gpu in devices:
        key = (gpu_type(gpu["name"] or gpu["vendor"]), GpuVendor(gpu["vendor"]))
        grouped.setdefault(key, []).append(gpu["device_file"])
    return tuple(Gpus(kind, tuple(files), vendor) for (kind, vendor), files in grouped.items())


def gpu_type(name: str) -> str:
    """Return Slurm's word for a model: ``NVIDIA H100 80GB HBM3`` is ``h100_80gb_hbm3``."""
    words = re.sub(r"[^a-z0-9.]+", "_", name.lower()).strip("_")
    return re.sub(r"^(nvidia|amd|tesla|geforce)_", "", words) or "gpu"


def cgroups_from_facts(facts: Mapping[str, Any]) -> Cgroups:
    """Say what control groups are good for here; unknown is unusable."""
    enough = set(facts.get("controllers") or ()) >= NEEDED_CONTROLLERS
    if not facts.get("writable") or not enough:
        return Cgroups.UNUSABLE
    return Cgroups.V2 if facts.get("version") == "v2" else Cgroups.V1


def _value(facts: Mapping[str, Any], name: str) -> object:
    section, _, key = name.partition(".")
    return (facts.get(section) or {}).get(key)


def _reason(reasons: Mapping[str, str], name: str) -> str:
    """Find the note on a fact, or on the section it belongs to."""
    section = name.partition(".")[0]
    return reasons.get(name) or reasons.get(section) or "not among the facts"


def _gpu_gaps(facts: Mapping[str, Any], reasons: Mapping[str, str]) -> list[str]:
    gpus = facts.get("gpus")
    if gpus is None:
        return ["gpus: not among the facts"]
    if gpus["devices"] is None:
        return [f"gpus.devices: {_reason(reasons, 'gpus.devices')}"]
    kinds = {gpu["name"] for gpu in gpus["devices"]}
    if len(kinds) <= 1 and len(gpus["device_files"]) == len(gpus["devices"]):
        return []
    return [
        f"gpus.devices.{gpu['index']}.device_file: nothing says which file is whose"
        for gpu in gpus["devices"]
        if gpu["device_file"] is None
    ]
