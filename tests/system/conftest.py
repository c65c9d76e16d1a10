"""Real machines for system tests.

    async def test_something(lab_factory: LabFactory) -> None:
        lab = await lab_factory("mine", 2)

    async def test_more(ground_factory: GroundFactory) -> None:
        ground = await ground_factory("mine", 2)

A ground (`tools/ground.py`) is a served platform with a project that holds the machines. It ends
with its test file, since what idles beside the tests costs them time; labs live until the session
ends. Where machines cannot boot, tests are skipped with the reason in
one line; with GPUAAS_REQUIRE_LAB=1 that is a failure instead.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import pytest

from gpuaas_lab import Lab, PackageSet, Settings, doctor, teardown
from tools.ground import Ground, ground_up

LabFactory = Callable[..., Awaitable[Lab]]
GroundFactory = Callable[..., Awaitable[Ground]]


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """One event loop for the session, so that labs and their connections can be shared."""
    return "asyncio"


@pytest.fixture(scope="session")
async def lab_host(anyio_backend: str) -> Settings:
    """The settings of a host that can boot machines; labs of killed test runs are cleared away."""
    settings = Settings.from_environment()
    reason = doctor.reason(await doctor.examine(settings))
    if reason is not None and os.environ.get("GPUAAS_REQUIRE_LAB") == "1":
        pytest.fail(f"the lab is required and cannot boot: {reason}")
    if reason is not None:
        pytest.skip(f"lab machines cannot boot here: {reason}")
    await teardown.orphans_remove(settings)
    for name in filter(_abandoned, teardown.labs_present(settings)):
        await teardown.lab_remove(settings, name)
    return settings


def _abandoned(name: str) -> bool:
    """Whether the lab was made by a test run that is no longer there."""
    run = re.match(r"test-(\d+)-", name)
    return run is not None and not Path(f"/proc/{run[1]}").exists()


@pytest.fixture(scope="session")
def lab_prefix() -> str:
    """What the labs of this test run are called, so that two runs do not meet."""
    return f"test-{os.getpid()}"


@pytest.fixture(scope="session")
async def lab_factory(lab_host: Settings, lab_prefix: str) -> AsyncIterator[LabFactory]:
    """Bring up a lab for the session: `await lab_factory(name, count, suite=None)`."""
    async with AsyncExitStack() as stack:
        labs: dict[str, Lab] = {}

        async def make(name: str, count: int, suite: str | None = None) -> Lab:
            if name not in labs:
                scoped = Lab.up(f"{lab_prefix}-{name}", count, suite=suite, settings=lab_host)
                labs[name] = await stack.enter_async_context(scoped)
            return labs[name]

        yield make


@pytest.fixture(scope="module")
async def ground_factory(lab_host: Settings, lab_prefix: str) -> AsyncIterator[GroundFactory]:
    """Serve a platform on a lab of its own: `await ground_factory(name, count, suite=None)`.

    Machines can have packages from the start, `packages=…`, where installing them is not the
    test's subject: unpacking them on each machine is most of what such a ground costs.
    """
    async with _grounds(lab_host, lab_prefix) as make:
        yield make


@pytest.fixture(scope="session")
async def shared_ground_factory(
    lab_host: Settings, lab_prefix: str
) -> AsyncIterator[GroundFactory]:
    """The same, for what several test files share."""
    async with _grounds(lab_host, lab_prefix) as make:
        yield make


@asynccontextmanager
async def _grounds(settings: Settings, prefix: str) -> AsyncIterator[GroundFactory]:
    async with AsyncExitStack() as stack:
        grounds: dict[str, Ground] = {}

        async def make(
            name: str, count: int, suite: str | None = None, packages: PackageSet | None = None
        ) -> Ground:
            if name not in grounds:
                full = f"{prefix}-{name}"
                scoped = Lab.up(full, count, suite=suite, packages=packages, settings=settings)
                lab = await stack.enter_async_context(scoped)
                grounds[name] = await stack.enter_async_context(ground_up(lab))
            return grounds[name]

        yield make
