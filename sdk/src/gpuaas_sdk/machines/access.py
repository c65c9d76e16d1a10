"""What a person's `ssh` needs to reach a machine: key, certificate, known hosts, configuration.

Called by the command line. The private key is made here and lies in a folder only its owner can
enter; it is worth nothing once the certificate has ended.
"""

import asyncio
import shutil
import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

import asyncssh

from gpuaas_contract.custody import (
    GRANT_SECONDS,
    AccessGrantCreate,
    AccessGrantIssued,
    GrantLogin,
)
from gpuaas_sdk.client import Client
from gpuaas_sdk.machines.certificate import grant_ask
from gpuaas_sdk.machines.scripts import About

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


async def ssh_access(
    client: Client,
    allocation_id: str,
    *,
    folder: Path | None = None,
    ttl_seconds: int = GRANT_SECONDS,
    login: GrantLogin = GrantLogin.OPERATOR,
) -> SshAccess:
    """Ask for a certificate and write what `ssh` needs into a private folder (a new one, if none).

    `login`: as the machine's operator, or as oneself where an app made one an account. The same
    folder can be given again: what is in it is replaced, each file at once.
    """
    key = asyncssh.generate_private_key("ssh-ed25519")
    body = AccessGrantCreate(
        public_key=key.export_public_key().decode().strip(),
        ttl_seconds=ttl_seconds,
        pty=True,
        login=login,
    )
    issued = await grant_ask(client, allocation_id, body, About())
    private = key.export_private_key().decode()
    return await asyncio.to_thread(_written, allocation_id, issued, private, folder)


def _written(
    allocation_id: str, issued: AccessGrantIssued, private: str, folder: Path | None
) -> SshAccess:
    place = folder or Path(tempfile.mkdtemp(prefix="gpuaas-ssh-"))
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    place.chmod(0o700)
    place = place.resolve()
    host_keys = [line.split(" ", 1)[1] for line in issued.known_hosts]
    username = issued.grant.username
    config = ssh_config(allocation_id, issued.address, username, place)
    files = {
        _KEY: private,
        _CERTIFICATE: f"{issued.certificate.strip()}\n",
        _KNOWN_HOSTS: "".join(f"{allocation_id} {line}\n" for line in host_keys),
        _CONFIG: config,
    }
    for name, text in files.items():
        draft = place / f".{name}"
        draft.touch(mode=0o600)
        draft.write_text(text)
        draft.replace(place / name)
    return SshAccess(
        allocation_id=allocation_id,
        grant_id=issued.grant.id,
        host=allocation_id,
        address=issued.address,
        username=username,
        folder=place,
        valid_until=issued.grant.valid_before,
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
