"""Which sockets of this machine listen on a TCP port, by the kernel's own list.

Reads two files and changes nothing.
"""

import time
from pathlib import Path

_LISTS = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
_LISTEN = "0A"


def listeners(port: int, lists: tuple[Path, ...] = _LISTS) -> frozenset[str]:
    """The inodes of the sockets that listen on a port: a socket that is made anew has another."""
    found = set()
    for path in lists:
        text = path.read_text() if path.exists() else ""
        for line in text.splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                found.add(fields[9])
    return frozenset(found)


def listener_renewed(port: int, before: frozenset[str], within: float) -> bool:
    """Wait until a port is listened on by another socket than before."""
    deadline = time.monotonic() + within
    while time.monotonic() < deadline:
        if listeners(port) - before:
            return True
        time.sleep(0.02)
    return False
