"""As in production: TLS by a site's own authority, pinned by the command; keys that rotate."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from agent_hosts import Host, cleared, enrolment_make, held
from tls_front import Authority, tls_front

from tools.ground import Ground, ground_up


@pytest.fixture(scope="module")
def authority() -> Authority:
    return Authority.make()


@pytest.fixture(scope="module")
async def site(
    fleet: Ground, authority: Authority, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Ground]:
    """A platform on the same machines whose agents pin an authority and rotate all the time."""
    file = tmp_path_factory.mktemp("site") / "ca.pem"
    file.write_bytes(authority.pem())
    settings = {"GPUAAS_AGENT_CA_FILE": str(file), "GPUAAS_NODE_IDENTITY_HOURS": "0.0003"}
    async with ground_up(fleet.lab, hold=0, settings=settings) as ground:
        yield ground


@pytest.fixture
async def away(site: Ground) -> AsyncIterator[Host]:
    """The second machine, as a node of that platform; clean again at the end."""
    async with site.operator() as operator:
        host = Host(site, site.lab.machine("n2"), site.nodes["n2"], operator)
        yield host
        await cleared(host)


async def test_a_pinned_authority_and_rotating_identities(
    away: Host, authority: Authority, tmp_path: Path
) -> None:
    ground = away.ground
    address = ground.lab.host_address
    context = authority.context(address, tmp_path)
    async with tls_front(address, ground.served.port, context) as port:
        url = f"https://{address}:{port}"
        made = await enrolment_make(ground, away.machine, platform_url=url)
        assert "--ca-digest" in made.command
        await away.machine.run(made.command)
        away.allocation_id = await held(ground, "n2")
        await away.access_applied()
        seen = set()
        for number in range(4):
            done = await away.script(f"echo {number}")
            assert await away.output(done) == f"{number}\n".encode()
            seen |= {one.fingerprint for one in (await away.agent()).identities}
            if number == 1:
                await away.machine.run("systemctl kill -s KILL gpuaas-agent", check=False)
        assert len(seen) > 1
        # One may just be taken over; those before it are gone.
        await away.until("test ! -e /var/lib/gpuaas-agent/identity.old")
        await cleared(away)


async def test_another_authority_is_not_trusted(
    away: Host, authority: Authority, tmp_path: Path
) -> None:
    ground = away.ground
    address = ground.lab.host_address
    impostor = Authority.make().context(address, tmp_path)
    async with tls_front(address, ground.served.port, impostor) as port:
        url = f"https://{address}:{port}"
        made = await enrolment_make(ground, away.machine, platform_url=url)
        refused = await away.machine.run(made.command, check=False)
        assert refused.status != 0
        assert "certificate verify failed" in refused.stderr
        forged = made.command.split("--ca-digest")[0] + "--ca-digest " + "0" * 64
        other = await away.machine.run(forged, check=False)
        assert "is not the one the command names" in other.stderr
