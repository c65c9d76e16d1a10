"""Interfaces, their addresses and the default route.

Addresses come from the kernel over netlink: no file lists IPv4 addresses by interface, and the
`ip` command is not on every machine.
"""

import ipaddress
import socket
import struct
from dataclasses import dataclass

from gpuaas_agent.facts.reading import Notes, Reader

NET = "/sys/class/net"

NLMSG_ERROR, NLMSG_DONE, RTM_NEWADDR = 2, 3, 20
IFA_ADDRESS, IFA_LOCAL = 1, 2


@dataclass(frozen=True)
class Address:
    """An address of the interface with this number."""

    interface: int
    address: str
    prefix: int


@dataclass(frozen=True)
class Interface:
    """One network interface."""

    name: str
    mac: str | None
    mtu: int | None
    state: str | None
    speed_mbit: int | None
    addresses: list[str] | None


@dataclass(frozen=True)
class NetworkFacts:
    """What `facts` prints under `network`."""

    interfaces: list[Interface] | None
    default_interface: str | None
    default_gateway: str | None


def network_facts(reader: Reader, notes: Notes) -> NetworkFacts:
    """Read the interfaces."""
    names = notes.take("network.interfaces", reader.names, NET)
    addresses = notes.take("network.addresses", reader.answer, "rtm-getaddr", parse_rtm_addresses)
    routes = notes.take("network.default", reader.parsed, "/proc/net/route", parse_routes)
    default = routes[0] if routes else (None, None)
    folders = [name for name in names or [] if reader.exists(f"{NET}/{name}/ifindex")]
    return NetworkFacts(
        interfaces=None
        if names is None
        else [_interface(reader, notes, name, addresses) for name in folders],
        default_interface=default[0],
        default_gateway=default[1],
    )


def parse_rtm_addresses(raw: bytes) -> list[Address]:
    """Return the addresses in the kernel's answer to RTM_GETADDR (rtnetlink(7))."""
    found = []
    for kind, body in _messages(raw):
        if kind == NLMSG_ERROR:
            raise ValueError("netlink answered with an error")
        if kind != RTM_NEWADDR:
            continue
        family, prefix, _flags, _scope, index = struct.unpack_from("=BBBBI", body)
        attributes = _attributes(body[8:])
        # On a point-to-point link IFA_ADDRESS is the far end; IFA_LOCAL, where given, is ours.
        packed = attributes.get(IFA_LOCAL) or attributes.get(IFA_ADDRESS)
        if packed and family in {socket.AF_INET, socket.AF_INET6}:
            found.append(Address(index, str(ipaddress.ip_address(packed)), prefix))
    return found


def parse_routes(text: str) -> list[tuple[str, str]]:
    """Return interface and gateway of the IPv4 default routes in /proc/net/route, best first."""
    found = []
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= 8 and words[1] == words[7] == "00000000":
            gateway = ipaddress.IPv4Address(int.from_bytes(bytes.fromhex(words[2]), "little"))
            found.append((int(words[6]), words[0], str(gateway)))
    return [(name, gateway) for _metric, name, gateway in sorted(found)]


def _messages(raw: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at + 16 <= len(raw):
        length, kind = struct.unpack_from("=IH", raw, at)
        if length < 16:
            raise ValueError("netlink message shorter than its header")
        if kind == NLMSG_DONE:
            break
        found.append((kind, raw[at + 16 : at + length]))
        at += (length + 3) & ~3
    return found


def _attributes(raw: bytes) -> dict[int, bytes]:
    found, at = {}, 0
    while at + 4 <= len(raw):
        length, kind = struct.unpack_from("=HH", raw, at)
        if length < 4:
            break
        found[kind] = raw[at + 4 : at + length]
        at += (length + 3) & ~3
    return found


def _interface(
    reader: Reader, notes: Notes, name: str, addresses: list[Address] | None
) -> Interface:
    at, fact = f"{NET}/{name}", f"network.interfaces.{name}"
    index = notes.take(fact, reader.number, f"{at}/ifindex")
    return Interface(
        name=name,
        mac=notes.take(f"{fact}.mac", reader.word, f"{at}/address"),
        mtu=notes.take(f"{fact}.mtu", reader.number, f"{at}/mtu"),
        state=notes.take(f"{fact}.state", reader.word, f"{at}/operstate"),
        speed_mbit=_speed(reader, notes, at, fact),
        addresses=None
        if addresses is None or index is None
        else [f"{a.address}/{a.prefix}" for a in addresses if a.interface == index],
    )


def _speed(reader: Reader, notes: Notes, at: str, fact: str) -> int | None:
    """Ask for the speed of hardware only: a virtual link has none, and the kernel answers -1."""
    if not reader.exists(f"{at}/device"):
        return None
    speed = notes.take(f"{fact}.speed_mbit", reader.number, f"{at}/speed")
    if speed is not None and speed < 0:
        notes.add(f"{fact}.speed_mbit", f"{at}/speed", "the driver does not say")
        return None
    return speed
