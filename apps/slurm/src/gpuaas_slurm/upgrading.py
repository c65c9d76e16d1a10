"""Whether a cluster can go to other packages, and back again; every reason why not. Pure.

Asked before anything is touched. The scheduler's own rules: daemons of one release understand those
of the two before it (three, from 24.11 on), and nothing written by a newer one can be read by an
older: going back is therefore always going back to a snapshot.
"""

from collections.abc import Mapping
from typing import Final

from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.version import V24_11, SlurmVersion

SLURM_PACKAGES: Final = (
    "slurm-client",
    "slurm-wlm-mysql-plugin",
    "slurmctld",
    "slurmd",
    "slurmdbd",
)
RELEASES: Final = (
    (20, 11), (21, 8), (22, 5), (23, 2), (23, 11), (24, 5), (24, 11), (25, 5), (25, 11),
)  # fmt: skip
NEWER: Final = "newer"
ROOM_KIB: Final = 1024 * 1024
"""Free in the controller's /var: packages, and a snapshot of a database that is not small."""


def installed_of(look: MachineLook) -> str:
    """The version of Slurm's packages on a machine; empty when it has none, or several."""
    found = {look.packages[name] for name in SLURM_PACKAGES if name in look.packages}
    return found.pop() if len(found) == 1 else ""


def upgrade_problems(operation_id: str, looks: Mapping[str, MachineLook]) -> list[str]:
    """Why an upgrade must not begin; machines by the names people know."""
    problems, offered = [], set()
    for name, look in looks.items():
        offer = look.offer
        if offer is None or offer.operation_id != operation_id:
            problems.append(f"{name} was offered no packages")
            continue
        offered.add(offer.version)
        if not look.previous:
            problems.append(
                f"{name} does not keep the packages it runs now, so that there would be no way back"
            )
    if len(offered) > 1:
        problems.append(
            f"the machines are offered different versions: {', '.join(sorted(offered))}"
        )
    if problems:
        return problems
    moving = [look for look in looks.values() if look.offer and look.offer.relation == NEWER]
    if not moving:
        return [f"every machine runs {offered.pop()} already, or something newer"]
    for name, look in looks.items():
        problem = _too_far(look)
        if problem:
            problems.append(f"{name} {problem}")
    return problems


def room_problems(operation_id: str, head: MachineLook, free_kib: int) -> list[str]:
    """Why the snapshot would not fit on the controller's machine; nothing once it is there."""
    taken = head.snapshot is not None and head.snapshot.operation_id == operation_id
    if taken or free_kib >= ROOM_KIB:
        return []
    free, needed = free_kib // 1024, ROOM_KIB // 1024
    return [f"{head.hostname} has {free} MiB free in /var, and {needed} are needed: free them"]


def rollback_problems(
    operation_id: str,
    target_version: str | None,
    head: MachineLook,
    looks: Mapping[str, MachineLook],
) -> list[str]:
    """Why the snapshot cannot be restored; `head` is the controller's machine."""
    if head.restored == operation_id:
        return []  # it was: what is left is to start what it needs
    snapshot = head.snapshot
    if snapshot is None:
        return ["there is no snapshot: nothing was upgraded here, or it was restored already"]
    if target_version is not None and snapshot.app_version != target_version:
        return [
            f"the snapshot is of version {snapshot.app_version}, and {target_version} is wanted"
        ]
    problems = []
    for name, look in looks.items():
        if snapshot.packages not in {look.previous, installed_of(look)}:
            problems.append(
                f"{name} does not have the packages {snapshot.packages} (it joined later, or they"
                " are gone): remove it first"
            )
    return problems


def _too_far(look: MachineLook) -> str:
    """Why a machine's step is too long; empty when it is not."""
    if look.offer is None or not installed_of(look):
        return "" if look.offer is None else "has packages of several versions"
    before = SlurmVersion.parse(installed_of(look))
    after = SlurmVersion.parse(look.offer.version)
    try:
        steps = _place(after) - _place(before)
    except ValueError:
        return f"would go from {before} to {after}, a release that is not known"
    if steps > (3 if after >= V24_11 else 2):
        return f"would go from {before} to {after}: upgrade to a release in between first"
    return ""


def _place(version: SlurmVersion) -> int:
    return RELEASES.index((version.year, version.month))
