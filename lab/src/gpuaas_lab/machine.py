"""One lab machine as the Python API shows it: run commands, move files, break things.

Made by `Lab.machine`. It holds no state of its own: the record is the lab's, the connection pooled.
"""

from __future__ import annotations

import shlex
from ipaddress import IPv4Address
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import asyncssh

from gpuaas_lab import ssh

if TYPE_CHECKING:
    from gpuaas_lab.lab import Lab


class Machine:
    """A handle on one machine of a lab."""

    def __init__(self, lab: Lab, name: str, connection: ssh.Connection) -> None:
        self._lab = lab
        self._connection = connection
        self.name = name

    def __repr__(self) -> str:
        return f"<Machine {self._lab.name}/{self.name} {self.address}>"

    @property
    def address(self) -> IPv4Address:
        """The machine's address on the lab's bridge."""
        return self._lab.record.address(self.name)

    @property
    def host_key(self) -> str:
        """The machine's public host key, in OpenSSH's one-line form."""
        return self._lab.record.machine(self.name).host_key

    async def run(
        self, command: str, *, check: bool = True, stdin: str | bytes | None = None
    ) -> ssh.Result:
        """Run a shell command as root over SSH; a non-zero status raises unless `check` is off."""
        result = await self._connection.run(command, stdin)
        return ssh.check(self.name, command, result) if check else result

    async def write(self, path: str, data: str | bytes, mode: int = 0o644) -> None:
        """Put a file in place, whole or not at all."""
        target, folder = shlex.quote(path), shlex.quote(str(PurePosixPath(path).parent))
        await self.run(
            f"mkdir -p {folder} && umask 077 && cat > {target}.new && "
            f"chmod {mode:o} {target}.new && mv {target}.new {target}",
            stdin=data,
        )

    async def read(self, path: str) -> str:
        """The text of a file."""
        return (await self.run(f"cat {shlex.quote(path)}")).stdout

    async def client(self) -> asyncssh.SSHClientConnection:
        """The pooled SSH connection, for what the other methods do not cover."""
        return await self._connection.client()

    async def disconnect(self) -> None:
        """Drop the pooled connection; the next call opens another."""
        await self._connection.close()

    async def pull_plug(self) -> None:
        """Power the machine off without a shutdown."""
        await self._lab.pull_plug(self.name)

    async def boot(self) -> None:
        """Power the machine on and wait for SSH; nothing happens when it is on."""
        await self._lab.boot(self.name)

    async def cut(self, to: str | None = None) -> None:
        """Drop all its traffic, or only what it sends to another machine or to `host`."""
        await self._lab.cut(self.name, to)

    async def heal(self, to: str | None = None) -> None:
        """Undo every cut of the machine, or the one towards another."""
        await self._lab.heal(self.name, to)

    async def skew(self, seconds: int) -> None:
        """Shift the clock its programs see; 0 sets it right."""
        await self._lab.skew(self.name, seconds)

    async def fake_gpus(self, count: int) -> None:
        """Give it fake GPUs: device nodes and an nvidia-smi, marked as the lab's."""
        await self._lab.fake_gpus(self.name, count)
