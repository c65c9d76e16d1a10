"""Artifacts by the agent: fetched by the machine itself, whole and verified, through everything."""

import hashlib

import pytest
from agent_hosts import Host
from eventually import eventually
from lost_packets import sent_in_vain_to

from gpuaas_contract.artifacts import ArtifactSource, ArtifactSourceCreate
from gpuaas_contract.fleet import NodeTask
from gpuaas_lab import inside
from gpuaas_sdk.artifacts import Publication, artifact_publish
from tools.ground import Ground

SIZE = 48 * 1024 * 1024 + 321


@pytest.fixture(scope="module")
async def artifact_id(fleet: Ground, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file, published for all tenants."""
    path = tmp_path_factory.mktemp("agent-artifact") / "content"
    block = hashlib.sha512(b"agent").digest() * 16_384
    path.write_bytes((block * (SIZE // len(block) + 1))[:SIZE])
    made = await fleet.admin.post(
        "/artifact-sources", ArtifactSourceCreate(name="base"), ArtifactSource
    )
    wanted = Publication(made.address, "tools/runtime", "1.0.0", "debian-12/amd64")
    return (await artifact_publish(fleet.admin, path, wanted)).id


@pytest.fixture(autouse=True)
async def nothing_there(host: Host) -> None:
    await host.machine.run("mkdir -p /opt/app; rm -rf /opt/app/.[!.]* /opt/app/*")


def spec(artifact_id: str, **more: str) -> dict[str, str]:
    path = "/opt/app/runtime"
    return {"kind": "deliver_artifact", "artifact_id": artifact_id, "path": path, **more}


async def arrived(host: Host, task: NodeTask) -> None:
    """The file is there, is the right one, and is all there is."""
    ended = await host.ended(task, 120)
    assert ended.status == "succeeded", ended.result
    assert ended.result is not None
    said = await host.machine.run("sha256sum /opt/app/runtime; ls -A /opt/app")
    digest, _, name = said.stdout.split()
    assert (f"sha256:{digest}", name) == (ended.result.digest, "runtime")
    assert ended.result.size == SIZE


async def test_the_machine_fetches_it(host: Host, artifact_id: str) -> None:
    await arrived(host, await host.task(spec(artifact_id, mode="0755")))
    assert (await host.machine.run("stat -c %a /opt/app/runtime")).stdout.strip() == "755"


async def test_an_agent_killed_and_a_platform_killed_while_it_fetches(
    host: Host, artifact_id: str
) -> None:
    task = await host.task(spec(artifact_id))
    await host.until("test -s /opt/app/.runtime.gpuaas-part || test -e /opt/app/runtime")
    await host.machine.run("systemctl kill -s KILL gpuaas-agent", check=False)
    missed = "journalctl -u gpuaas-agent -o cat | grep -c '^no directions'"
    before = (await host.machine.run(missed, check=False)).stdout.strip()
    await host.ground.served.kill()
    await host.until(f"test $({missed}) -gt {before}")
    await host.ground.served.start()
    await arrived(host, task)


async def test_a_cut_while_it_fetches(host: Host, artifact_id: str) -> None:
    task = await host.task(spec(artifact_id))
    await host.until("test -s /opt/app/.runtime.gpuaas-part || test -e /opt/app/runtime")
    await host.machine.cut()

    async def held_up() -> bool:
        there = "test -e /opt/app/runtime && echo there || true"
        arrived_before = await inside.script(host.ground.lab.name, host.machine.name, there)
        return bool(arrived_before) or await sent_in_vain_to(host.machine)

    await eventually(held_up, what="the platform sends what does not arrive")
    await host.machine.heal()
    await arrived(host, task)


async def test_a_disk_that_is_too_small(host: Host, artifact_id: str) -> None:
    await host.machine.run("mkdir -p /opt/small && mount -t tmpfs -o size=8m tmpfs /opt/small")
    try:
        full = await host.done(spec(artifact_id, path="/opt/small/runtime"))
        assert full.result is not None
        assert (full.status, full.result.code) == ("failed", "no_space")
        assert (await host.machine.run("ls -A /opt/small")).stdout == ""
    finally:
        await host.machine.run("umount /opt/small")
