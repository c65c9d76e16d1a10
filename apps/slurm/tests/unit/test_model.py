"""What may be part of a cluster: everything in it ends up in a configuration file."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_slurm.model import (
    ADMISSION,
    Accounting,
    Build,
    Cgroups,
    Cluster,
    Containment,
    Gpus,
    Machine,
    ModelError,
    Partition,
    Switch,
    containment_for,
    memory_per_cpu_for,
)
from gpuaas_slurm.version import SlurmVersion

DEBIAN_12 = Build(SlurmVersion(22, 5, 8), frozenset({"mpi_pmix", "mpi_pmix_v4"}), pmix_library=True)


def machine(number: int, **changes: Any) -> Machine:
    """Return machine nN; changes are fields of its own."""
    found = Machine(f"n{number}", f"10.0.0.{number}", 1, 4, 2, 15000)
    return replace(found, **changes)


CLUSTER = Cluster("c1", 1, DEBIAN_12, machine(1), (machine(2), machine(3)))

BROKEN: dict[str, Callable[[], object]] = {
    "line break in a name": lambda: machine(2, name="n2\nSlurmUser=root"),
    "blank in a name": lambda: machine(2, name="n2 x"),
    "capital in a name": lambda: machine(2, name="N2"),
    "no address": lambda: machine(2, address="n2.example"),
    "no memory": lambda: machine(2, memory_mib=0),
    "no cores": lambda: machine(2, cores_per_socket=0),
    "quote in a feature": lambda: machine(2, features=("a'b",)),
    "admission as intent": lambda: machine(2, features=(ADMISSION,)),
    "GPUs without files": lambda: Gpus("h100", ()),
    "a file that is no device": lambda: Gpus("h100", ("/etc/passwd",)),
    "a GPU type twice": lambda: machine(
        2, gpus=(Gpus("a", ("/dev/nvidia0",)), Gpus("a", ("/dev/nvidia1",)))
    ),
    "partition of the app's own": lambda: Partition(ADMISSION, ("x",)),
    "partition without nodes": lambda: Partition("p", ()),
    "account with a comma": lambda: Partition("p", ("x",), accounts=("a,b",)),
    "no time": lambda: Partition("p", ("x",), max_minutes=0),
    "database with a quote": lambda: Accounting(database="a`b"),
    "switch with nothing below": lambda: Switch("s"),
    "release too old": lambda: Build(SlurmVersion(21, 8, 8)),
    "cluster name": lambda: replace(CLUSTER, name="My Cluster"),
    "generation 0": lambda: replace(CLUSTER, generation=0),
    "worker twice": lambda: replace(CLUSTER, workers=(machine(2), machine(2))),
    "two defaults": lambda: replace(
        CLUSTER,
        partitions=(Partition("a", ("x",), default=True), Partition("b", ("x",), default=True)),
    ),
    "too many": lambda: replace(CLUSTER, max_nodes=1),
    "no control groups": lambda: replace(CLUSTER, containment=Containment.CGROUP),
}


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_be_part_of_a_cluster_is_refused(case: str) -> None:
    with pytest.raises(ModelError):
        BROKEN[case]()


@given(st.text())
def test_no_name_can_leave_its_line(text: str) -> None:
    try:
        made = Partition(text, (text,), accounts=(text,))
    except ModelError:
        return
    assert made.name.isascii()
    assert not set(made.name) & set(" \t\r\n\"'=,;#$\\")


def test_a_controller_that_works_too_is_one_machine() -> None:
    assert [m.name for m in replace(CLUSTER, workers=(machine(1),)).machines] == ["n1"]
    assert [m.name for m in CLUSTER.machines] == ["n1", "n2", "n3"]


def test_control_groups_are_chosen_only_when_every_machine_can() -> None:
    can, cannot = machine(1, cgroups=Cgroups.V2), machine(2)
    assert containment_for((can,)) is Containment.CGROUP
    assert containment_for((can, cannot)) is Containment.PROCESS
    assert containment_for(()) is Containment.PROCESS


def test_default_memory_is_the_poorest_machine_s_share() -> None:
    assert memory_per_cpu_for((machine(1), machine(2, memory_mib=4000))) == 500
    assert memory_per_cpu_for(()) == 1024


def test_pmix_needs_the_plugin_and_its_library() -> None:
    assert DEBIAN_12.pmix
    assert not replace(DEBIAN_12, pmix_library=False).pmix
    assert not replace(DEBIAN_12, plugins=frozenset()).pmix


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("slurm-wlm 22.05.8", SlurmVersion(22, 5, 8)),
        ("24.11.5-4+deb13u1", SlurmVersion(24, 11, 5)),
        ("23.02", SlurmVersion(23, 2)),
    ],
)
def test_versions(text: str, version: SlurmVersion) -> None:
    assert SlurmVersion.parse(text) == version
    assert SlurmVersion.parse(str(version)) == version


def test_versions_are_ordered_and_need_digits() -> None:
    assert SlurmVersion(22, 5, 11) > SlurmVersion(22, 5, 8)
    assert SlurmVersion(24, 11) > SlurmVersion(23, 11, 9)
    with pytest.raises(ValueError, match="no Slurm version"):
        SlurmVersion.parse("unknown")


def test_a_cluster_has_a_partition_and_accounting_unless_told_otherwise() -> None:
    cluster = Cluster("c", 1, DEBIAN_12, machine(1))
    assert [p.name for p in cluster.partitions] == ["main"]
    assert cluster.accounting == Accounting()
