"""SSH to lab machines: pinned host keys, one pooled connection per machine.

Used by the Python API. A host key is known before the machine first boots, so nothing is ever
trusted on first use.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import asyncssh

from gpuaas_lab.errors import BootFailed, CommandFailed

# A machine that boots is asked often; one that is up may answer late on a busy host.
_ATTEMPT_SECONDS = 0.25
_ANSWER_SECONDS = 3.0
_PAUSE_SECONDS = 0.03
_GOODBYE_SECONDS = 0.3
# sshd takes ten sessions on one connection by default; two are left for people.
_SESSIONS = 8
_RETRIES = (0.02, 0.05, 0.1, 0.3, 0.5, 1.0)


@dataclass(frozen=True)
class Result:
    """What a command on a machine said."""

    status: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class Door:
    """How to get into one machine."""

    machine: str
    address: str
    host_key: str
    key: Path


class Connection:
    """The pooled connection to one machine; opened when needed, again after it was lost."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._lock = asyncio.Lock()
        self._slots = asyncio.Semaphore(_SESSIONS)
        self._open: asyncssh.SSHClientConnection | None = None

    async def client(self, answer: float = _ANSWER_SECONDS) -> asyncssh.SSHClientConnection:
        """The live connection; the network is given `answer` seconds for a new one."""
        async with self._lock:
            if self._open is None or self._open.is_closed():
                self._open = await self._connect(answer)
            return self._open

    async def wait(self, patience: float, alive: Callable[[], Awaitable[bool]]) -> None:
        """Wait until the machine lets us in; give up early when it is no longer alive."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + patience
        look_at = loop.time() + 2
        while True:
            try:
                await self.client(_ATTEMPT_SECONDS)
            except (OSError, asyncssh.ConnectionLost, asyncssh.DisconnectError) as error:
                if isinstance(error, asyncssh.HostKeyNotVerifiable):
                    raise
                if loop.time() > deadline:
                    raise BootFailed(
                        f"{self._door.machine} did not answer SSH within {patience:.0f} s: {error}"
                    ) from error
            else:
                return
            if loop.time() > look_at:
                if not await alive():
                    raise BootFailed(f"{self._door.machine} stopped while it booted")
                look_at = loop.time() + 2
            await asyncio.sleep(_PAUSE_SECONDS)

    async def run(self, command: str, stdin: str | bytes | None = None) -> Result:
        """Run a command on the machine."""
        data = stdin.encode() if isinstance(stdin, str) else stdin
        async with self._slots:
            for pause in _RETRIES:
                client = await self.client()
                try:
                    # Input of no length would not be ended by the library.
                    source = asyncssh.DEVNULL if data == b"" else asyncssh.PIPE
                    done = await client.run(command, input=data, stdin=source, encoding=None)
                except asyncssh.ChannelOpenError:
                    # sshd still counts sessions that have just ended; the command did not start.
                    await asyncio.sleep(pause)
                    continue
                return Result(_status(done), _text(done.stdout), _text(done.stderr))
        raise CommandFailed(f"{self._door.machine}: sshd opens no further session for {command!r}")

    async def close(self) -> None:
        """Drop the connection."""
        async with self._lock:
            client, self._open = self._open, None
        if client is None:
            return
        client.close()
        try:
            async with asyncio.timeout(_GOODBYE_SECONDS):
                await client.wait_closed()
        except TimeoutError:
            client.abort()  # the machine is off or cut: it will never say goodbye

    async def _connect(self, answer: float) -> asyncssh.SSHClientConnection:
        plug = await _plug(self._door.address, answer)
        try:
            return await asyncssh.connect(
                self._door.address,
                sock=plug,
                username="root",
                client_keys=[str(self._door.key)],
                known_hosts=([asyncssh.import_public_key(self._door.host_key)], [], []),
                server_host_key_algs=["ssh-ed25519"],
                kex_algs=["curve25519-sha256"],
                agent_path=None,
                config=None,
                login_timeout=30,
                keepalive_interval=15,
            )
        except BaseException:
            plug.close()
            raise


async def _plug(address: str, answer: float) -> socket.socket:
    """A connected socket, or an error soon: a machine without a network answers nothing at all."""
    plug = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    plug.setblocking(False)
    plug.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        async with asyncio.timeout(answer):
            await asyncio.get_running_loop().sock_connect(plug, (address, 22))
    except BaseException:
        plug.close()
        raise
    return plug


def check(machine: str, command: str, result: Result) -> Result:
    """The result, or an error that says which command failed where and how."""
    if result.status:
        said = (result.stderr or result.stdout).strip()[-800:]
        raise CommandFailed(f"{machine}: {command!r} ended with {result.status}: {said}")
    return result


def _status(done: asyncssh.SSHCompletedProcess) -> int:
    return done.returncode if done.returncode is not None else 255


def _text(data: object) -> str:
    return data.decode(errors="replace") if isinstance(data, bytes) else ""
