"""What the tests of delivery share: a platform with two machines, a source, a file published."""

import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from artifact_shop import Shop

from gpuaas_contract.artifacts import ArtifactSource, ArtifactSourceCreate
from gpuaas_sdk import Machines
from gpuaas_sdk.artifacts import (
    Artifact,
    Publication,
    Wanted,
    artifact_publish,
    artifact_resolve,
)
from tools.ground import Ground

SIZE = 64 * 1024 * 1024 + 12_345


@pytest.fixture(scope="session")
async def ground(shared_ground_factory: Callable[..., Awaitable[Ground]]) -> Ground:
    """A platform with two machines; a test leaves them whole, on, healed and held."""
    return await shared_ground_factory("artifacts", 2)


@pytest.fixture(scope="session")
async def artifact(ground: Ground, content: Path) -> Artifact:
    """The file, published by the operator of the platform and found by the project's."""
    source = ArtifactSourceCreate(name="base")
    made = await ground.admin.post("/artifact-sources", source, ArtifactSource)
    wanted = Publication(made.address, "tools/runtime", "1.0.0", "debian-12/amd64")
    published = await artifact_publish(ground.admin, content, wanted)
    async with ground.operator() as client:
        asked = Wanted("tools/runtime", version="1.0.0", platform="debian-12/amd64")
        found = await artifact_resolve(client, ground.project_id, asked)
    assert found.artifact.id == published.id
    return found.artifact


@pytest.fixture(scope="session")
def content(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file that is fetched in many reads."""
    path = tmp_path_factory.mktemp("artifacts") / "content"
    block = hashlib.sha512(b"gpuaas").digest() * 16_384
    path.write_bytes((block * (SIZE // len(block) + 1))[:SIZE])
    return path


@pytest.fixture
async def shop(ground: Ground, artifact: Artifact, content: Path) -> AsyncIterator[Shop]:
    async with ground.operator() as client:
        machines = Machines(client).bound("cor_shop", "a test")
        yield Shop(ground, client, machines, artifact, content)
        await machines.close()
