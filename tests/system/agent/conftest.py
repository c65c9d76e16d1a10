"""A platform, and machines that become nodes by their own command."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest
from agent_hosts import Host, cleared, enrolment_make, held

from gpuaas_lab import Lab
from gpuaas_sdk import Client
from tools.ground import Ground, ground_up


@pytest.fixture(scope="session")
async def fleet(lab_factory: Callable[..., Awaitable[Lab]]) -> AsyncIterator[Ground]:
    """A platform whose nodes nobody holds and whose hosts have nothing of ours on them."""
    lab = await lab_factory("agent", 2)
    async with ground_up(lab, hold=0) as ground:
        yield ground


@pytest.fixture(scope="session")
async def operator(fleet: Ground) -> AsyncIterator[Client]:
    """The service account an app works with."""
    async with fleet.operator() as client:
        yield client


@pytest.fixture(scope="module")
async def host(fleet: Ground, operator: Client) -> AsyncIterator[Host]:
    """The first machine, enrolled by its command and held, for all tests of a file."""
    machine = fleet.lab.machine("n1")
    made = await enrolment_make(fleet, machine)
    await machine.run(made.command)
    host = Host(fleet, machine, fleet.nodes["n1"], operator)
    host.allocation_id = await held(fleet, "n1")
    await host.access_applied()
    yield host
    await machine.boot()
    await machine.heal()
    await cleared(host)


@pytest.fixture
async def other(fleet: Ground, operator: Client) -> AsyncIterator[Host]:
    """The second machine, bare; whatever a test makes of it is undone."""
    host = Host(fleet, fleet.lab.machine("n2"), fleet.nodes["n2"], operator)
    yield host
    await host.machine.boot()
    await host.machine.heal()
    await cleared(host)
