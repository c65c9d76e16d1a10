"""Machines made to order by the lab, through a real platform that is killed in between."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass

import asyncssh
import pytest
from eventually import eventually

from gpuaas_contract.capacity import Allocation, AllocationCreate, Node, Region, RegionCreate
from gpuaas_contract.custody import (
    AccessGrant,
    AccessGrantCreate,
    AccessGrantIssued,
    AccessGrantRevoke,
    CaRotate,
    GrantLogin,
    SshCa,
)
from gpuaas_contract.fleet import AccessCarrier, NodeAccess
from gpuaas_contract.states import AllocationStatus
from gpuaas_lab import Lab, Settings, teardown
from gpuaas_sdk import Machines, Ran
from tools.ground import SKU, Ground

pytestmark = pytest.mark.system
PATIENCE = 150


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
        provider_options={"lab": lab},
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

    async def look() -> Allocation | None:
        found = await ground.admin.get(f"/allocations/{allocation_id}", Allocation)
        return found if found.status in wanted else None

    return await eventually(look, within=PATIENCE, what=f"{allocation_id} is one of {wanted}")


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


@dataclass(frozen=True)
class Made:
    """A made machine, seen by an operator of its project who has a key in memory."""

    ground: Ground
    allocation_id: str
    node_id: str
    key: asyncssh.SSHKey

    async def grant(self, login: GrantLogin = GrantLogin.OPERATOR) -> AccessGrantIssued:
        """A certificate for it."""
        line = self.key.export_public_key().decode().strip()
        body = AccessGrantCreate(public_key=line, login=login)
        path = f"/allocations/{self.allocation_id}/access-grants"
        return await self.ground.admin.post(path, body, AccessGrantIssued)

    async def revoke(self, issued: AccessGrantIssued) -> None:
        """End a certificate."""
        path = f"/access-grants/{issued.grant.id}/revoke"
        await self.ground.admin.post(path, AccessGrantRevoke(), AccessGrant)

    async def login(self, issued: AccessGrantIssued, user: str = "root") -> str:
        """Connect with a certificate and nothing else."""
        certificate = asyncssh.import_certificate(issued.certificate)
        async with asyncssh.connect(
            issued.address,
            username=user,
            client_keys=[(self.key, certificate)],
            known_hosts=asyncssh.import_known_hosts("\n".join(issued.known_hosts) + "\n"),
            agent_path=None,
            config=None,
        ) as connection:
            return str((await connection.run("hostname", check=True)).stdout).strip()

    async def refused(self, issued: AccessGrantIssued) -> None:
        """Until a certificate opens nothing any more."""

        async def denied() -> bool:
            try:
                await self.login(issued)
            except asyncssh.PermissionDenied:
                return True
            return False

        await eventually(denied, within=PATIENCE, what="the certificate is refused")

    async def access(self) -> NodeAccess:
        """What the platform knows of whom it lets in."""
        return await self.ground.admin.get(f"/nodes/{self.node_id}/access", NodeAccess)

    async def settled(self) -> None:
        """Until it lets in exactly whom it should."""

        async def applied() -> bool:
            return (await self.access()).applied

        await eventually(applied, within=PATIENCE, what="access is applied")

    async def said(self, *conditions: str) -> None:
        """Until exactly these conditions hold of the node."""

        async def hold() -> bool:
            node = await self.ground.admin.get(f"/nodes/{self.node_id}", Node)
            return tuple(one.type for one in node.conditions) == conditions

        await eventually(hold, within=PATIENCE, what=f"{conditions} hold of the node")


@pytest.fixture
async def made(ground: Ground, made_lab: str) -> AsyncIterator[Made]:
    """One machine made to order; it and its lab are gone afterwards."""
    asked = await ask(ground, made_lab, "a")
    await became(ground, asked.id, AllocationStatus.ACTIVE)
    nodes = ground.admin.pages("/nodes", Node)
    [node_id] = [one.id async for one in nodes if one.allocation_id == asked.id]
    yield Made(ground, asked.id, node_id, asyncssh.generate_private_key("ssh-ed25519"))
    await release(ground, asked.id)
    await became(ground, asked.id, AllocationStatus.RELEASED)


async def test_a_made_machine_refuses_what_was_revoked_and_nothing_else(made: Made) -> None:
    lost, kept = await made.grant(), await made.grant()
    assert await made.login(lost) == "n1"
    await made.revoke(lost)
    await made.refused(lost)
    assert await made.login(kept) == "n1"
    await made.settled()
    access = await made.access()
    assert (access.carrier, access.applied, access.error) == (AccessCarrier.PROVIDER, True, "")
    await made.said()


async def test_people_of_a_made_machine_stay_themselves_and_who_sneaked_in_goes(
    made: Made, made_lab: str
) -> None:
    lab = await Lab.attach(made_lab)
    folder = "/etc/ssh/gpuaas-provider/principals"
    person = await made.grant(GrantLogin.PERSON)
    name = person.grant.username
    # As an app does it, whose machine session is root's.
    await lab.machine("n1").run(
        f"useradd -m -p '*' {name}; echo {person.grant.principal} >{folder}/{name};"
        f" echo {made.allocation_id} >{folder}/mallory"
    )
    assert await made.login(person, name) == "n1"
    with pytest.raises(asyncssh.PermissionDenied):
        await made.login(person)
    lost = await made.grant()
    await made.revoke(lost)
    await made.refused(lost)
    await made.settled()
    listed = await lab.machine("n1").run(f"ls {folder}")
    assert listed.stdout.split() == sorted([name, "root"])
    assert await made.login(person, name) == "n1"
    await lab.close()


async def test_a_made_machine_follows_the_authority_through_its_rotations(made: Made) -> None:
    ground = made.ground
    try:
        first = await made.grant()
        await ground.admin.post("/ssh/ca/rotate", CaRotate(reason="it is time"), SshCa)
        second = await made.grant()
        assert second.grant.ca_key_id != first.grant.ca_key_id
        assert await made.login(second) == "n1"  # published before it signed: nobody had to wait
        assert await made.login(first) == "n1"
        await made.settled()  # it knows the key after that one, too
        retire = CaRotate(reason="it was lost", distrust=True)
        await ground.admin.post("/ssh/ca/rotate", retire, SshCa)
        third = await made.grant()
        assert await made.login(third) == "n1"
        await made.refused(second)
        await made.settled()
        assert await made.login(third) == "n1"
    finally:  # the machines of the ground have no agent, and other tests use them
        for allocation_id in ground.allocations:
            await ground.trust(ground.machine(allocation_id), [allocation_id])


async def test_a_made_machine_that_was_off_is_said_to_be_outstanding_and_catches_up(
    made: Made, made_lab: str
) -> None:
    lost, kept = await made.grant(), await made.grant()
    assert await made.login(lost) == "n1"
    lab = await Lab.attach(made_lab)
    await lab.machine("n1").pull_plug()
    await made.revoke(lost)
    assert not (await made.access()).applied
    await made.said("access_outstanding")
    access = await made.access()
    assert not access.applied
    assert "does not answer SSH" in access.error
    await lab.boot("n1")
    await made.said()
    assert (await made.access()).applied
    with pytest.raises(asyncssh.PermissionDenied):
        await made.login(lost)
    assert await made.login(kept) == "n1"
    await lab.close()


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
