"""Subnets never overlap what the host or another lab uses."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_lab import LabError, Settings
from gpuaas_lab.addresses import MOST_MACHINES, host_address, machine_address, subnet_pick

POOL = IPv4Network("10.213.0.0/16")

networks = st.builds(
    lambda base, length: IPv4Network((base, length), strict=False),
    st.integers(int(POOL.network_address), int(POOL.broadcast_address)),
    st.integers(19, 32),
)


@given(lab=st.text(min_size=1, max_size=20), used=st.lists(networks, max_size=7))
def test_a_picked_subnet_is_free_and_in_the_pool(lab: str, used: list[IPv4Network]) -> None:
    picked = subnet_pick(lab, POOL, used)
    assert picked.prefixlen == 24
    assert picked.subnet_of(POOL)
    assert not any(picked.overlaps(network) for network in used)


def test_a_lab_gets_the_same_subnet_again() -> None:
    assert subnet_pick("demo", POOL, []) == subnet_pick("demo", POOL, [])


def test_many_labs_fill_the_pool_and_the_next_is_refused() -> None:
    used: list[IPv4Network] = []
    for number in range(256):
        used.append(subnet_pick(f"lab{number}", POOL, used))
    assert len(set(used)) == 256
    with pytest.raises(LabError, match="no free /24 is left"):
        subnet_pick("one more", POOL, used)


def test_a_default_route_is_not_in_the_way_but_a_route_to_the_pool_is() -> None:
    with pytest.raises(LabError, match="no free /24"):
        subnet_pick("demo", POOL, [IPv4Network("10.0.0.0/8")])


def test_machines_and_host_have_their_places() -> None:
    subnet = IPv4Network("10.213.7.0/24")
    assert host_address(subnet) == IPv4Address("10.213.7.1")
    assert machine_address(subnet, "n1") == IPv4Address("10.213.7.11")
    assert machine_address(subnet, f"n{MOST_MACHINES}") == IPv4Address("10.213.7.250")


@pytest.mark.parametrize("text", ["10.0.0.0/25", "nonsense", "10.0.0.1/16"])
def test_a_bad_range_is_refused(text: str) -> None:
    with pytest.raises(LabError, match="GPUAAS_LAB_RANGE"):
        Settings.from_environment({"GPUAAS_LAB_RANGE": text})
