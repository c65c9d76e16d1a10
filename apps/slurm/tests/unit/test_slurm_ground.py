"""Working on many machines at once: who fails, who is left out, what is told and what was seen."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from slurm_world import member, target

from gpuaas_sdk import (
    Client,
    Machines,
    MachineUnreachable,
    PermanentFailure,
    ScriptFailed,
    StepFailure,
    TemporaryFailure,
)
from gpuaas_sdk.contract import MemberStatus, Operation
from gpuaas_sdk.machines import About, Order, Output
from gpuaas_slurm.ground import Ground
from gpuaas_slurm.onmachine.scripts import LOOK, Script
from gpuaas_slurm.operations.deploy import leaving_out
from gpuaas_slurm.operations.whole import left_behind
from gpuaas_slurm.sites import Site

BROKEN = PermanentFailure("script_failed", "dpkg is broken")
SILENT = TemporaryFailure("machine_unreachable", "no route")


class Attempt:
    """As much of an operation as decides whether a machine may be left out."""

    def __init__(self, attempt: int) -> None:
        self.attempt, self.max_attempts = attempt, 3


class Told:
    """A way to machines that answers a look as it is told to; as many wait as there are events."""

    key = "told"

    def __init__(self) -> None:
        self.orders: list[Order] = []
        self.status = 0
        self.answers: dict[str, tuple[float, asyncio.Event]] = {}

    def wire(self, client: Client, allocation_id: str) -> "Told":
        del client, allocation_id
        return self

    async def ready(self, about: About) -> None:
        del about

    async def close(self) -> None:
        pass

    async def execute(self, order: Order) -> Output:
        self.orders.append(order)
        now, ended = self.answers.get(order.env.get("UNIT", ""), (float(len(self.orders)), None))
        if ended is not None:
            await ended.wait()
        text = f"os\tdebian bookworm\nhostname\tn1\nnow\t{now}\nend\tlook\n"
        return Output(self.status, text.encode(), b"", 0.1)


def ground(attempt: int | None = None, access: Told | None = None) -> Ground:
    """A controller and three workers."""
    wanted = target()
    more = tuple(member(name, "worker") for name in ("n3", "n4"))
    made = Ground(
        Machines(Client("http://127.0.0.1:9"), access),
        replace(wanted, members=(*wanted.members, *more)),
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


async def test_a_decommission_goes_on_without_machines_that_cannot_be_asked() -> None:
    gone = MachineUnreachable("alloc_n1", "no route")
    for attempt, kept in ((1, False), (3, True)):
        made = ground()
        operation: Any = Attempt(attempt)
        made.may_leave_out, made.needs_worker = left_behind(operation), False
        work = failing(n1=gone, n2=gone, n3=gone, n4=gone)
        if not kept:
            with pytest.raises(TemporaryFailure):
                await made.each(made.sites, work)
            continue
        assert await made.each(made.sites, work) == {}
        assert len(made.left_out) == 4
        with pytest.raises(PermanentFailure):
            await ground().each(made.sites, failing(n2=BROKEN))


async def test_a_machine_that_was_given_up_is_no_part_of_the_cluster() -> None:
    wanted = target()
    aside = member("n2", "worker", MemberStatus.CLEANUP_BLOCKED)
    made = Ground(
        Machines(Client("http://127.0.0.1:9")), replace(wanted, members=(wanted.members[0], aside))
    )
    assert [site.node for site in made.sites] == ["n1"]
    assert [site.node for site in made.aside] == ["n2"]


async def test_a_bug_is_no_failure_of_a_machine() -> None:
    made = ground(attempt=3)

    async def work(site: Site) -> None:
        raise KeyError(site.node)

    with pytest.raises(KeyError):
        await made.each(made.sites, work)


async def test_what_was_seen_is_looked_at_once() -> None:
    access = Told()
    made = ground(access=access)
    seen = await made.run(made.controller, LOOK)
    assert await made.look(made.controller) is seen
    assert len(access.orders) == 1


async def test_of_scripts_beside_each_other_the_look_that_began_last_counts() -> None:
    access, early, late = Told(), asyncio.Event(), asyncio.Event()
    access.answers = {"early": (10.0, early), "late": (11.0, late)}
    made = ground(access=access)
    first = asyncio.create_task(made.run(made.controller, Script("start", {"UNIT": "early"})))
    second = asyncio.create_task(made.run(made.controller, Script("start", {"UNIT": "late"})))
    late.set()
    await second
    assert (await made.look(made.controller)).now == 11.0
    early.set()
    assert (await first).now == 10.0
    assert (await made.look(made.controller)).now == 11.0
    assert len(access.orders) == 2


async def test_a_script_is_followed_by_a_look_at_what_it_may_have_changed() -> None:
    access = Told()
    made = ground(access=access)
    start = Script("start", {"UNIT": "slurmd"}, sees=("units",))
    await made.run(made.controller, start)  # nothing is known yet: everything is looked at
    await made.run(made.controller, start)
    assert [one.env["SEES"] for one in access.orders] == ["packages files units people", "units"]


async def test_what_a_script_that_failed_left_is_looked_at_anew() -> None:
    access = Told()
    made = ground(access=access)
    before = await made.run(made.controller, LOOK)
    access.status = 1
    with pytest.raises(ScriptFailed):
        await made.run(made.controller, Script("stop"))
    access.status = 0
    assert await made.look(made.controller) is not before
