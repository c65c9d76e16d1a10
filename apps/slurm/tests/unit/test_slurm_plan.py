"""The plan of repairs: what is found, what it leads to, and what is never touched."""

import logging
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import cast

import pytest
from slurm_world import NOW, WORKER, changed, job, look, node, seen, target

from gpuaas_sdk import Client, Context, Log, Machines, MemoryState, Target
from gpuaas_sdk.contract import Condition, InstanceStatus, Member, MemberStatus, Operation
from gpuaas_slurm.observe import Seen, SiteSeen
from gpuaas_slurm.onmachine.look import FileSeen, UnitSeen
from gpuaas_slurm.onmachine.scripts import HOME, MUNGE_KEY
from gpuaas_slurm.plan import BACK_OFF, findings, planning
from gpuaas_slurm.render.slurm_conf import PATH
from gpuaas_slurm.services import Services

SERVICES = Services(Client("http://127.0.0.1:9"))


def repairs(found: Seen) -> list[tuple[str, str]]:
    return [(one.repair, one.allocation_id) for one in findings(target(), found)]


def test_a_cluster_that_is_whole_needs_nothing() -> None:
    assert findings(target(), seen()) == []
    assert planning(SERVICES)(target(), seen(), NOW).converged


def test_a_dead_daemon_is_started_again() -> None:
    dead = {"munge": UnitSeen("loaded", "active"), "slurmd": UnitSeen("loaded", "failed")}
    assert ("slurmd", "alloc_n2") in repairs(changed("alloc_n2", units=dead))


def test_a_changed_file_is_written_again_and_its_daemon_restarted() -> None:
    files = {**look(WORKER, worker=True).files, PATH: FileSeen("x", 0o644, "root", "root", 900)}
    found = repairs(changed("alloc_n2", files=files))
    assert ("configure", "alloc_n2") in found
    assert ("slurmd", "alloc_n2") in found
    assert not any(where == "alloc_n1" for _, where in found)


def test_what_users_can_reach_and_need_not_is_closed_again() -> None:
    files = {**look(WORKER, worker=True).files, HOME: FileSeen("", 0o755, "root", "root", 50)}
    wide = findings(target(), changed("alloc_n2", files=files))
    assert [(one.repair, one.reason) for one in wide] == [
        ("configure", "n2: /var/lib/gpuaas-slurm is open to every user")
    ]
    assert repairs(changed("alloc_n2", processes="visible")) == [("configure", "alloc_n2")]
    assert repairs(changed("alloc_n2", processes="refused permission denied")) == []


def test_a_daemon_on_older_files_is_restarted() -> None:
    old = UnitSeen("loaded", "active", started_at=10)
    units = {"munge": UnitSeen("loaded", "active", started_at=200), "slurmd": old}
    assert repairs(changed("alloc_n2", units=units)) == [("slurmd", "alloc_n2")]


def test_a_node_the_scheduler_lost_registers_again() -> None:
    whole = seen()
    assert whole.scheduler is not None
    found = repairs(replace(whole, scheduler=replace(whole.scheduler, nodes=())))
    assert found == [("slurmd_again", "alloc_n2"), ("register", "alloc_n2"), ("admit", "alloc_n2")]


def test_keys_that_differ_are_brought_from_custody_again() -> None:
    files = {**look(WORKER, worker=True).files, MUNGE_KEY: FileSeen("o", 0o400, "munge", "munge")}
    assert repairs(changed("alloc_n2", files=files)) == [("key", "alloc_n1"), ("key", "alloc_n2")]


def test_a_machine_that_cannot_be_asked_is_left_alone() -> None:
    whole = seen()
    silent = {**whole.sites, "alloc_n2": SiteSeen(failure="no route")}
    assert findings(target(), replace(whole, sites=silent)) == []


def test_a_drain_of_somebody_else_leads_to_nothing() -> None:
    whole = seen()
    assert whole.scheduler is not None
    drained = replace(whole.scheduler, nodes=(node("n2", "IDLE", "DRAIN", reason="fan", by="ada"),))
    assert findings(target(), replace(whole, scheduler=drained)) == []


def test_a_node_that_is_down_with_a_job_is_not_touched() -> None:
    whole = seen()
    assert whole.scheduler is not None
    down = replace(whole.scheduler, nodes=(node("n2", "DOWN"),), jobs=(job(1, "RUNNING", "n2"),))
    assert findings(target(), replace(whole, scheduler=down)) == []


@pytest.mark.parametrize("status", [MemberStatus.REQUESTED, MemberStatus.REMOVING])
def test_a_member_another_operation_has_in_hand_is_left_to_it(status: MemberStatus) -> None:
    wanted = target()
    busy = wanted.members[1].model_copy(update={"status": status})
    wanted = replace(wanted, members=(wanted.members[0], busy))
    broken = changed("alloc_n2", units={})
    assert findings(wanted, broken) == []


def set_aside(status: InstanceStatus = InstanceStatus.RUNNING) -> Target:
    wanted = target(status)
    blocked = wanted.members[1].model_copy(update={"status": MemberStatus.CLEANUP_BLOCKED})
    return replace(wanted, members=(wanted.members[0], blocked))


def left(**found: list[str]) -> Seen:
    whole = seen()
    sites = {**whole.sites, "alloc_n2": replace(whole.sites["alloc_n2"], left=found)}
    return replace(whole, sites=sites)


def test_a_machine_that_was_given_up_is_cleaned_and_forgotten_and_never_repaired() -> None:
    broken = left(unit=["slurmd active"])
    found = [(one.repair, one.allocation_id) for one in findings(set_aside(), broken)]
    assert found == [("clean", "alloc_n2"), ("forget", "alloc_n2")]
    assert all("n2 was given up" in one.reason for one in findings(set_aside(), broken))


def test_nobody_cleans_unasked_what_was_given_up() -> None:
    assert planning(SERVICES)(set_aside(), left(unit=["slurmd active"]), NOW).converged


def test_of_a_machine_that_was_given_up_and_cannot_be_asked_nothing_follows() -> None:
    whole = seen()
    silent = replace(whole, sites={**whole.sites, "alloc_n2": SiteSeen(failure="no route")})
    assert findings(set_aside(), silent) == []


def test_a_stopped_cluster_stays_stopped() -> None:
    assert findings(target(InstanceStatus.STOPPED), changed("alloc_n1", units={})) == []


def test_after_a_failed_reconcile_it_waits_before_it_asks_again() -> None:
    plan, broken = planning(SERVICES), changed("alloc_n2", units={})
    assert not plan(target(), broken, NOW).converged
    failed = Condition(type="operation_failed", since=NOW, reason="reconcile", message="x")
    lately = target(conditions=[failed])
    assert plan(lately, broken, NOW + BACK_OFF - timedelta(seconds=1)).converged
    assert not plan(lately, broken, NOW + BACK_OFF).converged


def test_repairs_come_in_the_order_daemons_need_each_other() -> None:
    steps = planning(SERVICES)(target(), changed("alloc_n1", units={}), NOW).steps
    names = [step.title for step in steps]
    order = ["repair_munge", "repair_mariadb", "repair_slurmdbd", "repair_slurmctld"]
    assert names == order


@dataclass(frozen=True)
class Taken(Services):
    """A platform that says meanwhile that every member is being removed."""

    async def members(self, instance_id: str) -> tuple[Member, ...]:
        del instance_id
        removing = {"status": MemberStatus.REMOVING}
        return tuple(one.model_copy(update=removing) for one in target().members)


async def test_a_repair_keeps_off_what_another_operation_took_since_the_plan() -> None:
    client = Client("http://127.0.0.1:9")
    dead = {"munge": UnitSeen("loaded", "active"), "slurmd": UnitSeen("loaded", "failed")}
    plan = planning(Taken(client))(target(), changed("alloc_n2", units=dead), NOW)
    ctx = Context(
        target=target(),
        operation=cast(Operation, None),  # no repair asks for it
        state=MemoryState(),
        machines=Machines(client),
        log=Log(logging.getLogger(), {}),
    )
    assert not plan.converged
    for step in plan.steps:
        assert await step.check(ctx), step.title
        assert "in hand" in ctx.said
    await client.close()
