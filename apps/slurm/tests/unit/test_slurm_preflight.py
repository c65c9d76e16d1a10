"""What stands in the way on a machine: each problem named, each with its remedy."""

from dataclasses import replace
from typing import Any

import pytest
from slurm_world import CONTROLLER, look, member

from gpuaas_slurm.model import Containment
from gpuaas_slurm.onmachine.facts import Listener, MachineFacts
from gpuaas_slurm.onmachine.look import MachineLook
from gpuaas_slurm.preflight import Subject, problems_of, summary
from gpuaas_slurm.sites import Site

BARE = replace(look(CONTROLLER), files={}, units={}, packages={}, record=None)


def facts(**more: Any) -> MachineFacts:
    known = {
        "system": {"hostname": "n1"}, "cpu": {"sockets": 1, "cores": 4, "threads": 4},
        "memory": {"total": 8 * 1024**3}, "gpus": {"devices": [], "device_files": []},
        "cgroups": {"version": "v1", "controllers": [], "writable": False}, "unknown": [],
    }  # fmt: skip
    whole = MachineFacts(
        known, "amd64", True, True, 8 * 1024**2, 20 * 1024**2, True, ("10.0.0.1",), (), frozenset()
    )
    return replace(whole, **more)


def subject(found: MachineLook = BARE, known: MachineFacts | None = None, **more: Any) -> Subject:
    site = Site("alloc_n1", (member("n1", "controller"), member("n1", "worker")))
    whole = Subject(site, found, known or facts(), "inst_1", {})
    return replace(whole, **more)


def codes(one: Subject) -> list[str]:
    return [problem.code for problem in problems_of(one)]


def test_a_bare_machine_is_fine() -> None:
    assert problems_of(subject()) == []


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (subject(replace(BARE, codename="sid")), "system"),
        (subject(known=facts(architecture="arm64")), "architecture"),
        (subject(known=facts(systemd=False)), "systemd"),
        (subject(known=facts(root=False)), "root"),
        (subject(known=facts(resolves=False)), "name_resolution"),
        (subject(replace(BARE, skew=-240.0)), "clock"),
        (subject(known=facts(memory_kib=256 * 1024)), "memory"),
        (subject(known=facts(disk_kib=1024)), "disk"),
        (subject(known=facts(listeners=(Listener(6817, "nginx"),))), "port"),
        (subject(look(CONTROLLER)), "leftovers"),
        (subject(replace(BARE, record={"instance_id": "inst_other"})), "leftovers"),
        (subject(peers={"10.0.0.9": "n9"}), "network"),
        (subject(containment=Containment.CGROUP), "cgroups"),
    ],
)
def test_each_problem_is_found_and_has_a_remedy(one: Subject, code: str) -> None:
    (problem,) = problems_of(one)
    assert problem.code == code
    assert problem.remedy
    assert "n1 (alloc_n1)" in str(problem)


def test_gpus_whose_driver_is_broken_are_a_problem_and_not_zero_gpus() -> None:
    broken = facts()
    broken.facts["gpus"] = {"devices": None, "device_files": ["/dev/nvidia0"]}
    (problem,) = problems_of(subject(known=broken))
    assert problem.code == "facts"
    assert "driver" in problem.remedy


def test_what_this_instance_left_by_an_earlier_attempt_is_no_leftover() -> None:
    own = replace(look(CONTROLLER, "slurmctld"), record={"instance_id": "inst_1"})
    assert codes(subject(own)) == []


@pytest.mark.parametrize("program", ["slurmctld", "slurmscriptd"])
def test_a_port_our_own_daemon_listens_on_is_free(program: str) -> None:
    assert codes(subject(known=facts(listeners=(Listener(6817, program),)))) == []


def test_everything_is_told_at_once() -> None:
    many = problems_of(subject(replace(BARE, skew=99.0), facts(disk_kib=1, root=False)))
    assert len(many) == 3
    assert summary(many).startswith("3 in the way: ")
    assert summary(many).count(" → ") == 3
