"""What a look says about one machine. Pure: reads the text of `look.sh`, runs nothing."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from gpuaas_slurm.distribution import DISTRIBUTIONS
from gpuaas_slurm.onmachine.scripts import PLUGIN_FILES

ACTIVE = "active"


class LookError(ValueError):
    """A machine answered something that is no look; nothing is known about it."""


@dataclass(frozen=True)
class FileSeen:
    """A file that is there."""

    digest: str
    mode: int
    owner: str
    group: str
    written_at: int = 0


@dataclass(frozen=True)
class UserSeen:
    """A user of the machine."""

    uid: int
    shell: str = ""

    @property
    def locked(self) -> bool:
        """Nobody logs in as them."""
        return self.shell.endswith(("nologin", "false"))


@dataclass(frozen=True)
class UnitSeen:
    """A service as systemd has it."""

    load: str = "not-found"
    active: str = "inactive"
    sub: str = ""
    result: str = ""
    enabled: str = ""
    pid: int = 0
    restarts: int = 0
    started_at: int = 0

    @property
    def up(self) -> bool:
        """It runs."""
        return self.active == ACTIVE

    @property
    def starting(self) -> bool:
        """It is on its way: neither up, nor down until systemd tries again."""
        return self.active == "activating" and self.sub != "auto-restart"


@dataclass(frozen=True)
class OfferSeen:
    """Packages that lie ready for an operation, and how they stand to what is installed."""

    operation_id: str
    version: str
    relation: str


@dataclass(frozen=True)
class SnapshotSeen:
    """What was saved before an upgrade, and of what."""

    operation_id: str
    app_version: str
    packages: str
    generation: int
    at: int
    kib: int

    @property
    def taken_at(self) -> datetime:
        """When, by the machine's clock."""
        return datetime.fromtimestamp(self.at, UTC)


@dataclass(frozen=True)
class MachineLook:
    """One machine at one moment. `skew` is how far its clock is ahead, in seconds."""

    system: str
    codename: str
    hostname: str
    now: float
    record: Mapping[str, Any] | None = None
    cluster: Mapping[str, Any] | None = None
    packages: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, FileSeen] = field(default_factory=dict)
    units: Mapping[str, UnitSeen] = field(default_factory=dict)
    present: frozenset[str] = frozenset()
    users: Mapping[str, UserSeen] = field(default_factory=dict)
    principals: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    offer: OfferSeen | None = None
    previous: str = ""
    """The version of the packages from before the last upgrade; empty when they are not kept."""
    snapshot: SnapshotSeen | None = None
    restored: str = ""
    skew: float = 0.0
    processes: str = ""
    """Other people's processes: `hidden`, `visible`, or `refused` with the machine's reason."""

    def unit(self, name: str) -> UnitSeen:
        """A service; one that is not installed is as such."""
        return self.units.get(name, UnitSeen())

    @property
    def plugins(self) -> frozenset[str]:
        """The plugins that matter and are installed."""
        return frozenset(name for path, name in PLUGIN_FILES.items() if path in self.present)

    @property
    def pmix_library(self) -> bool:
        """The library the plugin opens is there under the name it opens in this release."""
        known = DISTRIBUTIONS.get(self.codename)
        return known is not None and known.pmix_library in self.present


PARTS: Final[Mapping[str, tuple[str, ...]]] = {
    "packages": ("packages",),
    "files": ("files",),
    "units": ("units",),
    "people": ("users", "principals"),
}
"""Parts a look may leave out where nothing can have changed, and the fields they fill."""


@dataclass(frozen=True)
class Looked:
    """What is known of a machine from several looks, and when each part was looked at."""

    look: MachineLook
    at: Mapping[str, float]

    @classmethod
    def whole(cls, look: MachineLook) -> "Looked":
        """Known from one look at everything."""
        return cls(look, dict.fromkeys(PARTS, look.now))

    def and_then(self, look: MachineLook, sees: Iterable[str]) -> "Looked":
        """The same with another look at some parts; of each the later one counts."""
        fresh = {part for part in sees if self.at[part] <= look.now}
        base = look if look.now >= self.look.now else self.look
        taken = {
            name: getattr(look if part in fresh else self.look, name)
            for part, names in PARTS.items()
            for name in names
        }
        return Looked(replace(base, **taken), {**self.at, **dict.fromkeys(fresh, look.now)})


def machine_look(text: str) -> MachineLook:
    """Return what a look says; a text that ends too early is no look at all."""
    rows = [line.partition("\t")[::2] for line in text.splitlines() if "\t" in line]
    if not rows or rows[-1] != ("end", "look"):
        raise LookError(f"the look ended early: {text[-300:]!r}")
    single = dict(rows)
    try:
        system, codename = single["os"].split(" ", 1)
        return MachineLook(
            system=system,
            codename=codename,
            hostname=single["hostname"].partition(".")[0].lower(),
            now=float(single["now"]),
            record=_document(single.get("record")),
            cluster=_document(single.get("cluster")),
            packages=_packages([value for word, value in rows if word == "package"]),
            files=_files(rows),
            units=_units([value for word, value in rows if word == "unit"]),
            present=frozenset(value for word, value in rows if word == "present"),
            users=_users([value for word, value in rows if word == "user"]),
            principals=_principals([value for word, value in rows if word == "principal"]),
            offer=OfferSeen(*single["offer"].split(" ")) if "offer" in single else None,
            previous=single.get("previous", ""),
            snapshot=_snapshot(single.get("snapshot")),
            restored=single.get("restored", ""),
            processes=single.get("processes", ""),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise LookError(f"the look cannot be read: {type(error).__name__}: {error}") from error


def _document(text: str | None) -> dict[str, Any] | None:
    """A document of ours; one that was half written by hand is as good as none."""
    if text is None:
        return None
    found = json.loads(text)
    if not isinstance(found, dict):
        raise LookError("a document of ours is no object")
    return found


def _snapshot(text: str | None) -> SnapshotSeen | None:
    found = _document(text)
    return None if found is None else SnapshotSeen(**found)


def _packages(values: list[str]) -> dict[str, str]:
    words = (value.split(" ", 2) for value in values)
    return {name: version for status, name, version in words if status == "installed"}


def _users(values: list[str]) -> dict[str, UserSeen]:
    found = {}
    for value in values:
        name, uid, shell = value.split(":")
        found[name] = UserSeen(int(uid), shell)
    return found


def _principals(values: list[str]) -> dict[str, tuple[str, ...]]:
    """Who may log in by certificate as which user, but for root."""
    found: dict[str, tuple[str, ...]] = {}
    for value in values:
        user, _, principal = value.partition(" ")
        if user != "root" and principal:
            found[user] = (*found.get(user, ()), principal)
    return found


def _files(rows: list[tuple[str, str]]) -> dict[str, FileSeen]:
    digests: dict[str, str] = {}
    found: dict[str, FileSeen] = {}
    for word, value in rows:
        if word == "digest":
            digest, _, path = value.partition("  ")
            digests[path] = digest
        elif word == "mode":
            mode, owner, group, written, path = value.split(" ", 4)
            found[path] = FileSeen(digests.get(path, ""), int(mode, 8), owner, group, int(written))
    return found


def _units(values: list[str]) -> dict[str, UnitSeen]:
    found: dict[str, UnitSeen] = {}
    fields: dict[str, str] = {}
    for value in [*values, ""]:
        if value:
            name, _, said = value.partition("=")
            fields[name] = said
        elif fields:
            found[fields["Id"].removesuffix(".service")] = _unit(fields)
            fields = {}
    return found


def _unit(fields: Mapping[str, str]) -> UnitSeen:
    return UnitSeen(
        load=fields["LoadState"],
        active=fields["ActiveState"],
        sub=fields["SubState"],
        result=fields.get("Result", ""),
        enabled=fields.get("UnitFileState", ""),
        pid=int(fields.get("MainPID") or 0),
        restarts=int(fields.get("NRestarts") or 0),
        started_at=int(fields.get("InactiveExitTimestamp", "").removeprefix("@") or 0),
    )
