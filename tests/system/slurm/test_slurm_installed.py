"""The app as operators install it: bundles by its own command, its unit, its container image.

n1 is where the controller is installed from wheels; n2 and n3 become a cluster from bundles that
`gpuaas-slurm bundle` made. The tests share all of it and stand in this order.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from slurm_install import (
    HOME,
    IMAGE,
    PACKAGES,
    SHARED,
    image_build,
    wheels_install,
    wheels_make,
)

from gpuaas_contract.artifacts import Artifact
from gpuaas_contract.states import Health, InstanceStatus
from gpuaas_lab import Machine, Settings, packages, sources
from tools.ground import Ground
from tools.slurm_crew import as_person, placed, succeeded, until
from tools.slurm_site import BIN, SlurmSite, bundles_publish, slurm_up
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(900),
    pytest.mark.in_order,
    pytest.mark.rotates("other ways to run a cluster"),
]

SUITE: Final = suites()[0]
UNIT: Final = "gpuaas-slurm"
ETC: Final = "/etc/gpuaas-slurm"
KEYS: Final = "/root/keys"
LEASE_S: Final = 10


@dataclass
class Office:
    """The operator's machine, and what its controller works for."""

    site: SlurmSite
    artifacts: list[Artifact]
    said: str
    instance_id: str = ""

    @property
    def machine(self) -> Machine:
        return self.site.ground.lab.machine("n1")

    async def run(self, command: str, *, check: bool = True) -> str:
        ran = await self.machine.run(command, check=check)
        return ran.stdout.strip()

    async def told(self, what: str) -> str:
        """A property of the unit."""
        return await self.run(f"systemctl show -P {what} {UNIT}")

    async def healthy(self) -> None:
        await until(
            lambda: self.site.instance(self.instance_id),
            lambda one: (one.status, one.health) == (InstanceStatus.RUNNING, Health.HEALTHY),
        )


@pytest.fixture(scope="module")
async def office(
    ground_factory: Callable[..., Awaitable[Ground]], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Office]:
    ground = await ground_factory("slurm-installed", 3, suite=SUITE)
    said, bundles = await bundled(tmp_path_factory.mktemp("bundles"))
    await ground.lab.install(["n1"], await packages.fetch(SUITE, PACKAGES))
    machine, wheels = ground.lab.machine("n1"), tmp_path_factory.mktemp("wheels")
    await wheels_make(machine, wheels)
    await wheels_install(machine, wheels)
    artifacts = await bundles_publish(ground, SUITE, bundles)
    async with slurm_up(ground, start=False) as site:
        made = Office(site, artifacts, said)
        await configured(made)
        yield made


async def bundled(folder: Path) -> tuple[str, Path]:
    """Bundles by the command, from the sources lab machines are made of; what it said."""
    settings = Settings.from_environment()
    known = sources.host_entries(settings.sources)
    wanted = folder / "machines.sources"
    wanted.write_text(sources.render(sources.for_suite(known, sources.host_release(), SUITE)))
    out = folder / "2026.11"
    command = ("bundle", "--suite", SUITE, "--out", str(out), "--sources", str(wanted))
    process = await asyncio.create_subprocess_exec(
        BIN / "gpuaas-slurm", *command, stdout=asyncio.subprocess.PIPE
    )
    said, _ = await process.communicate()
    assert process.returncode == 0
    return said.decode(), out


async def configured(office: Office) -> None:
    """The files of the runbook: the settings the wheel brings, with an address, and two keys."""
    example = await office.machine.read(f"{SHARED}/controller.toml")
    text = example.replace("https://gpuaas.example.com", office.site.ground.bridge_url)
    assert text != example
    # What a killed one had begun soon goes on.
    soon = f"observe_seconds = 2.0\nlease_seconds = {LEASE_S}\n"
    await office.machine.write(f"{ETC}/controller.toml", text + soon)
    for name in ("key", "private.pem"):
        content = (office.site.folder / name).read_bytes()
        await office.machine.write(f"{ETC}/{name}", content, 0o600)


async def test_the_unit_is_one_systemd_takes_and_calls_safe(office: Office) -> None:
    said = await office.machine.run(f"systemd-analyze verify {SHARED}/gpuaas-slurm.service")
    assert said.stdout + said.stderr == ""
    await office.run(f"systemd-analyze security --threshold=15 --no-pager {UNIT}.service")
    manual = (await office.told("Documentation")).removeprefix("file://")
    assert "# Runbook" in await office.machine.read(manual)


async def test_the_doctor_finds_nothing_missing(office: Office) -> None:
    said = await office.machine.run(
        f"{HOME}/bin/gpuaas-slurm doctor --config {ETC}/controller.toml", check=False
    )
    assert said.status == 0, said.stdout + said.stderr


async def test_a_killed_unit_starts_again_and_ends_the_deploy_it_had_begun(office: Office) -> None:
    await office.run(f"systemctl enable --now {UNIT}")
    asked = await office.site.deploy(
        "c1", placed(office.site.ground, "n2", ["n3"], packages="artifact")
    )
    office.instance_id = asked.instance.id
    first = await until(lambda: office.told("MainPID"), lambda pid: pid != "0")
    await until(
        lambda: office.site.operation(asked.operations[0].id),
        lambda one: any(s.name == "preflight" and s.state == "succeeded" for s in one.progress),
    )
    await office.run(f"systemctl kill --signal=KILL {UNIT}")
    await succeeded(office.site, asked)
    assert int(await office.told("NRestarts")) == 1
    assert await office.told("MainPID") not in {"0", first}
    await office.healthy()
    head = office.site.ground.lab.machine("n2")
    assert (await head.run(as_person("srun hostname"))).stdout.strip() == "n3"


async def test_machines_run_what_the_bundle_command_made(office: Office) -> None:
    lines = office.said.splitlines()
    assert len(lines) == 2
    digests = [found[1] for line in lines if (found := re.search(r"sha256:([0-9a-f]{64})", line))]
    assert [one.digest for one in office.artifacts] == [f"sha256:{one}" for one in digests]
    for machine, digest, line in zip(("n2", "n3"), digests, lines, strict=True):
        here = office.site.ground.lab.machine(machine)
        kept = (await here.run("sha256sum /var/lib/gpuaas-slurm/installed.tar")).stdout
        assert kept.split()[0] == digest
        package = (await here.run("dpkg-query -W -f '${Version}' slurm-client")).stdout
        assert package.partition("-")[0] in line


async def test_its_process_may_nothing_it_does_not_need(office: Office) -> None:
    pid = await office.told("MainPID")
    status = dict(
        line.split(":\t", 1)
        for line in (await office.run(f"cat /proc/{pid}/status")).splitlines()
        if ":\t" in line
    )
    assert status["Uid"].split()[0] != "0"
    assert (status["CapEff"], status["NoNewPrivs"], status["Seccomp"]) == ("0" * 16, "1", "2")
    entered = f"nsenter --target {pid} --mount --setuid {status['Uid'].split()[0]} --setgid 65534"
    for denied in (f"cat {ETC}/key", "ls /root", "touch /usr/x", "touch /etc/x"):
        assert (await office.machine.run(f"{entered} {denied}", check=False)).status, denied
    await office.run(f"{entered} test -w /var/lib/gpuaas-slurm-controller")


async def test_a_stopped_unit_ends_in_good_order(office: Office) -> None:
    await office.run(f"systemctl disable --now {UNIT}")
    assert (await office.told("Result"), await office.told("ActiveState")) == (
        "success", "inactive",
    )  # fmt: skip


async def test_the_image_of_the_container_file_works_for_the_same_cluster(office: Office) -> None:
    built = await image_build(office.machine)
    assert "Successfully installed" in built
    url = office.site.ground.bridge_url
    await office.run(
        f"install -d -m 700 -o 990 {KEYS}"
        f" && install -m 400 -o 990 {ETC}/key {ETC}/private.pem {KEYS}/"
    )
    await office.run(
        f"podman run --detach --name controller --env GPUAAS_SLURM_URL={url}"
        f" --env GPUAAS_SLURM_LEASE_SECONDS={LEASE_S}"
        f" --volume {KEYS}:/run/secrets:ro --volume state:/var/lib/gpuaas-slurm-controller {IMAGE}"
    )
    await succeeded(office.site, await office.site.ask(office.instance_id, "restart"))
    await office.healthy()
    inside = "podman inspect --format '{{.State.Pid}}' controller"
    assert await office.run(f"stat -c %u /proc/$({inside})") == "990"


async def test_a_killed_container_is_started_again_and_a_stopped_one_ends_well(
    office: Office,
) -> None:
    await office.run("podman kill --signal KILL controller && podman wait controller")
    await office.run("podman start controller")
    await succeeded(office.site, await office.site.ask(office.instance_id, "reconcile"))
    await office.run("podman stop --time 60 controller")
    ended = await office.run("podman inspect --format '{{.State.ExitCode}}' controller")
    assert ended == "0", await office.run("podman logs --tail 20 controller 2>&1")
