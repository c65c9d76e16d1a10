#!/usr/bin/env python3
"""A fake nvidia-smi for GPUaaS lab machines. Lab only: there is no GPU here.

Copied into a machine as /usr/bin/nvidia-smi by `gpuaas-lab fake-gpus`; needs nothing but Python's
standard library. It answers -L, -i, --query-gpu with --format=csv, --query-compute-apps, topo -m
and the plain table, in the shapes programs parse.
"""

from __future__ import annotations

import os
import stat
import sys
import uuid
from pathlib import Path

FACTS = Path("/etc/gpuaas-lab-fake-gpus")
NAME = "GPUaaS Lab Fake GPU 80GB"
DRIVER = "000.00.lab"
MEMORY_MIB = 81559
# Majors 120 to 127 are set aside for local experiments: no driver ever answers there.
MAJOR = 120
CONTROL_MINOR, UVM_MINOR = 255, 254

Gpu = dict[str, str]


def main(arguments: list[str]) -> int:
    """Answer like nvidia-smi does."""
    count, identity = read_facts()
    if arguments == ["--lab-make-nodes"]:
        return make_nodes(count)
    gpus = [describe(index, identity) for index in range(count)]
    options = parse(arguments)
    chosen = options.get("-i", options.get("--id"))
    if chosen is not None:
        gpus = [gpu for gpu in gpus if chosen in (gpu["index"], gpu["uuid"], gpu["pci.bus_id"])]
        if not gpus:
            return say(f"No devices were found matching {chosen}", 6)
    if "-h" in options or "--help" in options:
        return say((__doc__ or "").strip())
    if "-L" in options or "--list-gpus" in options:
        return say("\n".join(f"GPU {g['index']}: {g['name']} (UUID: {g['uuid']})" for g in gpus))
    if "--query-gpu" in options:
        return query(gpus, options["--query-gpu"], options.get("--format", "csv"))
    if "--query-compute-apps" in options:
        bare = "noheader" in options.get("--format", "csv")
        return say("" if bare else options["--query-compute-apps"].replace(",", ", "))
    if "topo" in options:
        return say(topology(gpus))
    unknown = [name for name in options if name not in ("-i", "--id")]
    if unknown:
        return say(f"Invalid combination of input arguments: {unknown[0]} (fake nvidia-smi)", 1)
    return say(table(gpus))


def read_facts() -> tuple[int, str]:
    """How many GPUs this machine pretends to have, and the name their identities come from."""
    count, _, identity = FACTS.read_text().strip().partition(" ")
    return int(count), identity


def describe(index: int, identity: str) -> Gpu:
    """Every field of one GPU that can be asked for."""
    gpu = {
        "index": str(index),
        "name": NAME,
        "uuid": f"GPU-{uuid.uuid5(uuid.NAMESPACE_OID, f'{identity}/{index}')}",
        "serial": f"LAB{index:010d}",
        "driver_version": DRIVER,
        "pci.bus_id": f"00000000:{0x10 + index:02X}:00.0",
        "memory.total": f"{MEMORY_MIB} MiB",
        "memory.used": "0 MiB",
        "memory.free": f"{MEMORY_MIB} MiB",
        "memory.reserved": "0 MiB",
        "utilization.gpu": "0 %",
        "utilization.memory": "0 %",
        "temperature.gpu": "30",
        "power.draw": "60.00 W",
        "power.limit": "700.00 W",
        "clocks.sm": "345 MHz",
        "compute_cap": "9.0",
        "compute_mode": "Default",
        "persistence_mode": "Enabled",
        "mig.mode.current": "Disabled",
        "ecc.mode.current": "Enabled",
        "ecc.errors.uncorrected.volatile.total": "0",
        "pstate": "P0",
        "vbios_version": "00.00.00.00.LAB",
        "count": str(read_facts()[0]),
    }
    aliases = {"gpu_name": "name", "gpu_uuid": "uuid", "gpu_serial": "serial"}
    aliases |= {"gpu_bus_id": "pci.bus_id"}
    return gpu | {alias: gpu[name] for alias, name in aliases.items()}


def parse(arguments: list[str]) -> dict[str, str]:
    """Options with their values; a flag's value is empty."""
    options: dict[str, str] = {}
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        takes_value = name in ("-i", "--id", "--query-gpu", "--query-compute-apps", "--format")
        if not equals and takes_value and rest:
            value = rest.pop(0)
        options[name] = value
    return options


def query(gpus: list[Gpu], fields: str, form: str) -> int:
    """The comma-separated form."""
    wanted = [field.strip() for field in fields.split(",") if field.strip()]
    words = {word.strip() for word in form.split(",")}
    known = describe(0, "")
    for field in wanted:
        if field not in known:
            return say(f'Field "{field}" is not a valid field to query.\n', 2)
    lines = [] if "noheader" in words else [", ".join(map(header, wanted))]
    for gpu in gpus:
        values = [gpu[field] for field in wanted]
        if "nounits" in words:
            pairs = zip(wanted, values, strict=True)
            values = [v.rsplit(" ", 1)[0] if has_unit(field) else v for field, v in pairs]
        lines.append(", ".join(values))
    return say("\n".join(lines))


def header(field: str) -> str:
    """A column's title: the unit stands beside the name."""
    unit = describe(0, "")[field].rsplit(" ", 1)[-1] if has_unit(field) else ""
    return f"{field} [{unit}]" if unit else field


def has_unit(field: str) -> bool:
    """Whether the field's value ends with a unit."""
    return field.startswith(("memory.", "utilization.", "power.", "clocks."))


def topology(gpus: list[Gpu]) -> str:
    """How the GPUs are linked: every pair through one fake link."""
    names = [f"GPU{gpu['index']}" for gpu in gpus]
    rows = ["\t".join(["", *names, "CPU Affinity", "NUMA Affinity"])]
    cores = f"0-{(os.cpu_count() or 1) - 1}"
    for name in names:
        links = (" X " if other == name else "NV1" for other in names)
        rows += ["\t".join([name, *links, cores, "0"])]
    return "\n".join(rows)


def table(gpus: list[Gpu]) -> str:
    """What a person sees."""
    rule = "+" + "-" * 77 + "+"
    lines = [rule, f"| {'FAKE nvidia-smi of the GPUaaS lab: there is no GPU here':<75} |"]
    lines += [f"| {'Driver Version: ' + DRIVER:<75} |", rule]
    for gpu in gpus:
        left = f"{gpu['index']:>3}  {gpu['name']:<26} {gpu['pci.bus_id']}"
        lines.append(f"| {left:<50} {gpu['memory.used']} / {gpu['memory.total']:<15} |")
    return "\n".join([*lines, rule])


def make_nodes(count: int) -> int:
    """The device nodes, as the driver's own tool would make them."""
    minors = {f"nvidia{index}": index for index in range(count)}
    minors |= {"nvidiactl": CONTROL_MINOR, "nvidia-uvm": UVM_MINOR}
    for name, minor in minors.items():
        path = Path("/dev") / name
        if not path.exists():
            os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(MAJOR, minor))
            path.chmod(0o666)
    return 0


def say(text: str, code: int = 0) -> int:
    """Print what there is to print."""
    if text:
        sys.stdout.write(text.rstrip("\n") + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
