"""What a machine is made of, from the text of `facts.sh`. Pure.

Gives the facts in the shape `gpuaas_slurm.facts` reads, so that one mapping serves facts from
anywhere, and what a preflight asks beyond them.
"""

import re
from dataclasses import dataclass
from typing import Any

from gpuaas_slurm.onmachine.look import LookError

Rows = list[tuple[str, str]]

FACTS_END = "end\tfacts\n"
"""What the script says last."""


@dataclass(frozen=True)
class Listener:
    """Somebody who listens on a port."""

    port: int
    program: str


@dataclass(frozen=True)
class MachineFacts:
    """One machine. `facts` is for the model, the rest for the preflight."""

    facts: dict[str, Any]
    architecture: str
    root: bool
    systemd: bool
    memory_kib: int
    disk_kib: int
    resolves: bool
    addresses: tuple[str, ...]
    listeners: tuple[Listener, ...]
    reaches: frozenset[str]


def machine_facts(text: str, hostname: str) -> MachineFacts:
    """Return what the script said; a text that ends too early says nothing."""
    rows = [line.partition("\t")[::2] for line in text.splitlines() if "\t" in line]
    if not rows or rows[-1] != ("end", "facts"):
        raise LookError(f"the facts ended early: {text[-300:]!r}")
    single = dict(rows)
    memory = int(single.get("memory") or 0)
    facts = {
        "system": {"hostname": hostname},
        "cpu": _cpu(_all(rows, "cpu")),
        "memory": {"total": memory * 1024} if memory else {},
        "cgroups": _cgroups(_all(rows, "cgroup"), single.get("controllers", "")),
        "gpus": _gpus(rows),
        "unknown": [],
    }
    return MachineFacts(
        facts=facts,
        architecture=single.get("arch", ""),
        root=single.get("root") == "0",
        systemd="systemd" in single,
        memory_kib=memory,
        disk_kib=int(single.get("disk") or 0),
        resolves="resolves" in single,
        addresses=tuple(value.partition("/")[0] for value in _all(rows, "address")),
        listeners=tuple(_listener(value) for value in _all(rows, "port")),
        reaches=frozenset(_all(rows, "reaches")),
    )


def _all(rows: Rows, word: str) -> list[str]:
    return [value for name, value in rows if name == word]


def _cpu(lines: list[str]) -> dict[str, int]:
    """Sockets, cores and threads; empty where the kernel does not say."""
    found = [line.split(",") for line in lines]
    if not found or any(len(one) < 3 or not all(one[:3]) for one in found):
        return {}
    return {
        "sockets": len({socket for _, _, socket, *_ in found}),
        "cores": len({(core, socket) for _, core, socket, *_ in found}),
        "threads": len(found),
    }


def _cgroups(mounts: list[str], unified: str) -> dict[str, Any]:
    """The version, its controllers, and whether all of them can be written to."""
    found = [mount.split(" ", 2) for mount in mounts]
    kinds = {kind for kind, path, _ in found if path.startswith("/sys/fs/cgroup")}
    version = "v1" if "cgroup" in kinds else "v2" if kinds else "none"
    if version == "v2":
        options = [options.split(",") for kind, _, options in found if kind == "cgroup2"]
        controllers = unified.split()
    else:
        trees = [(path.rpartition("/")[2], words.split(",")) for kind, path, words in found
                 if kind == "cgroup" and "name=" not in words]  # fmt: skip
        controllers = [name for path, _ in trees for name in path.split(",")]
        options = [words for _, words in trees]
    writable = bool(options) and all("rw" in words for words in options)
    return {"version": version, "controllers": controllers, "writable": writable}


def _gpus(rows: Rows) -> dict[str, Any]:
    """The GPUs: device files, and what the vendor's tool says; a tool that fails is unknown."""
    files = sorted(_all(rows, "gpufile"), key=lambda file: int(re.sub(r"\D", "", file) or 0))
    minors = dict(value.lower().split(" ", 1) for value in _all(rows, "minor") if " " in value)
    lines = _all(rows, "gpu")
    listed = [re.fullmatch(r"(\d+), (.+), ([0-9A-Fa-f:.]+)", line) for line in lines]
    if files and (not listed or any(one is None for one in listed)):
        return {"devices": None, "device_files": files}
    devices = [
        {
            "index": int(one[1]),
            "name": one[2],
            "vendor": "nvidia",
            "device_file": _file(minors, one[3].lower()),
        }
        for one in listed
        if one is not None
    ]
    return {"devices": devices, "device_files": files}


def _file(minors: dict[str, str], bus: str) -> str | None:
    """The file of a GPU: the tool writes a PCI domain of eight digits, the driver of four."""
    domain, _, rest = bus.partition(":")
    minor = minors.get(f"{domain[-4:]}:{rest}")
    return None if minor is None else f"/dev/nvidia{minor}"


def _listener(value: str) -> Listener:
    where, _, users = value.partition(" ")
    program = re.search(r'\(\("([^"]+)"', users)
    port = where.rpartition(":")[2]
    return Listener(int(port) if port.isdigit() else 0, program[1] if program else "")
