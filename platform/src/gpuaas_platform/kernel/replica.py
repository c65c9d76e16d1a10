"""What this process is called where several look alike: database sessions, traces, health.

Pure but for the host's name and the process id.
"""

import os
import socket
from typing import Final

from gpuaas_platform import __version__

_PREFIX: Final = "gpuaas-"
_LONGEST: Final = 63  # of a session's name in PostgreSQL


def replica_name() -> str:
    """Host and process id: one name per replica."""
    return f"{socket.gethostname()}:{os.getpid()}"


def session_name(purpose: str) -> str:
    """The name of a database session: what it is for, which release, which replica."""
    head, name = f"{_PREFIX}{purpose} {__version__} ", replica_name()
    return head + name[-(_LONGEST - len(head)) :]


def session_parse(name: str) -> tuple[str, str, str] | None:
    """Purpose, release and replica of a session's name; None for a session that is not ours."""
    parts = name.removeprefix(_PREFIX).split(" ", 2)
    if not name.startswith(_PREFIX) or len(parts) != 3:
        return None
    purpose, version, replica = parts
    return purpose, version, replica
