"""The end of a machine's part: everything taken off, and a probe that looks for what is left."""

from collections.abc import Iterable, Mapping

from gpuaas_sdk import Context, MachineUnreachable, StepFailure
from gpuaas_sdk.contract import AbsenceReport, Member, MemberReport, MemberStatus
from gpuaas_sdk.machines import Machines
from gpuaas_slurm.distribution import DISTRIBUTIONS
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.model import Accounting
from gpuaas_slurm.onmachine.look import LookError, MachineLook
from gpuaas_slurm.onmachine.residue import residue_env, residue_found
from gpuaas_slurm.onmachine.scripts import DROP_INS, HOME, Script, script_text
from gpuaas_slurm.render.gres_conf import PATH as GRES_CONF
from gpuaas_slurm.settings import PackageSource, settings_of
from gpuaas_slurm.sites import Site, site_of
from gpuaas_slurm.steps.base import OnSites


class Cleaned(OnSites):
    """Nothing of the cluster is left on the machines; what was there before it stays."""

    name = "clean"
    deadline_seconds = 900

    def __init__(self, ground: Ground, sites: Iterable[Site], *, kept_packages: bool) -> None:
        super().__init__(ground, sites)
        self.kept_packages = kept_packages

    async def holds(self, ctx: Context, site: Site, look: MachineLook) -> bool:
        """Whether the probe finds nothing."""
        del ctx, look
        found = await residue(self.ground.machines, site.allocation_id, kept=self.kept_packages)
        return not found

    async def make(self, ctx: Context, site: Site) -> None:
        """Take everything off."""
        del ctx
        look = await self.ground.look(site)
        known = DISTRIBUTIONS.get(look.codename)
        links = () if known is None else known.links
        env = {
            **residue_env(kept_packages=self.kept_packages),
            "LINKS": " ".join(f"{link.path}:{link.target}" for link in links),
            "DATABASE": Accounting().database,
            "PROBE": script_text("residue"),
        }
        await self.ground.run(site, Script("clean", env, timeout=600))


async def residue(machines: Machines, allocation_id: str, *, kept: bool) -> dict[str, list[str]]:
    """What the probe finds on a machine, by kind."""
    machine = await machines.open(allocation_id)
    ran = await machine.run(script_text("residue"), env=residue_env(kept_packages=kept))
    return residue_found(ran.stdout)


def absence_of(left: Mapping[str, list[str]]) -> AbsenceReport:
    """What the probe looked at and found, as it is told."""
    looked = ["processes", "units", "packages", "users", "groups", "files", "ports", HOME]
    evidence = {"left": dict(left), "looked_at": looked}
    return AbsenceReport(runtime_verified_absent=not left, evidence=evidence)


async def absence_report(ctx: Context, member: Member) -> MemberReport:
    """What was looked at, and whether nothing was found. Not asked is not absent."""
    kept = settings_of(ctx.instance).packages is PackageSource.INSTALLED
    try:
        left = await residue(ctx.machines, member.allocation_id, kept=kept)
    except (StepFailure, LookError) as failure:
        told = "unreachable" if isinstance(failure, MachineUnreachable) else "unreadable"
        absence = AbsenceReport(runtime_verified_absent=False, evidence={told: str(failure)})
        blocked = MemberStatus.CLEANUP_BLOCKED
        return MemberReport(member_id=member.id, status=blocked, absence=absence)
    status = MemberStatus.CLEANUP_BLOCKED if left else MemberStatus.REMOVED
    return MemberReport(member_id=member.id, status=status, absence=absence_of(left))


async def retired_report(ctx: Context, member: Member) -> MemberReport:
    """The same for a worker whose machine goes on with another part: only its daemon is gone."""
    look = await Ground(ctx.machines, ctx.target).look(site_of(ctx.target, member))
    unit = look.unit("slurmd")
    left = [path for path in (GRES_CONF, DROP_INS[-1]) if path in look.files]
    absent = not unit.up and not left
    evidence = {"slurmd": unit.active, "left": left, "looked_at": ["slurmd", "files"]}
    absence = AbsenceReport(runtime_verified_absent=absent, evidence=evidence)
    status = MemberStatus.REMOVED if absent else MemberStatus.CLEANUP_BLOCKED
    return MemberReport(member_id=member.id, status=status, absence=absence)
