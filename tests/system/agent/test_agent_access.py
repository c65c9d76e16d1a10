"""Certificates on a machine whose agent keeps its sshd: the holder's, no other's, until revoked."""

import asyncssh
import pytest
from agent_hosts import Host, enrolment_make, held
from eventually import eventually

from gpuaas_contract.capacity import Allocation
from gpuaas_contract.custody import AccessGrantIssued, CaRotate, SshCa
from gpuaas_contract.fleet import NodeAgent


@pytest.fixture
def key() -> asyncssh.SSHKey:
    """A key pair in memory, as a controller makes it."""
    return asyncssh.generate_private_key("ssh-ed25519")


async def until_refused(host: Host, key: asyncssh.SSHKey, issued: AccessGrantIssued) -> None:
    """Until a certificate opens nothing any more."""

    async def denied() -> bool:
        try:
            await host.login(key, issued)
        except asyncssh.PermissionDenied:
            return True
        return False

    await eventually(denied, what="the certificate is refused")


async def test_the_holders_certificate_opens_as_root_and_nobody_else(
    host: Host, key: asyncssh.SSHKey
) -> None:
    issued = await host.grant(key)
    assert await host.login(key, issued) == "root"
    await host.machine.run("id alice || useradd -m alice")
    with pytest.raises(asyncssh.PermissionDenied):
        await host.login(key, issued, "alice")


async def test_another_allocations_certificate_opens_nothing_here(
    host: Host, other: Host, key: asyncssh.SSHKey
) -> None:
    made = await enrolment_make(other.ground, other.machine)
    await other.machine.run(made.command)
    other.allocation_id = await held(other.ground, "n2")
    await other.access_applied()
    theirs = await other.grant(key)
    assert await other.login(key, theirs) == "root"
    at_home = theirs.model_copy(update={"known_hosts": (await host.grant(key)).known_hosts})
    with pytest.raises(asyncssh.PermissionDenied):
        await host.login(key, at_home)


async def test_a_revoked_certificate_is_refused_and_others_are_not(
    host: Host, key: asyncssh.SSHKey
) -> None:
    issued, kept = await host.grant(key), await host.grant(key)
    assert await host.login(key, issued) == "root"
    await host.revoke(issued)
    await until_refused(host, key, issued)
    assert await host.login(key, kept) == "root"


async def test_a_machine_that_was_cut_off_catches_up_with_what_was_revoked(
    host: Host, key: asyncssh.SSHKey
) -> None:
    issued = await host.grant(key)
    assert await host.login(key, issued) == "root"
    await host.machine.cut()
    try:
        await host.revoke(issued)
        assert not (await host.agent()).access_applied
    finally:
        await host.machine.heal()
    await host.access_applied(120)
    with pytest.raises(asyncssh.PermissionDenied):
        await host.login(key, issued)


async def test_the_authority_rotates_under_a_machine_and_a_lost_key_opens_nothing(
    host: Host, key: asyncssh.SSHKey
) -> None:
    admin = host.ground.admin
    first = await host.grant(key)
    await admin.post("/ssh/ca/rotate", CaRotate(reason="it is time"), SshCa)
    second = await host.grant(key)
    assert second.grant.ca_key_id != first.grant.ca_key_id
    assert await host.login(key, second) == "root"  # published before it signed
    assert await host.login(key, first) == "root"
    await host.access_applied()
    await admin.post("/ssh/ca/rotate", CaRotate(reason="it was lost", distrust=True), SshCa)
    third = await host.grant(key)
    assert await host.login(key, third) == "root"
    await until_refused(host, key, second)
    await host.access_applied()
    assert await host.login(key, third) == "root"


async def test_principals_of_other_users_are_set_and_end_with_the_allocation(
    other: Host, key: asyncssh.SSHKey
) -> None:
    made = await enrolment_make(other.ground, other.machine)
    await other.machine.run(made.command)
    await other.machine.run("id bob || useradd -m bob")
    other.allocation_id = await held(other.ground, "n2")
    await other.access_applied()
    issued = await other.grant(key)
    with pytest.raises(asyncssh.PermissionDenied):
        await other.login(key, issued, "bob")
    users = {"bob": [other.allocation_id]}
    assert (await other.done({"kind": "principals_set", "users": users})).status == "succeeded"
    assert await other.login(key, issued, "bob") == "bob"
    folder = "/etc/ssh/gpuaas-agent/principals"
    assert (await other.machine.run(f"ls {folder}")).stdout.split() == ["bob", "root"]
    path = f"/allocations/{other.allocation_id}/release"
    await other.ground.admin.post(path, None, Allocation)
    await until_refused(other, key, issued)
    await other.until(f'test -z "$(ls {folder})"')


async def test_an_sshd_that_follows_somebody_else_is_left_alone(other: Host) -> None:
    theirs = "TrustedUserCAKeys /etc/ssh/their_ca.pub\n"
    await other.machine.run("cp /etc/ssh/ssh_host_ed25519_key.pub /etc/ssh/their_ca.pub")
    await other.machine.write("/etc/ssh/sshd_config.d/10-theirs.conf", theirs)
    before = (await other.machine.run("ls /etc/ssh/sshd_config.d")).stdout
    made = await enrolment_make(other.ground, other.machine)
    await other.machine.run(made.command)

    async def in_the_way() -> NodeAgent | None:
        agent = await other.agent()
        return agent if agent.access_error else None

    agent = await eventually(in_the_way, what="the agent says why access is not applied")
    assert "has a TrustedUserCAKeys of its own (/etc/ssh/their_ca.pub)" in agent.access_error
    assert agent.access_applied is False
    assert (await other.machine.run("ls /etc/ssh/sshd_config.d")).stdout == before
    await other.machine.run("rm /etc/ssh/sshd_config.d/10-theirs.conf /etc/ssh/their_ca.pub")
    await other.access_applied(120)
