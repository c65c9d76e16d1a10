"""gres.conf, each machine's own: its GPUs by their device files.

AutoDetect=nvml is only written for a build that has NVML: without it the daemon would find no GPU
and drain the node. A machine without GPUs gets a file that says so, which spares the daemon a
remark about a missing one.
"""

from gpuaas_slurm.hostlist import compress
from gpuaas_slurm.model import Cluster, Gpus, GpuVendor, Machine
from gpuaas_slurm.render.files import RenderedFile, header

PATH = "/etc/slurm/gres.conf"

FLAGS = {GpuVendor.NVIDIA: "nvidia_gpu_env", GpuVendor.AMD: "amd_gpu_env"}
"""Which variables a job gets; without a flag it gets those of every vendor."""


def gres_conf(cluster: Cluster, machine: Machine) -> RenderedFile:
    """Render a machine's gres.conf."""
    nvidia = all(gpus.vendor is GpuVendor.NVIDIA for gpus in machine.gpus)
    if not machine.gpus:
        body = "# This machine has no GPUs.\n"
    elif cluster.build.nvml and nvidia:
        body = "AutoDetect=nvml\n"
    else:
        body = "".join(f"{_line(gpus)}\n" for gpus in machine.gpus)
    return RenderedFile(PATH, f"{header(cluster)}\n{body}", restarts=("slurmd",))


def gres_of_node(machine: Machine) -> str:
    """Return the node's Gres: ``gpu:h100:8``."""
    return ",".join(f"gpu:{gpus.type}:{gpus.count}" for gpus in machine.gpus)


def _line(gpus: Gpus) -> str:
    return f"Name=gpu Type={gpus.type} File={compress(gpus.files)} Flags={FLAGS[gpus.vendor]}"
