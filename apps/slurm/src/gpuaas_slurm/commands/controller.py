"""The controller's own answers: does it answer, and which release is it. Pure parsers."""

import re
from dataclasses import dataclass
from typing import Any

from gpuaas_slurm.version import SlurmVersion


@dataclass(frozen=True)
class ControllerPing:
    """One controller, and whether it answered."""

    host: str
    mode: str
    responding: bool


def pings_from_text(text: str) -> tuple[ControllerPing, ...]:
    """Return the lines of `scontrol ping` (22.05): ``Slurmctld(primary) at c1 is UP``."""
    found = re.findall(r"^Slurmctld\((\S+)\) at (\S+) is (\S+)$", text, re.MULTILINE)
    if not found:
        raise ValueError("no controller is named")
    return tuple(ControllerPing(host, mode, state == "UP") for mode, host, state in found)


def ping_from_json(row: dict[str, Any]) -> ControllerPing:
    """Return a controller of `scontrol ping --json` (23.02 and later)."""
    return ControllerPing(row["hostname"], row["mode"], row["pinged"] == "UP")


def version_from_config(text: str) -> SlurmVersion:
    """Return the running controller's release from `scontrol show config`.

    `scontrol --version` would be the release of the command, which an upgrade changes first.
    """
    found = re.search(r"^SLURM_VERSION\s*=\s*(\S+)", text, re.MULTILINE)
    if found is None:
        raise ValueError("no line SLURM_VERSION")
    return SlurmVersion.parse(found[1])
