"""Control groups: which version, which controllers, and may we use them."""

from dataclasses import dataclass

from gpuaas_agent.facts.reading import Notes, Reader
from gpuaas_agent.facts.storage import Mount, parse_mounts

ROOT = "/sys/fs/cgroup"


@dataclass(frozen=True)
class CgroupFacts:
    """What `facts` prints under `cgroups`.

    `version` is v1, v2, hybrid (v1 controllers beside an empty v2 tree) or none. `writable` says
    that every controller's tree is mounted for writing.
    """

    version: str | None
    controllers: list[str] | None
    writable: bool | None


def cgroup_facts(reader: Reader, notes: Notes) -> CgroupFacts:
    """Read the control groups."""
    mounts = notes.take("cgroups", reader.parsed, "/proc/mounts", parse_mounts)
    if mounts is None:
        return CgroupFacts(None, None, None)
    version = cgroup_version(mounts)
    if version == "v2":
        controllers = notes.take(
            "cgroups.controllers", reader.parsed, f"{ROOT}/cgroup.controllers", str.split
        )
        return CgroupFacts(version, controllers, _writable(mounts, "cgroup2"))
    found = sorted({name for mount in mounts for name in v1_controllers(mount)})
    return CgroupFacts(version, found, _writable(mounts, "cgroup"))


def cgroup_version(mounts: list[Mount]) -> str:
    """Return v1, v2, hybrid or none, as the mounts show it."""
    kinds = {mount.kind for mount in mounts if mount.path.startswith(ROOT)}
    if kinds >= {"cgroup", "cgroup2"}:
        return "hybrid"
    if "cgroup2" in kinds:
        return "v2"
    return "v1" if "cgroup" in kinds else "none"


def v1_controllers(mount: Mount) -> list[str]:
    """Return the controllers a v1 mount carries; a named hierarchy carries none."""
    if mount.kind != "cgroup" or any(option.startswith("name=") for option in mount.options):
        return []
    plain = {"rw", "ro", "nosuid", "nodev", "noexec", "relatime", "xattr", "clone_children"}
    return [option for option in mount.options if option not in plain and "=" not in option]


def _writable(mounts: list[Mount], kind: str) -> bool:
    trees = [m for m in mounts if m.kind == kind and (kind == "cgroup2" or v1_controllers(m))]
    return bool(trees) and all("rw" in mount.options for mount in trees)
