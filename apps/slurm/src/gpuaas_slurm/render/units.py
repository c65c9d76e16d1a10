"""Drop-ins for the distribution's systemd units: order, restarts, and how slurmd registers.

Drop-ins only: the packages' own files stay as they are, and removing ours undoes all of it.
"""

from gpuaas_slurm.model import Cluster, Machine
from gpuaas_slurm.render.files import RenderedFile, header
from gpuaas_slurm.render.gres_conf import gres_of_node
from gpuaas_slurm.render.slurm_conf import SPOOL

FOLDER = "/etc/systemd/system"
DROP_IN = "60-gpuaas.conf"
OPTIONS = "/etc/slurm/slurmd.gpuaas.env"

RESTART = "Restart=on-failure\nRestartSec=3\n"

CONVERSION_SECONDS = 6 * 3600
"""How long a start of accounting may take. A new release first rewrites the tables of the old one,
which takes hours where millions of jobs are kept; systemd would end it after 90 seconds, in the
middle. Whoever starts it gives up earlier when nothing is being done (`start.sh`)."""


def _until(command: str) -> str:
    """Let a start end when the daemon answers, or with the daemon.

    What is ordered after it then finds it ready, and nobody has to poll. Whether the daemon is
    there, /proc says to everybody: a signal is refused for as long as it has not become its user.
    """
    pause = "n=$$((n+1)); if [ $$n -lt 200 ]; then sleep 0.05; else sleep 1; fi"
    loop = f"until {command} >/dev/null 2>&1; do [ -d /proc/${{MAINPID}} ] || exit 1; {pause}; done"
    return f"ExecStartPost=/bin/sh -c 'n=0; {loop}'\n"


ANSWERS = _until("scontrol ping | grep UP")
ACCOUNTS = _until("sacctmgr --noheader show cluster")


def _acknowledged(address: str) -> str:
    """Have the kernel acknowledge at once what a machine sends to itself.

    Slurm writes a message to accounting in two pieces; the kernel keeps the second back until the
    first is acknowledged, and waits 40 ms with that. Without the wait sacctmgr takes a quarter of
    the time, and so does a starting slurmctld with its ten questions. Undone when the daemon ends.
    """
    if ":" in address:
        return ""
    route = f'$$(ip -4 route show table local {address} | head -n 1 | sed "s/ quickack 1//")'
    change = f"/bin/sh -c 'ip route replace table local {route}"
    # As root, whoever the daemon runs as: Debian 13's is slurm from the start.
    return f"ExecStartPre=+-{change} quickack 1'\nExecStopPost=+-{change}'\n"


def mariadb_unit(cluster: Cluster) -> RenderedFile:
    """Render the database's drop-in: only accounting reaches its socket.

    Anybody who may connect, with or without a name the database knows, can take up all the
    connections it has, and with them every change in accounting.
    """
    only = "chgrp slurm /run/mysqld && chmod 0750 /run/mysqld"
    return _drop_in(cluster, "mariadb", f"[Service]\nExecStartPost=+/bin/sh -c '{only}'\n")


def slurmctld_unit(cluster: Cluster) -> RenderedFile:
    """Render the controller's drop-in; it exits when its accounting daemon does not answer."""
    order = "After=munge.service\nWants=munge.service\n"
    if cluster.accounting:
        order += "After=slurmdbd.service\nWants=slurmdbd.service\n"
    return _drop_in(
        cluster,
        "slurmctld",
        f"[Unit]\n{order}StartLimitIntervalSec=0\n\n[Service]\n{ANSWERS}{RESTART}",
    )


def slurmdbd_unit(cluster: Cluster) -> RenderedFile:
    """Render the accounting daemon's drop-in; one that waits for its database ignores a stop."""
    return _drop_in(
        cluster,
        "slurmdbd",
        "[Unit]\nAfter=mariadb.service munge.service\nWants=mariadb.service munge.service\n"
        "StartLimitIntervalSec=0\n\n"
        f"[Service]\n{_acknowledged(cluster.controller.address)}{ACCOUNTS}{RESTART}"
        f"TimeoutStartSec={CONVERSION_SECONDS}\nTimeoutStopSec=20\n",
    )


def slurmd_unit(cluster: Cluster, machine: Machine) -> RenderedFile:
    """Render a worker's drop-in."""
    order = "After=munge.service\nWants=munge.service\n"
    if machine.name == cluster.controller.name:
        order += "After=slurmctld.service\n"
    return _drop_in(
        cluster,
        "slurmd",
        f"[Unit]\n{order}StartLimitIntervalSec=0\n\n"
        f"[Service]\nEnvironmentFile={OPTIONS}\n"
        f"ExecStartPre=/bin/mkdir -p {SPOOL}\n{RESTART}",
    )


def slurmd_options(cluster: Cluster, machine: Machine) -> RenderedFile:
    """Render the node a worker registers as, from its next start on.

    A file of its own: the daemon reads it when it starts, and systemd need not be told of a change.
    """
    # Values are names, numbers and addresses checked by the model: nothing here needs escaping.
    options = f"-N {machine.name} -Z --conf '{node_line(machine)}'"
    return RenderedFile(OPTIONS, f'{header(cluster)}\nSLURMD_OPTIONS="{options}"\n')


def node_line(machine: Machine) -> str:
    """Return what the node says of itself when it registers, in slurm.conf's words."""
    words = [
        f"NodeAddr={machine.address}",
        f"CPUs={machine.cpus}",
        "Boards=1",
        f"SocketsPerBoard={machine.sockets}",
        f"CoresPerSocket={machine.cores_per_socket}",
        f"ThreadsPerCore={machine.threads_per_core}",
        f"RealMemory={machine.memory_mib}",
    ]
    if machine.node_features:
        words.append(f"Feature={','.join(machine.node_features)}")
    if machine.gpus:
        words.append(f"Gres={gres_of_node(machine)}")
    return " ".join(words)


def _drop_in(cluster: Cluster, service: str, body: str) -> RenderedFile:
    return RenderedFile(
        f"{FOLDER}/{service}.service.d/{DROP_IN}",
        f"{header(cluster)}\n{body}",
        restarts=(service,),
    )
