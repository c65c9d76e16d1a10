"""slurm.conf, the same text on every machine of the cluster.

It names no worker. Nodes register themselves (docs/decisions/0020), so that a worker that comes or
goes changes no file and restarts no daemon; partitions take nodes by feature.
"""

from gpuaas_slurm.model import ADMISSION, Cluster, Containment, Partition
from gpuaas_slurm.render.files import RenderedFile, header, settings
from gpuaas_slurm.version import V23_11

PATH = "/etc/slurm/slurm.conf"
PLUGSTACK = "/etc/slurm/plugstack.gpuaas.conf"
STATE = "/var/lib/slurm/slurmctld"
SPOOL = "/var/spool/slurmd"
"""Slurm's default, and not by accident: a slurmd that registers itself writes there before it has
read where else it should (seen in 22.05 and 24.11), and complains at each start when it cannot."""

NO_FANOUT = 65533

PRIVATE = "accounts,jobs,reservations,usage,users"
"""What people see of their own alone. Nodes stay visible: people choose where their jobs run."""


def slurm_conf(cluster: Cluster) -> RenderedFile:
    """Render slurm.conf."""
    parts = (
        _identity(cluster),
        _scheduling(cluster),
        _containment(cluster),
        _accounting(cluster),
        _nodes(cluster),
    )
    text = header(cluster) + "".join(f"\n{part}" for part in parts)
    return RenderedFile(PATH, text, restarts=("slurmctld", "slurmd"))


def plugstack_conf(cluster: Cluster) -> RenderedFile:
    """Render an empty list of plugins: Debian's own has an include that 24.11 calls an error."""
    return RenderedFile(PLUGSTACK, header(cluster), restarts=("slurmctld", "slurmd"))


def _identity(cluster: Cluster) -> str:
    controller = cluster.controller
    pid_folder = "/run/slurmctld/" if cluster.build.version >= V23_11 else "/run/"
    return settings(
        {
            "ClusterName": cluster.name,
            "SlurmctldHost": f"{controller.host}({controller.address})",
            "SlurmUser": "slurm",
            "AuthType": "auth/munge",
            # A job of root's would be root on every worker.
            "DisableRootJobs": "YES",
            "PrivateData": PRIVATE,
            "StateSaveLocation": STATE,
            "SlurmdSpoolDir": SPOOL,
            "SlurmctldPidFile": f"{pid_folder}slurmctld.pid",
            "SlurmdPidFile": "/run/slurmd.pid",
            "PlugStackConfig": PLUGSTACK,
            # Machines send no mail; without a program that exists the controller complains.
            "MailProg": "/usr/bin/true",
            # A machine that was lost and comes back serves again by itself; a drain stays.
            "ReturnToService": 2,
            "MpiDefault": "pmix" if cluster.build.pmix else "none",
            "PropagateResourceLimitsExcept": "MEMLOCK",
        }
    )


def _scheduling(cluster: Cluster) -> str:
    return settings(
        {
            "SchedulerType": "sched/backfill",
            "SelectType": "select/cons_tres",
            "SelectTypeParameters": "CR_Core_Memory",
            "DefMemPerCPU": cluster.memory_per_cpu_mib,
            "MinJobAge": cluster.finished_job_seconds,
            # Named where no machine has one too: to add it later would restart every daemon.
            "GresTypes": "gpu",
        }
    )


def _containment(cluster: Cluster) -> str:
    if cluster.containment is Containment.CGROUP:
        track, task, gather = "cgroup", "task/cgroup,task/affinity", "cgroup"
    else:
        track, task, gather = "linuxproc", "task/affinity", "linux"
    if cluster.accounting is None:
        gather = "none"
    return settings(
        {
            "ProctrackType": f"proctrack/{track}",
            "TaskPlugin": task,
            "JobAcctGatherType": f"jobacct_gather/{gather}",
            "JobAcctGatherFrequency": 30,
        }
    )


def _accounting(cluster: Cluster) -> str:
    if cluster.accounting is None:
        return "# No accounting: every account is let in, and nothing is recorded.\n"
    return settings(
        {
            "AccountingStorageType": "accounting_storage/slurmdbd",
            "AccountingStorageHost": cluster.controller.address,
            "AccountingStorageEnforce": "associations,limits,qos,safe",
            "AccountingStorageTRES": "gres/gpu",
            "AccountingStoreFlags": "job_comment",
            # Shares of the past need accounting too.
            "PriorityType": "priority/multifactor",
            "PriorityWeightAge": 1000,
            "PriorityWeightFairshare": 10000,
        }
    )


def _nodes(cluster: Cluster) -> str:
    limits: dict[str, str | int] = {"MaxNodeCount": cluster.max_nodes}
    if cluster.build.version < V23_11:
        # Older daemons cannot pass messages on to nodes that no file names.
        limits["TreeWidth"] = NO_FANOUT
    if cluster.switches:
        limits["TopologyPlugin"] = "topology/tree"
    features = sorted({feature for p in cluster.partitions for feature in p.features})
    sets = "".join(f"NodeSet={_node_set(feature)} Feature={feature}\n" for feature in features)
    lines = "".join(f"{_partition(partition)}\n" for partition in cluster.partitions)
    # Open to root, who runs no jobs, and to the user the daemons run as, who runs the test jobs.
    own = f"PartitionName={ADMISSION} Nodes=ALL Hidden=YES RootOnly=YES State=UP\n"
    return settings(limits) + sets + lines + own


def _partition(partition: Partition) -> str:
    words = [
        f"PartitionName={partition.name}",
        f"Nodes={','.join(_node_set(feature) for feature in partition.features)}",
        f"Default={'YES' if partition.default else 'NO'}",
        "MaxTime=" + ("UNLIMITED" if partition.max_minutes is None else str(partition.max_minutes)),
    ]
    if partition.accounts:
        words.append(f"AllowAccounts={','.join(partition.accounts)}")
    if partition.qos:
        words.append(f"AllowQos={','.join(partition.qos)}")
    return " ".join([*words, "State=UP"])


def _node_set(feature: str) -> str:
    return f"with_{feature}"
