"""Looking at a cluster: every machine once, the scheduler's answers with the controller's.

One round trip a machine. A machine that could not be asked is `unreachable` here and nothing else:
nothing is concluded about it. Called by the runtime on schedule and at the end of operations.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace

from gpuaas_sdk import Look, StepFailure, Target
from gpuaas_sdk.contract import Person
from gpuaas_sdk.machines import Machines
from gpuaas_slurm.commands import Association, Job, Node, Slurm, SlurmCommandError
from gpuaas_slurm.commands.batch import MARK, answering, batch_answers, batch_script
from gpuaas_slurm.commands.run import Result
from gpuaas_slurm.commands.slurm import CONFIG, slurm_connect
from gpuaas_slurm.documents import (
    ClusterDocument,
    DocumentError,
    Record,
    cluster_document_of,
    record_of,
)
from gpuaas_slurm.onmachine.look import LookError, MachineLook, machine_look
from gpuaas_slurm.onmachine.scripts import LOOK
from gpuaas_slurm.people import AccountingPlan, accounting_plan
from gpuaas_slurm.services import Services
from gpuaas_slurm.settings import PackageSource, settings_of
from gpuaas_slurm.sites import Site, sites_of
from gpuaas_slurm.steps.clean import residue
from gpuaas_slurm.version import OLDEST, V24_11, SlurmVersion

SECONDS = 45.0

Questions = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class SiteSeen:
    """One machine: what is on it, or why it could not be asked."""

    look: MachineLook | None = None
    record: Record | None = None
    failure: str = ""
    left: Mapping[str, list[str]] | None = None
    """What is left of a cluster where nothing should be; None where that was not asked."""


@dataclass(frozen=True)
class SchedulerSeen:
    """What the scheduler answered."""

    version: SlurmVersion
    nodes: tuple[Node, ...]
    jobs: tuple[Job, ...]
    associations: tuple[Association, ...] | None = None
    """None when accounting does not answer."""

    def node(self, name: str) -> Node | None:
        """A node; None when the scheduler does not know it."""
        return next((node for node in self.nodes if node.name == name), None)


@dataclass(frozen=True)
class Seen:
    """A cluster at one moment."""

    sites: Mapping[str, SiteSeen] = field(default_factory=dict)
    document: ClusterDocument | None = None
    scheduler: SchedulerSeen | None = None
    scheduler_failure: str = ""
    people: tuple[Person, ...] | None = None
    """None when the platform did not say."""

    def site(self, allocation_id: str) -> SiteSeen:
        """One machine."""
        return self.sites.get(allocation_id, SiteSeen(failure="it was not looked at"))


def observing(services: Services) -> Callable[[Look], Awaitable[Seen]]:
    """The observer the runtime asks on schedule."""

    async def observe(look: Look) -> Seen:
        return await everything_seen(services, look.machines, look.target)

    return observe


async def everything_seen(services: Services, machines: Machines, target: Target) -> Seen:
    """See the cluster and, meanwhile, ask who may use it."""
    seen, people = await asyncio.gather(
        cluster_seen(machines, target), services.people(target.instance.project_id)
    )
    return replace(seen, people=people)


async def cluster_seen(machines: Machines, target: Target) -> Seen:
    """See every machine of a target and, through its controller's, the scheduler."""
    sites = {site.allocation_id: site for site in sites_of(target)}
    questions = _questions(target)
    answers: dict[str, str] = {}
    kept = settings_of(target.instance).packages is PackageSource.INSTALLED

    async def one(allocation_id: str) -> SiteSeen:
        asked = questions if sites[allocation_id].controller else ()
        found, answers[allocation_id] = await _site(machines, sites[allocation_id], asked)
        if not sites[allocation_id].set_aside:
            return found
        return replace(found, left=await residue(machines, allocation_id, kept=kept))

    seen = await machines.each(sites, lambda machine: one(machine.allocation_id))
    found = {
        allocation_id: SiteSeen(failure=one.message) if isinstance(one, StepFailure) else one
        for allocation_id, one in seen.items()
    }
    head = next((site for site in sites.values() if site.controller), None)
    at = None if head is None else found[head.allocation_id].look
    if head is None or at is None:
        return Seen(found, scheduler_failure="the controller's machine could not be asked")
    try:
        scheduler, failure = await _scheduler(at, questions, answers[head.allocation_id])
    except _OtherWords as other:
        _, text = await _site(machines, head, other.questions)
        scheduler, failure = await _scheduler(at, other.questions, text)
    return Seen(found, _document(at), scheduler, failure)


class _OtherWords(Exception):
    """The release that runs is asked in other words than those used."""

    def __init__(self, questions: Questions) -> None:
        super().__init__()
        self.questions = questions


def _questions(target: Target) -> Questions:
    """What to ask, in the words of the release that ran when it was last looked at.

    Before that, in the words of all: those it does not know are refused at once.
    """
    try:
        versions = [SlurmVersion.parse(target.instance.runtime_version)]
    except ValueError:
        versions = [OLDEST, V24_11]
    asked = [one for version in versions for one in Slurm(answering({}), version).questions]
    return (CONFIG, *dict.fromkeys(asked))


async def _site(machines: Machines, site: Site, questions: Questions) -> tuple[SiteSeen, str]:
    machine = await machines.open(site.allocation_id)
    script = LOOK.text
    if questions:
        # A controller that is down would keep every question waiting for its time limit.
        script = batch_script(questions, script, "systemctl is-active --quiet slurmctld")
    ran = await machine.run(script, env=LOOK.environment, timeout=SECONDS)
    ended = time.time()
    try:
        look = machine_look(ran.stdout.partition(f"\n{MARK}\t")[0])
        record = record_of(look)
    except (LookError, DocumentError) as error:
        return SiteSeen(failure=f"what it says cannot be read: {error}"), ""
    late = look.now - (ended - ran.seconds)
    early = look.now - ended
    skew = 0.0 if early <= 0 <= late else min(early, late, key=abs)
    return SiteSeen(MachineLook(**{**vars(look), "skew": skew}), record), ran.stdout


def _document(look: MachineLook) -> ClusterDocument | None:
    try:
        return cluster_document_of(look)
    except DocumentError:
        return None


async def _scheduler(
    look: MachineLook, questions: Questions, text: str
) -> tuple[SchedulerSeen | None, str]:
    unit = look.unit("slurmctld")
    if not unit.up:
        return None, f"slurmctld is {unit.active}"
    try:
        answers: dict[tuple[str, ...], Result] = batch_answers(questions, text)
        slurm = await slurm_connect(answering(answers))
        if not set(slurm.questions) <= set(answers):
            raise _OtherWords((CONFIG, *slurm.questions))
        nodes, jobs = await slurm.nodes(), await slurm.jobs()
        return SchedulerSeen(slurm.version, nodes, jobs, await _associations(slurm)), ""
    except SlurmCommandError as error:
        return None, str(error)
    except ValueError as error:
        return None, f"the answers cannot be read: {error}"


async def _associations(slurm: Slurm) -> tuple[Association, ...] | None:
    """Accounting may be silent while the controller works on."""
    try:
        return await slurm.associations()
    except SlurmCommandError:
        return None


def accounting_seen(seen: Seen, look: MachineLook) -> AccountingPlan:
    """What accounting needs by what was seen; nothing where something was not."""
    scheduler, document = seen.scheduler, seen.document
    if seen.people is None or scheduler is None or document is None:
        return AccountingPlan()
    if scheduler.associations is None or not document.accounts:
        return AccountingPlan()
    account = (document.cluster.name, next(iter(document.accounts.values())))
    return accounting_plan(seen.people, look, scheduler.associations, scheduler.jobs, account)
