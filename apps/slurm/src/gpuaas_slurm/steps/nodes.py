"""Workers in the scheduler's eyes: registered, tried, opened to users."""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from typing import ClassVar

from gpuaas_sdk import Context, PermanentFailure, Step, StepFailure, TemporaryFailure
from gpuaas_sdk.machines import File
from gpuaas_slurm.commands import ControllerSilentError, Node, Slurm, SlurmCommandError
from gpuaas_slurm.documents import (
    RECORD,
    Record,
    configuration_for,
    document_text,
)
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.hostlist import compress
from gpuaas_slurm.making import Maker
from gpuaas_slurm.onmachine.scripts import Script
from gpuaas_slurm.render.units import OPTIONS
from gpuaas_slurm.sites import Site

REGISTER_SECONDS = 60.0
TRIAL_SECONDS = 60
PAUSE = 0.2
RELEASE = "release"
"""Under which name an attempt keeps the release it works on, so that its end asks in its words."""


class OnNodes(Step):
    """A step about the scheduler's view of some workers."""

    deadline_seconds: ClassVar[int | None] = 300

    def __init__(self, ground: Ground, maker: Maker, sites: Iterable[Site]) -> None:
        self.ground = ground
        self.maker = maker
        self._sites = tuple(sites)

    @property
    def sites(self) -> tuple[Site, ...]:
        """The machines it is about, without those that were left out."""
        return self.ground.present(self._sites)

    async def site_named(self, name: str) -> Site:
        """The machine the scheduler calls so."""
        both = zip(self.sites, await self.records(), strict=True)
        return next(site for site, record in both if record.machine.name == name)

    async def records(self) -> list[Record]:
        """What the machines are, in the order of the sites."""
        found = await self.ground.each(self.sites, self.maker.record)
        return [found[site.allocation_id] for site in self.sites]

    async def names(self) -> list[str]:
        """What the scheduler calls them."""
        return [record.machine.name for record in await self.records()]

    async def without(self, name: str, failure: StepFailure) -> None:
        """Go on without a node, or raise what is wrong with it."""
        if not self.ground.leave_out(await self.site_named(name), failure):
            raise failure

    async def seen(self, slurm: Slurm) -> dict[str, Node]:
        """The nodes the scheduler knows."""
        try:
            return {node.name: node for node in await slurm.nodes()}
        except ControllerSilentError as error:
            raise TemporaryFailure(
                "controller_silent", f"slurmctld does not answer: {error}", delay=5
            ) from error


class Registered(OnNodes):
    """The scheduler knows the nodes, hears them, and finds nothing wrong with them."""

    name = "register"

    async def check(self, ctx: Context) -> bool:
        """Whether all of them are there."""
        slurm = await self.ground.slurm()
        ctx.kept[RELEASE] = str(slurm.version)
        return not _waiting(await self.names(), await self.seen(slurm))

    async def do(self, ctx: Context) -> None:
        """Wait until they have registered; a node that is refused says why."""
        slurm = await self.ground.slurm()
        clock = asyncio.get_running_loop().time
        until = clock() + REGISTER_SECONDS
        while True:
            names, seen = await self.names(), await self.seen(slurm)
            wrong = [seen[name] for name in names if name in seen and _refused(seen[name])]
            waiting = _waiting(names, seen)
            if wrong:
                await self.without(wrong[0].name, _refusal(wrong[0]))
                continue
            if not waiting:
                break
            if clock() > until:
                await self.without(waiting[0], await self._silent(waiting, seen))
                continue
            ctx.safe_point()
            await asyncio.sleep(PAUSE)
        ctx.say(f"{compress(names)} registered")

    async def _silent(self, waiting: list[str], seen: dict[str, Node]) -> TemporaryFailure:
        """What the machine itself says of a node that does not come."""
        site = await self.site_named(waiting[0])
        machine = await self.ground.machines.open(site.allocation_id)
        ran = await machine.run("journalctl --no-pager --output=cat --lines=8 --unit=slurmd")
        node = seen.get(waiting[0])
        state = "unknown to slurmctld" if node is None else f"{node.state} {node.reason}".strip()
        return TemporaryFailure(
            "node_not_registered",
            f"{compress(waiting)} did not register within {REGISTER_SECONDS:g} s"
            f" ({waiting[0]} is {state}); its slurmd says: {ran.stdout.strip()[-800:]}",
            detail={"nodes": waiting, "slurmd": ran.stdout[-2000:]},
        )


class Trial(OnNodes):
    """A job runs on every node before any user's can."""

    name = "test_job"

    async def check(self, ctx: Context) -> bool:
        """Whether they passed before."""
        del ctx
        return all(record.machine.admitted for record in await self.records())

    async def do(self, ctx: Context) -> None:
        """Run it on all at once; when that fails, on each, to name the one at fault."""
        slurm = await self.ground.slurm()
        ran: tuple[str, ...] | None = None
        names: list[str] = []
        while ran is None:
            names = [r.machine.name for r in await self.records() if not r.machine.admitted]
            try:
                ran = await slurm.trial(names, TRIAL_SECONDS)
            except SlurmCommandError as error:
                at_fault, failure = await self._fault(slurm, names, error)
                await self.without(at_fault, failure)
        if ran != tuple(sorted(names)):
            text = f"The test job should have run on {compress(names)} and ran on {compress(ran)}."
            raise TemporaryFailure("test_job_failed", text)
        ctx.say(f"srun on {compress(names)}")

    async def verify(self, ctx: Context) -> bool:
        """It ran: `do` raises otherwise, and admission is a step of its own."""
        del ctx
        return True

    async def _fault(
        self, slurm: Slurm, names: list[str], error: SlurmCommandError
    ) -> tuple[str, TemporaryFailure]:
        for name in names if len(names) > 1 else ():
            try:
                await slurm.trial([name], TRIAL_SECONDS)
            except SlurmCommandError as own:
                error, names = own, [name]
                break
        return names[0], TemporaryFailure(
            "test_job_failed",
            f"The test job failed on {compress(names)}: {error}",
            detail={"nodes": names, "command": " ".join(error.result.argv)},
        )


class Admitted(OnNodes):
    """Users' jobs can run on the nodes, now and after any restart."""

    name = "admit"

    def __init__(self, ground: Ground, maker: Maker, sites: Iterable[Site]) -> None:
        super().__init__(ground, maker, sites)
        self._seen: dict[str, Node] = {}

    async def check(self, ctx: Context) -> bool:
        """Whether both the machines and the scheduler say so."""
        del ctx
        records = await self.records()
        if not all(record.machine.admitted for record in records):
            return False
        seen = await self.seen(await self.ground.slurm())
        return all(self._open(record, seen) for record in records)

    async def do(self, ctx: Context) -> None:
        """Write it down on the machines, then open the nodes."""
        document = await self.ground.known()
        await self.ground.each(self.sites, self._write)
        records = await self.records()
        slurm = await self.ground.slurm()
        features = records[0].machine.features
        names = [record.machine.name for record in records]
        seen = await slurm.nodes_open(names, features, document.cluster.partitions)
        self._seen = {node.name: node for node in seen}
        ctx.say(f"{compress(names)} open to users")

    async def verify(self, ctx: Context) -> bool:
        """They are: the scheduler said so when they were opened."""
        del ctx
        return all(self._open(record, self._seen) for record in await self.records())

    @staticmethod
    def _open(record: Record, seen: dict[str, Node]) -> bool:
        node = seen.get(record.machine.name)
        return node is not None and set(record.machine.features) <= set(node.features)

    async def _write(self, site: Site) -> None:
        """The node registers as an open one from its next start on."""
        document, record = await self.ground.known(), await self.maker.record(site)
        if record.machine.admitted:
            return
        record = replace(record, machine=replace(record.machine, admitted=True))
        files = configuration_for(document.cluster, record.machine, worker=True)
        (options,) = [file for file in files if file.path == OPTIONS]
        placed = (
            File(options.path, options.text.encode()),
            File(RECORD, document_text(record).encode()),
        )
        await self.ground.run(site, Script("nothing", sees=("files",)), placed)


def _waiting(names: list[str], seen: dict[str, Node]) -> list[str]:
    """The nodes that did not come yet: unknown, or known and not heard of."""
    return [n for n in names if n not in seen or not seen[n].responding or not seen[n].version]


def _refused(node: Node) -> bool:
    """Whether a node registered with less than it should have: waiting will not make it better."""
    return "INVALID_REG" in node.flags


def _refusal(node: Node) -> PermanentFailure:
    return PermanentFailure(
        "node_refused",
        f"slurmctld refuses what {node.name} says of itself: {node.reason or 'no reason given'}."
        " Reconcile when the machine is as it was, or replace it.",
    )
