"""Each parser against what real machines wrote (samples/README.md says which)."""

import ipaddress
import socket
import struct
from pathlib import Path

import pytest

from gpuaas_agent.facts import amd, nvidia
from gpuaas_agent.facts.activity import parse_sockets, parse_units
from gpuaas_agent.facts.cgroups import cgroup_version, v1_controllers
from gpuaas_agent.facts.clock import parse_localtime, parse_timex
from gpuaas_agent.facts.cpu import parse_allowed, parse_cpuinfo, parse_id_list
from gpuaas_agent.facts.memory import parse_meminfo
from gpuaas_agent.facts.network import Address, parse_routes, parse_rtm_addresses
from gpuaas_agent.facts.reading import UnreadableError
from gpuaas_agent.facts.storage import parse_mounts
from gpuaas_agent.facts.system import (
    parse_container_environment,
    parse_hosts,
    parse_hypervisor,
    parse_os_release,
)

ANY = str(ipaddress.IPv4Address(0))
SAMPLES = Path(__file__).parent / "samples"


def sample(name: str) -> str:
    return (SAMPLES / name).read_text()


def test_cpuinfo_gives_the_first_processor() -> None:
    found = parse_cpuinfo(sample("h200/proc/cpuinfo"))
    assert found["model name"] == "Intel(R) Xeon(R) Processor"
    assert "hypervisor" in found["flags"].split()


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("0-3,8\n", [0, 1, 2, 3, 8]), ("5\n", [5]), ("\n", []), ("0,2-3", [0, 2, 3])],
)
def test_kernel_lists(text: str, numbers: list[int]) -> None:
    assert parse_id_list(text) == numbers


def test_allowed_threads() -> None:
    assert parse_allowed(sample("nspawn/proc/self/status")) == [0, 1]
    with pytest.raises(ValueError, match="Cpus_allowed_list"):
        parse_allowed("Name:\tcat\n")


def test_meminfo_is_in_bytes_where_it_says_kb() -> None:
    found = parse_meminfo(sample("h200/proc/meminfo"))
    assert found["MemTotal"] == 131980916 * 1024
    assert found["HugePages_Total"] == 0
    with pytest.raises(ValueError, match="MemTotal"):
        parse_meminfo("")


def test_mounts_undo_octal_escapes() -> None:
    (mount,) = parse_mounts("/dev/sdb1 /mnt/a\\040b\\134c ext4 rw,relatime 0 0\n")
    assert mount.path == "/mnt/a b\\c"
    assert mount.options == ["rw", "relatime"]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0", "v2"),
        ("cgroup /sys/fs/cgroup/cpu cgroup rw,cpu 0 0", "v1"),
        ("tmpfs /sys/fs/cgroup tmpfs rw 0 0", "none"),
        # A v2 tree mounted elsewhere is somebody's own affair.
        ("cgroup2 /mnt/mine cgroup2 rw 0 0", "none"),
    ],
)
def test_cgroup_version(text: str, version: str) -> None:
    assert cgroup_version(parse_mounts(text)) == version


def test_a_v1_tree_beside_an_empty_v2_tree_is_hybrid() -> None:
    mounts = parse_mounts(sample("nspawn/proc/mounts"))
    assert cgroup_version(mounts) == "hybrid"
    controllers = {name for mount in mounts for name in v1_controllers(mount)}
    assert controllers == {
        "blkio", "cpu", "cpuacct", "cpuset", "devices", "freezer", "memory", "pids",
    }  # fmt: skip


def test_os_release() -> None:
    found = parse_os_release(sample("h200/etc/os-release"))
    assert found["ID"] == "ubuntu"
    assert found["VERSION_CODENAME"] == "noble"
    assert found["PRETTY_NAME"] == "Ubuntu 24.04.3 LTS"
    assert parse_os_release("# a remark\nID='arch'\nEMPTY=\n") == {"ID": "arch", "EMPTY": ""}
    with pytest.raises(ValueError, match="ID="):
        parse_os_release("NAME=x\n")


def test_hosts_names_with_a_domain() -> None:
    assert parse_hosts("10.0.0.1 n1.example.org n1 # n1.not\n", "n1") == ["n1.example.org"]
    assert parse_hosts("10.0.0.1 n1\n10.0.0.2 n10.example.org\n", "n1") == []


@pytest.mark.parametrize(
    ("vendor", "product", "kind"),
    [
        ("QEMU", "Standard PC (Q35 + ICH9, 2009)", "qemu"),
        ("Red Hat", "KVM", "kvm"),
        ("Amazon EC2", "p5.48xlarge", "amazon"),
        ("Supermicro", "SYS-821GE-TNHR", "none"),
    ],
)
def test_hypervisor(vendor: str, product: str, kind: str) -> None:
    assert parse_hypervisor(vendor, product) == kind


def test_container_environment() -> None:
    assert parse_container_environment("PATH=/bin\0container=lxc\0") == "lxc"
    assert parse_container_environment("PATH=/bin\0") == "none"


def test_kernel_clock() -> None:
    raw = struct.pack("@Iqqqqi", 0, 0, 0, 16_000_000, 16_000_000, 0x40).ljust(208, b"\0")
    assert parse_timex(raw).synchronised is False
    assert parse_timex(raw).max_error_seconds == 16.0
    raw = struct.pack("@Iqqqqi", 0, 0, 0, 1500, 100, 0x2001).ljust(208, b"\0")
    assert parse_timex(raw).synchronised is True


def test_timezone() -> None:
    assert parse_localtime("../usr/share/zoneinfo/Europe/Berlin") == "Europe/Berlin"
    with pytest.raises(UnreadableError, match="no zone"):
        parse_localtime("/etc/somewhere")


def test_netlink_addresses() -> None:
    recorded = bytes.fromhex(
        "4c000000140002000100000000190000020880fe01000000080001007f000001080002007f000001"
        "070003006c6f0000080008008000000014000600ffffffffffffffff1600000016000000"
        "480000001400020001000000001900000a4082000400000014000100fd00000000000000000000000000"
        "000214000600ffffffffffffffff16000000160000000800080082000000"
        "14000000030002000100000000190000"
    )
    assert parse_rtm_addresses(recorded) == [
        Address(1, "127.0.0.1", 8),
        Address(4, "fd00::2", 64),
    ]


def test_netlink_point_to_point_takes_our_end() -> None:
    def attribute(kind: int, address: str) -> bytes:
        return struct.pack("=HH", 8, kind) + socket.inet_aton(address)

    body = struct.pack("=BBBBI", socket.AF_INET, 32, 0, 0, 7)
    body += attribute(1, "10.9.9.2") + attribute(2, "10.9.9.1")
    message = struct.pack("=IHHII", 16 + len(body), 20, 0, 1, 0) + body
    assert parse_rtm_addresses(message) == [Address(7, "10.9.9.1", 32)]
    with pytest.raises(ValueError, match="error"):
        parse_rtm_addresses(struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -1))


def test_routes_best_first() -> None:
    text = (
        "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n"
        "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\t00000000\n"
        "eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\n"
        "eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\n"
    )
    assert parse_routes(text) == [("eth0", "192.0.2.1"), ("wlan0", "192.168.1.1")]


def test_sockets() -> None:
    found = parse_sockets(sample("nspawn/proc/net/tcp"))
    assert [(s.address, s.port) for s in found if s.state == "0A"] == [
        ("127.0.0.53", 53), (ANY, 22), (ANY, 5355), ("127.0.0.54", 53),
    ]  # fmt: skip
    assert parse_sockets(sample("nspawn/proc/net/tcp6"))[0].address == "::"


def test_units_mark_what_every_system_has() -> None:
    found = parse_units(
        sample("nspawn.units.txt") + "pgpool.service loaded active running Somebody's database\n"
    )
    assert [service.unit for service in found if not service.base] == ["pgpool.service"]
    assert found[-1].description == "Somebody's database"


def test_smi_gpus() -> None:
    (gpu,) = nvidia.parse_smi_gpus(sample("h200.gpus.csv"))
    assert gpu.name == "NVIDIA H200"
    assert gpu.bus_id == "0000:00:06.0"
    assert gpu.memory == 143771 * 1024 * 1024
    assert gpu.driver == "580.159.04"
    assert gpu.mig == "disabled"
    assert nvidia.parse_smi_gpus("") == []
    with pytest.raises(ValueError, match="unexpected line"):
        nvidia.parse_smi_gpus("No devices were found\n")


def test_smi_processes_with_commas_in_the_name() -> None:
    (process,) = nvidia.parse_smi_processes("4711, python train.py a,b, GPU-9b, [N/A]\n")
    assert process.pid == 4711
    assert process.name == "python train.py a,b"
    assert process.memory is None


def test_driver_files() -> None:
    assert nvidia.parse_driver_version(sample("h200/proc/driver/nvidia/version")) == "580.159.04"
    found = nvidia.parse_driver_gpu(sample("h200/proc/driver/nvidia/gpus/0000:00:06.0/information"))
    assert found["Device Minor"] == "0"
    assert found["Model"] == "NVIDIA H200"


def test_topology_of_one_gpu_with_colours_in_the_header() -> None:
    found = nvidia.parse_topology(sample("h200.topology.txt"))
    assert found.links == {"GPU0": {}}
    assert found.cpu_affinity == {"GPU0": "0-15"}
    assert found.numa_affinity == {"GPU0": "0"}


def test_topology_of_eight_gpus_and_a_network_card() -> None:
    found = nvidia.parse_topology(sample("eight.topology.txt"))
    assert found.links["GPU0"]["GPU7"] == "NV18"
    assert found.links["NIC0"]["GPU1"] == "PXB"
    assert found.cpu_affinity["GPU4"] == "96-191"
    assert "NIC0" not in found.cpu_affinity


def test_amd_node() -> None:
    nodes = "mi100/sys/class/kfd/kfd/topology/nodes"
    properties = amd.parse_kfd_properties(sample(f"{nodes}/1/properties"))
    gpu = amd.amd_gpu(properties, "arcturus")
    assert gpu.bus_id == "0000:23:00.0"
    assert gpu.device_file == "/dev/dri/renderD128"
