"""Where an app's controller takes artifacts from, in tests of their delivery."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from gpuaas_sdk import Client, Machines
from gpuaas_sdk.artifacts import Artifact
from tools.ground import Ground


@dataclass
class Shop:
    """Where an app's controller takes artifacts from."""

    ground: Ground
    client: Client
    machines: Machines
    artifact: Artifact
    content: Path

    @property
    def digest(self) -> str:
        """What must lie on a machine."""
        return hashlib.sha256(self.content.read_bytes()).hexdigest()

    async def digest_on(self, number: int, path: str) -> str:
        """What lies on a machine, seen by the lab and not by what is tested."""
        machine = self.ground.machine(self.ground.allocations[number])
        return (await machine.run(f"sha256sum {path}")).stdout.split()[0]
