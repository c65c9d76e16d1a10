"""From a machine's facts to the model: what is unknown is named, never filled in."""

from typing import Any

import pytest

from gpuaas_slurm.facts import (
    FactsMissingError,
    Place,
    cgroups_from_facts,
    gpu_type,
    gpus_from_facts,
    machine_from_facts,
    schedulable_memory,
)
from gpuaas_slurm.model import Cgroups, Gpus, GpuVendor

PLACE = Place("w1", "10.0.0.7", ("main",))


def facts(**changes: Any) -> dict[str, Any]:
    known: dict[str, Any] = {
        "format": 1,
        "system": {"hostname": "Box7.example.org"},
        "cpu": {"sockets": 2, "cores": 32, "threads": 64},
        "memory": {"total": 64 * 1024**3},
        "cgroups": {"version": "v2", "controllers": ["cpuset", "cpu", "memory"], "writable": True},
        "gpus": {"devices": [], "device_files": []},
        "unknown": [],
    }
    return known | changes


def gpu(index: int, name: str, file: str | None, vendor: str = "nvidia") -> dict[str, Any]:
    return {"index": index, "name": name, "vendor": vendor, "device_file": file}


def test_a_machine() -> None:
    found = machine_from_facts(PLACE, facts())
    assert (found.name, found.host) == ("w1", "box7")
    assert (found.sockets, found.cores_per_socket, found.threads_per_core) == (2, 16, 2)
    assert found.cpus == 64
    assert found.memory_mib == int(65536 * 0.98)
    assert found.cgroups is Cgroups.V2
    assert not found.admitted


def test_everything_missing_is_named_at_once() -> None:
    broken = facts(
        cpu={"sockets": None, "cores": 4, "threads": 8},
        gpus={"devices": None, "device_files": ["/dev/nvidia0"]},
        memory={},
        unknown=[
            {"fact": "cpu.sockets", "source": "/sys", "reason": "the firmware does not say"},
            {"fact": "gpus.devices", "source": "nvidia-smi", "reason": "exit code 9"},
        ],
    )
    with pytest.raises(FactsMissingError) as error:
        machine_from_facts(PLACE, broken)
    assert error.value.missing == [
        "cpu.sockets: the firmware does not say",
        "memory.total: not among the facts",
        "gpus.devices: exit code 9",
    ]


def test_memory_leaves_the_system_its_share() -> None:
    assert schedulable_memory(4 * 1024**3) == 4096 - 512
    assert schedulable_memory(1024**4) == int(1024**2 * 0.98)
    assert schedulable_memory(256 * 1024**2) == 1


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("NVIDIA H200", "h200"),
        ("NVIDIA H100 80GB HBM3", "h100_80gb_hbm3"),
        ("Tesla V100-SXM2-16GB", "v100_sxm2_16gb"),
        ("arcturus", "arcturus"),
        ("nvidia", "nvidia"),
    ],
)
def test_gpu_types(name: str, word: str) -> None:
    assert gpu_type(name) == word


def test_gpus_of_one_type_take_all_files_even_when_none_is_tied() -> None:
    given = {
        "devices": [gpu(0, "NVIDIA H200", None), gpu(1, "NVIDIA H200", None)],
        "device_files": ["/dev/nvidia0", "/dev/nvidia1"],
    }
    assert gpus_from_facts(given) == (Gpus("h200", ("/dev/nvidia0", "/dev/nvidia1")),)
    assert machine_from_facts(PLACE, facts(gpus=given)).gpus[0].count == 2


def test_gpus_of_two_types_need_to_know_whose_file_is_whose() -> None:
    devices = [gpu(0, "NVIDIA A100", "/dev/nvidia1"), gpu(1, "Tesla T4", "/dev/nvidia0")]
    files = ["/dev/nvidia0", "/dev/nvidia1"]
    assert gpus_from_facts({"devices": devices, "device_files": files}) == (
        Gpus("a100", ("/dev/nvidia1",)),
        Gpus("t4", ("/dev/nvidia0",)),
    )
    devices[1]["device_file"] = None
    with pytest.raises(FactsMissingError, match=r"gpus\.devices\.1\.device_file"):
        machine_from_facts(PLACE, facts(gpus={"devices": devices, "device_files": files}))


def test_amd_gpus() -> None:
    given = {
        "devices": [gpu(0, "arcturus", "/dev/dri/renderD128", "amd")],
        "device_files": ["/dev/dri/renderD128"],
    }
    assert gpus_from_facts(given) == (Gpus("arcturus", ("/dev/dri/renderD128",), GpuVendor.AMD),)


@pytest.mark.parametrize(
    ("version", "writable", "controllers", "kind"),
    [
        ("v2", True, ["cpuset", "memory"], Cgroups.V2),
        ("v1", True, ["cpuset", "memory"], Cgroups.V1),
        ("hybrid", True, ["cpuset", "memory"], Cgroups.V1),
        ("hybrid", False, ["cpuset", "memory"], Cgroups.UNUSABLE),
        ("v2", True, ["memory"], Cgroups.UNUSABLE),
        ("none", False, [], Cgroups.UNUSABLE),
        (None, None, None, Cgroups.UNUSABLE),
    ],
)
def test_control_groups(
    version: str | None, writable: bool | None, controllers: list[str] | None, kind: Cgroups
) -> None:
    given = {"version": version, "writable": writable, "controllers": controllers}
    assert cgroups_from_facts(given) is kind
