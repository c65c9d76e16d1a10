"""Certificates and revocation lists before a real OpenSSH server, with the real client."""

import getpass
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import asyncssh
import httpx2
import pytest
from clock_fixtures import RealStart
from custody_fixtures import Site, site_make
from sshd_server import Client, Sshd, client_make, sshd_running

from gpuaas_platform.kernel.call import Platform

pytestmark = pytest.mark.integration
DENIED = "Permission denied"


@pytest.fixture(scope="module")
def sshd() -> Iterator[Sshd]:
    with sshd_running() as server:
        yield server


@pytest.fixture
def clock() -> RealStart:
    return RealStart(datetime.now(UTC))


@dataclass(frozen=True)
class Host:
    """The first machine of the project, which is this sshd, and somebody who wants in."""

    site: Site
    sshd: Sshd
    me: Client

    async def trust(self) -> None:
        """Do what the machine's agent does: fetch the keys to trust."""
        answer = await self.site.client.get("/ssh/ca")
        self.sshd.trust([key["public_key"] for key in answer.json()["keys"]])

    async def fetch_revocations(self) -> None:
        answer = await self.site.client.get("/ssh/krl")
        self.sshd.revoke(answer.content)

    async def grant(self, number: int = 0, **body: Any) -> Any:
        return await self.site.grant(number, public_key=self.me.public_key, **body)

    def ssh(self, issued: Any, *command: str) -> Any:
        return self.me.run(self.sshd, issued["certificate"], issued["known_hosts"], *command)


@pytest.fixture
async def host(
    client: httpx2.AsyncClient, platform: Platform, callers: Any, sshd: Sshd, tmp_path: Path
) -> Host:
    site = await site_make(client, platform, callers, sshd.host_key)
    made = Host(site, sshd, client_make(tmp_path / "me"))
    await made.trust()
    sshd.principals([site.allocations[0]])
    sshd.revoke(b"")
    return made


async def test_a_certificate_opens_its_machine_and_says_who_came(host: Host) -> None:
    issued = await host.grant()
    done = host.ssh(issued, "echo", "inside")
    assert (done.returncode, done.stdout) == (0, "inside\n"), done.stderr
    assert f"grant={issued['grant']['id']} caller=" in host.sshd.log
    assert f"correlation={issued['grant']['correlation_id']}" in host.sshd.log


async def test_an_expired_certificate_is_refused(host: Host, clock: RealStart) -> None:
    clock.advance(minutes=-20)
    issued = await host.grant(ttl_seconds=60)
    assert DENIED in host.ssh(issued, "true").stderr
    assert "Certificate invalid: expired" in host.sshd.log


async def test_a_certificate_of_another_allocation_is_refused(host: Host) -> None:
    issued = await host.grant(1)
    assert DENIED in host.ssh(issued, "true").stderr
    assert "does not contain an authorized principal" in host.sshd.log


async def test_the_source_address_is_minded(host: Host) -> None:
    elsewhere = await host.grant(source_address=["10.0.0.0/8"])
    assert DENIED in host.ssh(elsewhere, "true").stderr
    here = await host.grant(source_address=["10.0.0.0/8", "127.0.0.0/8"])
    assert host.ssh(here, "true").returncode == 0


async def test_a_revoked_certificate_is_refused_and_no_other(host: Host) -> None:
    issued, other = await host.grant(), await host.grant()
    await host.fetch_revocations()
    assert host.ssh(issued, "true").returncode == 0
    path = f"/access-grants/{issued['grant']['id']}/revoke"
    answer = await host.site.post(path, {"reason": "Laptop lost."}, host.site.operator)
    assert answer.status_code == 200, answer.text
    await host.fetch_revocations()
    assert DENIED in host.ssh(issued, "true").stderr
    assert "revoked by file" in host.sshd.log
    assert host.ssh(other, "true").returncode == 0


async def test_a_tampered_certificate_is_refused_by_the_host(host: Host) -> None:
    """OpenSSH's client would not even send it, so one that does not look is used."""
    issued = await host.grant(1)
    certificate = asyncssh.import_certificate(issued["certificate"])
    mine, wanted = (name.encode() for name in reversed(host.site.allocations))
    forged = certificate.public_data.replace(mine, wanted)
    assert forged != certificate.public_data
    certificate.public_data = forged
    with pytest.raises(asyncssh.PermissionDenied):
        await _connect(host, certificate)
    certificate.public_data = asyncssh.import_certificate(
        (await host.grant(0))["certificate"]
    ).public_data
    await _connect(host, certificate)


async def test_a_certificate_of_another_authority_is_refused(host: Host) -> None:
    stranger = asyncssh.generate_private_key("ssh-ed25519")
    certificate = stranger.generate_user_certificate(
        asyncssh.import_public_key(host.me.public_key), "x", principals=[host.site.allocations[0]]
    )
    with pytest.raises(asyncssh.PermissionDenied):
        await _connect(host, certificate)


async def _connect(host: Host, certificate: Any) -> None:
    key = asyncssh.read_private_key(host.me.folder / "key")
    known = asyncssh.import_known_hosts(f"[127.0.0.1]:{host.sshd.port} {host.sshd.host_key}\n")
    async with asyncssh.connect(
        "127.0.0.1", host.sshd.port, username=getpass.getuser(), config=None, agent_path=None,
        client_keys=[(key, certificate)], known_hosts=known,
    ) as connection:  # fmt: skip
        await connection.run("true", check=True)


async def test_a_stolen_certificate_is_worth_nothing(host: Host, tmp_path: Path) -> None:
    issued = await host.grant()
    thief = client_make(tmp_path / "thief")
    done = thief.run(host.sshd, issued["certificate"], issued["known_hosts"], "true")
    assert done.returncode != 0


async def test_the_forced_command_runs_whatever_is_asked(host: Host) -> None:
    issued = await host.grant(force_command="echo forced")
    assert host.ssh(issued, "echo", "wanted").stdout == "forced\n"


async def test_nothing_can_be_forwarded(host: Host) -> None:
    issued = await host.grant(pty=True)
    through = host.me.run(
        host.sshd, issued["certificate"], issued["known_hosts"], "-W", f"127.0.0.1:{host.sshd.port}"
    )
    assert "administratively prohibited" in through.stderr
    remote = ("-o", "ExitOnForwardFailure=yes", "-R", "127.0.0.1:0:127.0.0.1:9", "true")
    back = host.me.run(host.sshd, issued["certificate"], issued["known_hosts"], *remote)
    assert "remote port forwarding failed" in back.stderr


async def test_a_terminal_is_there_only_for_who_asked(host: Host) -> None:
    bare = host.ssh(await host.grant(), "-tt", "tty")
    assert "PTY allocation request failed" in bare.stderr
    assert host.ssh(await host.grant(pty=True), "-tt", "tty").stdout.startswith("/dev/pts/")


async def test_a_host_with_another_key_is_not_trusted(host: Host) -> None:
    issued = await host.grant()
    other = host.me.public_key.rsplit(" ", 1)[0]
    issued["known_hosts"] = [f"127.0.0.1 {other}"]
    assert "Host key verification failed" in host.ssh(issued, "true").stderr


async def test_the_authority_rotates_under_hosts_that_learn_of_it_later(
    host: Host, clock: RealStart
) -> None:
    before = await host.grant()
    rotated = await host.site.post("/ssh/ca/rotate", {"reason": "Yearly."}, host.site.root)
    assert rotated.status_code == 200, rotated.text
    after = await host.grant()
    assert before["grant"]["ca_key_id"] != after["grant"]["ca_key_id"]
    assert host.ssh(before, "true").returncode == 0
    assert host.ssh(after, "true").returncode == 0, "trusted since before it signed"
    lost = {"reason": "The key was seen elsewhere.", "distrust": True}
    answer = await host.site.post("/ssh/ca/rotate", lost, host.site.root)
    assert answer.status_code == 200, answer.text
    await host.trust()
    assert DENIED in host.ssh(after, "true").stderr
    assert host.ssh(await host.grant(), "true").returncode == 0
