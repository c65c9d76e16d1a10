"""The jobs of a whole cluster, before its daemons stop: refused, put back, or cancelled."""

import asyncio
from typing import ClassVar

from gpuaas_sdk import Context, PermanentFailure, Step, TemporaryFailure
from gpuaas_slurm.commands import Job, SlurmCommandError
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.steps.leave import LISTED, jobs_end
from gpuaas_slurm.words import counted


class Quiet(Step):
    """No job runs; what becomes of those that do was chosen when the operation was asked for."""

    name = "jobs"
    deadline_seconds: ClassVar[int | None] = 600

    def __init__(self, ground: Ground, choice: str) -> None:
        self.ground = ground
        self.choice = choice

    async def check(self, ctx: Context) -> bool:
        """Whether no job runs."""
        del ctx
        return not await self._running()

    async def do(self, ctx: Context) -> None:
        """Do with running jobs as was chosen, and wait until they are gone."""
        staying = [job for job in await self._running() if not job.leaving]
        if staying and self.choice == "refuse":
            listed = "; ".join(f"{job.id} of {job.user}" for job in staying[:LISTED])
            raise PermanentFailure(
                "jobs_run",
                f"{counted(len(staying), 'job runs', 'jobs run')}: {listed}. Ask again and choose"
                " whether they are put back into the queue or cancelled, or wait for their end.",
                detail={"jobs": [job.id for job in staying][:LISTED]},
            )
        await jobs_end(await self.ground.slurm(), staying, self.choice)
        while running := await self._running():
            await ctx.tell(counted(len(running), "job ends", "jobs end"))
            ctx.safe_point()
            await asyncio.sleep(0.5)
        ctx.say("no job runs")

    async def _running(self) -> list[Job]:
        """Jobs that hold nodes; a scheduler that is down holds none of which could be asked."""
        looks = await self.ground.looks(self.ground.present([self.ground.controller]))
        if not looks or await self.ground.document() is None:
            return []  # it was left out, or holds no cluster
        if not looks[self.ground.controller.allocation_id].unit("slurmctld").up:
            return []
        try:
            return [job for job in await (await self.ground.slurm()).jobs() if job.running]
        except SlurmCommandError as error:
            text = f"The scheduler cannot be asked for its jobs: {error}"
            raise TemporaryFailure("controller_silent", text, delay=5) from error
