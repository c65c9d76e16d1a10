"""A bundle whose Slurm is the same under a newer version, for tests of upgrades.

No distribution here offers two versions of Slurm for one release. The packages are taken apart and
put together again with a longer version, which is all that dpkg, apt and the app go by; what the
daemons say of themselves stays as it was. Those of a whole release are kept in the lab's cache
beside what they were made of.
"""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from gpuaas_slurm.bundling import bundle_index, bundle_pack
from tools.slurm_site import bundles_ready

SUFFIX: Final = "+gpuaas1"
SOURCE: Final = "slurm-wlm"


async def bundles_newer(suite: str) -> Path:
    """A folder with a release's bundles at the newer version, made by whoever needs it first."""
    present = await bundles_ready(suite)
    folder = present.with_name(f"{present.name}{SUFFIX}")
    if not folder.exists():
        await asyncio.to_thread(_newer_make, present, folder)
    return folder


def _newer_make(present: Path, folder: Path) -> None:
    made = Path(tempfile.mkdtemp(dir=folder.parent))
    try:
        bundles_rebuilt(present, made)
        try:
            made.rename(folder)
        except OSError:  # a test beside this one may have been faster
            if not folder.exists():
                raise
    finally:
        shutil.rmtree(made, ignore_errors=True)


def bundles_rebuilt(bundles: Path, out: Path, suffix: str = SUFFIX) -> None:
    """Make every bundle of a folder anew, with Slurm at a newer version."""
    for bundle in sorted(bundles.glob("*.tar")):
        with tempfile.TemporaryDirectory(dir=out) as made:
            folder = Path(made) / "archive"
            with tarfile.open(bundle) as archive:
                archive.extractall(folder, filter="data")
            for package in sorted(folder.glob("*.deb")):
                if _field(package, "Source").split(" ")[0] == SOURCE:
                    _rebuild(package, suffix)
            (folder / "Packages").write_text(bundle_index(folder))
            bundle_pack(folder, Path(made) / "bundle.tar")
            (Path(made) / "bundle.tar").replace(out / bundle.name)


def _rebuild(package: Path, suffix: str) -> None:
    version = _field(package, "Version")
    with tempfile.TemporaryDirectory(dir=package.parent) as made:
        tree = Path(made) / "tree"
        _run("dpkg-deb", "--raw-extract", str(package), str(tree))
        control = tree / "DEBIAN" / "control"
        text = re.sub(rf"^Version: {re.escape(version)}$", f"Version: {version}{suffix}",
                      control.read_text(), flags=re.MULTILINE)  # fmt: skip
        control.write_text(text.replace(f"(= {version})", f"(= {version}{suffix})"))
        package.unlink()
        _run("dpkg-deb", "-Zgzip", "-z1", "--root-owner-group", "--build", str(tree), str(package))


def _field(package: Path, name: str) -> str:
    return _run("dpkg-deb", "--field", str(package), name).strip()


def _run(*argv: str) -> str:
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout
