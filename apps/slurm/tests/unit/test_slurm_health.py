"""What is said of a cluster: health, conditions and details, only from what was seen."""

import json
from dataclasses import replace

from slurm_world import changed, job, member, node, seen, target

from gpuaas_sdk.contract import Health, InstanceStatus, MemberReport, MemberStatus
from gpuaas_slurm.commands import Node
from gpuaas_slurm.health import health
from gpuaas_slurm.observe import Seen, SiteSeen
from gpuaas_slurm.onmachine.look import UnitSeen


def worker_of(found: Seen, status: MemberStatus = MemberStatus.READY) -> MemberReport:
    wanted = target()
    wanted = replace(wanted, members=(wanted.members[0], member("n2", "worker", status)))
    return health(wanted, found).members[1]


def with_nodes(*nodes: Node) -> Seen:
    whole = seen()
    assert whole.scheduler is not None
    return replace(whole, scheduler=replace(whole.scheduler, nodes=nodes))


def test_all_is_well() -> None:
    facts = health(target(), seen())
    assert facts.instance is not None
    assert (facts.instance.status, facts.instance.health) == (
        InstanceStatus.RUNNING, Health.HEALTHY,
    )  # fmt: skip
    assert facts.instance.runtime_version == "22.05.8"
    assert facts.instance.access is not None
    assert facts.instance.adapter_detail is not None
    detail = facts.instance.adapter_detail.detail
    assert detail["versions"] == {"app": "0.1.0", "package": "22.05.8-4", "daemon": "22.05.8"}
    assert detail["nodes_by_state"] == {"idle": 1}
    assert detail["jobs_by_state"] == {"running": 0, "pending": 0, "completed": 0, "failed": 0}
    assert [one.health for one in facts.members] == [Health.HEALTHY, Health.HEALTHY]


def test_the_same_twice_is_the_same_so_that_nothing_is_written_idly() -> None:
    assert health(target(), seen()) == health(target(), seen())


def test_a_machine_that_cannot_be_asked_keeps_its_state() -> None:
    whole = seen()
    silent = replace(whole, sites={**whole.sites, "alloc_n2": SiteSeen(failure="no route")})
    found = worker_of(silent)
    assert (found.status, found.health) == (None, Health.UNREACHABLE)
    assert found.conditions is not None
    assert "no route" in found.conditions[0].message
    assert found.absence is None


def test_an_unreachable_controller_makes_the_whole_unreachable_and_nothing_gone() -> None:
    whole = seen()
    found = replace(
        whole,
        sites={**whole.sites, "alloc_n1": SiteSeen(failure="no route")},
        scheduler=None,
        document=None,
        scheduler_failure="could not be asked",
    )
    facts = health(target(), found)
    assert facts.instance is not None
    assert (facts.instance.status, facts.instance.health) == (None, Health.UNREACHABLE)
    assert facts.members[1].status is MemberStatus.READY


def test_new_settings_are_not_called_applied_before_the_cluster_has_them() -> None:
    applied = health(target(), seen()).instance
    assert applied is not None
    assert applied.settings_revision == 1
    more = {"settings": {"partitions": [{"name": "main"}, {"name": "short"}]}}
    waiting = health(target(settings=more, settings_revision=2), seen()).instance
    assert waiting is not None
    assert waiting.settings_revision is None


def test_a_dead_daemon_is_told_with_what_to_do() -> None:
    units = {"munge": UnitSeen("loaded", "active"), "slurmd": UnitSeen("loaded", "failed")}
    found = worker_of(changed("alloc_n2", units=units))
    assert (found.status, found.health) == (MemberStatus.DEGRADED, Health.DEGRADED)
    assert found.conditions is not None
    assert found.conditions[0].next_action.startswith("Reconcile")


def test_a_worker_that_was_left_out_is_not_called_well() -> None:
    whole = seen()
    bare = {**whole.sites, "alloc_n2": replace(whole.sites["alloc_n2"], record=None)}
    found = worker_of(replace(whole, sites=bare))
    assert (found.status, found.health) == (MemberStatus.DEGRADED, Health.FAILED)
    assert found.conditions is not None
    assert [one.type for one in found.conditions] == ["bootstrap_unfinished"]
    assert worker_of(replace(whole, sites=bare), MemberStatus.FAILED).status is None


def test_what_an_operation_has_in_hand_is_left_to_its_word() -> None:
    for status in (MemberStatus.REQUESTED, MemberStatus.RECONCILING, MemberStatus.REMOVING):
        assert worker_of(seen(), status).status is None


def test_a_drain_of_somebody_else_is_told_apart_from_ours() -> None:
    theirs = worker_of(with_nodes(node("n2", "IDLE", "DRAIN", reason="fan", by="ada")))
    assert theirs.health is Health.DRAINED
    assert theirs.conditions is not None
    assert [one.type for one in theirs.conditions] == ["drained_elsewhere"]
    drained = with_nodes(node("n2", "IDLE", "DRAIN", reason="gpuaas:op_1 drain"))
    ours = worker_of(drained, MemberStatus.DRAINED)
    assert (ours.health, ours.conditions) == (Health.DRAINED, [])


def test_a_drain_that_did_not_come_to_its_end_leaves_ways_out() -> None:
    found = worker_of(with_nodes(node("n2", "IDLE", "DRAIN", reason="gpuaas:op_1 drain_worker")))
    assert (found.status, found.health) == (MemberStatus.DEGRADED, Health.DEGRADED)
    assert found.conditions is not None
    assert [one.type for one in found.conditions] == ["drain_unfinished"]
    assert "Resume" in found.conditions[0].next_action


def test_a_state_that_takes_no_job_and_has_no_reason_is_told_too() -> None:
    found = worker_of(with_nodes(node("n2", "IDLE", "POWERED_DOWN")))
    assert found.health is Health.DEGRADED
    assert found.conditions is not None
    assert "powered_down" in found.conditions[0].message


def test_a_drain_is_its_operations_word() -> None:
    drained = with_nodes(node("n2", "IDLE", "DRAIN", reason="gpuaas:op_1"))
    assert worker_of(drained, MemberStatus.DRAINED).status is None
    assert worker_of(drained, MemberStatus.DRAINING).status is None


def test_a_silent_scheduler_is_a_failure_not_an_empty_cluster() -> None:
    facts = health(
        target(), replace(seen(), scheduler=None, scheduler_failure="slurmctld is failed")
    )
    assert facts.instance is not None
    assert facts.instance.health is Health.FAILED
    assert facts.instance.conditions is not None
    assert facts.instance.conditions[0].type == "scheduler_silent"
    assert facts.instance.adapter_detail is not None
    assert "nodes" not in facts.instance.adapter_detail.detail


def test_a_stopped_cluster_is_stopped_and_not_broken() -> None:
    facts = health(target(InstanceStatus.STOPPED), replace(seen(), scheduler=None))
    assert facts.instance is not None
    assert (facts.instance.health, facts.instance.conditions) == (Health.DRAINED, [])


def test_a_large_cluster_stays_within_what_the_platform_takes() -> None:
    nodes = tuple(node(f"n{number}", reason="x" * 80) for number in range(2, 600))
    whole = with_nodes(*nodes)
    assert whole.scheduler is not None
    jobs = tuple(job(number, "RUNNING", f"n{number % 500 + 2}") for number in range(5000))
    facts = health(target(), replace(whole, scheduler=replace(whole.scheduler, jobs=jobs)))
    assert facts.instance is not None
    assert facts.instance.adapter_detail is not None
    assert len(json.dumps(facts.instance.adapter_detail.detail)) < 64 * 1024


def test_of_a_member_that_was_given_up_it_is_said_what_is_left_or_that_nothing_is() -> None:
    whole = seen()

    def told(left: dict[str, list[str]] | None) -> MemberReport:
        site = replace(whole.sites["alloc_n2"], left=left)
        found = replace(whole, sites={**whole.sites, "alloc_n2": site})
        return worker_of(found, MemberStatus.CLEANUP_BLOCKED)

    dirty, clean, unasked = told({"unit": ["slurmd active"]}), told({}), told(None)
    assert dirty.absence is not None
    assert not dirty.absence.runtime_verified_absent
    assert dirty.conditions is not None
    assert "unit slurmd active" in dirty.conditions[0].message
    assert clean.absence is not None
    assert clean.absence.runtime_verified_absent
    assert unasked.absence is None
    assert {one.status for one in (dirty, clean, unasked)} == {None}


def test_an_instance_that_was_given_up_is_not_said_to_be_silent() -> None:
    wanted = target(InstanceStatus.CLEANUP_BLOCKED)
    blocked = member("n2", "worker", MemberStatus.CLEANUP_BLOCKED)
    facts = health(replace(wanted, members=(blocked,)), Seen(scheduler_failure="no controller"))
    assert facts.instance is not None
    assert (facts.instance.status, facts.instance.conditions) == (None, [])
    assert facts.instance.adapter_detail is not None
    assert "1 machine is set aside" in facts.instance.adapter_detail.summary
