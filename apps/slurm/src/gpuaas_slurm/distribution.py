"""What each supported distribution calls things: packages by role, plugin folder, known gaps.

Data only. Install steps and preflight read it; versions are never assumed from it but read from the
daemons.
"""

from collections.abc import Iterable
from dataclasses import dataclass

PLUGINS = "/usr/lib/x86_64-linux-gnu/slurm-wlm"


@dataclass(frozen=True)
class Link:
    """A symbolic link a package lacks; removed again with everything else."""

    path: str
    target: str


@dataclass(frozen=True)
class Distribution:
    """One release of a distribution."""

    codename: str
    pmix: str
    links: tuple[Link, ...] = ()

    @property
    def pmix_library(self) -> str:
        """The file the scheduler's plugin opens."""
        return self.links[0].path if self.links else PMIX_LIBRARY

    @property
    def controller(self) -> tuple[str, ...]:
        """Packages of a controller with accounting."""
        return (
            "mariadb-server",
            "munge",
            "slurm-client",
            "slurm-wlm-mysql-plugin",
            "slurmctld",
            "slurmdbd",
            self.pmix,
        )

    @property
    def worker(self) -> tuple[str, ...]:
        """Packages of a worker."""
        return ("munge", "slurm-client", "slurmd", self.pmix)

    @property
    def login(self) -> tuple[str, ...]:
        """Packages of a machine people log in to."""
        return ("munge", "slurm-client", self.pmix)

    def packages(self, roles: Iterable[str]) -> tuple[str, ...]:
        """Packages of a machine with these roles, each once."""
        sets = {"controller": self.controller, "worker": self.worker, "login": self.login}
        return tuple(sorted({name for role in roles for name in sets[role]}))


PMIX_LIBRARY = "/usr/lib/x86_64-linux-gnu/pmix2/lib/libpmix.so.2"

# Older plugins open the name without a version, which only the -dev package has; without it every
# daemon says at each start that it cannot load the library.
_PMIX_LINK = Link(PMIX_LIBRARY.removesuffix(".2"), "libpmix.so.2")

DEBIAN_12 = Distribution("bookworm", "libpmix2", (_PMIX_LINK,))
UBUNTU_24_04 = Distribution("noble", "libpmix2t64", (_PMIX_LINK,))
DEBIAN_13 = Distribution("trixie", "libpmix2t64")

DISTRIBUTIONS = {found.codename: found for found in (DEBIAN_12, UBUNTU_24_04, DEBIAN_13)}
PMIX_LIBRARIES = tuple(sorted({found.pmix_library for found in DISTRIBUTIONS.values()}))
