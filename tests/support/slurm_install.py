"""The Slurm app's controller as an operator gets it: wheels, on a machine, as unit or container.

Real tools on a lab machine: pip, systemd, podman. What is installed is what the wheel brings.
"""

from __future__ import annotations

import asyncio
import io
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Final

from gpuaas_lab import Machine
from tools import host
from tools.progress import ROOT
from tools.setup import BOOTSTRAP

OURS: Final = ("contract", "sdk", "apps/slurm")
PACKAGES: Final = ("crun", "podman", "python3-venv")
"""What the machine needs beside a plain system."""
HOME: Final = "/opt/gpuaas-slurm"
SHARED: Final = f"{HOME}/share/gpuaas-slurm"
WHEELS: Final = "/root/wheels"
IMAGE: Final = "gpuaas-slurm"
# What the oldest glibc of a machine takes (2.36, of Debian 12), whatever runs these tests.
_FOR_MACHINES: Final = (
    *("--only-binary", ":all:", "--implementation", "cp"),
    *(word for tag in ("manylinux_2_34", "manylinux_2_28", "manylinux_2_17", "manylinux2014")
      for word in ("--platform", f"{tag}_x86_64")),
)  # fmt: skip
_PYTHON: Final = "import sys; print('{}.{}'.format(*sys.version_info))"

# A machine's own system as an image with Python and pip in /usr/local, since no registry is at
# hand; a container in a container gets no kernel keyring and no control groups of its own. It has
# no more than it takes to run Python and pip: above a machine's disk, which is an overlay itself,
# podman copies every file for every layer.
_BASE: Final = r"""
set -eu
mkdir -p /etc/containers
cat >/etc/containers/storage.conf <<'END'
[storage]
driver = "vfs"
runroot = "/run/containers/storage"
graphroot = "/var/lib/containers/storage"
END
cat >/etc/containers/containers.conf <<'END'
[containers]
keyring = false
cgroups = "disabled"
netns = "host"
[engine]
cgroup_manager = "cgroupfs"
END
# Ubuntu's package has run it already, and it would insist on the storage it then wrote down.
rm -f /var/lib/containers/storage/db.sql
root=/root/base
mkdir -p $root/tmp $root/var/tmp $root/run $root/root $root/proc $root/sys $root/dev
chmod 1777 $root/tmp $root/var/tmp
python3 -m venv --copies $root/usr/local
sed -i '1s|.*|#!/usr/local/bin/python3|' $root/usr/local/bin/pip*
sed -i "s|$root||" $root/usr/local/pyvenv.cfg
tar --one-file-system --exclude=usr/bin/podman --exclude=etc/gpuaas-slurm \
    --exclude=usr/lib/systemd --exclude=usr/lib/podman --exclude=usr/lib/udev --exclude='*.a' \
    -c -C / bin sbin lib lib64 etc usr/bin usr/sbin usr/lib usr/lib64 \
    -C $root tmp var run root proc sys dev usr/local | podman import --quiet - localhost/python-base
rm -rf $root
"""


async def wheels_make(machine: Machine, folder: Path) -> None:
    """The app's wheel with all it stands on, for a machine: ours built, the others as locked."""
    lock = ROOT / "requirements" / "slurm.txt"
    python = (await machine.run(f'python3 -c "{_PYTHON}"')).stdout.strip()
    download = ("download", "--quiet", "--no-deps", "--require-hashes", "--requirement", str(lock))
    await asyncio.to_thread(_run, BOOTSTRAP / "bin" / "pip", *download, *_FOR_MACHINES,
                            "--python-version", python, "--dest", str(folder))  # fmt: skip
    for package in OURS:
        build = ("-m", "hatchling", "build", "-t", "wheel", "-d", str(folder))
        await asyncio.to_thread(_run, sys.executable, *build, cwd=ROOT / package)


async def wheels_install(machine: Machine, folder: Path) -> None:
    """As the runbook says: an environment of its own, the wheel, its unit."""
    await machine.run(f"mkdir -p {WHEELS} && tar -x -C {WHEELS}", stdin=_packed(folder))
    await machine.run(
        f"python3 -m venv {HOME}"
        f" && {HOME}/bin/pip install --quiet --no-index --find-links {WHEELS} gpuaas-slurm"
        f" && systemctl link {SHARED}/gpuaas-slurm.service"
    )


async def image_build(machine: Machine) -> str:
    """Build the image by the wheel's own container file; the builder's words."""
    await machine.run("sh -s", stdin=_BASE)
    built = await machine.run(
        f"podman build --isolation chroot --file {SHARED}/Containerfile"
        f" --build-arg BASE=localhost/python-base --build-context wheels={WHEELS}"
        f" --tag {IMAGE} {SHARED}"
    )
    return built.stdout + built.stderr


def _packed(folder: Path) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for wheel in sorted(folder.glob("*.whl")):
            archive.add(wheel, wheel.name)
    return buffer.getvalue()


def _run(*command: str | Path, cwd: Path = ROOT) -> None:
    ran = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=host.environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
