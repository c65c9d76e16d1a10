"""Whether a cluster can go to other packages and back, decided before anything is touched."""

from dataclasses import replace

import pytest

from gpuaas_slurm.onmachine.look import MachineLook, OfferSeen, SnapshotSeen, machine_look
from gpuaas_slurm.upgrading import (
    ROOM_KIB,
    installed_of,
    rollback_problems,
    room_problems,
    upgrade_problems,
)

OLD, NEW = "22.05.8-4+deb12u3", "23.02.7-1"


def machine(installed: str = OLD, offered: str = NEW, relation: str = "newer") -> MachineLook:
    return MachineLook(
        "debian", "bookworm", "n1", 0.0,
        packages={"slurmctld": installed, "slurm-client": installed, "munge": "0.5.15"},
        offer=OfferSeen("op_1", offered, relation), previous=installed,
    )  # fmt: skip


def snapshot(packages: str = OLD) -> SnapshotSeen:
    return SnapshotSeen("op_1", "0.1.0", packages, 3, 1_700_000_000, 12)


def test_an_upgrade_that_can_go_back_may_begin() -> None:
    assert upgrade_problems("op_1", {"n1": machine(), "n2": machine()}) == []


@pytest.mark.parametrize(
    ("looks", "why"),
    [
        ({"n1": replace(machine(), offer=None)}, "n1 was offered no packages"),
        ({"n1": replace(machine(), offer=OfferSeen("op_0", NEW, "newer"))}, "offered no packages"),
        ({"n1": replace(machine(), previous="")}, "no way back"),
        ({"n1": machine(), "n2": machine(offered="23.11.0-1")}, "different versions"),
        ({"n1": machine(offered=OLD, relation="same")}, "already"),
        ({"n1": machine(offered="20.11.0-1", relation="older")}, "already, or something newer"),
        ({"n1": machine(offered="24.05.1-1")}, "a release in between"),
        ({"n1": machine(offered="27.01.1-1")}, "not known"),
    ],
)
def test_every_reason_against_it_is_told(looks: dict[str, MachineLook], why: str) -> None:
    [problem] = upgrade_problems("op_1", looks)
    assert why in problem


def test_a_machine_half_changed_by_hand_is_refused() -> None:
    mixed = replace(machine(), packages={"slurmctld": OLD, "slurm-client": NEW})
    assert installed_of(mixed) == ""
    assert upgrade_problems("op_1", {"n1": mixed}) == ["n1 has packages of several versions"]


def test_an_upgrade_that_was_interrupted_may_go_on() -> None:
    done = replace(machine(installed=NEW), previous=OLD)
    assert upgrade_problems("op_1", {"n1": done, "n2": machine()}) == []


def test_a_rollback_needs_the_snapshot_and_the_packages_of_then() -> None:
    head = replace(machine(installed=NEW), previous=OLD, snapshot=snapshot())
    assert rollback_problems("op_2", "0.1.0", head, {"n1": head}) == []
    [none] = rollback_problems("op_2", "0.1.0", machine(), {"n1": machine()})
    assert "no snapshot" in none
    [other] = rollback_problems("op_2", "0.0.9", head, {"n1": head})
    assert "0.1.0" in other
    newcomer = replace(machine(installed=NEW), previous="")
    [late] = rollback_problems("op_2", "0.1.0", head, {"n1": head, "n3": newcomer})
    assert late.startswith("n3 does not have the packages")


def test_a_rollback_that_was_interrupted_may_go_on() -> None:
    head = replace(machine(installed=NEW), previous=OLD, snapshot=snapshot())
    back = replace(machine(installed=OLD), previous=OLD)
    assert rollback_problems("op_2", "0.1.0", head, {"n1": head, "n2": back}) == []
    restored = replace(back, restored="op_2")
    assert rollback_problems("op_2", "0.1.0", restored, {"n1": restored, "n2": back}) == []
    [again] = rollback_problems("op_3", "0.1.0", restored, {"n1": restored})
    assert "restored already" in again


def test_a_look_tells_of_offer_snapshot_and_the_way_back() -> None:
    text = (
        'os\tdebian bookworm\nhostname\tn1\nnow\t1.5\nsnapshot\t{"operation_id":"op_1",'
        '"app_version":"0.1.0","packages":"22.05.8","generation":3,"at":1700000000,"kib":12}\n'
        "offer\top_1 23.02.7-1 newer\nprevious\t22.05.8\nrestored\top_2\nend\tlook\n"
    )
    seen = machine_look(text)
    assert seen.offer == OfferSeen("op_1", "23.02.7-1", "newer")
    assert seen.snapshot == snapshot("22.05.8")
    assert seen.snapshot is not None
    assert f"{seen.snapshot.taken_at:%Y}" == "2023"
    assert (seen.previous, seen.restored) == ("22.05.8", "op_2")


def test_a_snapshot_that_would_not_fit_is_not_begun() -> None:
    assert room_problems("op_1", machine(), ROOM_KIB) == []
    [problem] = room_problems("op_1", machine(), 2048)
    assert problem == "n1 has 2 MiB free in /var, and 1024 are needed: free them"
    assert room_problems("op_1", replace(machine(), snapshot=snapshot()), 2048) == []
    assert room_problems("op_2", replace(machine(), snapshot=snapshot()), 2048) != []
