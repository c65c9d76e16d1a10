"""How packages reach a machine: a published bundle, one of this host's, or its own sources.

The install step asks; what it gets is the environment of the script that installs. Which bundle it
is, the manifest of the app's version says: the version it names, and nothing in its place, or what
the channel points at where it names none. The project's policy decides whether it is given out; the
machine fetches it by itself.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
class Pin:
    """What an app version says of a bundle; each is empty where it says nothing."""

    version: str = ""
    digest: str = ""
    source: str = ""

    @property
    def named(self) -> bool:
        """Whether it says which bundle it has to be."""
        return bool(self.version)


def pin_of(manifest: Mapping[str, Any], name: str) -> Pin:
    """Return what a manifest says of the bundle with this name."""
    for one in manifest.get("artifacts") or ():
        if one.get("name") == name:
            return Pin(*(one.get(key) or "" for key in ("version", "digest", "source")))
    return Pin()


@dataclass(frozen=True)
class Found:
    """What the platform has of a bundle, and what was wanted."""

    pin: Pin
    artifact: Artifact | None = None
    reason: str = ""
    """The platform's words where there is none."""


@dataclass(frozen=True)
class Packages:
    """Where the packages of one operation come from."""

    services: Services
    _found: dict[tuple[str, str], Found] = field(default_factory=dict)
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
        found = await self._published(ctx, look.codename, role)
        if found.artifact is not None:
            delivery = Delivery(found.artifact, ARCHIVE, mode=0o600, purpose=ctx.operation.id)
            await artifact_deliver(self.services.client, machine, delivery)
            return {"ARCHIVE": ARCHIVE}
        bundle = self._local(found.pin, look.codename, role)
        if bundle is not None:
            await machine.put(File(ARCHIVE, bundle, mode=0o600))
            return {"ARCHIVE": ARCHIVE}
        if found.pin.named or source is PackageSource.ARTIFACT:
            raise _missing(ctx, found, artifact_name(role), look.codename)
        return {}

    async def _published(self, ctx: Context, codename: str, role: str) -> Found:
        """What policy gives for the bundle's name; asked once for all machines."""
        async with self._lock:
            if (codename, role) not in self._found:
                self._found[codename, role] = await self._resolved(ctx, codename, role)
            return self._found[codename, role]

    async def _resolved(self, ctx: Context, codename: str, role: str) -> Found:
        name = artifact_name(role)
        manifest = await self.services.manifest(ctx.instance.app_slug, app_version(ctx))
        pin = pin_of(manifest, name)
        wanted = Wanted(
            name,
            version=pin.version or None,
            channel=None if pin.named else CHANNEL,
            platform=artifact_platform(codename),
            source=pin.source or None,
        )
        try:
            found = await artifact_resolve(self.services.client, ctx.instance.project_id, wanted)
        except NotFoundError as error:
            return Found(pin, reason=error.problem.detail or "")
        except ProblemError as error:
            what = f"{name} {pin.version}".strip()
            raise PermanentFailure(
                "bundle_refused",
                f"The bundle {what} is not given out here: {error.problem.detail}",
            ) from error
        if pin.digest and found.artifact.digest != pin.digest:
            raise PermanentFailure(
                "bundle_refused",
                f"The bundle {name} {found.artifact.version} is not the one version"
                f" {app_version(ctx)} of the app was published with: it has"
                f" {found.artifact.digest}, and {pin.digest} is wanted.",
            )
        return Found(pin, found.artifact)

    def _local(self, pin: Pin, codename: str, role: str) -> Path | None:
        """A bundle in the folder this controller was given; a named version has its own there."""
        if self.services.bundles is None:
            return None
        path = self.services.bundles / pin.version / bundle_name(codename, role)
        return path if path.is_file() else None


def app_version(ctx: Context) -> str:
    """The version of the app whose packages count: the one an upgrade leads to, or the present."""
    return ctx.operation.target_version or ctx.instance.app_version


def _missing(ctx: Context, found: Found, name: str, codename: str) -> PermanentFailure:
    pin, remedy = found.pin, "publish one made by `gpuaas-slurm bundle`"
    detail = {"artifact": name, "version": pin.version, "platform": artifact_platform(codename)}
    if pin.named:
        text = (
            f"Version {app_version(ctx)} of the app stands on {name} {pin.version}, and there is"
            f" none for {codename}: {remedy} under this version. {found.reason}"
        )
    else:
        text = (
            f"There is no bundle {name} for {codename}: {remedy} and promote it to {CHANNEL}, or"
            f" deploy with another source of packages. {found.reason}"
        )
    return PermanentFailure("bundle_missing", text.strip(), detail=detail)


def artifact_name(role: str) -> str:
    """What a bundle is published as."""
    return f"gpuaas-slurm-{role}"


def artifact_platform(codename: str) -> str:
    """Which machines a bundle is for."""
    return f"debian-{codename}/amd64"


def bundle_name(codename: str, role: str) -> str:
    """What a bundle's file is called."""
    return f"gpuaas-slurm-{codename}-{role}.tar"
