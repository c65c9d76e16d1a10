"""Packages for machines that have no way out: fetched on the host once, kept, offered.

    wanted = await packages.fetch("bookworm", ["nginx-light"])
    await lab.install(["n1", "n2"], wanted)

Which packages is the caller's business. A set is the named packages and everything the base image
lacks for them, as a folder that apt takes as a repository: the .deb files (packed anew, see
`lightening.py`), `Packages`, `Release` and `SHA256SUMS`. It appears under its name only when it is
whole.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab import image, process, sources
from gpuaas_lab.errors import CommandFailed, LabError, NoSource
from gpuaas_lab.lightening import package_lighten
from gpuaas_lab.locks import locked
from gpuaas_lab.settings import Settings

_PACKAGE_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+~:-]+)?")
_PACKED = "light"
"""Part of a set's name, so that one that was packed otherwise is not taken for it."""
_FIELDS_KEPT_OUT = {"filename", "size", "sha256", "md5sum", "sha1"}


@dataclass(frozen=True)
class PackageSet:
    """A fetched set: where it is, what it holds, and a digest over all of it."""

    suite: str
    names: tuple[str, ...]
    path: Path
    files: tuple[Path, ...]
    digest: str

    @property
    def size(self) -> int:
        """Bytes of all package files."""
        return sum(file.stat().st_size for file in self.files)


async def fetch(
    suite: str,
    names: Iterable[str],
    *,
    settings: Settings | None = None,
    refresh: bool = False,
) -> PackageSet:
    """The set of these packages for the suite: from the cache, or fetched now."""
    settings = settings or Settings.from_environment()
    wanted = _checked(names)
    base = await image.image_ensure(settings, suite)
    folder = _folder(settings, base, wanted)
    lock = settings.cache / "locks" / f"packages-{folder.name}"
    async with locked(lock, f"package set {folder.name}", patience=1800):
        if refresh or not folder.is_dir():
            await _fetch(settings, base, wanted, folder)
    return await asyncio.to_thread(_load, folder)


def package_sets(settings: Settings) -> list[PackageSet]:
    """Every set in the cache."""
    return [_load(path.parent) for path in sorted(settings.cache.glob("packages/*/set.json"))]


def _checked(names: Iterable[str]) -> tuple[str, ...]:
    wanted = tuple(sorted(set(names)))
    if not wanted:
        raise LabError("name at least one package")
    for name in wanted:
        if not _PACKAGE_NAME.fullmatch(name):
            raise LabError(f"{name!r} is not a package name")
    return wanted


def _folder(settings: Settings, base: image.Image, wanted: tuple[str, ...]) -> Path:
    text = json.dumps([base.key, wanted, _PACKED])
    return (
        settings.cache
        / "packages"
        / f"{base.suite}-{hashlib.sha256(text.encode()).hexdigest()[:12]}"
    )


async def _fetch(
    settings: Settings, base: image.Image, wanted: tuple[str, ...], folder: Path
) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".fetching-", dir=folder.parent))
    try:
        archives = work / "set"
        (archives / "partial").mkdir(parents=True)
        settings_file = await _apt_settings(settings, base, work, archives)
        env = os.environ | {"APT_CONFIG": str(settings_file), "LC_ALL": "C.UTF-8"}
        lock = settings.cache / "locks" / f"apt-{base.suite}-{base.key}"
        async with locked(lock, f"the {base.suite} package index", patience=1800):
            await process.logged(work / "apt.log", "apt-get", "--quiet", "update", env=env)
            await _download(work / "apt.log", wanted, env)
        shutil.rmtree(archives / "partial")
        (archives / "lock").unlink(missing_ok=True)
        for file in _debs(archives):
            await asyncio.to_thread(package_lighten, file)
        await _index(archives, base.suite, wanted)
        await asyncio.to_thread(_place, archives, folder)
    finally:
        await asyncio.to_thread(shutil.rmtree, work, ignore_errors=True)


async def _download(log: Path, wanted: tuple[str, ...], env: dict[str, str]) -> None:
    command = ("apt-get", "--quiet", "--yes", "--no-install-recommends", "--download-only")
    try:
        await process.logged(log, *command, "install", *wanted, env=env)
    except CommandFailed as error:
        missing = re.findall(r"Unable to locate package (\S+)", error.message)
        if missing:
            raise NoSource(f"the host's sources have no package {', '.join(missing)}") from error
        raise


async def _apt_settings(settings: Settings, base: image.Image, work: Path, archives: Path) -> Path:
    """An apt of its own: the image's installed packages, the suite's sources, our folders."""
    entries = sources.for_suite(
        sources.host_entries(settings.sources), sources.host_release(), base.suite
    )
    (work / "sources.list").write_text("")
    (work / "sources.list.d").mkdir()
    (work / "sources.list.d/lab.sources").write_text(sources.render(entries))
    lists = settings.cache / "apt" / f"{base.suite}-{base.key}"
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    lines = [
        f'Dir::Etc::sourcelist "{work}/sources.list";',
        f'Dir::Etc::sourceparts "{work}/sources.list.d";',
        'Dir::Etc::preferencesparts "/dev/null";',
        f'Dir::State::status "{base.root}/var/lib/dpkg/status";',
        f'Dir::State::lists "{lists}";',
        f'Dir::State::extended_states "{base.root}/var/lib/apt/extended_states";',
        f'Dir::Cache "{work}";',
        f'Dir::Cache::archives "{archives}";',
        'APT::Sandbox::User "root";',
        'Binary::apt-get::APT::Keep-Downloaded-Packages "true";',
        "#clear DPkg::Post-Invoke;",
        "#clear APT::Update::Post-Invoke;",
    ]
    path = work / "apt.conf"
    path.write_text("\n".join(lines) + "\n")
    return path


async def _index(archives: Path, suite: str, wanted: tuple[str, ...]) -> None:
    """Make the folder a repository: an index apt reads, and digests anybody can check."""
    stanzas, sums = [], []
    for file in _debs(archives):
        digest = await asyncio.to_thread(_digest, file)
        control = await process.output("dpkg-deb", "--field", file)
        stanzas.append(_stanza(control, file, digest))
        sums.append(f"{digest}  {file.name}\n")
    index = "\n".join(stanzas)
    (archives / "Packages").write_text(index)
    (archives / "SHA256SUMS").write_text("".join(sums))
    packed = hashlib.sha256(index.encode()).hexdigest()
    (archives / "Release").write_text(
        f"Origin: gpuaas-lab\nSuite: {suite}\nSHA256:\n {packed} {len(index.encode())} Packages\n"
    )
    facts = {"suite": suite, "names": wanted, "digest": f"sha256:{packed}"}
    (archives / "set.json").write_text(json.dumps(facts, indent=2) + "\n")


def _stanza(control: str, file: Path, digest: str) -> str:
    kept, keep = [], True
    for line in control.splitlines():
        if not line.startswith(" "):
            keep = line.partition(":")[0].lower() not in _FIELDS_KEPT_OUT
        kept += [line] if keep else []
    facts = [f"Filename: ./{file.name}", f"Size: {file.stat().st_size}", f"SHA256: {digest}"]
    return "\n".join([*kept, *facts]) + "\n"


def _digest(file: Path) -> str:
    with file.open("rb") as source:
        return hashlib.file_digest(source, "sha256").hexdigest()


def _place(archives: Path, folder: Path) -> None:
    old = folder.with_name(f".old-{folder.name}")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        folder.rename(old)
    archives.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _debs(folder: Path) -> tuple[Path, ...]:
    return tuple(sorted(folder.glob("*.deb")))


def _load(folder: Path) -> PackageSet:
    facts = json.loads((folder / "set.json").read_text())
    files = _debs(folder)
    return PackageSet(facts["suite"], tuple(facts["names"]), folder, files, facts["digest"])
