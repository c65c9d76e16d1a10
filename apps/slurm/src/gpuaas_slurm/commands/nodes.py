"""Nodes as the controller sees them. Pure parsers; `slurm.py` runs the commands."""

from dataclasses import dataclass
from typing import Any

from gpuaas_slurm.commands.values import moment, number, words

WORKING = {"IDLE", "MIXED", "ALLOCATED"}
HINDERED = {
    "DRAIN",
    "NOT_RESPONDING",
    "INVALID_REG",
    "FAIL",
    "MAINTENANCE",
    "REBOOT_ISSUED",
    "REBOOT_REQUESTED",
    "POWERED_DOWN",
    "POWERING_DOWN",
    "POWERING_UP",
}
"""Flags under which a node takes no job."""


@dataclass(frozen=True)
class Node:
    """A node: a state, the flags on it, and why."""

    name: str
    address: str
    hostname: str
    state: str
    flags: frozenset[str]
    reason: str
    reason_by: str
    reason_at: int | None
    features: tuple[str, ...]
    partitions: tuple[str, ...]
    cpus: int
    cpus_allocated: int
    memory_mib: int
    gres: str
    version: str
    slurmd_started_at: int | None

    @property
    def schedulable(self) -> bool:
        """The node takes jobs now."""
        return self.state in WORKING and not self.flags & HINDERED

    @property
    def responding(self) -> bool:
        """The controller hears from the node; a node it calls down may still be running jobs."""
        return self.state not in {"DOWN", "UNKNOWN"} and "NOT_RESPONDING" not in self.flags

    @property
    def draining(self) -> bool:
        """Drained or on the way: no new job starts."""
        return "DRAIN" in self.flags

    @property
    def busy(self) -> bool:
        """Something of a job is still there."""
        return self.state in {"MIXED", "ALLOCATED"} or "COMPLETING" in self.flags


def node_from_json(row: dict[str, Any]) -> Node:
    """Return a node of `sinfo --json` (22.05) or `scontrol show nodes --json` (23.02 and later)."""
    states = [row["state"]] if isinstance(row["state"], str) else row["state"]
    base, *flags = [state.upper() for state in states]
    return Node(
        name=row["name"],
        address=row["address"],
        hostname=row["hostname"],
        state=base,
        flags=frozenset((*flags, *row.get("state_flags", ()))),
        reason=row["reason"] or "",
        reason_by=row["reason_set_by_user"] or "",
        reason_at=moment(row["reason_changed_at"]),
        features=words(row["features"]),
        partitions=words(row["partitions"]),
        cpus=row["cpus"],
        cpus_allocated=row["alloc_cpus"],
        memory_mib=row["real_memory"],
        gres=row["gres"] or "",
        version=row["version"] if "version" in row else row["slurmd_version"],
        slurmd_started_at=moment(number(row["slurmd_start_time"])),
    )
