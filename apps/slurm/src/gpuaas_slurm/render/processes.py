"""The service that hides other people's processes when a machine boots.

systemd has no setting of its own for the whole machine's /proc, and it wants no fstab line: a small
service changes it before people can log in. Root and members of root's group, as services of the
system are, go on seeing everything. A kernel or container that refuses this fails the service and
nothing else.
"""

from gpuaas_slurm.model import Cluster
from gpuaas_slurm.render.files import RenderedFile, header

SERVICE = "gpuaas-slurm-processes.service"
PATH = f"/etc/systemd/system/{SERVICE}"
WANTED = f"/etc/systemd/system/multi-user.target.wants/{SERVICE}"


def processes_unit(cluster: Cluster) -> RenderedFile:
    """Render the service; it keeps no state, so that each start does the same again."""
    text = (
        "[Unit]\n"
        "Description=Hide other people's processes\n"
        "Before=systemd-user-sessions.service slurmd.service\n\n"
        "[Service]\nType=oneshot\n"
        # The number: kernels before 5.8 know no word for it.
        "ExecStart=/bin/mount -o remount,hidepid=2 /proc\n\n"
        "[Install]\nWantedBy=multi-user.target\n"
    )
    return RenderedFile(PATH, f"{header(cluster)}\n{text}")
