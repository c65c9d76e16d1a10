"""What a machine is given before its first boot: name, address, keys.

Written into the upper layer of its overlay while nothing is mounted. Renders and writes files;
starts nothing.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from gpuaas_lab import names
from gpuaas_lab.store import LabRecord

HOSTS_BEGIN = "# gpuaas-lab: machines of this lab (kept up to date by the lab)"
HOSTS_END = "# gpuaas-lab: end"


@dataclass(frozen=True)
class HostKey:
    """A machine's SSH host key: the private half for it, the public half to pin."""

    private: str
    public: str


def host_key_make(comment: str) -> HostKey:
    """A fresh ed25519 key, made on the host so that it is known before the first boot."""
    key = asyncssh.generate_private_key("ssh-ed25519", comment=comment)
    return HostKey(
        private=key.export_private_key().decode(),
        public=key.export_public_key().decode().strip(),
    )


def hosts_block(record: LabRecord) -> str:
    """The lab's lines of /etc/hosts."""
    lines = [f"{record.host_address} {names.HOST}"]
    lines += [f"{record.address(machine.name)} {machine.name}" for machine in record.machines]
    return "\n".join([HOSTS_BEGIN, *lines, HOSTS_END]) + "\n"


def files(record: LabRecord, machine: str, key: HostKey, authorized: str) -> dict[str, str]:
    """Every seeded file by its path below the root."""
    network = (
        "[Match]\nName=host0\n\n"
        f"[Link]\nMACAddress={names.mac(record.name, machine)}\n\n"
        f"[Network]\nAddress={record.address(machine)}/{record.network.prefixlen}\n"
        "LinkLocalAddressing=no\nIPv6AcceptRA=no\nLLMNR=no\n"
    )
    return {
        "etc/hostname": f"{machine}\n",
        "etc/hosts": f"127.0.0.1 localhost\n{hosts_block(record)}",
        # An empty machine-id would make systemd run its first-boot presets at every first boot.
        "etc/machine-id": f"{secrets.token_hex(16)}\n",
        "etc/resolv.conf": "# Lab machines have no way out: names come from /etc/hosts.\n",
        "etc/ssh/ssh_host_ed25519_key": key.private,
        "etc/ssh/ssh_host_ed25519_key.pub": f"{key.public}\n",
        "etc/systemd/network/10-host0.network": network,
        "root/.ssh/authorized_keys": f"{authorized}\n",
    }


def write(folder: Path, seeded: dict[str, str]) -> None:
    """Make the machine's folder: upper layer with the seeded files, work folder, mount point."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    for name in ("work", "root", "upper"):
        (folder / name).mkdir(exist_ok=True, mode=0o755)
    upper = folder / "upper"
    for name, text in seeded.items():
        path = upper / name
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        path.touch(mode=0o600 if _private(name) else 0o644)
        path.write_text(text)
    # sshd refuses keys in folders that others may enter or write.
    (upper / "root").chmod(0o700)
    (upper / "root/.ssh").chmod(0o700)


def _private(name: str) -> bool:
    return name.endswith(("_key", "authorized_keys"))
