"""Which addresses a lab gets.

Pure: the caller reads the host's routes and the other labs, under a lock, and passes them in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network

from gpuaas_lab.errors import LabError
from gpuaas_lab.names import machine_number

_FIRST_MACHINE = 10
MOST_MACHINES = 240


def subnet_pick(lab: str, pool: IPv4Network, used: Iterable[IPv4Network]) -> IPv4Network:
    """The first free /24 of the pool, starting at a place the lab's name decides.

    Starting at a hashed place keeps a lab's addresses the same from one `up` to the next, so
    that a person's notes and shell history stay true.
    """
    taken = list(used)
    count = 1 << (24 - pool.prefixlen)
    start = int.from_bytes(hashlib.sha256(lab.encode()).digest()[:4]) % count
    for step in range(count):
        base = int(pool.network_address) + ((start + step) % count) * 256
        candidate = IPv4Network((base, 24))
        if not any(candidate.overlaps(network) for network in taken):
            return candidate
    raise LabError(
        f"no free /24 is left in {pool}",
        "take a lab down, or name another range in GPUAAS_LAB_RANGE",
    )


def host_address(subnet: IPv4Network) -> IPv4Address:
    """The host's address on the lab's bridge."""
    return subnet.network_address + 1


def machine_address(subnet: IPv4Network, machine: str) -> IPv4Address:
    """The machine's address: n1 is .11, n2 is .12."""
    return subnet.network_address + _FIRST_MACHINE + machine_number(machine)
