"""cgroup.conf: what control groups hold jobs to, or that they are not used."""

from gpuaas_slurm.model import Cluster, Containment
from gpuaas_slurm.render.files import RenderedFile, header, settings
from gpuaas_slurm.version import V24_05

PATH = "/etc/slurm/cgroup.conf"


def cgroup_conf(cluster: Cluster) -> RenderedFile | None:
    """Render cgroup.conf; None where there must be none.

    Since 24.05 the daemons can be told to leave control groups alone; before, a cluster that does
    not use them has no such file.
    """
    if cluster.containment is Containment.CGROUP:
        text = settings(
            {
                "CgroupPlugin": "autodetect",
                "ConstrainCores": "yes",
                "ConstrainDevices": "yes",
                "ConstrainRAMSpace": "yes",
                "ConstrainSwapSpace": "no",
            }
        )
    elif cluster.build.version >= V24_05:
        text = settings({"CgroupPlugin": "disabled"})
    else:
        return None
    return RenderedFile(PATH, f"{header(cluster)}\n{text}", restarts=("slurmd",))
