"""What is left of a cluster on a machine, from the text of `residue.sh`. Pure."""

from gpuaas_slurm.onmachine.look import LookError
from gpuaas_slurm.onmachine.scripts import CONFIGURATION, HOME, PACKAGES
from gpuaas_slurm.render.processes import WANTED as PROCESSES_WANTED
from gpuaas_slurm.render.slurm_conf import SPOOL, STATE

OTHERS = (
    "/var/lib/slurm",
    STATE,
    SPOOL,
    "/var/log/slurm",
    "/var/log/slurm-llnl",
    PROCESSES_WANTED,
    "/run/gpuaas-slurm.lock",  # of releases that kept it where every user could hold it
    "/usr/sbin/policy-rc.d.before-gpuaas",
)
"""Folders and files that are no configuration."""


def residue_env(*, kept_packages: bool) -> dict[str, str]:
    """What the script must know: whether the packages were there before and stay."""
    return {
        "HOME_FOLDER": HOME,
        "PACKAGES": " ".join(PACKAGES),
        "FILES": " ".join(CONFIGURATION),
        "OTHERS": " ".join(OTHERS),
        "KEPT_PACKAGES": "yes" if kept_packages else "no",
    }


def residue_found(text: str) -> dict[str, list[str]]:
    """Return what is left, by kind; a text that ends too early says nothing."""
    rows = [line.split("\t", 1) for line in text.splitlines() if "\t" in line]
    if not rows or rows[-1] != ["end", "residue"]:
        raise LookError(f"the probe ended early: {text[-300:]!r}")
    found: dict[str, list[str]] = {}
    for word, value in rows:
        if word == "left":
            kind, _, thing = value.partition(" ")
            found.setdefault(kind, []).append(thing)
    return found
