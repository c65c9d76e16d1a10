"""Partitions as the controller has them now. Pure parsers."""

from dataclasses import dataclass
from typing import Any

from gpuaas_slurm.commands.values import pairs, words
from gpuaas_slurm.hostlist import expand


@dataclass(frozen=True)
class PartitionState:
    """A partition; no account named means every account may use it."""

    name: str
    state: str
    nodes: tuple[str, ...]
    accounts: tuple[str, ...]


def partitions_from_text(text: str) -> tuple[PartitionState, ...]:
    """Return the partitions of `scontrol --oneliner show partition` (22.05)."""
    found = [pairs(line) for line in text.splitlines() if line.startswith("PartitionName=")]
    return tuple(
        PartitionState(
            row["PartitionName"],
            row["State"],
            tuple(expand("" if row["Nodes"] == "(null)" else row["Nodes"])),
            () if row["AllowAccounts"] == "ALL" else words(row["AllowAccounts"]),
        )
        for row in found
    )


def partition_from_json(row: dict[str, Any]) -> PartitionState:
    """Return a partition of `scontrol show partitions --json` (23.02 and later)."""
    return PartitionState(
        row["name"],
        row["partition"]["state"][0],
        tuple(expand(row["nodes"]["configured"])),
        words(row["accounts"]["allowed"]),
    )
