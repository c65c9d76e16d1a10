"""Machines made to order by the lab, through a real platform that is killed in between."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gpuaas_contract.capacity import Allocation, AllocationCreate, Node, Region, RegionCreate
from gpuaas_contract.states import AllocationStatus
from gpuaas_lab import Settings, teardown
from gpuaas_sdk import Machines, Ran
from tools.ground import SKU, Ground

pytestmark = pytest.mark.system


@pytest.fixture
async def made_lab(
    ground: Ground, lab_host: Settings, lab_prefix: str, request: pytest.FixtureRequest
) -> AsyncIterator[str]:
    """A region whose machines the lab makes; the lab's name."""
    lab = f"{lab_prefix}-{abs(hash(request.node.nodeid)) % 100000}"
    region = RegionCreate(
        name=lab,
        display_name="Made to order",
        provider="lab",
        provider_options={"lab": lab, "platform_url": ground.url},
    )
    await ground.admin.post("/regions", region, Region)
    yield lab
    await teardown.lab_remove(lab_host, lab)


async def ask(ground: Ground, region: str, name: str) -> Allocation:
    """Want a machine."""
    body = AllocationCreate(name=f"{region}-{name}", sku=SKU, region=region)
    return await ground.admin.post(f"/projects/{ground.project_id}/allocations", body, Allocation)


async def became(ground: Ground, allocation_id: str, *wanted: AllocationStatus) -> Allocation:
    """The allocation once it is in one of these states."""
    async with asyncio.timeout(60):
        while True:
            found = await ground.admin.get(f"/allocations/{allocation_id}", Allocation)
            if found.status in wanted:
                return found
            await asyncio.sleep(0.1)


async def release(ground: Ground, allocation_id: str) -> None:
    """Give a machine back."""
    await ground.admin.post(f"/allocations/{allocation_id}/release", None, Allocation)


async def test_a_machine_is_made_opened_and_unmade(
    ground: Ground, made_lab: str, lab_host: Settings
) -> None:
    asked = await asyncio.gather(*(ask(ground, made_lab, name) for name in ("a", "b")))
    assert {one.status for one in asked} == {AllocationStatus.REQUESTED}
    for one in asked:
        await became(ground, one.id, AllocationStatus.ACTIVE)
    async with ground.operator() as client:
        machines = Machines(client)
        ended = await machines.each([one.id for one in asked], lambda m: m.run("hostname"))
        said = {one.stdout if isinstance(one, Ran) else one.message for one in ended.values()}
        assert said == {"n1\n", "n2\n"}
        await machines.close()
    nodes = [one async for one in ground.admin.pages("/nodes", Node) if one.region == made_lab]
    assert {one.provider for one in nodes} == {"lab"}
    for one in asked:
        await release(ground, one.id)
    for one in asked:
        await became(ground, one.id, AllocationStatus.RELEASED)
    assert made_lab not in teardown.labs_present(lab_host)
    assert not teardown.leftovers(made_lab).any()


async def test_a_platform_killed_in_between_converges(
    ground: Ground, made_lab: str, lab_host: Settings
) -> None:
    asked = await ask(ground, made_lab, "a")
    await became(ground, asked.id, AllocationStatus.PROVISIONING, AllocationStatus.ACTIVE)
    await ground.served.kill()
    await ground.served.start()
    await became(ground, asked.id, AllocationStatus.ACTIVE)
    async with ground.operator() as client:
        machines = Machines(client)
        assert (await (await machines.open(asked.id)).run("hostname")).stdout == "n1\n"
        await machines.close()
    await release(ground, asked.id)
    await ground.served.kill()
    await ground.served.start()
    await became(ground, asked.id, AllocationStatus.RELEASED)
    assert not teardown.leftovers(made_lab).any()


async def test_what_cannot_be_made_says_why(ground: Ground, lab_prefix: str) -> None:
    region = RegionCreate(
        name=f"{lab_prefix}-bad", display_name="Bad", provider="lab",
        provider_options={"lab": "Not A Name"},
    )  # fmt: skip
    await ground.admin.post("/regions", region, Region)
    asked = await ask(ground, f"{lab_prefix}-bad", "a")
    failed = await became(ground, asked.id, AllocationStatus.FAILED)
    assert "is not a lab name" in failed.status_reason
    await release(ground, asked.id)
    await became(ground, asked.id, AllocationStatus.RELEASED)
