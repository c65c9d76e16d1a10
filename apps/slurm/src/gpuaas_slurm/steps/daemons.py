"""Daemons, in the order they need each other: database, accounting, controller, workers."""

import asyncio
from collections.abc import Iterable
from typing import ClassVar

from gpuaas_sdk import Context
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.model import Accounting
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.onmachine.scripts import DATABASE_MADE, MARIADB_UNIT, Script, script_text
from gpuaas_slurm.render.cgroup_conf import PATH as CGROUP_CONF
from gpuaas_slurm.render.gres_conf import PATH as GRES_CONF
from gpuaas_slurm.render.slurm_conf import PATH as SLURM_CONF
from gpuaas_slurm.render.slurm_conf import STATE
from gpuaas_slurm.render.slurmdbd_conf import DATABASE_PATH, database_statements
from gpuaas_slurm.render.slurmdbd_conf import PATH as SLURMDBD_CONF
from gpuaas_slurm.render.units import CONVERSION_SECONDS
from gpuaas_slurm.sites import Site
from gpuaas_slurm.steps.base import OnSites

READS = {
    "mariadb": (DATABASE_PATH, MARIADB_UNIT),
    "slurmdbd": (SLURMDBD_CONF,),
    "slurmctld": (SLURM_CONF, CGROUP_CONF),
    "slurmd": (SLURM_CONF, CGROUP_CONF, GRES_CONF),
}
"""The files each daemon reads when it starts. A slurmd's drop-in is not among them: it says how
the node registers, and counts from the next start on."""

START_SECONDS = 180.0
CONVERTS = "slurmdbd"
"""The daemon whose start may take hours: a new release first rewrites the tables of the old one."""
TELL_SECONDS = 15.0


def stale(look: MachineLook, unit: str) -> bool:
    """Whether a daemon runs on files older than those that are there now."""
    started = look.unit(unit).started_at
    return any(
        look.files[path].written_at > started for path in READS.get(unit, ()) if path in look.files
    )


def fresh(look: MachineLook, unit: str) -> bool:
    """Whether a daemon runs on the files that are there now."""
    return look.unit(unit).up and not stale(look, unit)


def start_script(unit: str, *, begun: bool = False) -> Script:
    """What starts a daemon; `begun`: it is on its way, and a restart would undo what it did."""
    env = {
        "UNIT": unit,
        "VERB": "start" if begun else "restart",
        "FOLDERS": STATE if unit == "slurmctld" else "",
        "NEEDS": "mariadb" if unit == CONVERTS else "",
    }
    limit = CONVERSION_SECONDS if unit == CONVERTS else START_SECONDS
    return Script("start", env, timeout=limit, sees=("units",))


async def started(ctx: Context, ground: Ground, site: Site, script: Script) -> None:
    """Run a start to its end; of one that takes long, say again and again how far it is."""
    starting = asyncio.create_task(ground.run(site, script))
    clock = asyncio.get_running_loop().time
    began = clock()
    try:
        while not (await asyncio.wait({starting}, timeout=TELL_SECONDS))[0]:
            machine = await ground.machines.open(site.allocation_id)
            ran = await machine.run(
                script_text("starting"), env={"UNIT": script.env["UNIT"]}, check=False
            )
            said = ran.stdout.strip().splitlines()
            await ctx.tell(
                f"{script.env['UNIT']} starts since {clock() - began:.0f} s"
                + (f"; {said[0][:500]}" if said else "")
            )
            ctx.safe_point()
        starting.result()
    finally:
        if not starting.done():
            starting.cancel()
            await asyncio.wait({starting})


class Database(OnSites):
    """The database runs with its settings, and holds accounting's database and user."""

    name = "database"

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether it runs, and was made ready."""
        del ctx, site
        return fresh(look, "mariadb") and DATABASE_MADE in look.present

    async def make(self, ctx: Context, site: Site) -> None:
        """Start it and make what accounting needs; each statement may run again."""
        del ctx
        document = await self.ground.known()
        new = DATABASE_MADE not in (await self.ground.look(site)).present
        accounting = document.cluster.accounting or Accounting()
        statements = "".join(f"{one};\n" for one in database_statements(accounting))
        env = {"DATABASE": accounting.database, "READS": " ".join(READS["mariadb"])}
        script = Script("database", env, statements.encode(), timeout=180, sees=("units",))
        await self.ground.run(site, script)
        if new:
            self.ground.associations = ()


class Daemon(OnSites):
    """A service runs on the files that are there, and answers."""

    unit: ClassVar[str]

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether it runs, on the present files."""
        del ctx, site
        return fresh(look, self.unit)

    async def make(self, ctx: Context, site: Site) -> None:
        """Start it, or start it anew; one that is on its way is waited for."""
        look = await self.ground.look(site)
        begun = look.unit(self.unit).starting and not stale(look, self.unit)
        await started(ctx, self.ground, site, start_script(self.unit, begun=begun))


class Munge(Daemon):
    """Messages between the machines can be signed."""

    name = unit = "munge"


class Slurmdbd(Daemon):
    """Accounting answers."""

    name = unit = CONVERTS
    deadline_seconds = CONVERSION_SECONDS + 600


class Slurmctld(Daemon):
    """The controller answers."""

    name = unit = "slurmctld"


class Slurmd(Daemon):
    """The workers' daemons run."""

    name = unit = "slurmd"


class Restarted(OnSites):
    """A service was started anew since the operation was asked for."""

    name = "restart"

    def __init__(self, ground: Ground, sites: Iterable[Site], unit: str) -> None:
        super().__init__(ground, sites)
        self.unit = unit

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether it runs, and began after the operation was asked for, by the machine's clock."""
        del site
        return look.unit(self.unit).up and self._since(ctx, look)

    async def make(self, ctx: Context, site: Site) -> None:
        """Start it anew; one that is on its way is waited for."""
        look = await self.ground.look(site)
        begun = look.unit(self.unit).starting and self._since(ctx, look)
        await started(ctx, self.ground, site, start_script(self.unit, begun=begun))

    def _since(self, ctx: Context, look: MachineLook) -> bool:
        asked = int(ctx.operation.requested_at.timestamp() + look.skew)
        return look.unit(self.unit).started_at >= asked

    @property
    def title(self) -> str:
        """Named after what restarts."""
        return f"{self.name}_{self.unit}"


class Stopped(OnSites):
    """Services do not run, and do not start by themselves."""

    name = "stop"

    def __init__(self, ground: Ground, sites: Iterable[Site], units: tuple[str, ...]) -> None:
        super().__init__(ground, sites)
        self.units = units

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether none of them runs."""
        del ctx, site
        return not any(look.unit(unit).active not in {"inactive", "failed"} for unit in self.units)

    async def make(self, ctx: Context, site: Site) -> None:
        """Stop them, in this order."""
        del ctx
        env = {"UNITS_DOWN": " ".join(self.units)}
        await self.ground.run(site, Script("stop", env, timeout=240, sees=("units",)))

    @property
    def title(self) -> str:
        """Named after what stops, since an operation stops several."""
        return f"{self.name}_{self.units[0]}"


class TakenDown(Stopped):
    """The same for good. A machine that was cleaned since has its own services back: they stay."""

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether none of them runs, where anything of the cluster is."""
        if await self.ground.record(site) is None:
            return True
        return await super().holds(ctx, site, look)
