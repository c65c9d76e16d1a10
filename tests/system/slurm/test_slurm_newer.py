"""The whole life of a cluster on machines of newer releases, in one go.

The same life as `test_slurm_life.py`'s, without the detours: one machine controls and works, three
join at once, one of them is replaced, one leaves and comes back; the cluster stops, starts,
restarts, is upgraded, led back, and leaves nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from rebuilt_bundle import SUFFIX
from slurm_life import NEXT, Life, life_up

from gpuaas_contract.states import Health, InstanceStatus, MemberStatus
from tools.ground import Ground
from tools.slurm_crew import PERSON, placed, succeeded, until
from tools.suites import suites

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(900),
    pytest.mark.rotates("other ways to run a cluster"),
]

MACHINES: Final = ("n1", "n2", "n3", "n4", "n5")
REMEMBERED_S: Final = 2


@pytest.mark.parametrize("suite", suites()[1:])
async def test_the_whole_life(suite: str, ground_factory: Callable[..., Awaitable[Ground]]) -> None:
    ground = await ground_factory(f"slurm-newer-{suite}", len(MACHINES), suite)
    async with life_up(ground, suite) as life:
        settings = placed(ground, "n1", finished_job_seconds=REMEMBERED_S)
        asked = await succeeded(life.site, await life.site.deploy("c1", settings))
        life.instance_id = asked.instance.id
        await life.healthy()
        await _jobs_run(life)
        await _workers_change(life)
        await _stops_and_starts(life)
        await _changes_version_and_back(life)
        await life.whole("decommission")
        instance = await life.site.instance(life.instance_id)
        assert instance.status is InstanceStatus.DELETED
        await life.nothing_left(*MACHINES)


async def _jobs_run(life: Life) -> None:
    """Every way to run something, and the record of it."""
    assert await life.person("srun hostname") == "n1\n"
    array = (await life.person("sbatch --parsable --array=1-3 --wrap=true")).strip()
    recorded = f"sacct -X -n -P -j {array} -s CD -S now-1hour -E now -o jobid"
    await until(lambda: life.run(recorded), lambda said: len(said.split()) == 3)
    ranks = await life.person("srun -n 2 --overcommit printenv PMIX_RANK")
    assert sorted(ranks.split()) == ["0", "1"]


async def _workers_change(life: Life) -> None:
    """Three join, one drains around its job, one is replaced, one leaves and comes back."""
    await life.add("n2", "n3", "n4")
    await life.healthy()
    assert sorted((await life.person("srun -N 4 hostname")).split()) == ["n1", "n2", "n3", "n4"]
    job = await life.job("-w n4 --wrap 'sleep 3'")
    await life.ask("drain_worker", "n4")
    member = await life.member("n4")
    assert (member.status, member.health) == (MemberStatus.DRAINED, Health.DRAINED)
    state = f"sacct -X -n -P -j {job} -o state"
    await until(lambda: life.run(state), lambda said: said == "COMPLETED\n")
    await life.ask("resume_worker", "n4")
    await life.ask("replace_worker", "n2", allocation_id=life.ground.allocation("n5"))
    await life.nothing_left("n2")
    await life.ask("remove_worker", "n3")
    await life.nothing_left("n3")
    await life.add("n3")
    await life.healthy()
    assert sorted((await life.person("srun -N 4 hostname")).split()) == ["n1", "n3", "n4", "n5"]
    assert await life.tombstones() == 2


async def _stops_and_starts(life: Life) -> None:
    """The whole cluster down and up again; a restart no job notices."""
    await life.quiet()
    await life.whole("stop")
    instance = await life.site.instance(life.instance_id)
    assert (instance.status, instance.health) == (InstanceStatus.STOPPED, Health.DRAINED)
    await life.whole("start")
    await life.healthy()
    job = await life.job("--output=/dev/null --chdir=/ --wrap 'sleep 900'")
    await life.whole("restart")
    assert await life.run(f"squeue -h -j {job} -o %T") == "RUNNING\n"


async def _changes_version_and_back(life: Life) -> None:
    """Newer packages under the job that still runs, then those from before, without it."""
    await life.newer_publish()
    before = await life.versions()
    await life.whole("upgrade", version=NEXT)
    after = await until(life.versions, lambda one: one["package"].endswith(SUFFIX))
    assert await life.installed() == {before["package"] + SUFFIX} == {after["package"]}
    assert after["daemon"] == before["daemon"]
    assert await life.run("squeue -h -o %T") == "RUNNING\n"
    await life.run(f'scancel --user="$({PERSON})"')
    await life.quiet()
    await life.whole("rollback")
    assert await until(life.versions, lambda one: one == before) == before
    assert await life.installed() == {before["package"]}
    await life.run(f'scancel --user="$({PERSON})"')
    await life.quiet()
    await life.healthy()
    assert sorted((await life.person("srun -N 4 hostname")).split()) == ["n1", "n3", "n4", "n5"]
