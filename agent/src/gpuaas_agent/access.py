"""Whom this machine's sshd lets in: exactly what the platform last said, or what held before.

Files first, each whole; the part of the configuration that points at them last, checked by sshd
itself before it is told to read it. What sshd does not accept is taken back. A host whose sshd
already follows another authority is left alone, and that is said.
"""

import base64
import contextlib
import shutil
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from gpuaas_agent.files import Owner, file_put, folder_make, json_get, json_put
from gpuaas_agent.places import Places
from gpuaas_agent.programs import ProgramFailed, program_run
from gpuaas_agent.sessions import sessions_end

_EVERYBODY = Owner(0, 0, 0o644)
_SETTINGS = {
    "trustedusercakeys": ("TrustedUserCAKeys", "ca.pub"),
    "authorizedprincipalsfile": ("AuthorizedPrincipalsFile", "principals/%u"),
    "revokedkeys": ("RevokedKeys", "revoked"),
}
_SSHD_RUN = Path("/run/sshd")
_REPLICAS_DIFFER = timedelta(seconds=30)
_UNITS = ("ssh.service", "sshd.service")


class AccessFailed(Exception):
    """sshd could not be set up as it should; what held before holds."""


def access_stale(places: Places, direction: dict[str, Any]) -> bool:
    """Whether a direction is older than the one that holds: somebody kept it and sends it again.

    Replicas of the platform need not agree to the second.
    """
    held = json_get(places.access)
    if held is None:
        return False
    told, holds = (datetime.fromisoformat(one["issued_at"]) for one in (direction, held))
    return told < holds - _REPLICAS_DIFFER


def access_apply(places: Places, direction: dict[str, Any]) -> None:
    """Make a direction hold; logins of a holder who gave the machine back are ended."""
    held = json_get(places.access) or {}
    holders = [name for name in direction["principals"].get("root", ()) if ":" not in name]
    try:
        _files_put(places, direction)
        _dropin_put(places)
        if not set(held.get("holders", ())) <= set(holders):
            sessions_end()  # after the door is closed: none comes behind it
        kept = {name: direction[name] for name in ("revision", "issued_at")}
        json_put(places.access, {**kept, "holders": holders})
    except OSError as error:
        raise AccessFailed(f"{error.filename or 'a file'}: {error.strerror}") from error


def access_revision(places: Places) -> str:
    """The revision of what holds."""
    held = json_get(places.access)
    return "" if held is None else str(held["revision"])


def access_remove(places: Places) -> None:
    """Take our part of sshd's configuration back."""
    if places.ssh_dropin.exists():
        places.ssh_dropin.unlink()
        _reload()
    shutil.rmtree(places.ssh_folder, ignore_errors=True)
    places.access.unlink(missing_ok=True)


def _files_put(places: Places, direction: dict[str, Any]) -> None:
    folder = places.ssh_folder
    folder_make(folder, 0o755)
    folder_make(folder / "principals", 0o755)
    # What closes comes before what opens: a crash in between leaves too little, never too much. A
    # list of what was revoked is of one holder: who goes is let in no more before it is replaced.
    wanted: dict[str, list[str]] = direction["principals"]
    holders = tuple(f"{name}:" for name in wanted.get("root", ()) if ":" not in name)
    for known in (folder / "principals").iterdir():
        if known.name in wanted:
            _narrow(known, wanted[known.name])
        elif not _kept(known, holders):
            known.unlink()
    file_put(folder / "revoked", base64.b64decode(direction["krl"]), _EVERYBODY)
    for user, names in wanted.items():
        text = "".join(f"{name}\n" for name in names)
        file_put(folder / "principals" / user, text.encode(), _EVERYBODY)
    keys = "".join(f"{line}\n" for line in direction["ca_keys"])
    file_put(folder / "ca.pub", keys.encode(), _EVERYBODY)


def _narrow(file: Path, names: list[str]) -> None:
    """Leave of a file only principals that stay."""
    lines = file.read_text(errors="replace").splitlines()
    left = [line for line in lines if line in names]
    if left != lines:
        file_put(file, "".join(f"{line}\n" for line in left).encode(), _EVERYBODY)


def _kept(file: Path, holders: tuple[str, ...]) -> bool:
    """Whether an app wrote it for people of the allocation that holds this machine now.

    It is theirs to take back; when the machine changes hands it goes like everything else.
    """
    lines = file.read_text(errors="replace").splitlines()
    return bool(lines) and bool(holders) and all(line.startswith(holders) for line in lines)


def _dropin_put(places: Places) -> None:
    wanted = _dropin(places)
    with contextlib.suppress(FileNotFoundError):
        if places.ssh_dropin.read_text() == wanted:
            return
    _others_require(places)
    if not places.ssh_dropin.parent.is_dir():
        raise AccessFailed(f"sshd has no folder {places.ssh_dropin.parent} for further settings")
    file_put(places.ssh_dropin, wanted.encode(), _EVERYBODY)
    try:
        _SSHD_RUN.mkdir(0o755, parents=True, exist_ok=True)  # `sshd -t` asks for it; gone when idle
        program_run(["sshd", "-t"])
        _effective_require(places)
        _reload()
    except (ProgramFailed, AccessFailed) as error:
        places.ssh_dropin.unlink(missing_ok=True)
        with contextlib.suppress(ProgramFailed):
            _reload()
        raise AccessFailed(str(error)) from error


def _dropin(places: Places) -> str:
    lines = [f"{name} {places.ssh_folder / file}" for name, file in _SETTINGS.values()]
    head = "# Written by gpuaas-agent and taken back when this machine is un-enrolled."
    return "\n".join([head, *lines, ""])


def _others_require(places: Places) -> None:
    """Nobody else told this sshd whom to trust."""
    for name, value in _effective().items():
        if name in _SETTINGS and value not in {"none", _ours(places, name)}:
            raise AccessFailed(
                f"sshd has a {_SETTINGS[name][0]} of its own ({value}); this host belongs to"
                " somebody else's authority already"
            )


def _effective_require(places: Places) -> None:
    effective = _effective()
    for name in _SETTINGS:
        if effective.get(name) != _ours(places, name):
            raise AccessFailed(
                f"sshd does not read {places.ssh_dropin}: its configuration needs the line"
                f" `Include {places.ssh_dropin.parent}/*.conf` at the top"
            )


def _effective() -> dict[str, str]:
    """What sshd really goes by."""
    try:
        said = program_run(["sshd", "-T"]).decode(errors="replace")
    except ProgramFailed as error:
        raise AccessFailed(str(error)) from error
    pairs = (line.partition(" ") for line in said.splitlines())
    return {name: value.strip() for name, _, value in pairs}


def _ours(places: Places, name: str) -> str:
    return str(places.ssh_folder / _SETTINGS[name][1])


def _reload() -> None:
    """Let the running sshd read its settings; sessions that are open stay open."""
    listed = program_run(["systemctl", "list-units", "--all", "--plain", "--no-legend", *_UNITS])
    for line in listed.decode().splitlines():
        unit, _loaded, active = line.split()[:3]
        if active == "active":
            program_run(["systemctl", "reload", unit])
            return
