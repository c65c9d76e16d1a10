"""Packs packages into a file: which ones, with an apt of its own that touches nothing here.

What a plain system has is left out: the required packages, systemd, sshd and what they need. The
archive is the same for the same packages, byte for byte. Called by `gpuaas-slurm bundle`.
"""

import hashlib
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_slurm.delivery import bundle_name
from gpuaas_slurm.distribution import DISTRIBUTIONS
from gpuaas_slurm.version import SlurmVersion

PLAIN = ("apt", "dbus", "iproute2", "openssh-server", "procps", "systemd-sysv")
ROLES = {"controller": ("controller", "worker"), "worker": ("worker",)}
"""A controller's machine may carry jobs too."""

LEFT_OUT = {"filename", "size", "sha256", "md5sum", "sha1"}


class BundleError(Exception):
    """No bundle could be made; the message says why."""


@dataclass(frozen=True)
class Wanted:
    """A bundle to make."""

    suite: str
    role: str
    sources: Path | None = None
    status: Path | None = None


@dataclass(frozen=True)
class Made:
    """A bundle that was made."""

    path: Path
    version: SlurmVersion
    packages: int
    digest: str


def bundle_make(wanted: Wanted, out: Path) -> Made:
    """Fetch and pack; the file appears under its name when it is whole."""
    names = DISTRIBUTIONS[wanted.suite].packages(ROLES[wanted.role])
    with tempfile.TemporaryDirectory(prefix=".bundle-", dir=out) as folder:
        apt = _Apt(Path(folder), wanted)
        apt.update()
        chosen = apt.chosen(names)
        archive = Path(folder) / "archive"
        archive.mkdir()
        apt.download(chosen, archive)
        (archive / "Packages").write_text(bundle_index(archive))
        packed = Path(folder) / "bundle.tar"
        bundle_pack(archive, packed)
        target = out / bundle_name(wanted.suite, wanted.role)
        packed.replace(target)
    digest = hashlib.sha256(target.read_bytes()).hexdigest()
    version = SlurmVersion.parse(chosen["slurm-client"].partition(":")[2] or chosen["slurm-client"])
    return Made(target, version, len(chosen), digest)


class _Apt:
    """An apt with folders of its own, that believes in a machine which is not this one."""

    def __init__(self, folder: Path, wanted: Wanted) -> None:
        self._folder = folder
        self._given = wanted.status
        for name in ("lists/partial", "cache/archives/partial", "etc"):
            (folder / name).mkdir(parents=True)
        status = folder / "status"
        status.write_text("")
        if wanted.status is not None:
            shutil.copyfile(wanted.status, status)
        lines = [
            f'Dir::State::lists "{folder}/lists";',
            f'Dir::State::status "{status}";',
            f'Dir::State::extended_states "{folder}/extended_states";',
            f'Dir::Cache "{folder}/cache";',
            'Dir::Etc::preferencesparts "/dev/null";',
            'APT::Sandbox::User "root";',
            'APT::Install-Recommends "false";',
            'Debug::NoLocking "true";',
            "#clear DPkg::Post-Invoke;",
            "#clear APT::Update::Post-Invoke;",
        ]
        if wanted.sources is not None:
            kept = folder / "etc" / wanted.sources.name
            shutil.copyfile(wanted.sources, kept)
            lines += ['Dir::Etc::sourcelist "/dev/null";', f'Dir::Etc::sourceparts "{folder}/etc";']
        config = folder / "apt.conf"
        config.write_text("\n".join(lines) + "\n")
        self._env = {**os.environ, "APT_CONFIG": str(config), "LC_ALL": "C.UTF-8"}

    def update(self) -> None:
        """Fetch the lists of packages."""
        self._run("apt-get", "--quiet", "update")

    def chosen(self, names: Iterable[str]) -> dict[str, str]:
        """The packages to deliver, with their versions."""
        if self._given is not None:
            return self._closure(names)
        required = re.findall(
            r"^Package: (\S+)\n(?:(?!\n\n)[\s\S])*?^Priority: required$",
            self._run("apt-cache", "dumpavail"),
            re.MULTILINE,
        )
        plain = self._closure((*required, *PLAIN))
        wanted = self._closure((*required, *PLAIN, *names))
        return {name: version for name, version in wanted.items() if name not in plain}

    def download(self, chosen: dict[str, str], folder: Path) -> None:
        """Fetch the packages; apt compares them with the signed lists."""
        names = [f"{name}={version}" for name, version in chosen.items()]
        self._run("apt-get", "--quiet", "download", *names, folder=folder)

    def _closure(self, names: Iterable[str]) -> dict[str, str]:
        said = self._run("apt-get", "--simulate", "install", *names)
        return dict(re.findall(r"^Inst (\S+) \((\S+)", said, re.MULTILINE))

    def _run(self, *argv: str, folder: Path | None = None) -> str:
        ran = subprocess.run(
            argv, cwd=folder, env=self._env, capture_output=True, text=True, check=False
        )
        if ran.returncode:
            raise BundleError(
                f"{' '.join(argv[:3])} ended with {ran.returncode}: {ran.stderr[-800:]}"
            )
        return ran.stdout


def bundle_index(folder: Path) -> str:
    """The index apt reads, with a digest of each package."""
    stanzas = []
    for file in sorted(folder.glob("*.deb")):
        control = subprocess.run(
            ["dpkg-deb", "--field", str(file)], capture_output=True, text=True, check=True
        ).stdout
        kept, keep = [], True
        for line in control.splitlines():
            if not line.startswith(" "):
                keep = line.partition(":")[0].lower() not in LEFT_OUT
            kept += [line] if keep else []
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        facts = (f"Filename: ./{file.name}", f"Size: {file.stat().st_size}", f"SHA256: {digest}")
        stanzas.append("\n".join((*kept, *facts)) + "\n")
    return "\n".join(stanzas)


def bundle_pack(folder: Path, target: Path) -> None:
    """The same folder always becomes the same file."""
    with tarfile.open(target, "w", format=tarfile.USTAR_FORMAT) as archive:
        for file in sorted(folder.iterdir()):
            entry = archive.gettarinfo(file, file.name)
            entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "root", "root"
            entry.mode = 0o644
            with file.open("rb") as source:
                archive.addfile(entry, source)
