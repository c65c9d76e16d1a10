"""Disks and the filesystems mounted from them."""

import re
from dataclasses import dataclass

from gpuaas_agent.facts.reading import Notes, Reader

SECTOR = 512
"""/sys/block counts in 512-byte sectors whatever the disk's own sector size is."""

VIRTUAL_DISKS = re.compile(r"^(loop|ram|zram|nbd|dm-|md|fd|sr)\d*")
"""Block devices that are no disk of their own; what they hold shows up as a filesystem."""

STORING = {"btrfs", "ext2", "ext3", "ext4", "f2fs", "overlay", "xfs", "zfs", "bcachefs", "virtiofs"}
HOST_MOUNTS = ("/run/host/", "/proc/", "/sys/", "/dev/")
"""Where a container manager binds single files of its host: no filesystem of this machine."""

NETWORKED = {"beegfs", "ceph", "cifs", "fuse.sshfs", "glusterfs", "lustre", "nfs", "nfs4", "smb3"}


@dataclass(frozen=True)
class Disk:
    """One disk."""

    name: str
    size: int | None
    rotational: bool | None
    model: str | None


@dataclass(frozen=True)
class Mount:
    """One line of /proc/mounts."""

    source: str
    path: str
    kind: str
    options: list[str]


@dataclass(frozen=True)
class Filesystem:
    """A mounted filesystem that stores data, in bytes."""

    path: str
    source: str
    kind: str
    networked: bool
    read_only: bool
    total: int | None
    available: int | None


@dataclass(frozen=True)
class StorageFacts:
    """What `facts` prints under `storage`."""

    disks: list[Disk] | None
    filesystems: list[Filesystem] | None


def storage_facts(reader: Reader, notes: Notes) -> StorageFacts:
    """Read disks and filesystems."""
    names = notes.take("storage.disks", reader.names, "/sys/block")
    mounts = notes.take("storage.filesystems", reader.parsed, "/proc/mounts", parse_mounts)
    return StorageFacts(
        disks=None
        if names is None
        else [_disk(reader, notes, name) for name in names if not VIRTUAL_DISKS.match(name)],
        filesystems=None if mounts is None else _filesystems(reader, notes, mounts),
    )


def parse_mounts(text: str) -> list[Mount]:
    """Return the lines of /proc/mounts, with the octal escapes of blanks undone."""
    found = []
    for line in text.splitlines():
        words = [_unescape(word) for word in line.split(" ")]
        if len(words) >= 4:
            found.append(Mount(words[0], words[1], words[2], words[3].split(",")))
    return found


def _unescape(word: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), word)


def _disk(reader: Reader, notes: Notes, name: str) -> Disk:
    at, fact = f"/sys/block/{name}", f"storage.disks.{name}"
    sectors = notes.take(f"{fact}.size", reader.number, f"{at}/size")
    rotational = notes.take(f"{fact}.rotational", reader.number, f"{at}/queue/rotational")
    model = f"{at}/device/model"
    return Disk(
        name=name,
        size=None if sectors is None else sectors * SECTOR,
        rotational=None if rotational is None else rotational == 1,
        # A virtual disk has no model, and no such file.
        model=notes.take(f"{fact}.model", reader.word, model) if reader.exists(model) else None,
    )


def _filesystems(reader: Reader, notes: Notes, mounts: list[Mount]) -> list[Filesystem]:
    """Keep what stores data; the last mount on a path hides those before it."""
    visible = {
        m.path: m
        for m in mounts
        if m.kind in STORING | NETWORKED and not m.path.startswith(HOST_MOUNTS)
    }
    found = []
    for mount in visible.values():
        # A dead file server would block the question for ever: its size is not asked.
        networked = mount.kind in NETWORKED
        fact = f"storage.filesystems.{mount.path}"
        space = None if networked else notes.take(fact, reader.space, mount.path)
        found.append(
            Filesystem(
                mount.path,
                mount.source,
                mount.kind,
                networked,
                "ro" in mount.options,
                None if space is None else space.total,
                None if space is None else space.available,
            )
        )
    return found
