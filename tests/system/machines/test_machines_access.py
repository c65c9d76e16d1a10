"""Who may not in: each kind of wrong certificate, on a real sshd, with the error an app sees."""

from dataclasses import dataclass, replace
from ipaddress import IPv4Network

import pytest

from gpuaas_contract.capacity import Allocation, AllocationCreate, Node, NodeCreate
from gpuaas_contract.custody import AccessGrant, AccessGrantRevoke
from gpuaas_sdk import AccessRefused, Client, Machines, Ran
from gpuaas_sdk.contract import ErrorFamily
from gpuaas_sdk.machines import About, CertificateAccess, Order, Patience
from gpuaas_sdk.machines.ssh_wire import Pass, SshWire
from tools.ground import REGION, SKU, Ground

pytestmark = pytest.mark.system
AT_ONCE = Patience(refused=0)


@dataclass(frozen=True)
class Held:
    """A door that always has the same pass: what somebody has who copied it."""

    given: Pass

    async def ask(self, _: About) -> Pass:
        """The pass."""
        return self.given

    def refused(self) -> None:
        """There is no other."""


async def given_out(client: Client, allocation_id: str) -> Pass:
    """A pass for a machine."""
    return await CertificateAccess().desk(client).ask(allocation_id, About("cor_access"))


async def tried(allocation_id: str, given: Pass) -> Ran:
    """What happens to somebody who comes with this."""
    wire = SshWire(allocation_id, Held(given), AT_ONCE)
    try:
        output = await wire.execute(Order(allocation_id, "hostname", 60))
    finally:
        await wire.close()
    return Ran(output.status, output.stdout.decode(), output.stderr.decode(), output.seconds)


async def test_a_certificate_opens_its_machine_and_no_other(ground: Ground) -> None:
    one, two = ground.allocation("n1"), ground.allocation("n2")
    async with ground.operator() as client:
        given, other = await given_out(client, one), await given_out(client, two)
    assert (await tried(one, given)).stdout == "n1\n"
    there = replace(given, address=other.address, host_keys=other.host_keys)
    with pytest.raises(AccessRefused, match="does not take certificate") as raised:
        await tried(two, there)
    assert raised.value.family is ErrorFamily.PERMANENT
    assert raised.value.detail == {"allocation_id": two}


async def test_a_copied_certificate_ends_with_its_revocation(ground: Ground) -> None:
    allocation = ground.allocation("n1")
    async with ground.operator() as client:
        given = await given_out(client, allocation)
        await tried(allocation, given)
        path = f"/access-grants?allocation_id={allocation}"
        newest = await anext(client.pages(path, AccessGrant))
        revoke = AccessGrantRevoke(reason="copied")
        await client.post(f"/access-grants/{newest.id}/revoke", revoke, AccessGrant)
        await ground.revocations_write(ground.machine(allocation))
        with pytest.raises(AccessRefused):
            await tried(allocation, given)
        machines = Machines(client)
        assert (await (await machines.open(allocation)).run("hostname")).stdout == "n1\n"
        await machines.close()


async def test_a_certificate_that_was_changed_is_worth_nothing(ground: Ground) -> None:
    one, two = ground.allocation("n1"), ground.allocation("n2")
    async with ground.operator() as client:
        given = await given_out(client, one)
        other = await given_out(client, two)
    assert given.certificate is not None
    blob = given.certificate.public_data
    forged = blob.replace(one.encode(), two.encode())
    assert forged != blob
    given.certificate.public_data = forged
    with pytest.raises(AccessRefused):
        await tried(two, replace(other, key=given.key, certificate=given.certificate))


async def test_a_certificate_is_bound_to_its_source_address(ground: Ground) -> None:
    allocation = ground.allocation("n1")
    here = IPv4Network(f"{ground.lab.host_address}/32")
    elsewhere = IPv4Network("192.0.2.0/24")
    async with ground.operator() as client:
        machines = Machines(client, CertificateAccess(source_address=(here,)))
        assert (await (await machines.open(allocation)).run("hostname")).stdout == "n1\n"
        wrong = machines.by(CertificateAccess(source_address=(elsewhere,), patience=AT_ONCE))
        with pytest.raises(AccessRefused):
            await wrong.open(allocation)
        await machines.close()


async def test_a_certificate_ends_by_the_clock_of_the_machine(ground: Ground) -> None:
    allocation = ground.allocation("n3")
    async with ground.operator() as client:
        machines = Machines(client, CertificateAccess(patience=AT_ONCE))
        await ground.machine(allocation).skew(3600)
        try:
            with pytest.raises(AccessRefused, match="a wrong clock"):
                await machines.open(allocation)
        finally:
            await ground.machine(allocation).skew(0)
        assert (await (await machines.open(allocation)).run("hostname")).stdout == "n3\n"
        await machines.close()


async def test_another_machine_in_its_place_gets_nothing(ground: Ground) -> None:
    """A node that is known by the host key of another machine."""
    real, other = ground.lab.machine("n1"), ground.lab.machine("n2")
    body = NodeCreate(
        name="impostor", region=REGION, sku=SKU, address=str(real.address),
        host_keys=[" ".join(other.host_key.split()[:2])],
    )  # fmt: skip
    node = await ground.admin.post("/nodes", body, Node)
    wanted = AllocationCreate(name="impostor", sku=SKU, region=REGION, node_id=node.id)
    path = f"/projects/{ground.project_id}/allocations"
    allocation = await ground.admin.post(path, wanted, Allocation)
    async with ground.operator() as client:
        machines = Machines(client)
        with pytest.raises(AccessRefused, match="Nothing was sent to it") as raised:
            await machines.open(allocation.id)
        assert raised.value.code == "host_key_mismatch"
        await machines.close()
    await ground.admin.post(f"/allocations/{allocation.id}/release", None, Allocation)


async def test_another_project_gets_no_certificate(ground: Ground) -> None:
    stranger = await ground.project_add("strangers")
    async with ground.operator(stranger) as client:
        machines = Machines(client)
        with pytest.raises(AccessRefused) as raised:
            await machines.open(ground.allocation("n1"))
        assert raised.value.code == "allocation_unknown"
        await machines.close()


async def test_a_machine_given_back_is_closed(ground: Ground) -> None:
    allocation = ground.allocation("n3")
    async with ground.operator() as client:
        given = await given_out(client, allocation)
        await ground.release(allocation)
        machines = Machines(client)
        with pytest.raises(AccessRefused, match="is released"):
            await machines.open(allocation)
        with pytest.raises(AccessRefused):
            await tried(allocation, given)
        await machines.close()
        again = (await ground.hold("n3"))[0]
        machines = Machines(client)
        assert (await (await machines.open(again.id)).run("hostname")).stdout == "n3\n"
        await machines.close()
