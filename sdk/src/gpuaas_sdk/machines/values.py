"""What sessions on machines take and give. Pure; used by apps and by the rest of this package."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    """A script that came to its end. `cut`: there was more output than is kept here."""

    status: int
    stdout: str
    stderr: str
    seconds: float
    cut: bool = False


@dataclass(frozen=True)
class File:
    """A file as it is to be on a machine. Content in a local file is streamed from there."""

    path: str
    content: bytes | Path
    mode: int = 0o644
    owner: str = "root"
    group: str = "root"


@dataclass(frozen=True)
class Unit:
    """A unit of systemd, in systemd's own words; `main_pid` is 0 where there is none."""

    load: str
    active: str
    sub: str
    result: str
    main_pid: int
