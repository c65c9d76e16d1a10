"""The host's own package sources, read and re-rendered for the suite of an image.

Used by the image builder and the package fetcher. The lab names no mirror of its own: where the
host's sources cannot serve a suite, that is said. Parsing and rendering are pure; `host_entries`
is the only function that reads files.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuaas_lab.errors import NoSource

DEBIAN_SUITES = ("bookworm", "trixie")

_EXTRA_POCKETS = ("-backports", "-backports-sloppy", "-proposed", "-proposed-updates")
_OPTION_FIELDS = {
    "arch": "Architectures",
    "signed-by": "Signed-By",
    "trusted": "Trusted",
    "check-valid-until": "Check-Valid-Until",
    "by-hash": "By-Hash",
}


@dataclass(frozen=True)
class Entry:
    """One source of packages: addresses, suites, components, and apt's other fields."""

    uris: tuple[str, ...]
    suites: tuple[str, ...]
    components: tuple[str, ...]
    fields: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Release:
    """What /etc/os-release says of the host: the distribution and its code name."""

    distribution: str
    codename: str


def parse(text: str, name: str) -> list[Entry]:
    """Read a sources file of either style; the name decides which."""
    return _parse_deb822(text) if name.endswith(".sources") else _parse_lines(text)


def for_suite(entries: Iterable[Entry], release: Release, suite: str) -> list[Entry]:
    """The entries that serve the suite, derived from the host's own where they name another.

    An entry that already names the suite is used as it is. Otherwise the host's code name is
    replaced in the entries of the host's distribution: a mirror that has one suite has the other.
    """
    known = list(entries)
    direct = [picked for entry in known if (picked := _renamed(entry, suite, suite))]
    if direct:
        return direct
    if _family(suite, release) == release.distribution:
        host = release.codename
        derived = [picked for entry in known if (picked := _renamed(entry, host, suite))]
        if derived:
            return derived
    raise NoSource(
        f"no package source of this {release.distribution} {release.codename} host serves {suite}",
        "use the host's own suite, add a source that names it, or point GPUAAS_LAB_SOURCES at one",
    )


def render(entries: Iterable[Entry]) -> str:
    """The entries as a deb822 sources file."""
    return "\n".join(_stanza(entry) for entry in entries)


def release_parse(text: str) -> Release:
    """Read the lines of /etc/os-release."""
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return Release(
        distribution=values.get("ID", "unknown").strip('"'),
        codename=values.get("VERSION_CODENAME", "unknown").strip('"'),
    )


def host_release(path: Path = Path("/etc/os-release")) -> Release:
    """The host's distribution and code name."""
    return release_parse(path.read_text())


def host_entries(override: Path | None = None, folder: Path = Path("/etc/apt")) -> list[Entry]:
    """Every enabled binary source of the host, or of the file named instead."""
    if override is not None:
        return parse(override.read_text(), override.name)
    files = [folder / "sources.list", *sorted((folder / "sources.list.d").glob("*"))]
    return [
        entry
        for file in files
        if file.suffix in {".list", ".sources"} and file.is_file()
        for entry in parse(file.read_text(errors="replace"), file.name)
    ]


def default_suite(release: Release) -> str:
    """The suite of an image when nobody names one: the host's own."""
    return release.codename


def _parse_deb822(text: str) -> list[Entry]:
    entries = []
    for block in re.split(r"\n\s*\n", text):
        fields = _fields(block)
        enabled = fields.pop("enabled", "yes").strip().lower() not in {"no", "false", "0"}
        types = fields.pop("types", "").split()
        if not enabled or "deb" not in types:
            continue
        entries.append(
            Entry(
                uris=tuple(fields.pop("uris", "").split()),
                suites=tuple(fields.pop("suites", "").split()),
                components=tuple(fields.pop("components", "").split()),
                fields=tuple((key.title(), value) for key, value in fields.items()),
            )
        )
    return entries


def _fields(block: str) -> dict[str, str]:
    fields: dict[str, str] = {}
    last = ""
    for line in block.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if line[0] in " \t" and last:
            fields[last] += "\n" + line
            continue
        key, _, value = line.partition(":")
        last = key.strip().lower()
        fields[last] = value.strip()
    return fields


def _parse_lines(text: str) -> list[Entry]:
    entries = []
    for raw in text.splitlines():
        line = raw.split("#", 1)[0].strip()
        match = re.fullmatch(r"deb\s+(?:\[([^]]*)\]\s+)?(\S+)\s+(\S+)((?:\s+\S+)*)", line)
        if not match:
            continue
        options, uri, suite, components = match.groups()
        entries.append(
            Entry((uri,), (suite,), tuple(components.split()), _option_fields(options or ""))
        )
    return entries


def _option_fields(text: str) -> tuple[tuple[str, str], ...]:
    pairs = (word.split("=", 1) for word in text.split() if "=" in word)
    return tuple(
        (_OPTION_FIELDS[key.lower()], value.replace(",", " "))
        for key, value in pairs
        if key.lower() in _OPTION_FIELDS
    )


def _renamed(entry: Entry, old: str, new: str) -> Entry | None:
    suites = tuple(
        new + name.removeprefix(old)
        for name in entry.suites
        if (name == old or name.startswith(old + "-")) and not name.endswith(_EXTRA_POCKETS)
    )
    return Entry(entry.uris, suites, entry.components, entry.fields) if suites else None


def _family(suite: str, release: Release) -> str:
    if suite in DEBIAN_SUITES:
        return "debian"
    return release.distribution if suite == release.codename else "unknown"


def _stanza(entry: Entry) -> str:
    lines: Mapping[str, str] = {
        "Types": "deb",
        "URIs": " ".join(entry.uris),
        "Suites": " ".join(entry.suites),
        "Components": " ".join(entry.components),
        **dict(entry.fields),
    }
    return "".join(f"{key}: {value}\n" for key, value in lines.items() if value)
