"""Real causes for a step to fail on a machine, and how each is taken away again.

    cause = refused("n1", "/usr/bin/scontrol", "delete*")
    await cause.place(site); …; await cause.remove(site)

Used by the tests that fail every step of every operation of the app.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from tools.slurm_site import SlurmSite

REFUSED: Final = "refused by the test"
REFUSAL: Final = """#!/bin/sh
case "$*" in
{pattern}) echo "refused by the test" >&2; exit 13 ;;
esac
exec {program} "$@"
"""
SQUATTER: Final = (
    "systemd-run --quiet --unit=squatter python3 -c"
    " 'import socket,time; s=socket.create_server((\"\",{port})); time.sleep(999)'"
    " && until ss -Hltn sport = :{port} | grep -q .; do sleep .1; done"
)


@dataclass(frozen=True)
class Cause:
    """Why a step fails: what is done to a machine, what takes it back, and what is said of it."""

    machine: str
    command: str
    remedy: str
    words: str

    async def place(self, site: SlurmSite) -> None:
        """Put it in the way."""
        await site.ground.lab.machine(self.machine).run(self.command)

    async def remove(self, site: SlurmSite) -> None:
        """Take it away."""
        await site.ground.lab.machine(self.machine).run(self.remedy)


def refused(machine: str, program: str, pattern: str = "*") -> Cause:
    """A program (its path) ends with an error when it is given words of a shell's pattern."""
    wrapper = f"/usr/local/sbin/{program.rpartition('/')[2]}"
    text = REFUSAL.format(pattern=pattern, program=program)
    # Written beside it first: what runs meanwhile must not meet half a script.
    write = (
        f"cat >{wrapper}.new <<'END'\n{text}END\n"
        f"chmod 755 {wrapper}.new && mv {wrapper}.new {wrapper}"
    )
    return Cause(machine, write, f"rm {wrapper}", REFUSED)


def nodes_refused(machine: str, suite: str) -> Cause:
    """Nobody tells of the nodes: sinfo with Slurm 22.05, scontrol with what came later."""
    if suite == "bookworm":
        return refused(machine, "/usr/bin/sinfo", "'--all --json'")
    return refused(machine, "/usr/bin/scontrol", "'--all show nodes --json'")


def masked(machine: str, unit: str) -> Cause:
    """A service that somebody forbade to start."""
    mask = f"systemctl mask --quiet {unit}"
    return Cause(machine, mask, f"systemctl unmask --quiet {unit}", "is masked")


def port_taken(machine: str, port: int) -> Cause:
    """Another program listens where a daemon of the cluster should."""
    words = f"port {port}, which"
    return Cause(machine, SQUATTER.format(port=port), "systemctl stop squatter", words)


def busy_folder(machine: str, folder: str) -> Cause:
    """A folder that cannot be removed, since something is mounted in it."""
    inside = f"{folder}/mounted"
    mount = f"mkdir -p {inside} && mount -t tmpfs none {inside}"
    return Cause(machine, mount, f"umount {inside}", "Device or resource busy")


def waiting_job(machine: str, node: str) -> Cause:
    """A job that waits for a node by its name; `machine` is where people submit."""
    submit = f"sbatch --chdir=/ --output=/dev/null --hold --nodelist={node} --wrap=true"
    return Cause(machine, submit, "scancel --state=PENDING --user=root", "waits for a node")
