"""How packages reach a machine: a bundle of the platform's, one of this host's, or none needed.

The install step asks; what it gets is the environment of the script that installs.
"""

from dataclasses import dataclass
from pathlib import Path

from gpuaas_sdk import Context, PermanentFailure
from gpuaas_sdk.machines import File, Machine
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.onmachine.scripts import HOME
from gpuaas_slurm.services import Services
from gpuaas_slurm.settings import PackageSource, settings_of
from gpuaas_slurm.sites import Site

ARCHIVE = f"{HOME}/bundle.tar"


@dataclass(frozen=True)
class Packages:
    """Where the packages of one operation come from."""

    services: Services

    async def delivered(
        self, ctx: Context, site: Site, look: MachineLook, machine: Machine
    ) -> dict[str, str]:
        """Bring what is needed to the machine; return what the install script must know."""
        source = settings_of(ctx.instance).packages
        if source is PackageSource.INSTALLED:
            raise PermanentFailure(
                "packages_missing",
                f"The packages are said to be installed, but {look.hostname} lacks some: install"
                " them there, or deploy with another source of packages.",
            )
        bundle = self._local(site, look)
        if source is not PackageSource.MACHINE and bundle is not None:
            await machine.put(File(ARCHIVE, bundle, mode=0o600))
            return {"ARCHIVE": ARCHIVE}
        if source is PackageSource.ARTIFACT:
            raise PermanentFailure(
                "bundle_missing",
                f"There is no package bundle for {look.codename}: publish one made by"
                " `gpuaas-slurm bundle`, or deploy with another source of packages.",
            )
        return {}

    def _local(self, site: Site, look: MachineLook) -> Path | None:
        """A bundle in the folder this controller was given."""
        if self.services.bundles is None:
            return None
        role = "controller" if site.controller else "worker"
        path = self.services.bundles / bundle_name(look.codename, role)
        return path if path.is_file() else None


def bundle_name(codename: str, role: str) -> str:
    """What a bundle's file is called."""
    return f"gpuaas-slurm-{codename}-{role}.tar"
