"""slurmdbd.conf and the database's settings, on the controller of a cluster with accounting.

The daemon reaches the database over its socket as its own Unix user: there is no password to keep.
"""

from gpuaas_slurm.model import Accounting, Cluster
from gpuaas_slurm.render.files import SLURM_USER, RenderedFile, header, settings
from gpuaas_slurm.render.slurm_conf import PRIVATE
from gpuaas_slurm.version import V23_11

PATH = "/etc/slurm/slurmdbd.conf"
DATABASE_PATH = "/etc/mysql/mariadb.conf.d/60-gpuaas-slurm.cnf"

POOL_MIB = {False: 512, True: 2048}
"""The smallest buffer pool each daemon (before 23.11, since) starts with and does not complain."""

POOL_SHARE = 4
"""At most one part in this many of the controller's memory, complaint or not."""


def slurmdbd_conf(cluster: Cluster, accounting: Accounting) -> RenderedFile:
    """Render slurmdbd.conf."""
    recent = cluster.build.version >= V23_11
    text = settings(
        {
            "AuthType": "auth/munge",
            "DbdHost": cluster.controller.host,
            "DbdAddr": cluster.controller.address,
            "SlurmUser": SLURM_USER,
            "PrivateData": PRIVATE,
            "PidFile": "/run/slurmdbd/slurmdbd.pid" if recent else "/run/slurmdbd.pid",
            "StorageType": "accounting_storage/mysql",
            "StorageHost": "localhost",
            "StorageUser": SLURM_USER,
            "StorageLoc": accounting.database,
        }
    )
    return RenderedFile(
        PATH,
        f"{header(cluster)}\n{text}",
        owner=SLURM_USER,
        group=SLURM_USER,
        mode=0o600,
        restarts=("slurmdbd",),
    )


def mariadb_conf(cluster: Cluster) -> RenderedFile:
    """Render the database's settings: what slurmdbd recommends, and no network."""
    wanted = POOL_MIB[cluster.build.version >= V23_11]
    pool = max(64, min(wanted, cluster.controller.memory_mib // POOL_SHARE))
    text = (
        "[mariadb]\n"
        f"innodb_buffer_pool_size={pool}M\n"
        "innodb_lock_wait_timeout=900\n"
        "skip-networking\n"
    )
    return RenderedFile(DATABASE_PATH, f"{header(cluster)}\n{text}", restarts=("mariadb",))


def database_statements(accounting: Accounting) -> tuple[str, ...]:
    """Return the SQL that makes database and user; each may be run again."""
    account = f"'{SLURM_USER}'@'localhost'"
    return (
        f"CREATE DATABASE IF NOT EXISTS {accounting.database}",
        f"CREATE USER IF NOT EXISTS {account} IDENTIFIED VIA unix_socket",
        f"GRANT ALL ON {accounting.database}.* TO {account}",
    )
