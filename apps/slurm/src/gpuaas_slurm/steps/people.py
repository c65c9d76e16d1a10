"""The project's people on the cluster: users on its machines, and their place in accounting."""

from collections.abc import Iterable
from typing import ClassVar

from gpuaas_sdk import Context, Step, TemporaryFailure
from gpuaas_sdk.contract import Person
from gpuaas_slurm.commands import ControllerSilentError, Job
from gpuaas_slurm.commands.people import (
    as_script,
    user_add,
    user_close,
    user_remove,
    user_reopen,
)
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.onmachine.scripts import Script
from gpuaas_slurm.people import (
    AccountingPlan,
    MachinePlan,
    accounting_plan,
    concerned,
    machine_plan,
)
from gpuaas_slurm.services import Services
from gpuaas_slurm.sites import Site


class People(Step):
    """Everybody who may use the cluster can, on these machines, and nobody else.

    A machine takes one script, and none where nothing changed. Workers come first: by the time
    somebody can submit, their number is known wherever the job may land.
    """

    name = "people"
    deadline_seconds: ClassVar[int | None] = 300

    def __init__(self, ground: Ground, services: Services, sites: Iterable[Site]) -> None:
        self.ground = ground
        self.services = services
        self._sites = tuple(sites)
        self._people: tuple[Person, ...] | None = None
        self._planned: AccountingPlan | None = None

    @property
    def sites(self) -> tuple[Site, ...]:
        """The machines it is about, without those that were left out."""
        return self.ground.present(self._sites)

    async def check(self, ctx: Context) -> bool:
        """Whether everything is so already."""
        machines = await self._machines(ctx)
        self._planned = await self._accounting()
        return all(one.settled for one in machines.values()) and self._planned.settled

    async def do(self, ctx: Context) -> None:
        """Bring each machine up to date, the controller's last."""
        machines = await self._machines(ctx)
        accounting = self._planned or await self._accounting()

        async def one(site: Site) -> None:
            plan = machines[site.allocation_id]
            commands = accounting if site.controller else AccountingPlan()
            if plan.settled and commands.settled:
                return
            await self.ground.run(site, await self._script(plan, commands))

        await self.ground.each((site for site in self.sites if not site.controller), one)
        await self.ground.each((site for site in self.sites if site.controller), one)
        made = {account.name for plan in machines.values() for account in plan.make}
        left = {name for plan in machines.values() for name in plan.leave}
        ctx.say(f"{len(made)} let in, {len(left)} locked out, {len(accounting.remove)} forgotten")

    async def verify(self, ctx: Context) -> bool:
        """The machines' users are seen; the script ends where accounting refuses a command."""
        return all(one.settled for one in (await self._machines(ctx)).values())

    async def _machines(self, ctx: Context) -> dict[str, MachinePlan]:
        if self._people is None:
            self._people = await self.services.people(ctx.instance.project_id)
        if self._people is None:
            text = "The platform does not say who belongs to the project."
            raise TemporaryFailure("people_unknown", text, delay=10)
        looks = await self.ground.looks(self.sites)
        return {
            site.allocation_id: machine_plan(self._people, site, looks[site.allocation_id])
            for site in self.sites
        }

    async def _accounting(self) -> AccountingPlan:
        head = next((site for site in self.sites if site.controller), None)
        if head is None:
            return AccountingPlan()
        look = await self.ground.look(head)
        if not concerned(self._people or (), look):
            return AccountingPlan()
        document, slurm = await self.ground.known(), await self.ground.slurm()
        known, self.ground.associations = self.ground.associations, None
        try:
            known = known or await slurm.associations()
        except ControllerSilentError as error:
            text = f"slurmdbd does not answer: {error}"
            raise TemporaryFailure("accounting_silent", text, delay=5) from error
        account = next(iter(document.accounts.values()))
        jobs: tuple[Job, ...] | None = None
        if look.unit("slurmctld").up:
            jobs = await slurm.jobs()
        return accounting_plan(
            self._people or (), look, known, jobs, (document.cluster.name, account)
        )

    async def _script(self, plan: MachinePlan, accounting: AccountingPlan) -> Script:
        document = await self.ground.known()
        cluster, account = document.cluster.name, next(iter(document.accounts.values()))
        lines = [f"make {one.name} {one.uid} {one.principal or '-'}" for one in plan.make]
        lines += [f"leave {name}" for name in plan.leave]
        after = [
            *user_add(accounting.add, cluster, account),
            *user_reopen(accounting.reopen, cluster, account),
            *user_remove(accounting.remove, cluster),
        ]
        env = {
            "CLOSE": as_script(user_close(accounting.close, cluster, account)),
            "ACCOUNT": as_script(after),
        }
        given = "".join(f"{line}\n" for line in lines).encode()
        return Script("people", env, given, timeout=180, sees=("people",))


class PeopleElsewhere(People):
    """The same on machines without the controller, which need not wait for accounting."""

    name = "people_workers"
