"""The Slurm app on firm ground: published, entitled, its controller a process of its own.

    async with Lab.up("mine", 3) as lab, ground_up(lab) as ground, slurm_up(ground) as site:
        instance = await site.deploy("c1", workers=2)

Used by system tests, benchmarks and the demo; everything goes through the public API.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from gpuaas_contract.apps import AppInstance, InstanceCreate, Member, Operation, OperationCreate
from gpuaas_contract.apps import Requested as Asked
from gpuaas_contract.artifacts import (
    Artifact,
    ArtifactPromote,
    ArtifactSource,
    ArtifactSourceCreate,
)
from gpuaas_contract.catalog import AppCreate, EntitlementCreate, VersionCreate
from gpuaas_lab import Settings, packages
from gpuaas_sdk import Client, Request
from gpuaas_sdk.artifacts import Publication, artifact_publish
from gpuaas_slurm.bundling import ROLES, bundle_pack
from gpuaas_slurm.delivery import CHANNEL, artifact_name, artifact_platform, bundle_name
from gpuaas_slurm.distribution import DISTRIBUTIONS
from tools.ground import Ground
from tools.progress import ROOT

SLUG: Final = "slurm"
BIN: Final = ROOT / ".venv" / "bin"
ENDED: Final = frozenset({"succeeded", "failed", "cancelled", "abandoned"})
PATIENCE_S: Final = 300.0
PAUSE_S: Final = 0.1
LONGEST_PAUSE_S: Final = 0.4


class Running(Protocol):
    """A controller's process."""

    @property
    def pid(self) -> int:
        """Its id."""

    @property
    def returncode(self) -> int | None:
        """How it ended, once it has."""

    async def wait(self) -> int:
        """Wait for its end."""

    def send_signal(self, number: int, /) -> None:
        """Send it a signal."""

    def kill(self) -> None:
        """Kill -9: no handler of it runs."""


Start = Callable[[Sequence[str], Path], Awaitable[Running]]
"""What starts a controller with the words of its line; what it says goes to the file."""


async def command_start(words: Sequence[str], log: Path) -> Running:
    """Start the command as an operator does."""
    with log.open("wb") as output:
        return await asyncio.create_subprocess_exec(
            BIN / "gpuaas-slurm",
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


@dataclass
class SlurmSite:
    """The app, its instances, and the process that works for it."""

    ground: Ground
    folder: Path
    ending: contextlib.AsyncExitStack
    """What ends with the site, after its controller."""
    options: tuple[str, ...] = ()
    start: Start = command_start
    process: Running | None = None
    _logs: list[Path] = field(default_factory=list)

    @property
    def admin(self) -> Client:
        """Who asks."""
        return self.ground.admin

    @property
    def log(self) -> str:
        """What the controllers said, one after the other."""
        return "".join(path.read_text() for path in self._logs)

    def lines(self) -> list[dict[str, Any]]:
        """The same, line by line."""
        return [json.loads(line) for line in self.log.splitlines() if line.startswith("{")]

    async def controller_start(self) -> Running:
        """Start a controller."""
        path = self.folder / f"controller-{len(self._logs)}.log"
        path.touch()
        self._logs.append(path)
        config = str(self.folder / "controller.toml")
        self.process = await self.start(("controller", "--config", config, *self.options), path)
        return self.process

    async def controller_end(self, number: int = signal.SIGTERM) -> None:
        """End the controller: in good order, or killed."""
        if self.process is not None and self.process.returncode is None:
            self.process.send_signal(number)
        if self.process is not None:
            await self.process.wait()

    async def deploy(self, name: str, settings: Mapping[str, Any]) -> Asked:
        """Ask for a cluster."""
        body = InstanceCreate(app_slug=SLUG, name=name, settings=dict(settings))
        path = f"/projects/{self.ground.project_id}/app-instances"
        return await self.admin.post(path, body, Asked)

    async def ask(self, instance_id: str, kind: str, **more: Any) -> Asked:  # noqa: ANN401 - of OperationCreate
        """Ask for an operation."""
        path = f"/app-instances/{instance_id}/operations"
        return await self.admin.post(path, OperationCreate(kind=kind, **more), Asked)

    async def instance(self, instance_id: str) -> AppInstance:
        """An instance as people see it."""
        return await self.admin.get(f"/app-instances/{instance_id}", AppInstance)

    async def members(self, instance_id: str) -> list[Member]:
        """Its live members, oldest first."""
        path = f"/app-instances/{instance_id}/members"
        found = [one async for one in self.admin.pages(path, Member)]
        return sorted(found, key=lambda one: one.id)

    async def operation(self, operation_id: str) -> Operation:
        """An operation as people see it."""
        return await self.admin.get(f"/operations/{operation_id}", Operation)

    async def ended(
        self, asked: Asked, seen: Callable[[Operation], None] | None = None
    ) -> list[Operation]:
        """Wait until what was asked for has ended, whatever way."""
        return await asyncio.gather(*(self._ended(one.id, seen) for one in asked.operations))

    async def _ended(
        self, operation_id: str, seen: Callable[[Operation], None] | None
    ) -> Operation:
        pause = PAUSE_S
        async with asyncio.timeout(PATIENCE_S):
            while True:
                operation = await self.operation(operation_id)
                if seen is not None:
                    seen(operation)
                if operation.status in ENDED:
                    return operation
                await asyncio.sleep(pause)
                # Looking costs as much as working; who shows what happens looks closely.
                pause = pause if seen else min(pause * 1.4, LONGEST_PAUSE_S)


@contextlib.asynccontextmanager
async def slurm_up(
    ground: Ground,
    *,
    bundles: Path | None = None,
    options: Sequence[str] = (),
    start: bool = True,
    manifest: Mapping[str, Any] | None = None,
) -> AsyncIterator[SlurmSite]:
    """Publish the app, entitle the project, and run a controller for the length of a block.

    Without `start` it is all made ready, and the controller is somebody else's business. Another
    `manifest` than the app's own may be given, such as `manifest_hasty()`.
    """
    await _publish(ground, manifest or await manifest_printed())
    async with contextlib.AsyncExitStack() as ending:
        made = ending.enter_context(tempfile.TemporaryDirectory(prefix="gpuaas-slurm-"))
        site = SlurmSite(ground, Path(made), ending, tuple(options))
        _configure(ground, site.folder, bundles)
        if start:
            await site.controller_start()
        try:
            yield site
        finally:
            await site.controller_end()


_printed: list[bytes] = []
"""What the command printed, once it has: it says the same each time."""


async def manifest_printed() -> dict[str, Any]:
    """The manifest as the command prints it."""
    if not _printed:
        ran = await asyncio.create_subprocess_exec(
            *(BIN / "gpuaas-slurm", "manifest"), stdout=asyncio.subprocess.PIPE
        )
        text, _ = await ran.communicate()
        _printed.append(text)
    found: dict[str, Any] = json.loads(_printed[0])
    return found


async def manifest_hasty() -> dict[str, Any]:
    """The same, for whoever fails on purpose: tried again once by itself, after a second."""
    found = await manifest_printed()
    for operation in found["operations"]:
        operation |= {"retry_after_seconds": 1, "max_attempts": 2}
    return found


async def bundles_ready(suite: str) -> Path:
    """Bundles for lab machines, in the lab's cache: as `gpuaas-slurm bundle` packs them."""
    distribution = DISTRIBUTIONS[suite]
    sets = {
        role: await packages.fetch(suite, distribution.packages(roles))
        for role, roles in ROLES.items()
    }
    digest = hashlib.sha256("".join(one.digest for one in sets.values()).encode()).hexdigest()
    folder = Settings.from_environment().cache / "slurm-bundles" / f"{suite}-{digest[:12]}"
    for role, found in sets.items():
        target = folder / bundle_name(suite, role)
        if not target.exists():
            await asyncio.to_thread(_packed, found.path, target)
    return folder


async def bundles_publish(ground: Ground, suite: str, folder: Path | None = None) -> list[Artifact]:
    """Publish the bundles as the platform's operator would; machines then fetch them."""
    folder = folder or await bundles_ready(suite)
    body = ArtifactSourceCreate(name=f"packages-{suite}", description="Packages for machines")
    source = await ground.admin.post("/artifact-sources", body, ArtifactSource)
    made = []
    for role in ROLES:
        wanted = Publication(source.id, artifact_name(role), folder.name, artifact_platform(suite))
        found = await artifact_publish(ground.admin, folder / bundle_name(suite, role), wanted)
        promote = ArtifactPromote(channel=CHANNEL)
        made.append(await ground.admin.post(f"/artifacts/{found.id}/promote", promote, Artifact))
    return made


def _packed(repository: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        kept = Path(folder) / "kept"
        kept.mkdir()
        for file in repository.iterdir():
            if file.suffix == ".deb" or file.name == "Packages":
                (kept / file.name).hardlink_to(file)
        bundle_pack(kept, Path(folder) / "bundle.tar")
        (Path(folder) / "bundle.tar").replace(target)


async def _publish(ground: Ground, manifest: Mapping[str, Any]) -> None:
    app = AppCreate(slug=SLUG, display_name="Slurm", publisher="GPUaaS")
    version = VersionCreate.model_validate(
        {"version": "0.1.0", "manifest": manifest, "publish": True}
    )
    await ground.admin.send(Request("POST", "/apps", app))
    await ground.admin.send(Request("POST", f"/apps/{SLUG}/versions", version))
    for scope in (f"tenants/{ground.org_id}", f"projects/{ground.project_id}"):
        body = EntitlementCreate(app_slug=SLUG)
        await ground.admin.send(Request("POST", f"/{scope}/entitlements", body))


def _configure(ground: Ground, folder: Path, bundles: Path | None) -> None:
    """The files an operator would write: a key, a private key, and where things are."""
    private = ground.project.sealing_key.private_bytes(
        Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
    )
    for name, content in (("key", ground.project.key.encode()), ("private.pem", private)):
        path = folder / name
        path.touch(mode=0o600)
        path.write_bytes(content)
    settings = {
        "url": ground.url,
        "key_file": folder / "key",
        "private_key_file": folder / "private.pem",
        "state": folder / "state",
        **({} if bundles is None else {"bundles": bundles}),
    }
    lines = [f'{name} = "{value}"\n' for name, value in settings.items()]
    (folder / "controller.toml").write_text("".join(lines))
