"""What would bring a cluster back to what is wanted, and why. Pure: decides, and does nothing.

`findings` looks only at machines that could be asked and that no other operation has in hand.
What is left alone (somebody else's drain, a machine that does not answer) is told by the health
mapping and never planned for. A reconcile that failed is not asked for again for a while.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from gpuaas_sdk import Context, Plan, Step, Target
from gpuaas_sdk.contract import ConditionType, InstanceStatus, MemberStatus
from gpuaas_slurm.documents import ClusterDocument, configuration_for
from gpuaas_slurm.making import renewed
from gpuaas_slurm.observe import Seen, SiteSeen, accounting_seen
from gpuaas_slurm.onmachine.scripts import DATABASE_MADE, DROP_INS, MUNGE_KEY
from gpuaas_slurm.operations.scope import Scope, scope_of
from gpuaas_slurm.people import machine_plan
from gpuaas_slurm.services import Services
from gpuaas_slurm.settings import PackageSource, settings_of
from gpuaas_slurm.sites import Site, sites_of
from gpuaas_slurm.steps.clean import Cleaned
from gpuaas_slurm.steps.daemons import (
    Database,
    Munge,
    Restarted,
    Slurmctld,
    Slurmd,
    Slurmdbd,
    fresh,
)
from gpuaas_slurm.steps.leave import Forgotten
from gpuaas_slurm.steps.nodes import Admitted, Registered
from gpuaas_slurm.steps.people import People
from gpuaas_slurm.steps.prepare import Configure, MungeKey, drifted, exposed, unwanted

BACK_OFF = timedelta(minutes=10)
IN_HAND = frozenset(
    {MemberStatus.REQUESTED, MemberStatus.RECONCILING, MemberStatus.REMOVING, MemberStatus.REMOVED}
)
ORDER = ("configure", "key", "munge", "mariadb", "slurmdbd", "slurmctld", "people",
         "slurmd", "slurmd_again", "register", "admit", "clean", "forget")  # fmt: skip
"""Repairs in the order in which daemons need each other."""
ASKED_FOR = frozenset({"clean", "forget"})
"""Repairs nobody makes unasked: what was given up may be all that is left of somebody's work."""


@dataclass(frozen=True)
class Finding:
    """One thing that is not as it should be, on one machine, and which repair it needs."""

    repair: str
    allocation_id: str
    reason: str


def planning(services: Services) -> Callable[[Target, Seen, datetime], Plan]:
    """The planner the runtime asks on schedule: it backs off from what failed."""

    def plan(target: Target, seen: Seen, now: datetime) -> Plan:
        if target.instance.status not in {InstanceStatus.RUNNING, InstanceStatus.DEGRADED}:
            return Plan()
        if _failed_lately(target, now):
            return Plan()
        return repairs(services, target, seen, without=ASKED_FOR)

    return plan


def repairs(
    services: Services, target: Target, seen: Seen, without: frozenset[str] = frozenset()
) -> Plan:
    """Everything that can be repaired now, except for what is `without`."""
    found = [one for one in findings(target, seen) if one.repair not in without]
    shared = _Shared(services)
    steps: list[Step] = []
    for repair in ORDER:
        mine = {one.allocation_id for one in found if one.repair == repair}
        if mine:
            steps.append(Repair(repair, frozenset(mine), shared))
    return Plan(tuple(steps), tuple(one.reason for one in found))


def findings(target: Target, seen: Seen) -> list[Finding]:
    """Everything that is not as it should be and can be repaired."""
    document = seen.document
    found = [one for site in sites_of(target) if site.set_aside for one in _aside(site, seen)]
    if document is None or target.instance.status is InstanceStatus.STOPPED:
        return found
    document = renewed(document, settings_of(target.instance))
    free = [site for site in sites_of(target) if not _in_hand(site) and not site.set_aside]
    for site in free:
        one = seen.site(site.allocation_id)
        if one.look is not None and one.record is not None:
            found += _machine(site, one, document)
            found += _scheduler(site, one, seen)
    return [*found, *_keys(free, seen), *_people(free, seen)]


class Repair(Step):
    """A repair decided on by the plan; its step is made when it runs, on the machines as they are.

    Delegates to that step, which checks for itself what there is to do.
    """

    def __init__(self, repair: str, allocation_ids: frozenset[str], shared: "_Shared") -> None:
        self.repair = repair
        self.allocation_ids = allocation_ids
        self._shared = shared
        self._made: Step | None = None

    @property
    def title(self) -> str:
        """Named after what it repairs."""
        return f"repair_{self.repair}"

    async def check(self, ctx: Context) -> bool:
        """As the step itself says; true where no machine is left that is free."""
        scope = self._shared.scope(ctx)
        free = await self._shared.free(ctx)
        mine = self.allocation_ids & free
        known = (*scope.ground.sites, *scope.ground.aside)
        sites = [site for site in known if site.allocation_id in mine]
        if not sites:
            ctx.say("Another operation has the machine in hand.")
            return True
        self._made = _REPAIRS[self.repair](scope, sites)
        return await self._made.check(ctx)

    async def do(self, ctx: Context) -> None:
        """As the step itself does."""
        if self._made is not None:
            await self._made.do(ctx)

    async def verify(self, ctx: Context) -> bool:
        """As the step itself says."""
        return self._made is None or await self._made.verify(ctx)


class _Shared:
    """One ground for the repairs of one attempt."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._scope: Scope | None = None

    async def free(self, ctx: Context) -> frozenset[str]:
        """Machines no other operation has in hand by now: one may have begun since the plan."""
        members = await self._services.members(ctx.instance.id)
        sites = sites_of(Target(ctx.instance, members))
        return frozenset(site.allocation_id for site in sites if not _in_hand(site))

    def scope(self, ctx: Context) -> Scope:
        if self._scope is None or self._scope.ctx is not ctx:
            self._scope = scope_of(self._services, ctx, renew=True)
        return self._scope


_REPAIRS: dict[str, Callable[[Scope, list[Site]], Step]] = {
    "configure": lambda scope, sites: Configure(scope.ground, scope.maker, sites),
    "key": lambda scope, sites: MungeKey(scope.ground, scope.maker, sites),
    "munge": lambda scope, sites: Munge(scope.ground, sites),
    "mariadb": lambda scope, sites: Database(scope.ground, sites),
    "slurmdbd": lambda scope, sites: Slurmdbd(scope.ground, sites),
    "slurmctld": lambda scope, sites: Slurmctld(scope.ground, sites),
    "people": lambda scope, sites: People(scope.ground, scope.maker.services, sites),
    "slurmd": lambda scope, sites: Slurmd(scope.ground, sites),
    "slurmd_again": lambda scope, sites: Restarted(scope.ground, sites, "slurmd"),
    "register": lambda scope, sites: Registered(scope.ground, scope.maker, sites),
    "admit": lambda scope, sites: Admitted(scope.ground, scope.maker, sites),
    "clean": lambda scope, sites: Cleaned(
        scope.ground,
        sites,
        kept_packages=settings_of(scope.ctx.instance).packages is PackageSource.INSTALLED,
    ),
    "forget": lambda scope, sites: Forgotten(scope.ground, scope.maker, sites),
}


def _in_hand(site: Site) -> bool:
    return any(member.status in IN_HAND for member in site.members)


def _failed_lately(target: Target, now: datetime) -> bool:
    return any(
        condition.type == ConditionType.OPERATION_FAILED
        and condition.reason == "reconcile"
        and now - condition.since < BACK_OFF
        for condition in target.instance.conditions
    )


def _aside(site: Site, seen: Seen) -> Iterable[Finding]:
    """What a machine that was given up still has, and what still knows it."""
    one = seen.site(site.allocation_id)
    if one.look is None:
        return
    if one.left:
        text = f"{site.node or site.allocation_id} was given up, and something is left there"
        yield Finding("clean", site.allocation_id, text)
    if site.node and seen.scheduler is not None and seen.scheduler.node(site.node) is not None:
        yield Finding("forget", site.allocation_id, f"{site.node} was given up, and is known")


def _machine(site: Site, one: SiteSeen, document: ClusterDocument) -> Iterable[Finding]:
    """Files and daemons of one machine."""
    if one.look is None or one.record is None:
        return
    name = one.record.machine.name
    wanted = configuration_for(document.cluster, one.record.machine, worker=site.worker)
    changed = [*drifted(one.look, wanted), *unwanted(one.look, wanted)]
    if changed:
        text = f"{name}: {', '.join(changed)} not as written"
        yield Finding("configure", site.allocation_id, text)
    elif open_to_all := exposed(one.look):
        text = f"{name}: {', '.join(open_to_all)} is open to every user"
        yield Finding("configure", site.allocation_id, text)
    reads = {unit for file in wanted if file.path in changed for unit in file.restarts}
    units = ["munge"]
    if site.controller:
        units += ["mariadb", "slurmdbd", "slurmctld"]
    if site.worker:
        units.append("slurmd")
    for unit in units:
        state = one.look.unit(unit)
        if not state.up:
            yield Finding(unit, site.allocation_id, f"{name}: {unit} is {state.active}")
        elif not fresh(one.look, unit) or (unit in reads and _rereads(unit, changed)):
            yield Finding(unit, site.allocation_id, f"{name}: {unit} runs on older files")
    if site.controller and DATABASE_MADE not in one.look.present:
        yield Finding("mariadb", site.allocation_id, f"{name}: accounting's database is missing")


def _rereads(unit: str, changed: list[str]) -> bool:
    """Whether a changed file makes a daemon restart: drop-ins alone count from its next start."""
    return any(path not in DROP_INS for path in changed) or unit == "mariadb"


def _scheduler(site: Site, one: SiteSeen, seen: Seen) -> Iterable[Finding]:
    """What the scheduler should know of a worker that was open before."""
    if seen.scheduler is None or one.record is None or not site.worker:
        return
    machine = one.record.machine
    if not machine.admitted:
        return
    node = seen.scheduler.node(machine.name)
    if node is None:
        text = f"{machine.name} is unknown to the scheduler"
        yield Finding("slurmd_again", site.allocation_id, text)
        yield Finding("register", site.allocation_id, text)
        yield Finding("admit", site.allocation_id, text)
    elif not set(machine.features) <= set(node.features):
        text = f"{machine.name} is not open to users"
        yield Finding("admit", site.allocation_id, text)


def _keys(sites: list[Site], seen: Seen) -> Iterable[Finding]:
    """Machines whose key differs cannot talk to the others; which is right only custody knows."""
    digests = {
        site.allocation_id: look.files[MUNGE_KEY].digest
        for site in sites
        if (look := seen.site(site.allocation_id).look) is not None and MUNGE_KEY in look.files
    }
    if len(set(digests.values())) > 1:
        for allocation_id in digests:
            yield Finding("key", allocation_id, "the machines' keys differ")


def _people(sites: list[Site], seen: Seen) -> Iterable[Finding]:
    """Machines whose people changed; accounting's part is the controller's machine's."""
    for site in sites:
        look = seen.site(site.allocation_id).look
        if seen.people is None or look is None:
            continue
        if not machine_plan(seen.people, site, look).settled:
            yield Finding("people", site.allocation_id, "people came, left or changed")
        elif site.controller and not accounting_seen(seen, look).settled:
            yield Finding("people", site.allocation_id, "accounting differs from who may submit")
