"""Packages beforehand: a set installed once above the base image, for machines that start with it.

Called by `Lab.up`. A layer is a plain folder between the image and a machine's own disk, never
changed after it was built. Its machines are as those on which `depot.install` put the set and let
nothing start: what the packages would start at a boot sleeps through the first one, and is enabled
when that is over. Which packages is the caller's business.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from gpuaas_lab import depot, process
from gpuaas_lab.image import Image
from gpuaas_lab.locks import locked
from gpuaas_lab.packages import PackageSet
from gpuaas_lab.settings import Settings

# $1: the image. $2: the folder of the set. $3: the work folder. $4: what installs the set.
#
# In namespaces of its own: mounts go away with it, and so does whatever a package left running.
_BUILD = f"""
set -e
cd "$3"
mkdir upper work root
mount -t overlay gpuaas-lab-layer -o "lowerdir=$1,upperdir=upper,workdir=work,volatile" root
mount -t proc proc root/proc
mount --rbind /dev root/dev
mount -t tmpfs tmpfs root/run
mkdir root/run/set
mount --bind "$2" root/run/set
printf '#!/bin/sh\\nexit 101\\n' >root{depot.POLICY}
chmod 755 root{depot.POLICY}
echo "deb [trusted=yes] file:/run/set ./" >root{depot.SOURCE}
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
chroot root sh -c "$4"
rm root{depot.POLICY} root{depot.SOURCE}
# An update stamp older than /usr would make the first boot rebuild caches that are fresh.
touch root/etc/.updated root/var/.updated
"""
_UNITS = "etc/systemd/system"

ASLEEP = "etc/gpuaas-lab-asleep"
"""A file of a machine that has not booted yet: which links to make then, one a line."""
WAKE_SCRIPT = f"""
cd /
[ -e {ASLEEP} ] || exit 0
while read -r link target; do
  mkdir -p "${{link%/*}}"
  ln -sfn "$target" "$link"
done <{ASLEEP}
rm {ASLEEP}
"""


async def layer_ensure(settings: Settings, base: Image, wanted: PackageSet) -> Path:
    """The layer of the set above the image, built now if it is not there; one builder at a time."""
    folder = await asyncio.to_thread(_locate, settings, base, wanted)
    lock = settings.cache / "locks" / f"layer-{folder.name}"
    async with locked(lock, f"layer {folder.name}", patience=1800):
        if not folder.is_dir():
            await _build(settings, base, wanted, folder)
    return folder


def layer_root(layer: Path) -> Path:
    """What lies between the image and a machine's own disk."""
    return layer / "root"


def layer_asleep(layer: Path) -> str:
    """What a machine's first boot is not to start: the text of its file."""
    return (layer / "asleep").read_text()


def layers_prune(settings: Settings, in_use: set[Path]) -> list[Path]:
    """Remove layers no lab stands on; return what went."""
    gone = [path for path in (settings.cache / "layers").glob("*-*") if path not in in_use]
    for path in gone:
        shutil.rmtree(path)
    return gone


def _locate(settings: Settings, base: Image, wanted: PackageSet) -> Path:
    # An image may have been built again, with updates, under its old name.
    below = (base.root / "var/lib/dpkg/status").read_text()
    text = json.dumps([base.key, below, wanted.digest, wanted.names, _BUILD, _command(wanted)])
    digest = hashlib.sha256(text.encode()).hexdigest()[:12]
    return settings.cache / "layers" / f"{base.suite}-{digest}"


async def _build(settings: Settings, base: Image, wanted: PackageSet, folder: Path) -> None:
    settings.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Below the machines' disks, where an overlay can be mounted; the cache may be elsewhere.
    work = Path(tempfile.mkdtemp(prefix=".layer-", dir=settings.state))
    try:
        await process.logged(
            work / "build.log",
            *("unshare", "--mount", "--propagation", "slave", "--pid", "--fork", "--kill-child"),
            *("sh", "-c", _BUILD, "sh", base.root, wanted.path, work, _command(wanted)),
        )
        made = work / "made"
        made.mkdir()
        (work / "upper").rename(made / "root")
        (made / "asleep").write_text(_put_to_sleep(base.root, made / "root"))
        folder.parent.mkdir(parents=True, exist_ok=True)
        draft = folder.with_name(f".{folder.name}")
        await process.output("rm", "-rf", "--one-file-system", "--", draft)
        await process.output("mv", "--", made, draft)
        draft.rename(folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, work, ignore_errors=True)


def _command(wanted: PackageSet) -> str:
    return depot.install_command(wanted)


def _put_to_sleep(base: Path, root: Path) -> str:
    """Take away what has the set's units started at a boot; how to put it back."""
    lines = []
    for kind in ("wants", "requires"):
        for link in sorted((root / _UNITS).glob(f"*.{kind}/*")):
            name = link.relative_to(root)
            if link.is_symlink() and not (base / name).is_symlink():
                lines.append(f"{name} {link.readlink()}\n")
                link.unlink()
    return "".join(lines)
