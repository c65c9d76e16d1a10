"""The attack on the next tenant: a root who stays on a machine, and what the next one gets."""

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import asyncssh
import pytest
from agent_hosts import Host, enrolment_make, held
from eventually import eventually
from root_marks import APPENDED, MARK, NAME, PATHS, script, search

from gpuaas_agent.identity import CHALLENGE_NAMESPACE, Keys
from gpuaas_contract.access import Whoami
from gpuaas_contract.capacity import Allocation, AllocationCreate, Node, Region, RegionCreate
from gpuaas_contract.cleaning import Cleaning
from gpuaas_contract.common import Page
from gpuaas_contract.errors import ErrorCode
from gpuaas_contract.fleet import EnrolmentCreate, EnrolmentCreated
from gpuaas_contract.fleet_agent import AgentChallenge, AgentToken, AgentTokenCreate
from gpuaas_contract.identity import Tenant, TenantCreate
from gpuaas_contract.states import AllocationStatus, CleaningStatus
from gpuaas_lab import Lab, Machine
from gpuaas_sdk import Client, Machines, ProblemError
from tools.ground import REGION, SKU, Ground, Operator, ground_up

pytestmark = pytest.mark.system
PATIENCE = 240
CROWD = 100
STATE = "/var/lib/gpuaas-agent/identity"


@pytest.fixture(scope="module")
async def ground(lab_factory: Callable[..., Awaitable[Lab]]) -> AsyncIterator[Ground]:
    """A platform whose one machine has nothing of ours on it and that no project holds."""
    lab = await lab_factory("between", 1)
    async with ground_up(lab, hold=0) as made:
        yield made


@pytest.fixture(scope="module")
async def rival(ground: Ground) -> Operator:
    """A project of another tenant."""
    me = await ground.admin.get("/whoami", Whoami)
    body = TenantCreate(name="rival", admin_user_id=me.id)
    tenant = await ground.admin.post("/tenants", body, Tenant)
    return await dataclasses.replace(ground, org_id=tenant.id).project_add("research")


async def ask(ground: Ground, project_id: str, name: str, region: str = REGION) -> Allocation:
    """Want a machine for a project."""
    body = AllocationCreate(name=name, sku=SKU, region=region)
    return await ground.admin.post(f"/projects/{project_id}/allocations", body, Allocation)


async def refused(ground: Ground, project_id: str, name: str) -> ErrorCode | None:
    """Why a project gets no machine; None when it got one."""
    try:
        await ask(ground, project_id, name)
    except ProblemError as error:
        return ErrorCode(error.code)
    return None


async def became(ground: Ground, allocation_id: str, wanted: AllocationStatus) -> Allocation:
    """The allocation once it is in this state."""

    async def look() -> Allocation | None:
        found = await ground.admin.get(f"/allocations/{allocation_id}", Allocation)
        return found if found.status is wanted else None

    return await eventually(look, within=PATIENCE, what=f"{allocation_id} is {wanted}")


@dataclasses.dataclass(frozen=True)
class Stolen:
    """An agent's identity, copied by root of its machine, on another host."""

    url: str
    node_id: str
    keys: Keys

    async def refusal(self) -> str:
        """What the platform answers when it is used."""
        async with Client(self.url) as anonymous:
            made = await anonymous.post("/agent/challenges", None, AgentChallenge)
            message = f"{self.node_id} {made.challenge}"
            signature = await asyncio.to_thread(self.keys.signed, CHALLENGE_NAMESPACE, message)
            body = AgentTokenCreate(
                node_id=self.node_id, challenge=made.challenge, signature=signature
            )
            with pytest.raises(ProblemError) as error:
                await anonymous.post("/agent/tokens", body, AgentToken)
        assert error.value.code == ErrorCode.UNAUTHENTICATED
        return str(error.value)


def stolen(ground: Ground, node_id: str, text: str, folder: Path) -> Stolen:
    """The identity whose private key is this text."""
    folder.mkdir()
    key = folder / "key"
    key.touch(0o600)
    key.write_text(text)
    return Stolen(ground.url, node_id, Keys(folder))


async def marked(machine: Machine) -> list[str]:
    """What a search for root's marks finds."""
    return (await machine.run(search())).stdout.splitlines()


def test_root_leaves_some_two_hundred_marks() -> None:
    assert len(PATHS) + len(APPENDED) >= 180


async def test_a_machine_that_is_not_cleaned_is_never_given_to_another_tenant(
    ground: Ground, rival: Operator, tmp_path: Path
) -> None:
    machine = ground.lab.machine("n1")
    made = await enrolment_make(ground, machine)
    await machine.run(made.command)
    async with ground.operator() as operator:
        host = Host(ground, machine, ground.nodes["n1"], operator)
        host.allocation_id = await held(ground, "n1")
        await host.access_applied()
        key = asyncssh.generate_private_key("ssh-ed25519")
        issued = await host.grant(key)
        async with asyncssh.connect(
            str(machine.address),
            username="root",
            client_keys=[(key, asyncssh.import_certificate(issued.certificate))],
            known_hosts=asyncssh.import_known_hosts("\n".join(issued.known_hosts) + "\n"),
            agent_path=None,
            config=None,
        ) as shell:
            await shell.run(script(), check=True)
            await shell.run("setsid --fork sleep 424242 >/dev/null 2>&1 </dev/null", check=True)
            copied = str((await shell.run(f"cat {STATE}/key", check=True)).stdout)
            thief = stolen(ground, host.node_id, copied, tmp_path / "identity")
            assert "in use at another address" in await thief.refusal()
            assert "identity_shared" in {one.type for one in (await host.node()).conditions}
            path = f"/allocations/{host.allocation_id}/release"
            await ground.admin.post(path, None, Allocation)
            async with asyncio.timeout(PATIENCE):  # the open shell is ended
                await shell.wait_closed()
        await host.until("! pgrep -f '[s]leep 424242'")
        answers = await asyncio.gather(
            *(refused(ground, rival.project_id, f"rival-{number}") for number in range(CROWD))
        )
        assert set(answers) == {ErrorCode.NO_CAPACITY}
        node = await host.node()
        assert (node.status, node.last_org_id) == ("ready", ground.org_id)
        neighbour = await ground.project_add("neighbour")
        warm = await ask(ground, neighbour.project_id, "warm")
        assert warm.address == str(machine.address)
        assert any(MARK in line or NAME in line for line in await marked(machine))
        await ground.admin.post(f"/allocations/{warm.id}/release", None, Allocation)


async def test_a_machine_that_is_made_anew_has_nothing_of_the_tenant_before(
    ground: Ground, rival: Operator, tmp_path: Path
) -> None:
    """The provider makes machines in the same lab, where they can reach the platform."""
    region = RegionCreate(
        name="made",
        display_name="Made to order",
        provider="lab",
        provider_options={"lab": ground.lab.name},
    )
    assert (await ground.admin.post("/regions", region, Region)).cleaning == "recreate"
    first = await ask(ground, ground.project_id, "first", "made")
    first = await became(ground, first.id, AllocationStatus.ACTIVE)
    nodes = ground.admin.pages("/nodes", Node)
    [node] = [one async for one in nodes if one.allocation_id == first.id]
    lab = await Lab.attach(ground.lab.name)
    machine = next(one for one in lab.machines if str(one.address) == first.address)
    wish = EnrolmentCreate(node_id=node.id, platform_url=ground.bridge_url)
    enrolment = await ground.admin.post("/enrolments", wish, EnrolmentCreated)
    await machine.run(enrolment.command)
    async with ground.operator() as client:
        machines = Machines(client)
        root = await machines.open(first.id)
        await root.run(script())
        copied = (await root.run(f"cat {STATE}/key")).stdout
        await machines.close()
    assert len(await marked(machine)) > len(PATHS)
    thief = stolen(ground, node.id, copied, tmp_path / "identity")
    await ground.admin.post(f"/allocations/{first.id}/release", None, Allocation)
    assert "not by an identity of this node" in await thief.refusal()
    await became(ground, first.id, AllocationStatus.RELEASED)
    await lab.close()

    second = await ask(ground, rival.project_id, "second", "made")
    second = await became(ground, second.id, AllocationStatus.ACTIVE)
    assert second.address == first.address
    assert not set(second.host_keys) & set(first.host_keys)
    async with ground.operator(rival) as client:
        machines = Machines(client)
        root = await machines.open(second.id)
        assert (await root.run(search())).stdout == ""
        await machines.close()
    assert "not by an identity of this node" in await thief.refusal()
    page = await ground.admin.get("/cleanings", Page[Cleaning], node_id=node.id)
    [done] = page.items
    assert (done.status, done.org_id) == (CleaningStatus.SUCCEEDED, ground.org_id)
    await ground.admin.post(f"/allocations/{second.id}/release", None, Allocation)
    await became(ground, second.id, AllocationStatus.RELEASED)
