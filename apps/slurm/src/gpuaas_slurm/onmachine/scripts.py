"""The scripts, as the steps run them: text from this folder, and the environment it needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files

from gpuaas_slurm.distribution import PLUGINS, PMIX_LIBRARIES
from gpuaas_slurm.render.cgroup_conf import PATH as CGROUP_CONF
from gpuaas_slurm.render.gres_conf import PATH as GRES_CONF
from gpuaas_slurm.render.processes import PATH as PROCESSES
from gpuaas_slurm.render.slurm_conf import PATH as SLURM_CONF
from gpuaas_slurm.render.slurm_conf import PLUGSTACK
from gpuaas_slurm.render.slurmdbd_conf import DATABASE_PATH
from gpuaas_slurm.render.slurmdbd_conf import PATH as SLURMDBD_CONF
from gpuaas_slurm.render.topology_conf import PATH as TOPOLOGY_CONF
from gpuaas_slurm.render.units import DROP_IN, FOLDER, OPTIONS

HOME = "/var/lib/gpuaas-slurm"
"""What the app itself keeps on a machine: what it found, made and decided there, and its locks.

Root's alone: a lock that others can open, they can hold."""

MUNGE_KEY = "/etc/munge/munge.key"
FOLDERS = ("/etc/mysql", "/var/lib/mysql", "/var/log/mysql")
"""A database server's, which may have been there before the server: then they stay when it goes."""

UNITS = ("munge", "mariadb", "slurmdbd", "slurmctld", "slurmd")
MARIADB_UNIT = f"{FOLDER}/mariadb.service.d/{DROP_IN}"
DROP_INS = tuple(f"{FOLDER}/{unit}.service.d/{DROP_IN}" for unit in UNITS[2:])
CONFIGURATION = (
    SLURM_CONF,
    PLUGSTACK,
    CGROUP_CONF,
    TOPOLOGY_CONF,
    GRES_CONF,
    SLURMDBD_CONF,
    DATABASE_PATH,
    MARIADB_UNIT,
    PROCESSES,
    OPTIONS,
    *DROP_INS,
)
"""Every file a renderer can ask for; one that is there and is not asked for is drift."""

PLUGIN_FILES = {f"{PLUGINS}/{name}.so": name for name in ("gpu_nvml", "mpi_pmix")}
DATABASE_MADE = f"{HOME}/database.made"
INSTALLING = f"{HOME}/installing"
PACKAGES = (
    "mariadb-server",
    "munge",
    "slurm-client",
    "slurm-wlm-mysql-plugin",
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "libpmix2",
    "libpmix2t64",
)


NOTHING = "nothing"
"""The script that changes nothing: what follows looks."""

ALL = ("packages", "files", "units", "people")
"""The parts of a look; what a machine is and was made to be is always told."""


@dataclass(frozen=True)
class Script:
    """What to run on one machine; the look that follows shows what it made."""

    name: str
    env: Mapping[str, str] = field(default_factory=dict)
    input: bytes = b""
    timeout: float = 60.0
    sees: tuple[str, ...] = ALL
    """Parts of a machine it may change, which are looked at afterwards."""

    @property
    def text(self) -> str:
        """The script, which ends at the first command that fails, and a look at what is there."""
        # Not `(…) || exit`: on the left of `||` the shell forgets that it should end at a failure.
        return (
            f"(\nset -eu\n{self._home}{script_text(self.name)}) >&2\nstatus=$?\n"
            f'[ "$status" -eq 0 ] || exit "$status"\n{script_text("look")}'
        )

    @property
    def _home(self) -> str:
        """What makes the app's folder safe, before anything is read from it or written to it."""
        return "" if self.name == NOTHING else script_text("home")

    @property
    def environment(self) -> dict[str, str]:
        """Its own values, and what the look needs to know."""
        return {**_LOOK_ENV, "SEES": " ".join(self.sees), **self.env}


LOOK = Script(NOTHING)
"""The look alone."""

_LOOK_ENV = {
    "HOME_FOLDER": HOME,
    "PACKAGES": " ".join(PACKAGES),
    "FILES": " ".join((*CONFIGURATION, MUNGE_KEY)),
    "PROBED": " ".join((*PLUGIN_FILES, *PMIX_LIBRARIES, DATABASE_MADE, INSTALLING)),
    "UNITS": " ".join(UNITS),
    "FOLDERS": " ".join(FOLDERS),
}


@cache
def script_text(name: str) -> str:
    """The text of a script of this folder."""
    return files("gpuaas_slurm.onmachine").joinpath(f"{name}.sh").read_text()
