"""Real causes for a step to fail, and how each is taken away again.

    cause = refused("n1", "/usr/bin/scontrol", "delete*")
    await cause.place(site); …; await cause.remove(site)

Used by the tests that fail every step of every operation of the app.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Protocol

from gpuaas_contract.access import Role, RoleBinding, RoleBindingCreate, RoleCreate
from gpuaas_contract.common import Scope, ScopeKind
from gpuaas_contract.permissions import ROLES, Permission, RoleName
from gpuaas_sdk import Request
from gpuaas_slurm.onmachine.scripts import HOME
from tools.slurm_crew import PERSON, as_person
from tools.slurm_site import SlurmSite

REFUSED: Final = "refused by the test"
REFUSAL: Final = """#!/bin/sh
case "$*" in
{pattern})
    echo >>{wrapper}.calls
    if [ "$(wc -l <{wrapper}.calls)" -gt {answers} ]; then
        echo "refused by the test" >&2
        exit 13
    fi ;;
esac
exec {program} "$@"
"""
SQUATTER: Final = (
    "systemd-run --quiet --unit=squatter python3 -c"
    " 'import socket,time; s=socket.create_server((\"\",{port})); time.sleep(999)'"
    " && until ss -Hltn sport = :{port} | grep -q .; do sleep .1; done"
)
PLACING: Final = "'--extract --touch'*"
"""What tar is given when the app's files are put on a machine; it unpacks other things too."""


class Cause(Protocol):
    """Why a step fails: what is put in its way, what takes it back, and what is said of it."""

    @property
    def words(self) -> str:
        """What people are told of it."""

    async def place(self, site: SlurmSite) -> None:
        """Put it in the way."""

    async def remove(self, site: SlurmSite) -> None:
        """Take it away."""


@dataclass(frozen=True)
class OnMachine:
    """Something that is done to a machine."""

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


@dataclass(frozen=True)
class Denied:
    """The controller's service account may do everything but this: its role is another one now."""

    permission: Permission

    @property
    def words(self) -> str:
        """What people are told of it."""
        return self.permission

    async def place(self, site: SlurmSite) -> None:
        """Put it in the way."""
        less = sorted(ROLES[RoleName.APP_OPERATOR] - {self.permission})
        body = RoleCreate(name=f"not-{self.permission.replace('.', '-')}", permissions=less)
        role = await site.admin.post(f"/tenants/{site.ground.org_id}/roles", body, Role)
        await self._only(site, role.id)

    async def remove(self, site: SlurmSite) -> None:
        """Take it away."""
        await self._only(site, RoleName.APP_OPERATOR)

    async def _only(self, site: SlurmSite, role: str) -> None:
        """The account holds this role in its project, and no other."""
        who = site.ground.project
        listed = site.admin.pages("/role-bindings", RoleBinding, principal_id=who.id)
        before = [one.id async for one in listed]
        place = Scope(kind=ScopeKind.PROJECT, org_id=site.ground.org_id, project_id=who.project_id)
        body = RoleBindingCreate(principal_id=who.id, role=role, scope=place)
        await site.admin.post("/role-bindings", body, RoleBinding)
        for binding_id in before:
            await site.admin.send(Request("DELETE", f"/role-bindings/{binding_id}"))


def refused(machine: str, program: str, pattern: str = "*", *, answers: int = 0) -> OnMachine:
    """A program (its path) ends with an error when it is given words of a shell's pattern.

    It `answers` a few times before it does: what is asked for the same by several steps can fail
    at the last of them alone.
    """
    wrapper = f"/usr/local/sbin/{program.rpartition('/')[2]}"
    text = REFUSAL.format(pattern=pattern, program=program, wrapper=wrapper, answers=answers)
    # Written beside it first: what runs meanwhile must not meet half a script.
    write = (
        f"cat >{wrapper}.new <<'END'\n{text}END\n"
        # Who runs the program may be any user.
        f"install -m 666 /dev/null {wrapper}.calls\n"
        f"chmod 755 {wrapper}.new && mv {wrapper}.new {wrapper}"
    )
    return OnMachine(machine, write, f"rm -f {wrapper} {wrapper}.calls", REFUSED)


def nodes_refused(machine: str, suite: str, *, answers: int = 0) -> OnMachine:
    """Nobody tells of the nodes: sinfo with Slurm 22.05, scontrol with what came later."""
    if suite == "bookworm":
        return refused(machine, "/usr/bin/sinfo", "'--all --json'", answers=answers)
    return refused(machine, "/usr/bin/scontrol", "'--all show nodes --json'", answers=answers)


def facts_unknown(machine: str) -> OnMachine:
    """A machine does not say what it is made of."""
    return replace(refused(machine, "/usr/bin/lscpu"), words="what it is made of is not known")


def jobs_refused(machine: str) -> OnMachine:
    """Nobody tells of the jobs."""
    return refused(machine, "/usr/bin/squeue", "'--all --states=all --json'")


def masked(machine: str, unit: str) -> OnMachine:
    """A service that somebody forbade to start."""
    mask = f"systemctl mask --quiet {unit}"
    return OnMachine(machine, mask, f"systemctl unmask --quiet {unit}", "is masked")


def database_misled(machine: str) -> OnMachine:
    """A setting of the database that it does not know: it ends when it is started."""
    file = "/etc/mysql/mariadb.conf.d/99-misled.cnf"
    write = f"printf '[mariadbd]\\nnonsense = 1\\n' >{file}"
    return OnMachine(machine, write, f"rm {file}", "unknown variable 'nonsense=1'")


def port_taken(machine: str, port: int) -> OnMachine:
    """Another program listens where a daemon of the cluster should."""
    words = f"port {port}, which"
    return OnMachine(machine, SQUATTER.format(port=port), "systemctl stop squatter", words)


def busy_folder(machine: str, folder: str) -> OnMachine:
    """A folder that cannot be removed, since something is mounted in it."""
    inside = f"{folder}/mounted"
    mount = f"mkdir -p {inside} && mount -t tmpfs none {inside}"
    return OnMachine(machine, mount, f"umount {inside}", "Device or resource busy")


def waiting_job(machine: str, node: str) -> OnMachine:
    """A job that waits for a node by its name; `machine` is where people submit."""
    submit = f"sbatch --chdir=/ --output=/dev/null --hold --nodelist={node} --wrap=true"
    cancel = f'scancel --state=PENDING --user="$({PERSON})"'
    return OnMachine(machine, as_person(submit), cancel, "waits for a node")


def bundle_gone(machine: str) -> OnMachine:
    """Somebody put the packages elsewhere that lead a machine back."""
    return _elsewhere(machine, "previous.version", "does not keep the packages it runs now")


def snapshot_gone(machine: str) -> OnMachine:
    """Somebody put the snapshot elsewhere."""
    return _elsewhere(machine, "snapshot.json", "there is no snapshot")


def _elsewhere(machine: str, name: str, words: str) -> OnMachine:
    there, away = f"{HOME}/{name}", f"/root/{name}"
    return OnMachine(machine, f"mv {there} {away}", f"mv {away} {there}", words)
