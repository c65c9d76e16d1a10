"""For each operation of the app, why each of its steps fails once: the tables of the ordeals.

The system tests go through these operations step by step (`slurm_ordeal.py`), and a test compares
the tables with the app's own lists of steps. n1 controls everywhere; `Faults` says what stands in
one table. What an operation has in several tables is done to it on several clusters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from slurm_refusal import (
    PLACING,
    Cause,
    Denied,
    bundle_gone,
    busy_folder,
    database_misled,
    facts_unknown,
    jobs_refused,
    masked,
    nodes_refused,
    port_taken,
    refused,
    snapshot_gone,
    waiting_job,
)

from gpuaas_contract.permissions import Permission
from gpuaas_slurm.onmachine.scripts import HOME
from tools.suites import suites

SUITE: Final = suites()[0]
APT: Final = "/usr/bin/apt-get"
MARIADB: Final = "/usr/bin/mariadb"
SACCTMGR: Final = "/usr/bin/sacctmgr"
SCANCEL: Final = "/usr/bin/scancel"
SCONTROL: Final = "/usr/bin/scontrol"
SRUN: Final = "/usr/bin/srun"
SYSTEMCTL: Final = "/usr/bin/systemctl"
TAR: Final = "/usr/bin/tar"
USERADD: Final = "/usr/sbin/useradd"

Faults = Sequence[Mapping[str, Cause | None]]
"""Groups of steps in their order (those that run beside each other are one), each step with why it
fails. None: it has nothing to do in this place, and is spared here: another table has it."""


def _joins(machine: str) -> Faults:
    """A worker that comes."""
    return (
        {"preflight": port_taken(machine, 6818)},
        {"install": None},
        {
            "munge": masked(machine, "munge"),
            "configure": refused(machine, TAR, PLACING),
            "people": refused(machine, USERADD),
        },
        {"slurmd": masked(machine, "slurmd")},
        {"register": nodes_refused("n1", SUITE)},
        {"test_job": refused("n1", SRUN)},
        {"admit": refused("n1", SCONTROL, "update*")},
    )


def _leaves(machine: str, asked_before: int) -> Faults:
    """A worker that goes; steps before the last ask for the nodes so often when all is done."""
    return (
        {"drain": refused("n1", SCONTROL, "*State=DRAIN*")},
        {"jobs_end": jobs_refused("n1")},
        {"records_end": waiting_job("n1", machine)},
        {"stop_slurmd": refused(machine, SYSTEMCTL, "'stop slurmd'")},
        {"forget": refused("n1", SCONTROL, "delete*")},
        {"clean": busy_folder(machine, HOME)},
        {"forgotten": nodes_refused("n1", SUITE, answers=asked_before)},
    )


DEPLOY: Final[Faults] = (
    {"preflight": port_taken("n2", 6818)},
    {"install": None},
    {
        "configure": refused("n1", TAR, PLACING),
        "database": masked("n1", "mariadb"),
        "munge": masked("n2", "munge"),
        "configure_workers": refused("n2", TAR, PLACING),
    },
    {
        "slurmdbd": masked("n1", "slurmdbd"),
        "accounts": refused("n1", SACCTMGR, "*--immediate*"),
        "people_workers": refused("n2", USERADD),
    },
    {"people": refused("n1", USERADD)},
    {"slurmctld": masked("n1", "slurmctld")},
    {"slurmd": masked("n2", "slurmd")},
    {"register": nodes_refused("n1", SUITE)},
    {"test_job": refused("n1", SRUN)},
    {"admit": refused("n1", SCONTROL, "update*")},
)
"""To n2 alone, so that it cannot go on without the worker that failed."""
DEPLOY_BARE: Final[Faults] = ({"install": refused("n2", APT, "*install*")},)
ADD_BARE: Final[Faults] = ({"install": refused("n2", APT, "*install*")},)
REPLACE_BARE: Final[Faults] = ({"install": refused("n3", APT, "*install*")},)
"""What is more to do where packages are not there yet."""
ADD: Final = _joins("n2")
REPLACE: Final[Faults] = (*_joins("n3"), *_leaves("n2", asked_before=6))
REMOVE: Final = _leaves("n2", asked_before=4)
REMOVE_SHARED: Final[Faults] = ({"configure_rest": refused("n1", TAR, PLACING)},)
REPLACE_SHARED: Final[Faults] = ({"configure_rest": refused("n1", TAR, PLACING)},)
"""The controller's machine goes on without its worker."""
DRAIN: Final[Faults] = (
    {"drain": refused("n1", SCONTROL, "*State=DRAIN*")},
    {"jobs_end": jobs_refused("n1")},
)
RESUME: Final[Faults] = ({"resume": refused("n1", SCONTROL, "*State=RESUME*")},)
DECOMMISSION: Final[Faults] = (
    {"jobs": refused("n1", SCANCEL)},
    {"stop_slurmd": refused("n3", SYSTEMCTL, "'stop slurmd'")},
    {"stop_slurmctld": refused("n1", SYSTEMCTL, "'stop slurmctld'")},
    {"stop_munge": refused("n3", SYSTEMCTL, "'stop munge'")},
    {"clean": busy_folder("n1", HOME)},
    {"key": Denied(Permission.SECRET_MANAGE)},
)
STOP: Final[Faults] = (
    {"jobs": refused("n1", SCONTROL, "requeue*")},
    {"stop_slurmd": refused("n2", SYSTEMCTL, "'stop slurmd'")},
    {"stop_slurmctld": refused("n1", SYSTEMCTL, "'stop slurmctld'")},
    {"stop_munge": refused("n3", SYSTEMCTL, "'stop munge'")},
)
START: Final[Faults] = (
    {"preflight": port_taken("n1", 6817)},
    {"munge": masked("n3", "munge")},
    {"database": database_misled("n1")},
    {"slurmdbd": masked("n1", "slurmdbd")},
    {"slurmctld": masked("n1", "slurmctld")},
    {"slurmd": masked("n2", "slurmd")},
    {"register": nodes_refused("n1", SUITE)},
)
RESTART: Final[Faults] = (
    {"munge": masked("n3", "munge")},
    {"database": masked("n1", "mariadb")},
    {"restart_slurmdbd": masked("n1", "slurmdbd")},
    {"restart_slurmctld": masked("n1", "slurmctld")},
    {"restart_slurmd": masked("n2", "slurmd")},
    {"register": nodes_refused("n1", SUITE)},
)
RESTART_QUIET: Final[Faults] = ({"jobs": refused("n1", SCONTROL, "requeue*")},)
"""The one step more of a restart that is to put jobs back."""
REPAIR: Final[Faults] = (
    {"repair_configure": refused("n1", TAR, PLACING)},
    {"repair_munge": masked("n2", "munge")},
    {"repair_mariadb": masked("n1", "mariadb")},
    {"repair_slurmdbd": masked("n1", "slurmdbd")},
    {"repair_slurmctld": masked("n1", "slurmctld")},
    {"repair_people": refused("n2", "/usr/sbin/usermod")},
    {"repair_slurmd": masked("n2", "slurmd")},
    {"repair_slurmd_again": refused("n3", SYSTEMCTL, "'restart slurmd'")},
)
REPAIR_KEY: Final[Faults] = (
    {"repair_key": refused("n3", SYSTEMCTL, "'stop munge'")},
    {"repair_admit": refused("n1", SCONTROL, "update*")},
)
REPAIR_LOST: Final[Faults] = (
    # The plan asks for the nodes first; whoever waits for one asks next.
    {"repair_register": nodes_refused("n1", SUITE, answers=1)},
)
"""A node the scheduler lost."""
REPAIR_ASIDE: Final[Faults] = (
    {"repair_clean": busy_folder("n4", HOME)},
    {"repair_forget": refused("n1", SCONTROL, "delete*")},
)
"""A machine that was given up."""
UPGRADE: Final[Faults] = (
    {"preflight": facts_unknown("n2")},
    {"offer": refused("n2", "/usr/bin/ln", "'-f installed.tar previous.tar'")},
    {"examine": bundle_gone("n2")},
    {"snapshot": refused("n1", "/usr/bin/mariadb-dump")},
    {"packages_controller": refused("n1", APT, "*install*")},
    {"configure": refused("n1", TAR, PLACING)},
    {"database": masked("n1", "mariadb")},
    {"slurmdbd": refused("n1", SYSTEMCTL, "'restart slurmdbd'")},
    {"slurmctld": refused("n1", SYSTEMCTL, "'restart slurmctld'")},
    {"packages_workers": refused("n2", APT, "*install*")},
    {"configure_workers": refused("n2", TAR, PLACING)},
    {"restart_slurmd": refused("n2", SYSTEMCTL, "'restart slurmd'")},
    {"register": nodes_refused("n1", SUITE)},
    {"verify": refused("n1", SRUN)},
)
ROLLBACK: Final[Faults] = (
    {"examine": snapshot_gone("n1")},
    {"jobs": refused("n1", SCANCEL)},
    {"stop_slurmd": refused("n2", SYSTEMCTL, "'stop slurmd'")},
    {"stop_slurmctld": refused("n1", SYSTEMCTL, "'stop slurmctld'")},
    {"packages_before": refused("n2", APT, "*install*")},
    {"restore": refused("n1", MARIADB)},
    {"configure": refused("n2", TAR, PLACING)},
    {"database": masked("n1", "mariadb")},
    {"slurmdbd": refused("n1", SYSTEMCTL, "'restart slurmdbd'")},
    {"slurmctld": refused("n1", SYSTEMCTL, "'restart slurmctld'")},
    {"slurmd": refused("n2", SYSTEMCTL, "'restart slurmd'")},
    {"register": nodes_refused("n1", SUITE)},
    {"admit": refused("n1", SCONTROL, "update*")},
    {"verify": refused("n1", SRUN)},
)
ORDEALS: Final[Mapping[str, Sequence[Faults]]] = {
    "deploy": (DEPLOY, DEPLOY_BARE),
    "add_worker": (ADD, ADD_BARE),
    "drain_worker": (DRAIN,),
    "resume_worker": (RESUME,),
    "remove_worker": (REMOVE, REMOVE_SHARED),
    "replace_worker": (REPLACE, REPLACE_SHARED, REPLACE_BARE),
    "stop": (STOP,),
    "start": (START,),
    "restart": (RESTART, RESTART_QUIET),
    "upgrade": (UPGRADE,),
    "rollback": (ROLLBACK,),
    "reconcile": (REPAIR, REPAIR_KEY, REPAIR_LOST, REPAIR_ASIDE),
    "decommission": (DECOMMISSION,),
}
"""Everything that is done to each kind of operation."""
