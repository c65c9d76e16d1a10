"""Can this host boot lab machines? One finding per thing that is missing, with its remedy.

Called by `gpuaas-lab doctor`, by `up` (the short form) and by the test fixtures. Each check really
tries what it speaks of, and leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import os
import platform
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import cgroups, image, nspawn, process, sources
from gpuaas_lab.errors import HostNotReady, LabError
from gpuaas_lab.settings import Settings

_TOOLS = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "apt-get": "apt",
    "ip": "iproute2",
    "tc": "iproute2",
    "nsenter": "util-linux",
    "unshare": "util-linux",
    "setsid": "util-linux",
    "ssh": "openssh-client",
}
_DISK_NEEDED = 2 << 30


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    good: bool
    detail: str
    remedy: str = ""
    needed: bool = True

    @property
    def blocks(self) -> bool:
        """Whether machines cannot boot because of it."""
        return self.needed and not self.good


def host_require() -> None:
    """Refuse at once where machines cannot boot; the checks that cost nothing only."""
    for finding in [_root(), *_tools(), _cgroup()]:
        if finding.blocks:
            raise HostNotReady(f"lab machines cannot boot here: {finding.detail}", finding.remedy)


async def examine(settings: Settings, suite: str | None = None) -> list[Finding]:
    """Look at everything a lab needs."""
    findings = [_linux(), _root(), *_tools(), _cgroup(), _disk(settings)]
    if any(finding.blocks for finding in findings):
        return findings
    findings += await asyncio.gather(_overlay(settings), _bridge(), _cut())
    findings += [_inotify(), _bridge_filter(), _source(settings, suite)]
    return findings


def reason(findings: list[Finding]) -> str | None:
    """The first thing in the way, as one line; none when machines can boot."""
    blocking = next((finding for finding in findings if finding.blocks), None)
    return f"{blocking.detail}: {blocking.remedy}" if blocking else None


def _linux() -> Finding:
    system = platform.system()
    return Finding("linux", system == "Linux", f"this is {system}", "use a Linux host")


def _root() -> Finding:
    good = os.geteuid() == 0
    detail = "running as root" if good else "not running as root"
    return Finding("root", good, detail, "run it with sudo")


def _tools() -> list[Finding]:
    findings = []
    for tool, package in _TOOLS.items():
        good = shutil.which(tool) is not None
        detail = f"{tool} is there" if good else f"{tool} is missing"
        findings.append(Finding(tool, good, detail, f"apt-get install {package}"))
    return findings


def _cgroup() -> Finding:
    if cgroups.host_systemd():
        return Finding("cgroups", good=True, detail="the host's systemd gives each machine a unit")
    trees = [tree for tree in cgroups.hierarchies() if os.access(tree, os.W_OK)]
    detail = ", ".join(map(str, trees)) or "no writable control group tree at /sys/fs/cgroup"
    return Finding("cgroups", bool(trees), detail, "mount -t cgroup2 none /sys/fs/cgroup")


def _disk(settings: Settings) -> Finding:
    free = min(_free(settings.state), _free(settings.cache))
    return Finding(
        "disk",
        free >= _DISK_NEEDED,
        f"{free >> 20} MiB free for state and cache",
        f"free {_DISK_NEEDED >> 30} GiB, or set GPUAAS_LAB_STATE and GPUAAS_LAB_CACHE",
    )


def _free(folder: Path) -> int:
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    return shutil.disk_usage(existing).free


async def _overlay(settings: Settings) -> Finding:
    settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder = Path(tempfile.mkdtemp(prefix=".doctor-", dir=settings.state))
    try:
        for name in ("lower", "upper", "work", "root"):
            (folder / name).mkdir()
        options = f"lowerdir={folder}/lower,upperdir={folder}/upper,workdir={folder}/work,volatile"
        await process.output(
            *("unshare", "--mount", "mount", "-t", "overlay", "overlay", "-o", options),
            folder / "root",
        )
    except LabError as error:
        return Finding(
            "overlay",
            good=False,
            detail=f"no overlay can be mounted below {settings.state}: {error.message}",
            remedy="put GPUAAS_LAB_STATE on ext4 or xfs, and allow mounting",
        )
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
    return Finding("overlay", good=True, detail=f"overlays mount below {settings.state}")


async def _bridge() -> Finding:
    script = (
        "link add gldoc type bridge\n"
        "link add gldoc0 type veth peer name gldoc1\n"
        "link set gldoc0 master gldoc\n"
    )
    try:
        # In a network namespace of its own: the host's interfaces are not touched.
        await process.output("unshare", "--net", "ip", "-batch", "-", stdin=script)
    except LabError as error:
        return Finding(
            "bridge",
            good=False,
            detail=f"no bridge or veth can be made: {error.message}",
            remedy="modprobe bridge veth, and allow CAP_NET_ADMIN",
        )
    return Finding("bridge", good=True, detail="bridges and cables can be made")


async def _cut() -> Finding:
    script = (
        "ip link add gldoc0 type veth peer name gldoc1 && tc qdisc add dev gldoc0 clsact && "
        "tc filter add dev gldoc0 ingress protocol all bpf da bytecode '1,6 0 0 2'"
    )
    try:
        await process.output("unshare", "--net", "sh", "-c", script)
    except LabError:
        return Finding(
            "cut",
            good=False,
            detail="the kernel has no clsact or cls_bpf: cut and heal will refuse",
            remedy="modprobe sch_ingress cls_bpf",
            needed=False,
        )
    return Finding("cut", good=True, detail="the network of a machine can be cut")


def _inotify() -> Finding:
    allowed = nspawn.inotify_instances()
    good = allowed >= nspawn.INOTIFY_NEEDED or os.access(nspawn.INOTIFY_FILE, os.W_OK)
    return Finding(
        "inotify",
        good,
        f"{allowed} inotify instances; `up` raises it to {nspawn.INOTIFY_NEEDED}"
        if good and allowed < nspawn.INOTIFY_NEEDED
        else f"{allowed} inotify instances",
        f"sysctl fs.inotify.max_user_instances={nspawn.INOTIFY_NEEDED}",
        needed=False,
    )


def _bridge_filter() -> Finding:
    switch = Path("/proc/sys/net/bridge/bridge-nf-call-iptables")
    filtered = switch.exists() and switch.read_text().strip() == "1"
    return Finding(
        "firewall",
        not filtered,
        "the host's firewall sees bridged traffic and may drop it"
        if filtered
        else "bridged traffic does not pass the host's firewall",
        "sysctl net.bridge.bridge-nf-call-iptables=0",
        needed=False,
    )


def _source(settings: Settings, suite: str | None) -> Finding:
    release = sources.host_release()
    wanted = suite or sources.default_suite(release)
    if image.image_built(image.image_locate(settings, wanted)):
        return Finding("image", good=True, detail=f"the {wanted} image is built")
    try:
        sources.for_suite(sources.host_entries(settings.sources), release, wanted)
    except LabError as error:
        return Finding("image", good=False, detail=error.message, remedy=error.remedy)
    return Finding("image", good=True, detail=f"the host's sources serve {wanted}; not built yet")
