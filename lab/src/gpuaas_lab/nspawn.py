"""Boot one machine: an overlay on the image, then systemd-nspawn, detached from whoever asked.

Called by the lab. The machine outlives the caller. Its root is mounted in a mount namespace of
its own, so the host's mount table never holds it and nothing can be left mounted.
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import cgroups, names, process
from gpuaas_lab.errors import BootFailed, CommandFailed

# $1: mount source. $2: lower layers. $3: machine folder. $4: control groups, one a line.
#
# The overlay is mounted without syncing and marks its work folder with that; a machine whose plug
# was pulled left the mark behind. The host did not crash, so the layer is whole.
_MOUNT = """
set -e
cd "$3"
rm -rf work/*/incompat
# The lab locks its machines itself; systemd-nspawn would leave a lock file in /run per machine.
export SYSTEMD_NSPAWN_LOCK=0
mount -t overlay "$1" -o "lowerdir=$2,upperdir=upper,workdir=work,volatile" root
groups=$4
shift 4
"""

# systemd-nspawn ends with 133 when the machine reboots and leaves the next start to its manager.
# This shell is the manager; it stays outside the machine's groups, which are the machine's alone.
_KEEP = """
set +e
while :; do
  (for group in $groups; do echo 0 > "$group/cgroup.procs" || exit 1; done; exec "$@")
  status=$?
  [ "$status" = 133 ] || exit "$status"
done
"""
_REBOOTED = 133

INOTIFY_NEEDED = 4096
INOTIFY_FILE = Path("/proc/sys/fs/inotify/max_user_instances")


@dataclass(frozen=True)
class Boot:
    """What it takes to boot a machine."""

    lab: str
    machine: str
    below: tuple[Path, ...]
    """What the machine's own disk lies above, the uppermost first."""
    folder: Path

    @property
    def identity(self) -> str:
        """The machine's id on the host."""
        return names.machine_id(self.lab, self.machine)


def limits_raise() -> None:
    """Make room for many machines: Linux counts inotify instances per user for the whole host.

    systemd, its daemons and dbus take about seven in each machine, and the default is 128: the
    twentieth machine would hang half booted. Only ever raised, and never lowered again.
    """
    if inotify_instances() < INOTIFY_NEEDED:
        with contextlib.suppress(OSError):  # a few machines fit anyway; the doctor warns
            INOTIFY_FILE.write_text(str(INOTIFY_NEEDED))


def inotify_instances() -> int:
    """How many inotify instances a user may have on this host."""
    return int(INOTIFY_FILE.read_text())


async def boot(plan: Boot) -> None:
    """Start the machine and return at once; it is up when SSH answers."""
    log = console_log(plan.folder)
    log.touch(mode=0o600)
    if cgroups.host_systemd():
        await _start_unit(plan, log)
        return
    groups = await cgroups.groups_make(plan.identity)
    await process.output(
        *("sh", "-c", 'exec >>"$1" 2>&1 </dev/null; shift; exec setsid --fork "$@"', "sh", log),
        *_command(plan, _MOUNT + _KEEP, groups),
    )


def console_log(folder: Path) -> Path:
    """Where the machine's console goes."""
    return folder / "console.log"


def console_tail(folder: Path) -> str:
    """The end of what the machine said on its console."""
    return process.tail(console_log(folder))


async def _start_unit(plan: Boot, log: Path) -> None:
    """Start the machine's unit; systemd forgets the last one a moment after its processes ended."""
    for _attempt in range(20):
        try:
            await process.output(*_as_unit(plan, log))
        except CommandFailed as error:
            if "already" not in error.message:
                raise
            await asyncio.sleep(0.1)
        else:
            return
    raise BootFailed(f"systemd still holds the last unit of {plan.machine}")


def _as_unit(plan: Boot, log: Path) -> list[str]:
    return [
        *("systemd-run", "--quiet", "--collect", f"--unit=gpuaas-lab-{plan.identity}"),
        f"--description=GPUaaS lab machine {plan.lab}/{plan.machine}",
        *("--property=Type=exec", "--property=Delegate=yes", "--property=KillMode=mixed"),
        *("--property=TasksMax=infinity", f"--property=StandardOutput=append:{log}"),
        f"--property=StandardError=append:{log}",
        *(f"--property=RestartForceExitStatus={_REBOOTED}", "--property=RestartSec=0"),
        f"--property=SuccessExitStatus={_REBOOTED}",
        *_command(plan, _MOUNT + 'exec "$@"\n', []),
    ]


def _command(plan: Boot, script: str, groups: list[Path]) -> list[str]:
    return [
        *("unshare", "--mount", "--propagation", "slave", "sh", "-c", script, "sh"),
        *(names.mount_source(plan.identity), ":".join(map(str, plan.below)), str(plan.folder)),
        "\n".join(map(str, groups)),
        *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--settings=no"),
        *("--directory=root", f"--machine={plan.identity}", f"--hostname={plan.machine}"),
        f"--network-bridge={names.bridge(plan.lab)}",
        *("--resolv-conf=off", "--timezone=off", "--link-journal=no", "--boot"),
    ]
