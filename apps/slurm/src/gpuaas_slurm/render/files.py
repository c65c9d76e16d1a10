"""A rendered file: where it goes, whose it is, and its text."""

from dataclasses import dataclass

from gpuaas_slurm.model import Cluster

SLURM_USER = "slurm"


@dataclass(frozen=True)
class RenderedFile:
    """One file of one machine; `restarts` names the services that must be restarted to read it."""

    path: str
    text: str
    owner: str = "root"
    group: str = "root"
    mode: int = 0o644
    restarts: tuple[str, ...] = ()


def header(cluster: Cluster) -> str:
    """Return the remark every rendered file begins with."""
    return (
        f"# Cluster {cluster.name}, generation {cluster.generation}: written by gpuaas-slurm.\n"
        "# A change made by hand is reported as drift and written over.\n"
    )


def settings(pairs: dict[str, str | int]) -> str:
    """Return lines of ``Name=value``."""
    return "".join(f"{name}={value}\n" for name, value in pairs.items())
