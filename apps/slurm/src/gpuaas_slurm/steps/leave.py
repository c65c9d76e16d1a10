"""A worker leaves: closed to new jobs, its jobs end, no record needs it, the scheduler forgets it.

Fail closed: a scheduler that does not answer, or answers something odd, ends the step. Only drains
whose reason begins with our prefix are ours; every other is left as it is.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from gpuaas_sdk import ConflictFailure, Context, PermanentFailure
from gpuaas_slurm.commands import Job, Node, Slurm
from gpuaas_slurm.health import OURS
from gpuaas_slurm.hostlist import compress
from gpuaas_slurm.steps.nodes import PAUSE, OnNodes
from gpuaas_slurm.words import counted

WEEK = 7 * 86_400
POLL_SECONDS = 1.0
HEARD_SECONDS = 60.0
LISTED = 20


class OnKnownNodes(OnNodes):
    """A step about nodes the scheduler may never have met: a bootstrap that failed half-way."""

    async def names(self) -> list[str]:
        """The names of those that were ever given one."""
        records = await self.ground.each(self.sites, self.ground.record)
        names = []
        for site in self.sites:
            record = records[site.allocation_id]
            # A machine that was cleaned says nothing any more; no other has its name meanwhile.
            names.append(site.node if record is None else record.machine.name)
        return [name for name in names if name]

    async def nodes(self) -> list[Node]:
        """Those the scheduler knows now; raises when it cannot be asked."""
        names = await self.names()
        if not names or await self.ground.document() is None:
            return []
        seen = await self.seen(await self.ground.slurm())
        return [seen[name] for name in names if name in seen]


class Drained(OnKnownNodes):
    """No new job starts on the nodes."""

    name = "drain"

    async def check(self, ctx: Context) -> bool:
        """Whether they are closed, by whomever."""
        del ctx
        return all(node.draining for node in await self.nodes())

    async def do(self, ctx: Context) -> None:
        """Close those that are open, in our name."""
        slurm = await self.ground.slurm()
        for node in await self.nodes():
            if not node.draining:
                await slurm.node_drain(node.name, f"{OURS}{ctx.operation.id} {ctx.operation.kind}")
        ctx.say("; ".join(f"{node.name}: {node.reason}" for node in await self.nodes()))

    async def undo(self, ctx: Context) -> None:
        """Open those this operation closed."""
        slurm = await self.ground.slurm()
        for node in await self.nodes():
            if node.draining and node.reason.startswith(f"{OURS}{ctx.operation.id}"):
                await slurm.node_resume(node.name)


class Resumed(OnKnownNodes):
    """The nodes take jobs again; a drain that is somebody else's stays."""

    name = "resume"

    async def check(self, ctx: Context) -> bool:
        """Whether each takes jobs: not closed, and heard of since it was opened."""
        del ctx
        return all(not node.draining and node.responding for node in await self.nodes())

    async def do(self, ctx: Context) -> None:
        """Open those we closed."""
        slurm = await self.ground.slurm()
        closed = [node for node in await self.nodes() if node.draining]
        foreign = [node for node in closed if not node.reason.startswith(OURS)]
        if foreign:
            said = "; ".join(f"{n.name} by {n.reason_by or '?'}: {n.reason}" for n in foreign)
            raise ConflictFailure(
                "drained_elsewhere",
                f"Somebody else drained {said}. It is left alone: resume it with scontrol when"
                " whoever drained it agrees.",
                detail={"nodes": [node.name for node in foreign]},
            )
        for node in closed:
            await slurm.node_resume(node.name)
        # The scheduler takes a node it just opened for silent until it has asked it.
        clock = asyncio.get_running_loop().time
        until = clock() + HEARD_SECONDS
        while clock() < until and not await self.check(ctx):
            ctx.safe_point()
            await asyncio.sleep(PAUSE)
        ctx.say(f"{compress(await self.names())} open again")


class JobsEnded(OnKnownNodes):
    """No job runs on the nodes any more."""

    name = "jobs_end"
    deadline_seconds: ClassVar[int | None] = WEEK

    async def check(self, ctx: Context) -> bool:
        """Whether nothing of a job is there: no job, no epilog."""
        del ctx
        return not await self._left()

    async def do(self, ctx: Context) -> None:
        """Wait; when the time is over, do as was chosen."""
        given = _Choice.of(ctx)
        acted = False
        while left := await self._left():
            await ctx.tell(f"{len(left)} still there: {'; '.join(left[:LISTED])}")
            if given.over and not acted:
                await self._deadline(given, left)
                acted = True
            ctx.safe_point()
            await asyncio.sleep(POLL_SECONDS)
        ctx.say("no job runs there")

    async def _left(self) -> list[str]:
        nodes = await self.nodes()
        if not nodes:
            return []
        jobs = _on(await (await self.ground.slurm()).jobs(), [node.name for node in nodes])
        busy = [f"{n.name} is completing a job" for n in nodes if n.busy and not jobs]
        return [f"job {job.id} of {job.user} ({job.state.lower()})" for job in jobs] + busy

    async def _deadline(self, given: "_Choice", left: Sequence[str]) -> None:
        if given.choice == "wait":
            return
        if given.choice == "ask":
            raise PermanentFailure(
                "jobs_still_run",
                f"The time to wait is over and {len(left)} still there: {'; '.join(left[:LISTED])}."
                " Ask again to wait longer, to requeue the jobs or to cancel them.",
                detail={"left": list(left)},
            )
        slurm = await self.ground.slurm()
        names = [node.name for node in await self.nodes()]
        await jobs_end(slurm, _on(await slurm.jobs(), names), given.choice)


class RecordsEnded(OnKnownNodes):
    """No job record names the nodes: the scheduler could stumble over one that is gone."""

    name = "records_end"
    deadline_seconds: ClassVar[int | None] = 86_400

    async def check(self, ctx: Context) -> bool:
        """Whether no record does."""
        del ctx
        return not await self._naming()

    async def do(self, ctx: Context) -> None:
        """Wait until the scheduler has forgotten jobs that ended; one that waits is in the way."""
        while naming := await self._naming():
            waiting = [job for job in naming if job.state == "PENDING"]
            if waiting:
                raise PermanentFailure(
                    "job_names_node",
                    f"Job {waiting[0].id} of {waiting[0].user} waits for a node that is to be"
                    " removed, by its name: change or cancel it.",
                    detail={"jobs": [job.id for job in waiting][:LISTED]},
                )
            await ctx.tell(
                f"the scheduler still remembers {counted(len(naming), 'job')} that ran there"
                f" ({', '.join(str(job.id) for job in naming[:LISTED])})"
            )
            ctx.safe_point()
            await asyncio.sleep(POLL_SECONDS)
        ctx.say("no job record names it")

    async def _naming(self) -> list[Job]:
        nodes = await self.nodes()
        if not nodes:
            return []
        jobs = await (await self.ground.slurm()).jobs()
        return [job for job in jobs if any(job.names(node.name) for node in nodes)]


class Forgotten(OnKnownNodes):
    """The scheduler does not know the nodes any more."""

    name = "forget"

    async def check(self, ctx: Context) -> bool:
        """Whether it answered and does not know them."""
        del ctx
        return not await self.nodes()

    async def do(self, ctx: Context) -> None:
        """Make it forget them; it refuses while a job is there."""
        slurm = await self.ground.slurm()
        names = [node.name for node in await self.nodes()]
        for name in names:
            await slurm.node_delete(name)
        ctx.say(f"{compress(names)} forgotten")


class StillForgotten(Forgotten):
    """The same once the machine is clean: until then its daemon could have come back."""

    name = "forgotten"


class _Choice:
    """What was asked for the moment the time to wait is over."""

    def __init__(self, choice: str, until: datetime) -> None:
        self.choice = choice
        self._until = until

    @classmethod
    def of(cls, ctx: Context) -> "_Choice":
        """From the operation; time counts from its beginning, whoever works on it now."""
        given: dict[str, Any] = ctx.operation.input
        began = ctx.operation.started_at or datetime.now(UTC)
        minutes = given.get("deadline_minutes", 60)
        return cls(given.get("on_deadline", "ask"), began + timedelta(minutes=minutes))

    @property
    def over(self) -> bool:
        """Whether the time is over."""
        return datetime.now(UTC) >= self._until


async def jobs_end(slurm: Slurm, jobs: Sequence[Job], choice: str) -> None:
    """End jobs as was chosen: put back into the queue, or cancelled."""
    running = [job.id for job in jobs if job.state in {"RUNNING", "SUSPENDED", "CONFIGURING"}]
    if not running:
        return
    if choice == "requeue":
        await slurm.jobs_requeue(running)
    else:
        await slurm.jobs_cancel(running)


def _on(jobs: Sequence[Job], nodes: Sequence[str]) -> list[Job]:
    return [job for job in jobs if job.running and set(job.nodes) & set(nodes)]
