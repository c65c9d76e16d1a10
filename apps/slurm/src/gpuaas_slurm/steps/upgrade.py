"""Other packages under a running cluster, and the way back: offer, examine, snapshot, change."""

from collections.abc import Iterable
from typing import ClassVar

from gpuaas_sdk import Context, PermanentFailure, Step, TemporaryFailure
from gpuaas_slurm.commands import SlurmCommandError
from gpuaas_slurm.delivery import Packages
from gpuaas_slurm.distribution import DISTRIBUTIONS
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.hostlist import compress
from gpuaas_slurm.model import Accounting
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.onmachine.scripts import HOME, INSTALLING, Script
from gpuaas_slurm.render.slurm_conf import STATE
from gpuaas_slurm.sites import Site
from gpuaas_slurm.steps.base import OnSites
from gpuaas_slurm.steps.daemons import Stopped
from gpuaas_slurm.steps.quiet import Quiet
from gpuaas_slurm.upgrading import (
    SLURM_PACKAGES,
    installed_of,
    rollback_problems,
    room_problems,
    upgrade_problems,
)

TRIAL_SECONDS = 60


class Offered(OnSites):
    """The new packages lie ready on every machine; nothing of what runs was touched."""

    name = "offer"
    deadline_seconds = 900

    def __init__(self, ground: Ground, packages: Packages, sites: Iterable[Site]) -> None:
        super().__init__(ground, sites)
        self.packages = packages

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether this operation's offer is there."""
        del site
        return look.offer is not None and look.offer.operation_id == ctx.operation.id

    async def make(self, ctx: Context, site: Site) -> None:
        """Bring them to the machine."""
        look = await self.ground.look(site)
        machine = await self.ground.machines.open(site.allocation_id)
        given = await self.packages.delivered(ctx, site, look, machine)
        if "ARCHIVE" not in given:
            raise PermanentFailure(
                "upgrade_refused",
                f"The packages of {look.hostname} come from its own sources, which keep no older"
                " ones: there would be no way back. Publish bundles made by `gpuaas-slurm bundle`.",
            )
        env = {"OPERATION": ctx.operation.id, **given}
        await self.ground.run(site, Script("offer", env, timeout=120))


class Examined(Step):
    """Nothing stands against the upgrade, or against the way back; done before anything changes."""

    name = "examine"
    deadline_seconds: ClassVar[int | None] = 120

    def __init__(self, ground: Ground, *, back: bool = False) -> None:
        self.ground = ground
        self.back = back

    async def do(self, ctx: Context) -> None:
        """Refuse with every reason at once."""
        looks = await self.ground.looks(self.ground.sites)
        named = {look.hostname: look for look in looks.values()}
        head = looks[self.ground.controller.allocation_id]
        if self.back:
            wanted = ctx.operation.target_version
            problems = rollback_problems(ctx.operation.id, wanted, head, named)
        else:
            free = (await self.ground.facts(self.ground.controller)).disk_kib
            problems = upgrade_problems(ctx.operation.id, named)
            problems += room_problems(ctx.operation.id, head, free)
        if problems:
            code = "rollback_refused" if self.back else "upgrade_refused"
            text = f"Nothing was touched: {'; '.join(problems)}."
            raise PermanentFailure(code, text, detail={"problems": problems})
        ctx.say(self._told(head))

    def _told(self, head: MachineLook) -> str:
        if not self.back:
            after = "" if head.offer is None else head.offer.version
            return f"{installed_of(head)} → {after}"
        snapshot = head.snapshot
        since = "" if snapshot is None else f"{snapshot.taken_at:%Y-%m-%d %H:%M:%S} UTC"
        return f"everything after {since} will be lost: jobs, their records, changed accounts"


class Snapshot(OnSites):
    """State, accounting and configuration are saved; the scheduler is down from here on."""

    name = "snapshot"
    deadline_seconds = 1800

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether this operation's snapshot is there."""
        del site
        return look.snapshot is not None and look.snapshot.operation_id == ctx.operation.id

    async def make(self, ctx: Context, site: Site) -> None:
        """Save it."""
        document = await self.ground.known()
        env = {
            "OPERATION": ctx.operation.id,
            "APP_VERSION": ctx.instance.app_version,
            "GENERATION": str(document.cluster.generation),
            "DATABASE": (document.cluster.accounting or Accounting()).database,
            "STATE": STATE,
        }
        await self.ground.run(site, Script("snapshot", env, timeout=1800))

    def told(self, sites: list[Site]) -> str:
        """One sentence about what was done."""
        del sites
        return "state, accounting and configuration are saved on the controller's machine"


class Packaged(OnSites):
    """The machines have exactly the packages of a bundle they hold: the offered, or the former."""

    name = "packages"
    deadline_seconds = 900

    def __init__(self, ground: Ground, sites: Iterable[Site], *, where: str) -> None:
        super().__init__(ground, sites)
        self.where = where

    @property
    def title(self) -> str:
        """Named after the machines, since the controller's goes first."""
        return f"{self.name}_{self.where}"

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether every package has that version."""
        del ctx, site
        return installed_of(look) == self.version(look) and INSTALLING not in look.present

    async def make(self, ctx: Context, site: Site) -> None:
        """Install exactly those, older ones too."""
        del ctx
        look = await self.ground.look(site)
        links = DISTRIBUTIONS[look.codename].links
        env = {
            "NAMES": " ".join(name for name in SLURM_PACKAGES if name in look.packages),
            "LINKS": " ".join(f"{link.path}:{link.target}" for link in links),
            "ARCHIVE": f"{HOME}/{self.archive}",
            "EXACT": "yes",
        }
        await self.ground.run(site, Script("install", env, timeout=850))

    archive: ClassVar[str] = "offer.tar"

    def version(self, look: MachineLook) -> str:
        """The version wanted on a machine."""
        return "" if look.offer is None else look.offer.version


class PackagedBack(Packaged):
    """The machines have the packages they had when the snapshot was taken."""

    archive = "previous.tar"

    def version(self, look: MachineLook) -> str:
        """The version wanted on a machine."""
        return look.previous or installed_of(look)


class QuietForRestore(Quiet):
    """No job runs until the snapshot is back; those that run afterwards are not in its way."""

    async def check(self, ctx: Context) -> bool:
        """Whether no job runs, or the snapshot was restored already."""
        head = await self.ground.look(self.ground.controller)
        return head.restored == ctx.operation.id or await super().check(ctx)


class DownForRestore(Stopped):
    """The daemons are down until the snapshot is back; not a second time after that."""

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether none of them runs, or the snapshot was restored already."""
        head = await self.ground.look(self.ground.controller)
        return head.restored == ctx.operation.id or await super().holds(ctx, site, look)


class Restored(OnSites):
    """State, accounting and configuration are those of the snapshot."""

    name = "restore"
    deadline_seconds = 1800

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether this operation has restored it."""
        del site
        return look.restored == ctx.operation.id

    async def make(self, ctx: Context, site: Site) -> None:
        """Put it back."""
        document = await self.ground.known()
        env = {
            "OPERATION": ctx.operation.id,
            "DATABASE": (document.cluster.accounting or Accounting()).database,
            "STATE": STATE,
        }
        await self.ground.run(site, Script("restore", env, timeout=1800))


class Verified(Step):
    """Every daemon says the release its machine has installed, and a job runs."""

    name = "verify"
    deadline_seconds: ClassVar[int | None] = 300

    def __init__(self, ground: Ground) -> None:
        self.ground = ground

    async def do(self, ctx: Context) -> None:
        """Ask every daemon; run a job where there is room for one."""
        slurm = await self.ground.slurm()
        looks = await self.ground.looks(self.ground.sites)
        installed = {installed_of(look) for look in looks.values()}
        if len(installed) != 1 or "" in installed:
            text = f"The machines have packages of several versions: {sorted(installed)}."
            raise TemporaryFailure("versions_differ", text, delay=5)
        try:
            nodes = await slurm.nodes()
            late = [node.name for node in nodes if node.version != str(slurm.version)]
            if late:
                text = f"{compress(late)} still runs another release than {slurm.version}."
                raise TemporaryFailure("versions_differ", text, delay=5)
            free = [n.name for n in nodes if n.schedulable and n.cpus_allocated < n.cpus]
            ran = await slurm.trial(free, TRIAL_SECONDS) if free else ()
        except SlurmCommandError as error:
            raise TemporaryFailure("test_job_failed", str(error), delay=5) from error
        where = f"a job ran on {compress(ran)}" if ran else "no node had room for a test job"
        ctx.say(f"{installed.pop()}, daemons say {slurm.version}; {where}")
