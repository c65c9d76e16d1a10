"""What must be true of machines before anything is changed on them. Pure.

Every problem is named at once, each with its remedy: nobody should have to try ten times.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuaas_slurm.distribution import DISTRIBUTIONS
from gpuaas_slurm.facts import FactsMissingError, Place, machine_from_facts
from gpuaas_slurm.model import Cgroups, Containment, ModelError
from gpuaas_slurm.onmachine.facts import MachineFacts
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.onmachine.scripts import MUNGE_KEY
from gpuaas_slurm.render.slurm_conf import PATH as SLURM_CONF
from gpuaas_slurm.sites import Site

SKEW_SECONDS = 30.0
"""Far less than munge bears (300 s), so that a clock that runs away is found before it hurts."""

DISK_KIB = 1024 * 1024
MEMORY_KIB = {"controller": 900 * 1024, "worker": 400 * 1024, "login": 300 * 1024}
PORTS = {"controller": {6817: "slurmctld", 6819: "slurmdbd"}, "worker": {6818: "slurmd"}}
CHILDREN = {"slurmscriptd": "slurmctld"}
"""Processes of a daemon that hold its port too; which of them is named first is chance."""


@dataclass(frozen=True)
class Problem:
    """Something in the way, on one machine, and what takes it away."""

    machine: str
    code: str
    text: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.machine}: {self.text} → {self.remedy}"


@dataclass(frozen=True)
class Subject:
    """One machine under examination."""

    site: Site
    look: MachineLook
    facts: MachineFacts
    instance_id: str
    peers: Mapping[str, str]
    """Addresses it must reach, and whose they are."""
    containment: Containment | None = None
    """How jobs are kept together in the cluster it joins; None while that is still open."""

    @property
    def name(self) -> str:
        """What the machine calls itself, and which allocation it is."""
        return f"{self.look.hostname} ({self.site.allocation_id})"


def problems_of(subject: Subject) -> list[Problem]:
    """Return everything in the way on a machine."""
    rules = (_system, _clock, _size, _ports, _leftovers, _network)
    found = [problem for rule in rules for problem in rule(subject)]
    # What a machine can hold jobs with is only known where its facts are.
    return [*found, *(_facts(subject) or _containment(subject))]


def _system(one: Subject) -> list[Problem]:
    found = []
    look, facts = one.look, one.facts
    if look.codename not in DISTRIBUTIONS:
        known = ", ".join(DISTRIBUTIONS)
        text = f"the system is {look.system} {look.codename}, which this app does not know"
        found.append(Problem(one.name, "system", text, f"use a machine with Debian ({known})"))
    if facts.architecture != "amd64":
        text = f"the architecture is {facts.architecture or 'unknown'}"
        found.append(Problem(one.name, "architecture", text, "use an amd64 machine"))
    if not facts.systemd:
        found.append(
            Problem(one.name, "systemd", "systemd does not run", "boot the machine with systemd")
        )
    if not facts.root:
        text = "commands do not run as root"
        found.append(Problem(one.name, "root", text, "let access certificates open root's account"))
    if not facts.resolves:
        text = f"its own name {look.hostname} does not resolve"
        remedy = f"add a line for {look.hostname} to /etc/hosts"
        found.append(Problem(one.name, "name_resolution", text, remedy))
    return found


def _clock(one: Subject) -> list[Problem]:
    skew = one.look.skew
    if abs(skew) <= SKEW_SECONDS:
        return []
    where = "ahead" if skew > 0 else "behind"
    text = f"its clock is {abs(skew):.0f} s {where}, and munge would refuse its messages"
    return [Problem(one.name, "clock", text, "set the clock and run a time service such as chrony")]


def _size(one: Subject) -> list[Problem]:
    found = []
    needed = sum(MEMORY_KIB[role] for role in one.site.roles)
    if one.facts.memory_kib < needed:
        text = f"it has {one.facts.memory_kib // 1024} MiB of memory, {needed // 1024} are needed"
        found.append(Problem(one.name, "memory", text, "use a larger machine"))
    if one.facts.disk_kib < DISK_KIB and not one.look.packages:
        text = f"only {one.facts.disk_kib // 1024} MiB are free in /var"
        found.append(Problem(one.name, "disk", text, f"free {DISK_KIB // 1024} MiB there"))
    return found


def _facts(one: Subject) -> list[Problem]:
    try:
        machine_from_facts(Place("probe", "127.0.0.1"), one.facts.facts)
    except FactsMissingError as error:
        gpus = any(missing.startswith("gpus") for missing in error.missing)
        remedy = "repair the GPU driver, or use another machine" if gpus else "use another machine"
        text = f"what it is made of is not known: {error}"
        return [Problem(one.name, "facts", text, remedy)]
    except ModelError as error:
        return [Problem(one.name, "facts", str(error), "give the machine a plain host name")]
    return []


def _ports(one: Subject) -> list[Problem]:
    wanted = {port: who for role in one.site.roles for port, who in PORTS.get(role, {}).items()}
    return [
        Problem(
            one.name,
            "port",
            f"port {used.port}, which {wanted[used.port]} needs, is taken by {used.program or '?'}",
            f"stop {used.program or 'what listens there'}",
        )
        for used in one.facts.listeners
        if used.port in wanted
        and CHILDREN.get(used.program, used.program) not in {wanted[used.port], ""}
    ]


def _leftovers(one: Subject) -> list[Problem]:
    """Something of another cluster: it is never written over."""
    record = one.look.record
    if record is not None and record.get("instance_id") == one.instance_id:
        return []
    if record is not None:
        text = f"it still holds the records of another cluster ({record.get('instance_id')})"
        remedy = "decommission that one, or run `gpuaas-slurm residue` there and clean up"
        return [Problem(one.name, "leftovers", text, remedy)]
    found = [path for path in (SLURM_CONF,) if path in one.look.files]
    running = [name for name in ("slurmctld", "slurmd", "slurmdbd") if one.look.unit(name).up]
    if not found and not running:
        return []
    text = f"a Slurm of somebody else is there: {', '.join([*found, *running])}"
    remedy = f"remove it (apt-get purge, and {SLURM_CONF} and {MUNGE_KEY}), or use another machine"
    return [Problem(one.name, "leftovers", text, remedy)]


def _network(one: Subject) -> list[Problem]:
    missing = [f"{who} ({at})" for at, who in one.peers.items() if at not in one.facts.reaches]
    if not missing:
        return []
    text = f"it does not reach {', '.join(missing)}"
    remedy = "let machines of the cluster reach each other on ports 22, 6817 to 6819 and above 1023"
    return [Problem(one.name, "network", text, remedy)]


def _containment(one: Subject) -> list[Problem]:
    """A cluster that keeps jobs together by control groups takes only machines that can."""
    if one.containment is not Containment.CGROUP or not one.site.worker:
        return []
    usable = machine_from_facts(Place("probe", "127.0.0.1"), one.facts.facts).cgroups
    if usable is not Cgroups.UNUSABLE:
        return []
    text = "it has no usable control groups, by which this cluster keeps jobs together"
    return [Problem(one.name, "cgroups", text, "boot it with control groups, or use another")]


def summary(problems: Sequence[Problem]) -> str:
    """Return all problems in one text."""
    return f"{len(problems)} in the way: " + " | ".join(str(problem) for problem in problems)
