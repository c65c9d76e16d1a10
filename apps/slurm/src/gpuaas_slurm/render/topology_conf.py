"""topology.conf, where the switches between machines are known."""

from gpuaas_slurm.hostlist import compress
from gpuaas_slurm.model import Cluster, ModelError, Switch
from gpuaas_slurm.render.files import RenderedFile, header
from gpuaas_slurm.version import V23_11

PATH = "/etc/slurm/topology.conf"


def topology_conf(cluster: Cluster) -> RenderedFile | None:
    """Render topology.conf; None without switches.

    Before 23.11 the controller reads the topology before it recalls nodes that registered
    themselves, and then refuses jobs on all of them (seen in 22.05): such a cluster is refused.
    """
    if not cluster.switches:
        return None
    if cluster.build.version < V23_11:
        raise ModelError(f"Slurm {cluster.build.version} has no topology for nodes that register")
    known = {worker.name for worker in cluster.workers}
    named = {name for switch in cluster.switches for name in switch.machines}
    if named != known:
        raise ModelError(f"switches and workers differ: {', '.join(sorted(named ^ known))}")
    body = "".join(f"{_line(switch)}\n" for switch in cluster.switches)
    return RenderedFile(PATH, f"{header(cluster)}\n{body}", restarts=("slurmctld",))


def _line(switch: Switch) -> str:
    if switch.machines:
        return f"SwitchName={switch.name} Nodes={compress(switch.machines)}"
    return f"SwitchName={switch.name} Switches={compress(switch.switches)}"
