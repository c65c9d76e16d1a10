"""Boot one machine: an overlay on the image, then systemd-nspawn, detached from whoever asked.

Called by the lab. The machine outlives the caller. Its root is mounted in a mount namespace of
its own, so the host's mount table never holds it and nothing can be left mounted.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import cgroups, names, process

# $1: control groups to enter, one a line. $2: mount source. $3: lower layer. $4: machine folder.
_START = """
set -e
for group in $1; do echo 0 > "$group/cgroup.procs"; done
cd "$4"
mount -t overlay "$2" -o "lowerdir=$3,upperdir=upper,workdir=work,volatile" root
shift 4
exec "$@"
"""


@dataclass(frozen=True)
class Boot:
    """What it takes to boot a machine."""

    lab: str
    machine: str
    image: Path
    folder: Path

    @property
    def identity(self) -> str:
        """The machine's id on the host."""
        return names.machine_id(self.lab, self.machine)


async def boot(plan: Boot) -> None:
    """Start the machine and return at once; it is up when SSH answers."""
    log = console_log(plan.folder)
    _ready(plan, log)
    if cgroups.host_systemd():
        await process.output(*_as_unit(plan, log))
        return
    groups = cgroups.groups_make(plan.identity)
    await process.output(
        *("sh", "-c", 'exec >>"$1" 2>&1 </dev/null; shift; exec setsid --fork "$@"', "sh", log),
        *command(plan, groups),
    )


def command(plan: Boot, groups: list[Path]) -> list[str]:
    """The command that becomes the machine's supervisor."""
    return [
        *("unshare", "--mount", "--propagation", "slave"),
        *("sh", "-c", _START, "sh", "\n".join(map(str, groups))),
        *(names.mount_source(plan.identity), str(plan.image), str(plan.folder)),
        *("systemd-nspawn", "--quiet", "--register=no", "--keep-unit", "--settings=no"),
        *("--directory=root", f"--machine={plan.identity}", f"--hostname={plan.machine}"),
        f"--network-bridge={names.bridge(plan.lab)}",
        *("--resolv-conf=off", "--timezone=off", "--link-journal=no", "--boot"),
    ]


def console_log(folder: Path) -> Path:
    """Where the machine's console goes."""
    return folder / "console.log"


def console_tail(folder: Path) -> str:
    """The end of what the machine said on its console."""
    return process.tail(console_log(folder))


def _ready(plan: Boot, log: Path) -> None:
    # The overlay is mounted without syncing and marks its work folder with that; a machine whose
    # plug was pulled left the mark behind. The host did not crash, so the layer is whole.
    shutil.rmtree(plan.folder / "work" / "work" / "incompat", ignore_errors=True)
    log.touch(mode=0o600)


def _as_unit(plan: Boot, log: Path) -> list[str]:
    return [
        *("systemd-run", "--quiet", "--collect", f"--unit=gpuaas-lab-{plan.identity}"),
        *("--property=Type=exec", "--property=Delegate=yes", "--property=KillMode=mixed"),
        *("--property=TasksMax=infinity", f"--property=StandardOutput=append:{log}"),
        f"--property=StandardError=append:{log}",
        *command(plan, []),
    ]
