"""Working on many machines at once: who fails, who is left out, and what is told."""

from dataclasses import replace
from typing import Any

import pytest
from slurm_world import member, target

from gpuaas_sdk import Client, Machines, PermanentFailure, StepFailure, TemporaryFailure
from gpuaas_sdk.contract import Operation
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.operations.deploy import leaving_out
from gpuaas_slurm.sites import Site

BROKEN = PermanentFailure("script_failed", "dpkg is broken")
SILENT = TemporaryFailure("machine_unreachable", "no route")


class Attempt:
    """As much of an operation as decides whether a machine may be left out."""

    def __init__(self, attempt: int) -> None:
        self.attempt, self.max_attempts = attempt, 3


def ground(attempt: int | None = None) -> Ground:
    """A controller and three workers."""
    wanted = target()
    more = tuple(member(name, "worker") for name in ("n3", "n4"))
    made = Ground(
        Machines(Client("http://127.0.0.1:9")), replace(wanted, members=(*wanted.members, *more))
    )
    if attempt is not None:
        operation: Any = Attempt(attempt)
        given: Operation = operation
        made.may_leave_out = leaving_out(given)
    return made


def failing(**failures: StepFailure) -> Any:
    async def work(site: Site) -> str:
        if site.node in failures:
            raise failures[site.node]
        return site.node

    return work


async def test_one_failure_is_everybodys_where_nobody_may_be_left_out() -> None:
    made = ground()
    with pytest.raises(PermanentFailure, match="dpkg"):
        await made.each(made.sites, failing(n3=BROKEN))
    assert made.left_out == {}


async def test_every_machine_that_failed_is_told_and_the_gravest_counts() -> None:
    made = ground()
    with pytest.raises(PermanentFailure, match=r"2 machines: no route \| dpkg is broken"):
        await made.each(made.sites, failing(n2=SILENT, n3=BROKEN))


async def test_a_bad_worker_of_a_deploy_is_left_out() -> None:
    made = ground(attempt=1)
    found = await made.each(made.sites, failing(n3=BROKEN))
    assert sorted(found.values()) == ["n1", "n2", "n4"]
    assert [site.node for site in made.workers] == ["n2", "n4"]
    assert made.left_out == {"alloc_n3": BROKEN}


async def test_what_may_pass_is_tried_again_first() -> None:
    first, last = ground(attempt=1), ground(attempt=3)
    with pytest.raises(TemporaryFailure):
        await first.each(first.sites, failing(n3=SILENT))
    await last.each(last.sites, failing(n3=SILENT))
    assert set(last.left_out) == {"alloc_n3"}


async def test_the_controller_is_never_left_out_nor_the_last_worker() -> None:
    made = ground(attempt=3)
    with pytest.raises(PermanentFailure):
        await made.each(made.sites, failing(n1=BROKEN))
    with pytest.raises(PermanentFailure):
        await made.each(made.sites, failing(n2=BROKEN, n3=BROKEN, n4=BROKEN))


async def test_a_bug_is_no_failure_of_a_machine() -> None:
    made = ground(attempt=3)

    async def work(site: Site) -> None:
        raise KeyError(site.node)

    with pytest.raises(KeyError):
        await made.each(made.sites, work)
