"""The largest cluster one project starts with: sixteen machines, every one of them at work."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final

import pytest
from slurm_life import life_up

from gpuaas_contract.states import Health, InstanceStatus, MemberStatus
from tools.ground import Ground
from tools.slurm_crew import members, placed, succeeded
from tools.suites import own_suite

pytestmark = [
    pytest.mark.system,
    pytest.mark.timeout(600),
    pytest.mark.rotates("other ways to run a cluster"),
]

MACHINES: Final = 16
RARELY_S: Final = 30
"""What the deploy itself says is the test's subject; each look would ask all sixteen."""


async def test_sixteen_machines_are_one_cluster_and_leave_nothing(
    ground_factory: Callable[..., Awaitable[Ground]],
) -> None:
    suite = own_suite()
    ground = await ground_factory("slurm-sixteen", MACHINES, suite)
    names = [machine.name for machine in ground.lab.machines]
    async with life_up(ground, suite, RARELY_S) as life:
        # The first controls and works, the others work.
        asked = await life.site.deploy("wide", placed(ground, names[0], names))
        life.instance_id = (await succeeded(life.site, asked)).instance.id
        instance = await life.site.instance(life.instance_id)
        assert (instance.status, instance.health) == (InstanceStatus.RUNNING, Health.HEALTHY)
        found = await members(life.site, life.instance_id)
        assert {name: one.status for name, one in found.items()} == dict.fromkeys(
            names, MemberStatus.READY
        )
        ran = await life.person(f"srun -N {MACHINES} hostname")
        assert sorted(ran.split()) == sorted(names)
        await life.whole("decommission")
        await life.nothing_left(*names)
