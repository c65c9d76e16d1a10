"""Which files a machine gets, by what it is for."""

from gpuaas_slurm.model import Cluster, Machine
from gpuaas_slurm.render.cgroup_conf import cgroup_conf
from gpuaas_slurm.render.files import RenderedFile
from gpuaas_slurm.render.gres_conf import gres_conf
from gpuaas_slurm.render.processes import processes_unit
from gpuaas_slurm.render.slurm_conf import plugstack_conf, slurm_conf
from gpuaas_slurm.render.slurmdbd_conf import mariadb_conf, slurmdbd_conf
from gpuaas_slurm.render.topology_conf import topology_conf
from gpuaas_slurm.render.units import (
    mariadb_unit,
    slurmctld_unit,
    slurmd_options,
    slurmd_unit,
    slurmdbd_unit,
)


def cluster_files(cluster: Cluster) -> dict[str, tuple[RenderedFile, ...]]:
    """Return every machine's files, by its name."""
    return {machine.name: machine_files(cluster, machine) for machine in cluster.machines}


def machine_files(cluster: Cluster, machine: Machine) -> tuple[RenderedFile, ...]:
    """Return one machine's files; a controller that also works gets both sets."""
    files: list[RenderedFile | None] = [
        slurm_conf(cluster),
        plugstack_conf(cluster),
        cgroup_conf(cluster),
        topology_conf(cluster),
        processes_unit(cluster),
    ]
    if machine.name == cluster.controller.name:
        files.append(slurmctld_unit(cluster))
        if cluster.accounting is not None:
            files += [
                slurmdbd_conf(cluster, cluster.accounting),
                mariadb_conf(cluster),
                mariadb_unit(cluster),
                slurmdbd_unit(cluster),
            ]
    worker = cluster.worker(machine.name)
    if worker is not None:
        files += [
            gres_conf(cluster, worker),
            slurmd_unit(cluster, worker),
            slurmd_options(cluster, worker),
        ]
    return tuple(file for file in files if file is not None)
