"""What already runs here: who listens on which port, and which services are up.

The agent does not know what any of it is for. It lists, and marks the services every system of
this kind has, so that what somebody put there stands out.
"""

import ipaddress
import re
from dataclasses import dataclass

from gpuaas_agent.facts.reading import Notes, Reader, UnreadableError

UNITS = (
    "systemctl",
    "list-units",
    "--type=service",
    "--state=running",
    "--plain",
    "--no-legend",
    "--no-pager",
    "--full",
)

SOCKETS = (("tcp", "0A"), ("tcp6", "0A"), ("udp", "07"), ("udp6", "07"))
"""Each table of /proc/net with the state that means "waits for others"."""

BASE = re.compile(
    r"^(systemd-.*|dbus(-broker)?|ssh|sshd|cron|crond|atd|getty@.*|serial-getty@.*|console-getty"
    r"|container-getty@.*|user@.*|user-runtime-dir@.*|rsyslog|polkit|udisks2|accounts-daemon"
    r"|chrony|chronyd|ntp|ntpsec|irqbalance|acpid|unattended-upgrades|packagekit"
    r"|networkd-dispatcher|NetworkManager|ModemManager|wpa_supplicant|multipathd|lvm2-.*|snapd.*"
    r"|qemu-guest-agent|open-vm-tools|cloud-.*|smartmontools|smartd|nvidia-persistenced"
    r"|gpuaas-.*)\.service$"
)


@dataclass(frozen=True)
class Listener:
    """A socket that waits for others; process and pid are null where we may not look."""

    protocol: str
    address: str
    port: int
    uid: int
    pid: int | None
    process: str | None


@dataclass(frozen=True)
class Socket:
    """A line of /proc/net/{tcp,udp}*."""

    address: str
    port: int
    state: str
    uid: int
    inode: int


@dataclass(frozen=True)
class Service:
    """A running service; `base` says it belongs to the operating system or to us."""

    unit: str
    description: str
    base: bool


@dataclass(frozen=True)
class ActivityFacts:
    """What `facts` prints under `activity`."""

    listeners: list[Listener] | None
    services: list[Service] | None


def activity_facts(reader: Reader, notes: Notes) -> ActivityFacts:
    """Read what runs."""
    return ActivityFacts(
        listeners=notes.take("activity.listeners", _listeners, reader, notes),
        services=notes.take("activity.services", reader.program, UNITS, parse_units),
    )


def parse_sockets(text: str) -> list[Socket]:
    """Return the sockets of /proc/net/tcp, tcp6, udp or udp6."""
    found = []
    for line in text.splitlines()[1:]:
        words = line.split()
        if len(words) >= 10:
            address, _, port = words[1].partition(":")
            found.append(
                Socket(_address(address), int(port, 16), words[3], int(words[7]), int(words[9]))
            )
    return found


def parse_units(text: str) -> list[Service]:
    """Return the services of `systemctl list-units --plain --no-legend`."""
    found = []
    for line in text.splitlines():
        words = line.split(maxsplit=4)
        if len(words) >= 4 and words[0].endswith(".service"):
            description = words[4] if len(words) == 5 else ""
            found.append(Service(words[0], description, BASE.match(words[0]) is not None))
    return found


def _address(text: str) -> str:
    """Undo the kernel's way: 32-bit words, each in the byte order of a little-endian machine."""
    raw = bytes.fromhex(text)
    words = (raw[at : at + 4][::-1] for at in range(0, len(raw), 4))
    return str(ipaddress.ip_address(b"".join(words)))


def _listeners(reader: Reader, notes: Notes) -> list[Listener]:
    tables = [(name, state) for name, state in SOCKETS if reader.exists(f"/proc/net/{name}")]
    if not tables:
        raise UnreadableError("/proc/net", "lists no sockets")
    waiting = [
        (name, socket)
        for name, state in tables
        for socket in reader.parsed(f"/proc/net/{name}", parse_sockets)
        if socket.state == state
    ]
    owners = _owners(reader, {socket.inode for _, socket in waiting})
    hidden = sum(socket.inode not in owners for _, socket in waiting)
    if hidden:
        notes.add(
            "activity.listeners.pid",
            "/proc/*/fd",
            f"{hidden} of {len(waiting)} sockets belong to processes that cannot be looked at",
        )
    return [
        Listener(name, s.address, s.port, s.uid, *owners.get(s.inode, (None, None)))
        for name, s in sorted(waiting, key=lambda found: (found[1].port, found[0]))
    ]


def _owners(reader: Reader, inodes: set[int]) -> dict[int, tuple[int, str]]:
    """Find the process behind each socket; a process may end, or be closed to us, on the way."""
    found: dict[int, tuple[int, str]] = {}
    for pid in filter(str.isdigit, reader.names("/proc")):
        if len(found) == len(inodes):
            break
        try:
            for inode in inodes & _socket_inodes(reader, pid):
                found.setdefault(inode, (int(pid), reader.word(f"/proc/{pid}/comm")))
        except UnreadableError:
            continue
    return found


def _socket_inodes(reader: Reader, pid: str) -> set[int]:
    found = set()
    for number in reader.names(f"/proc/{pid}/fd"):
        match = re.fullmatch(r"socket:\[(\d+)\]", reader.link(f"/proc/{pid}/fd/{number}"))
        if match:
            found.add(int(match[1]))
    return found
