"""What is refused before anything is touched, and the packages an app version stands on.

n1 controls, n2 works, n3 is to join. The tests share the cluster and stand in this order.
"""

from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
from rebuilt_bundle import SUFFIX, bundles_rebuilt

from gpuaas_contract.apps import Operation
from gpuaas_contract.artifacts import ArtifactSource, ArtifactSourceCreate
from gpuaas_contract.catalog import VersionCreate
from gpuaas_contract.policy import OverlayCreate
from gpuaas_contract.states import InstanceStatus, OperationStatus
from gpuaas_sdk import Request
from gpuaas_sdk.artifacts import Publication, artifact_publish
from gpuaas_slurm.bundling import ROLES
from gpuaas_slurm.delivery import artifact_name, artifact_platform, bundle_name
from tools.ground import Ground
from tools.slurm_crew import as_person, members, placed, reconciled, succeeded, told
from tools.slurm_site import BIN, SLUG, SlurmSite, bundles_publish, bundles_ready, slurm_up
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(900),
    pytest.mark.in_order,
    pytest.mark.rotates("trouble around a cluster"),
]

SUITE: Final = suites()[0]
NEXT, KEPT, ABSENT = "2026.12", "2027.1", "2027.2"
"""Versions of bundles: to go to, in a source policy keeps to itself, and never published."""
TO_NEXT, TO_KEPT, TO_ABSENT = "0.2.0", "0.3.0", "0.4.0"
"""Versions of the app that stand on them."""
FOREIGN: Final = "mkdir -p /etc/slurm && echo ClusterName=old >/etc/slurm/slurm.conf"
SQUATTER: Final = (
    "systemd-run --quiet --unit=squatter python3 -c"
    " 'import socket,time; s=socket.create_server((\"\",{port})); time.sleep(999)'"
    " && until ss -Hltn sport = :{port} | grep -q .; do sleep .1; done"
)


@dataclass
class Gate:
    """A cluster somebody asks things of that cannot be."""

    site: SlurmSite
    instance_id: str = ""

    @property
    def ground(self) -> Ground:
        return self.site.ground

    async def ended(self, kind: str, **more: Any) -> Operation:
        [operation] = await self.site.ended(await self.site.ask(self.instance_id, kind, **more))
        return operation

    async def refused(self, code: str, kind: str, **more: Any) -> str:
        """Ask for something that has to be refused; the reason people are told."""
        operation = await self.ended(kind, **more)
        assert operation.status is OperationStatus.FAILED, told(operation)
        assert operation.error is not None
        assert operation.error.code == code, operation.error
        return operation.error.message

    async def seen(self, machine: str, command: str) -> str:
        ran = await self.ground.lab.machine(machine).run(command, check=False)
        return ran.stdout.strip()

    async def daemon(self) -> str:
        """Which slurmctld runs."""
        return await self.seen("n1", "systemctl show -P MainPID slurmctld")

    async def version(self, machine: str) -> str:
        return await self.seen(machine, "dpkg-query -W -f '${Version}' slurm-client")


@pytest.fixture(scope="module")
async def gate(
    ground_factory: Callable[..., Awaitable[Ground]], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Gate]:
    ground = await ground_factory("slurm-refused", 3, suite=SUITE)
    folder = tmp_path_factory.mktemp("bundles")
    for bundle in (await bundles_ready(SUITE)).glob("*.tar"):
        shutil.copy(bundle, folder)
    await asyncio.to_thread(bundles_rebuilt, folder, folder)
    await bundles_publish(ground, SUITE)
    await bundles_add(ground, f"packages-{SUITE}", folder, NEXT)
    body = ArtifactSourceCreate(name="kept", description="Not for everybody")
    kept = await ground.admin.post("/artifact-sources", body, ArtifactSource)
    await bundles_add(ground, "kept", folder, KEPT)
    rules = OverlayCreate.model_validate(
        {"name": "not-from-there", "rules": {"artifact_sources": {"deny": [kept.address]}}}
    )
    path = f"/projects/{ground.project_id}/policy-overlays"
    await ground.admin.send(Request("POST", path, rules))
    options = ("--observe-seconds", "2", "--lease-seconds", "10")
    async with slurm_up(ground, options=options) as site:
        asked = await site.deploy("c1", placed(ground, "n1", ["n2"]))
        await succeeded(site, asked)
        for version, bundles in ((TO_NEXT, NEXT), (TO_KEPT, KEPT), (TO_ABSENT, ABSENT)):
            await version_publish(ground, version, bundles)
        yield Gate(site, asked.instance.id)


async def bundles_add(ground: Ground, source: str, folder: Path, version: str) -> None:
    """Publish further bundles; no channel points at them."""
    for role in ROLES:
        wanted = Publication(source, artifact_name(role), version, artifact_platform(SUITE))
        await artifact_publish(ground.admin, folder / bundle_name(SUITE, role), wanted)


async def version_publish(ground: Ground, version: str, bundles: str) -> None:
    """A version of the app that stands on bundles, as the command prints it."""
    process = await asyncio.create_subprocess_exec(
        *(BIN / "gpuaas-slurm", "manifest", "--bundles", bundles), stdout=asyncio.subprocess.PIPE
    )
    text, _ = await process.communicate()
    body = VersionCreate(version=version, manifest=json.loads(text), publish=True)
    await ground.admin.send(Request("POST", f"/apps/{SLUG}/versions", body))


async def test_a_worker_that_cannot_join_is_told_why_and_left_alone(gate: Gate) -> None:
    machine = gate.ground.lab.machine("n3")
    await machine.run(FOREIGN)
    await machine.run(SQUATTER.format(port=6818))
    given = {"allocation_ids": [gate.ground.allocation("n3")]}
    reason = await gate.refused("preflight_failed", "add_worker", input=given)
    await machine.run("systemctl stop squatter")
    assert "2 in the way" in reason
    assert "port 6818, which slurmd needs, is taken by python3 → stop python3" in reason
    assert "a Slurm of somebody else is there: /etc/slurm/slurm.conf → remove it" in reason
    assert (await machine.run("command -v munged slurmd", check=False)).status
    assert "n3" not in await gate.seen("n1", "sinfo -h -N -o %N")
    assert await gate.seen("n1", as_person("srun hostname")) == "n2"
    known = await members(gate.site, gate.instance_id)
    await succeeded(
        gate.site,
        await gate.site.ask(gate.instance_id, "remove_worker", member_ids=[known["n3"].id]),
    )


async def test_a_replacement_that_cannot_join_leaves_the_old_one_at_work(gate: Gate) -> None:
    machine = gate.ground.lab.machine("n3")
    await machine.run(FOREIGN)
    old = (await members(gate.site, gate.instance_id))["n2"]
    given = {"allocation_id": gate.ground.allocation("n3")}
    reason = await gate.refused(
        "preflight_failed", "replace_worker", member_ids=[old.id], input=given
    )
    assert "a Slurm of somebody else is there" in reason
    assert await gate.seen("n1", "sinfo -h -R") == ""
    assert await gate.seen("n1", as_person("srun hostname")) == "n2"
    await machine.run("rm -r /etc/slurm")
    left = (await members(gate.site, gate.instance_id)).get("n3")
    if left is not None:
        asked = await gate.site.ask(gate.instance_id, "remove_worker", member_ids=[left.id])
        await succeeded(gate.site, asked)


async def test_a_start_names_what_came_into_its_way(gate: Gate) -> None:
    await succeeded(gate.site, await gate.site.ask(gate.instance_id, "stop"))
    head = gate.ground.lab.machine("n1")
    await head.run(SQUATTER.format(port=6817))
    refused = await gate.ended("start")
    assert refused.error is not None
    assert refused.error.code == "preflight_failed"
    wanted = "port 6817, which slurmctld needs, is taken by python3 → stop python3"
    assert wanted in refused.error.message
    assert {step.state for step in refused.progress if step.name != "preflight"} == {"pending"}
    await head.run("systemctl stop squatter")
    await reconciled(gate.site, gate.instance_id)
    assert await gate.seen("n1", as_person("srun hostname")) == "n2"


async def test_an_upgrade_names_what_is_in_its_way(gate: Gate) -> None:
    running = await gate.daemon()
    machine = gate.ground.lab.machine("n2")
    await machine.cut(to="n1")
    reason = await gate.refused("preflight_failed", "upgrade", version=TO_NEXT)
    await machine.heal()
    assert "n2 (alloc_" in reason
    assert "it does not reach n1" in reason
    assert "→ let machines of the cluster reach each other" in reason
    assert await gate.daemon() == running


async def test_an_upgrade_to_bundles_nobody_published_is_refused(gate: Gate) -> None:
    running = await gate.daemon()
    reason = await gate.refused("bundle_missing", "upgrade", version=TO_ABSENT)
    assert f"Version {TO_ABSENT} of the app stands on gpuaas-slurm-" in reason
    assert f"{ABSENT}, and there is none for {SUITE}: publish one" in reason
    assert await gate.daemon() == running


async def test_an_upgrade_to_bundles_policy_keeps_back_is_refused(gate: Gate) -> None:
    running = await gate.daemon()
    reason = await gate.refused("bundle_refused", "upgrade", version=TO_KEPT)
    assert f"{KEPT} is not given out here" in reason
    assert await gate.daemon() == running
    assert (await gate.site.instance(gate.instance_id)).app_version == "0.1.0"


async def test_an_upgrade_goes_to_what_its_version_names_not_where_the_channel_points(
    gate: Gate,
) -> None:
    assert not (await gate.version("n1")).endswith(SUFFIX)
    done = await gate.ended("upgrade", version=TO_NEXT)
    assert done.status is OperationStatus.SUCCEEDED, told(done)
    for machine in ("n1", "n2"):
        assert (await gate.version(machine)).endswith(SUFFIX)
    instance = await gate.site.instance(gate.instance_id)
    assert (instance.status, instance.app_version) == (InstanceStatus.RUNNING, TO_NEXT)


async def test_who_joins_later_gets_the_same_packages(gate: Gate) -> None:
    given = {"allocation_ids": [gate.ground.allocation("n3")]}
    await succeeded(gate.site, await gate.site.ask(gate.instance_id, "add_worker", input=given))
    assert (await gate.version("n3")).endswith(SUFFIX)
    assert await gate.seen("n1", as_person("srun -w n3 hostname")) == "n3"
