"""What a person's `ssh` needs to reach a machine: key, certificate, known hosts, configuration.

Called by the command line, and by `machines/access.py` for apps. The private key is made here and
lies in a folder only its owner can enter; it is worth nothing once the certificate has ended. It
must stay light: somebody waits for a login. No session on a machine is opened by it.
"""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from gpuaas_sdk.calls import Calls, Request

_KEY: Final = "key"
_CERTIFICATE: Final = "key-cert.pub"
_KNOWN_HOSTS: Final = "known_hosts"
_CONFIG: Final = "config"


@dataclass(frozen=True)
class SshAccess:
    """A way in for a program that speaks SSH; `ssh -F config host` uses all of it."""

    allocation_id: str
    grant_id: str
    host: str
    address: str
    username: str
    folder: Path
    valid_until: datetime
    config_text: str

    @property
    def config(self) -> Path:
        """The configuration."""
        return self.folder / _CONFIG

    @property
    def key(self) -> Path:
        """The private key."""
        return self.folder / _KEY

    @property
    def certificate(self) -> Path:
        """The certificate."""
        return self.folder / _CERTIFICATE

    @property
    def known_hosts(self) -> Path:
        """The host keys that must be met."""
        return self.folder / _KNOWN_HOSTS

    @property
    def command(self) -> tuple[str, ...]:
        """The words that log in; more may follow."""
        return ("ssh", "-F", str(self.config), self.host)

    def remove(self) -> None:
        """Delete the files."""
        shutil.rmtree(self.folder, ignore_errors=True)


async def ssh_files(
    client: Calls[Any],
    allocation_id: str,
    *,
    ttl_seconds: int,
    login: str,
    folder: Path | None = None,
) -> SshAccess:
    """Ask for a certificate and write what `ssh` needs into a private folder (a new one, if none).

    `login`: `operator` or `person`. The same folder can be given again: what is in it is replaced,
    each file at once.
    """
    key = Ed25519PrivateKey.generate()
    public = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
    body = {
        "public_key": public.decode(),
        "ttl_seconds": ttl_seconds,
        "pty": True,
        "login": login,
    }
    path = f"/allocations/{allocation_id}/access-grants"
    issued = (await client.send(Request("POST", path, body))).json()
    private = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return await asyncio.to_thread(_written, issued, private.decode(), folder)


def _written(issued: dict[str, Any], private: str, folder: Path | None) -> SshAccess:
    grant = issued["grant"]
    allocation_id, username = grant["allocation_id"], grant["username"]
    place = folder or Path(tempfile.mkdtemp(prefix="gpuaas-ssh-"))
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.chmod(0o700)
    place = place.resolve()
    host_keys = [line.split(" ", 1)[1] for line in issued["known_hosts"]]
    config = ssh_config(allocation_id, issued["address"], username, place)
    files = {
        _KEY: private,
        _CERTIFICATE: f"{issued['certificate'].strip()}\n",
        _KNOWN_HOSTS: "".join(f"{allocation_id} {line}\n" for line in host_keys),
        _CONFIG: config,
    }
    for name, text in files.items():
        draft = place / f".{name}"
        draft.touch(mode=0o600)
        draft.write_text(text, encoding="utf-8")
        draft.replace(place / name)
    return SshAccess(
        allocation_id=allocation_id,
        grant_id=grant["id"],
        host=allocation_id,
        address=issued["address"],
        username=username,
        folder=place,
        valid_until=datetime.fromisoformat(grant["valid_before"]),
        config_text=config,
    )


def ssh_config(host: str, address: str, username: str, folder: Path) -> str:
    """The lines of an ssh configuration that reach one machine, and no other by mistake."""
    options = {
        "HostName": address,
        "HostKeyAlias": host,
        "User": username,
        "IdentityFile": _quoted(folder / _KEY),
        "CertificateFile": _quoted(folder / _CERTIFICATE),
        "UserKnownHostsFile": _quoted(folder / _KNOWN_HOSTS),
        "GlobalKnownHostsFile": "/dev/null",
        "StrictHostKeyChecking": "yes",
        "IdentitiesOnly": "yes",
        "IdentityAgent": "none",
        "PasswordAuthentication": "no",
    }
    return f"Host {host}\n" + "".join(f"  {name} {value}\n" for name, value in options.items())


def _quoted(path: Path) -> str:
    return f'"{path}"'
