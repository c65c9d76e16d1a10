"""What the lab's own system tests share: one lab of three, and the command as people run it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass

import pytest

from gpuaas_lab import Lab, Settings, teardown


@dataclass(frozen=True)
class Spoken:
    """What a command said."""

    status: int
    stdout: str
    stderr: str


Command = Callable[..., Awaitable[Spoken]]


@pytest.fixture(scope="session")
async def three(lab_factory: Callable[..., Awaitable[Lab]]) -> Lab:
    """Three machines; a test leaves them whole, on and healed."""
    return await lab_factory("three", 3)


@pytest.fixture(scope="session")
def gpuaas_lab() -> Command:
    """Run the command."""

    async def run(*arguments: str) -> Spoken:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "gpuaas_lab.main", *arguments),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        return Spoken(process.returncode or 0, out.decode(), err.decode())

    return run


@pytest.fixture
async def lab_name(
    lab_host: Settings, lab_prefix: str, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    """A name for a lab that the test makes and breaks itself; gone at its end whatever happens."""
    name = f"{lab_prefix}-{abs(hash(request.node.nodeid)) % 100000}"
    yield name
    await teardown.lab_remove(lab_host, name)
