"""The base image: one small Debian per suite, built once from the host's package sources.

Called by `up` and `gpuaas-lab image`. An image is a plain folder, never changed after it was
built: machines see it through an overlay. Its name carries a digest of the recipe, so a changed
recipe makes a new image beside the old one. It knows nothing of labs or machines.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import platform
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import process, sources
from gpuaas_lab.errors import HostNotReady
from gpuaas_lab.locks import locked
from gpuaas_lab.settings import Settings

PACKAGES = (
    "apt",
    "ca-certificates",
    "curl",
    "dbus",
    "iproute2",
    "iputils-ping",
    "libfaketime",
    "netbase",
    "openssh-server",
    "procps",
    "python3",
    "sudo",
    "systemd",
    "systemd-sysv",
)

_UNPACKED_WITHOUT = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/locale/*")

# Periodic jobs would wake sixteen machines at once; consoles have nobody sitting at them.
_MASKED_UNITS = (
    "apt-daily.timer",
    "apt-daily-upgrade.timer",
    "console-getty.service",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty@tty1.service",
    "motd-news.timer",
    "systemd-networkd-wait-online.service",
)

# Each is a process at every reload of every machine's systemd, and none has anything to find there.
_MASKED_GENERATORS = (
    "systemd-cryptsetup-generator",
    "systemd-debug-generator",
    "systemd-getty-generator",
    "systemd-gpt-auto-generator",
    "systemd-hibernate-resume-generator",
    "systemd-integritysetup-generator",
    "systemd-rc-local-generator",
    "systemd-run-generator",
    "systemd-ssh-generator",
    "systemd-system-update-generator",
    "systemd-tpm2-generator",
    "systemd-veritysetup-generator",
)

_FILES = {
    "etc/gpuaas-lab": "This is a GPUaaS lab machine: made to be broken, holds nothing of value.\n",
    "etc/default/locale": "LANG=C.UTF-8\n",
    "etc/systemd/journald.conf.d/gpuaas-lab.conf": "[Journal]\nSystemMaxUse=32M\n",
    "etc/motd": "A GPUaaS lab machine. Break it: gpuaas-lab makes another.\n",
    "etc/machine-id": "",
}

# Newer servers shut out an address that was refused a few times. All that meets a lab's machines
# comes from one address, so one test's refusals would keep the next one's logins away.
_LENIENT = ("etc/ssh/sshd_config.d/gpuaas-lab.conf", "PerSourcePenalties no\n")

_NETWORKD_LINKS = {
    "etc/systemd/system/dbus-org.freedesktop.network1.service": "systemd-networkd.service",
    "etc/systemd/system/multi-user.target.wants/systemd-networkd.service": (
        "systemd-networkd.service"
    ),
    "etc/systemd/system/sockets.target.wants/systemd-networkd.socket": "systemd-networkd.socket",
    "etc/systemd/system/default.target": "multi-user.target",
}


_REACH = (
    "Acquire::http",
    "Acquire::Check-Valid-Until",
    "Acquire::Max-ValidTime",
    "Acquire::Retries",
    "Acquire::ForceIPv",
)


@dataclass(frozen=True)
class Image:
    """A built image."""

    suite: str
    key: str
    root: Path


def recipe_key(suite: str, architecture: str) -> str:
    """Twelve digits that change when anything in the recipe does."""
    recipe = [suite, architecture, PACKAGES, _UNPACKED_WITHOUT, _MASKED_UNITS, _FILES]
    text = json.dumps([*recipe, _NETWORKD_LINKS, _LENIENT, _MASKED_GENERATORS], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def image_locate(settings: Settings, suite: str) -> Image:
    """Where the image of the suite is, or will be."""
    key = recipe_key(suite, platform.machine())
    folder = settings.cache / "images" / f"{suite}-{platform.machine()}-{key}"
    return Image(suite, key, folder)


def image_built(image: Image) -> bool:
    """Whether the image is complete: it appears under its name only when it is."""
    return image.root.is_dir()


async def image_ensure(
    settings: Settings, suite: str, tell: Callable[[str], None] = lambda _text: None
) -> Image:
    """The image of the suite, built now if it is not there; one builder at a time."""
    image = image_locate(settings, suite)
    if image_built(image):
        return image
    lock = settings.cache / "locks" / f"image-{suite}-{image.key}"
    async with locked(lock, f"the {suite} image", patience=1800):
        if not image_built(image):
            await _build(settings, image, tell)
    return image


def image_prune(settings: Settings, in_use: set[Path]) -> list[Path]:
    """Remove images that are neither current nor below a lab; return what went."""
    folder = settings.cache / "images"
    current = {image_locate(settings, suite).root for suite in _suites_present(folder)}
    gone = [path for path in folder.glob("*-*-*") if path not in current | in_use]
    for path in gone:
        shutil.rmtree(path)
    return gone


def _suites_present(folder: Path) -> set[str]:
    return {path.name.split("-", 1)[0] for path in folder.glob("*-*-*")}


async def _build(settings: Settings, image: Image, tell: Callable[[str], None]) -> None:
    if os.geteuid() != 0:
        raise HostNotReady("building an image needs root", "run it with sudo")
    release = sources.host_release()
    entries = sources.for_suite(sources.host_entries(settings.sources), release, image.suite)
    folder = image.root.parent
    folder.mkdir(parents=True, exist_ok=True)
    # Beside the images, so that the finished one can be renamed into place.
    work = Path(tempfile.mkdtemp(prefix=".building-", dir=folder))
    try:
        (work / "build.sources").write_text(sources.render(entries))
        tell(f"building the {image.suite} image (once, about half a minute)")
        await _bootstrap(work, image.suite)
        await asyncio.to_thread(_finish, work / "root")
        (work / "root").rename(image.root)
        tell(f"the {image.suite} image is ready")
    finally:
        await asyncio.to_thread(shutil.rmtree, work, ignore_errors=True)


async def _bootstrap(work: Path, suite: str) -> None:
    await process.logged(
        work / "build.log",
        # A private mount namespace: what mmdebstrap mounts goes away even if it is killed.
        *("unshare", "--mount", "--propagation", "slave"),
        *("mmdebstrap", "--mode=root", "--variant=minbase", "--format=directory"),
        f"--include={','.join(PACKAGES)}",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in _UNPACKED_WITHOUT),
        *(f"--aptopt={line}" for line in await host_acquire_options()),
        *(suite, work / "root", work / "build.sources"),
        # Daemons of the image must not start, and locales of the host do not exist in it.
        env={"PATH": os.environ.get("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), "LC_ALL": "C.UTF-8"}
        | {key: value for key, value in os.environ.items() if key.lower().endswith("_proxy")},
    )


async def host_acquire_options() -> list[str]:
    """How the host's apt reaches its mirrors: proxies, certificates, validity checks."""
    dump = await process.output("apt-config", "dump", "Acquire")
    lines = (line.strip() for line in dump.splitlines())
    return [line for line in lines if line.startswith(_REACH) and not line.endswith(' "";')]


def _finish(root: Path) -> None:
    """Turn a fresh Debian into an image: no identity, no sources, no periodic jobs."""
    for key in (root / "etc/ssh").glob("ssh_host_*"):
        key.unlink()
    for pattern in ("sources.list", "sources.list.d/*", "apt.conf.d/99mmdebstrap"):
        for path in (root / "etc/apt").glob(pattern):
            path.unlink()
    for name, text in _FILES.items():
        _write(root / name, text)
    if _knows_penalties(root / "usr/sbin/sshd"):
        _write(root / _LENIENT[0], _LENIENT[1])
    for name, target in _NETWORKD_LINKS.items():
        _link(root / name, f"/lib/systemd/system/{target}")
    masked = [f"system/{unit}" for unit in _MASKED_UNITS]
    masked += [f"system-generators/{generator}" for generator in _MASKED_GENERATORS]
    for name in masked:
        _link(root / "etc/systemd" / name, "/dev/null")
    # An update stamp older than /usr would make the first boot rebuild caches that are fresh.
    for stamp in ("etc/.updated", "var/.updated"):
        (root / stamp).touch()
    for leftover in ("etc/hostname", "etc/resolv.conf", "etc/hosts", "var/lib/systemd/random-seed"):
        (root / leftover).unlink(missing_ok=True)


def _knows_penalties(sshd: Path) -> bool:
    return b"persourcepenalties" in sshd.read_bytes()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def _link(path: Path, target: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to(target)
