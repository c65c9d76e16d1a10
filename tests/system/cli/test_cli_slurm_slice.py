"""The founding validation and the smoke test with the reference app, on real machines."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest
from cli_site import Said, Site

from tools.ground import ADMINISTRATOR, Ground
from tools.slurm_site import bundles_publish, slurm_up
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.rotates("the whole workflow by each interface"),
]
SUITE = suites()[0]
LAB = str(Path(sys.executable).with_name("gpuaas-lab"))
# Finished jobs are forgotten soon, so that a worker can be removed while the test looks on.
QUICK = ("--set", 'settings={"finished_job_seconds": 5}')


@pytest.fixture(scope="module")
async def ground(ground_factory: Callable[..., Awaitable[Ground]]) -> AsyncIterator[Ground]:
    """Three machines held by a project, and the app's controller at work."""
    found = await ground_factory("slice-app", 3, suite=SUITE)
    await bundles_publish(found, SUITE)
    options = ("--observe-seconds", "2", "--lease-seconds", "10")
    async with slurm_up(found, options=options):
        yield found


@pytest.fixture
async def site(ground: Ground, tmp_path: Path) -> Site:
    """Somebody who types, as the tenant's administrator."""
    made = Site(ground.url, tmp_path, patience=800)
    (tmp_path / "password").write_text(ground.password)
    (tmp_path / "operator.key").write_text(ground.project.key)
    how = ("--email", ADMINISTRATOR, "--password-file", "password", "--project", ground.project_id)
    said = await typed(made, "login", "--url", ground.url, *how)
    assert said.code == 0, said.err
    return made


async def typed(site: Site, *words: str) -> Said:
    """A command line, without holding up what else runs here."""
    return await asyncio.to_thread(site.gpuaas, *words)


async def test_the_founding_validation_passes(ground: Ground, site: Site) -> None:
    lab = ("--name", ground.lab.name)
    said = await typed(
        site,
        "validate", "slice", "--app", "slurm", "--target", "n1", "--worker", "n2", *QUICK,
        "--broken", "n3", "--break-with", " ".join((LAB, "cut", "n3", *lab)),
        "--mend-with", " ".join((LAB, "heal", "n3", *lab)),
        "--operator-key", "operator.key", "--report-json", "slice.json",
    )  # fmt: skip
    report = json.loads((site.folder / "slice.json").read_text())
    told = [
        (o["id"], o["result"], o["detail"]) for o in report["checks"] if o["result"] != "passed"
    ]
    assert told == [], said.err
    assert report["left_behind"] == []
    assert said.code == 0


async def test_the_smoke_test_passes(site: Site) -> None:
    machines = ("--allocation", "n1", "--allocation", "n2")
    said = await typed(site, "smoke", "--app", "slurm", *machines, *QUICK)
    assert said.code == 0, said.err
