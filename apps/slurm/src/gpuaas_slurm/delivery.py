"""How packages reach a machine: a published bundle, one of this host's, or its own sources.

The install step asks; what it gets is the environment of the script that installs. A published
bundle is what the project's policy gives for its name; the machine fetches it by itself.
"""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_sdk import Context, NotFoundError, PermanentFailure, ProblemError
from gpuaas_sdk.artifacts import (
    Artifact,
    Delivery,
    Wanted,
    artifact_deliver,
    artifact_resolve,
)
from gpuaas_sdk.machines import File, Machine
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.onmachine.scripts import HOME
from gpuaas_slurm.services import Services
from gpuaas_slurm.settings import PackageSource, settings_of
from gpuaas_slurm.sites import Site

ARCHIVE = f"{HOME}/bundle.tar"
CHANNEL = "stable"


@dataclass(frozen=True)
class Packages:
    """Where the packages of one operation come from."""

    services: Services
    _found: dict[tuple[str, str], Artifact | None] = field(default_factory=dict)
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

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
        if source is PackageSource.MACHINE:
            return {}
        role = "controller" if site.controller else "worker"
        artifact = await self._published(ctx, look.codename, role)
        if artifact is not None:
            delivery = Delivery(artifact, ARCHIVE, mode=0o600, purpose=ctx.operation.id)
            await artifact_deliver(self.services.client, machine, delivery)
            return {"ARCHIVE": ARCHIVE}
        bundle = self._local(look.codename, role)
        if bundle is not None:
            await machine.put(File(ARCHIVE, bundle, mode=0o600))
            return {"ARCHIVE": ARCHIVE}
        if source is PackageSource.ARTIFACT:
            raise PermanentFailure(
                "bundle_missing",
                f"There is no bundle {artifact_name(role)} for {look.codename}: publish one made by"
                " `gpuaas-slurm bundle`, or deploy with another source of packages.",
            )
        return {}

    async def _published(self, ctx: Context, codename: str, role: str) -> Artifact | None:
        """What policy gives for the bundle's name; asked once for all machines."""
        async with self._lock:
            if (codename, role) not in self._found:
                self._found[codename, role] = await self._resolved(ctx, codename, role)
            return self._found[codename, role]

    async def _resolved(self, ctx: Context, codename: str, role: str) -> Artifact | None:
        wanted = Wanted(artifact_name(role), channel=CHANNEL, platform=artifact_platform(codename))
        try:
            found = await artifact_resolve(self.services.client, ctx.instance.project_id, wanted)
        except NotFoundError:
            return None
        except ProblemError as error:
            raise PermanentFailure(
                "bundle_refused",
                f"The bundle {wanted.name} is not given out here: {error.problem.detail}",
            ) from error
        return found.artifact

    def _local(self, codename: str, role: str) -> Path | None:
        """A bundle in the folder this controller was given."""
        if self.services.bundles is None:
            return None
        path = self.services.bundles / bundle_name(codename, role)
        return path if path.is_file() else None


def artifact_name(role: str) -> str:
    """What a bundle is published as."""
    return f"gpuaas-slurm-{role}"


def artifact_platform(codename: str) -> str:
    """Which machines a bundle is for."""
    return f"debian-{codename}/amd64"


def bundle_name(codename: str, role: str) -> str:
    """What a bundle's file is called."""
    return f"gpuaas-slurm-{codename}-{role}.tar"
