"""What one attempt of an operation stands on: the machines, what they look like, the scheduler.

Made when an operation is loaded and shared by its steps. A script that changes a machine ends with
a look at what it may have changed, so that a step costs a machine one round trip and few programs;
what was seen last of each part is kept, and what a script that failed left behind is looked at
anew. It decides nothing.
"""

import asyncio
import shlex
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from gpuaas_sdk import ConflictFailure, PermanentFailure, StepFailure, Target, TemporaryFailure
from gpuaas_sdk.machines import File, Machine, Machines, Ran, ScriptFailed
from gpuaas_slurm.commands import Association, Result, Slurm
from gpuaas_slurm.documents import (
    ClusterDocument,
    DocumentError,
    Record,
    cluster_document_of,
    record_of,
)
from gpuaas_slurm.onmachine.facts import FACTS_END, MachineFacts, machine_facts
from gpuaas_slurm.onmachine.look import Looked, LookError, MachineLook, machine_look
from gpuaas_slurm.onmachine.scripts import ALL, LOOK, Script, script_text
from gpuaas_slurm.sites import Site, sites_of

T = TypeVar("T")

TRY_AGAIN = 75
"""What a script ends with when the same may succeed later (EX_TEMPFAIL of sysexits.h)."""


class Ground:
    """The machines of one instance during one attempt."""

    def __init__(self, machines: Machines, target: Target) -> None:
        self.machines = machines
        self.target = target
        self.sites = tuple(site for site in sites_of(target) if not site.set_aside)
        self.aside = tuple(site for site in sites_of(target) if site.set_aside)
        """Machines that are no part of the cluster any more and not known to be clean."""
        self.left_out: dict[str, StepFailure] = {}
        """Machines the work goes on without, and why; by allocation."""
        self.may_leave_out: Callable[[Site, StepFailure], bool] = lambda *_: False
        """Whether the work may go on without a machine that failed; said by the operation."""
        self.needs_worker = True
        """Whether the work is for nothing without a single worker."""
        self.associations: tuple[Association, ...] | None = None
        """Accounting's tree as the step before saw or made it (empty: its database is new), for the
        one that asks next."""
        self._looks: dict[str, Looked] = {}
        self._facts: dict[str, MachineFacts] = {}
        self._addresses: dict[str, str] = {}
        self._asking: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def controller(self) -> Site:
        """The machine the controller is on."""
        if not self.sites or not self.sites[0].controller:
            raise PermanentFailure("controller_missing", "The instance has no controller any more.")
        return self.sites[0]

    @property
    def workers(self) -> tuple[Site, ...]:
        """The machines jobs run on."""
        return self.present(site for site in self.sites if site.worker)

    def present(self, sites: Iterable[Site]) -> tuple[Site, ...]:
        """Those of some machines that were not left out."""
        return tuple(site for site in sites if site.allocation_id not in self.left_out)

    def leave_out(self, site: Site, failure: StepFailure) -> bool:
        """Go on without a machine, if the operation may and what is left makes sense."""
        others = [one for one in self.workers if one.allocation_id != site.allocation_id]
        if (self.needs_worker and not others) or not self.may_leave_out(site, failure):
            return False
        self.left_out[site.allocation_id] = failure
        return True

    async def look(self, site: Site) -> MachineLook:
        """What is on a machine, as last seen in this attempt."""
        async with self._asking[site.allocation_id]:  # whoever asks meanwhile gets the same answer
            known = self._looks.get(site.allocation_id)
            return known.look if known is not None else await self.run(site, LOOK)

    async def looks(self, sites: Iterable[Site]) -> dict[str, MachineLook]:
        """The same for many, by allocation."""
        return await self.each(sites, self.look)

    async def run(self, site: Site, script: Script, files: Sequence[File] = ()) -> MachineLook:
        """Put files on a machine, run a script there, and return what is there afterwards.

        Until it ends, steps beside it see the machine as it was: they need nothing of each other.
        """
        machine = await self.machines.open(site.allocation_id)
        if site.allocation_id not in self._looks:
            script = replace(script, sees=ALL)
        given: dict[str, Any] = {"timeout": script.timeout, "env": script.environment}
        try:
            if files:
                ran = await machine.put(*files, then=script.text, **given)
            else:
                ran = await machine.run(script.text, input=script.input, **given)
            return self._seen(site, ran, ran.stdout, script.sees)
        except BaseException as failure:
            self._looks.pop(site.allocation_id, None)
            if isinstance(failure, ScriptFailed):
                raise _meant(site, script, failure) from failure
            raise

    async def facts(self, site: Site, peers: Sequence[str] = ()) -> MachineFacts:
        """What a machine is made of, and which of its peers it reaches; looks at it too."""
        async with self._asking[site.allocation_id]:
            known = self._facts.get(site.allocation_id)
            if known is not None and known.reaches >= set(peers):
                return known
            machine = await self.machines.open(site.allocation_id)
            ran = await machine.run(
                f"{script_text('facts')}\n{LOOK.text}",
                env={**LOOK.environment, "PEERS": " ".join(peers)},
            )
            said, end, rest = ran.stdout.partition(FACTS_END)
            look = self._seen(site, ran, rest)
            found = _read(site, lambda: machine_facts(said + end, look.hostname))
            self._facts[site.allocation_id] = found
            return found

    async def address(self, site: Site, ask: Callable[[str], Awaitable[str]]) -> str:
        """Where a machine is; asked once in an attempt."""
        if site.allocation_id not in self._addresses:
            self._addresses[site.allocation_id] = await ask(site.allocation_id)
        return self._addresses[site.allocation_id]

    async def record(self, site: Site) -> Record | None:
        """What a machine was made to be; None where nothing was."""
        look = await self.look(site)
        return _read(site, lambda: record_of(look))

    async def document(self) -> ClusterDocument | None:
        """What the cluster is; None before its first configuration."""
        look = await self.look(self.controller)
        return _read(self.controller, lambda: cluster_document_of(look))

    async def known(self) -> ClusterDocument:
        """What the cluster is, where it must be there already."""
        document = await self.document()
        if document is None:
            raise ConflictFailure(
                "cluster_unknown",
                "The controller's machine holds no cluster of this app: deploy again, or"
                " decommission the instance.",
                usable=False,
            )
        return document

    async def slurm(self) -> Slurm:
        """The scheduler's commands, run on the controller's machine."""
        document = await self.known()
        machine = await self.machines.open(self.controller.allocation_id)
        return Slurm(_runner(machine), document.cluster.build.version)

    def _seen(self, site: Site, ran: Ran, text: str, sees: tuple[str, ...] = ALL) -> MachineLook:
        ended = time.time()
        seen = _read(site, lambda: machine_look(text))
        # When exactly the machine looked at its clock is not known: not before the script began.
        early, late = seen.now - ended, seen.now - (ended - ran.seconds)
        skew = 0.0 if early <= 0 <= late else min(early, late, key=abs)
        found = replace(seen, skew=skew)
        # Scripts beside each other end in any order: of each part, the look that began last counts.
        known = self._looks.get(site.allocation_id)
        if known is not None:
            self._looks[site.allocation_id] = known.and_then(found, sees)
        elif sees == ALL:
            self._looks[site.allocation_id] = Looked.whole(found)
        return found

    async def each(
        self, sites: Iterable[Site], work: Callable[[Site], Awaitable[T]]
    ) -> dict[str, T]:
        """Do something on many machines at once; every failure is told, the gravest is raised.

        Of a machine that is left out nothing is returned.
        """
        listed = list(sites)
        done = await asyncio.gather(*(work(site) for site in listed), return_exceptions=True)
        found: dict[str, T] = {}
        failed: list[BaseException] = []
        for site, one in zip(listed, done, strict=True):
            if isinstance(one, StepFailure) and self.leave_out(site, one):
                continue
            if isinstance(one, BaseException):
                failed.append(one)
            else:
                found[site.allocation_id] = one
        if failed:
            raise _together(failed)
        return found


def _runner(machine: Machine) -> Callable[[Sequence[str]], Awaitable[Result]]:
    async def run(argv: Sequence[str]) -> Result:
        ran = await machine.run(shlex.join(argv), check=False)
        return Result(tuple(argv), ran.status, ran.stdout, ran.stderr)

    return run


def _read(site: Site, reader: Callable[[], T]) -> T:
    """What a machine said; what cannot be read is never taken for an empty machine."""
    try:
        return reader()
    except (LookError, DocumentError) as error:
        raise ConflictFailure(
            "machine_unreadable",
            f"What the machine of {site.allocation_id} says cannot be read: {error}",
            detail={"allocation_id": site.allocation_id},
        ) from error


def _meant(site: Site, script: Script, failure: ScriptFailed) -> StepFailure:
    """What a script's end means: some may be tried again by themselves."""
    if failure.ran.status != TRY_AGAIN:
        return failure
    said = failure.ran.stderr.strip().splitlines()
    text = said[-1] if said else f"the script {script.name} asks to be run again later"
    return TemporaryFailure(
        "machine_busy", f"The machine of {site.allocation_id} is not ready: {text}", delay=10
    )


def _together(failed: list[BaseException]) -> BaseException:
    """One failure for many machines; a bug among them is raised as it is."""
    failures = [one for one in failed if isinstance(one, StepFailure)]
    if len(failures) < len(failed) or len(failed) == 1:
        return next((one for one in failed if not isinstance(one, StepFailure)), failed[0])
    families = (ConflictFailure, PermanentFailure, TemporaryFailure)
    family = next(kind for kind in families if any(isinstance(one, kind) for one in failures))
    gravest = next(one for one in failures if isinstance(one, family))
    return family(
        gravest.code,
        f"{len(failures)} machines: " + " | ".join(one.message for one in failures),
        usable=all(one.usable for one in failures),
        detail={"machines": [dict(one.detail) for one in failures]},
    )
