"""The SSH wire: one pooled connection to one machine, renewed before what opened it ends.

A host's keys are known before it is met; nothing is trusted on first use. What opens the machine
(a certificate, a key from custody) comes from a `Door`, asked anew for every connection. All who
wait for a connection share one attempt, and its failure.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Final, Protocol

import asyncssh

from gpuaas_sdk.machines.failures import AccessRefused, MachineUnreachable
from gpuaas_sdk.machines.scripts import About, Order
from gpuaas_sdk.machines.ssh_plug import plug_make
from gpuaas_sdk.machines.ssh_script import ssh_kill, ssh_script
from gpuaas_sdk.machines.wire import Output

# sshd takes ten sessions on one connection by default; two are left for ending scripts.
_SESSIONS: Final = 8
_OPEN_PAUSES: Final = (0.0, 0.02, 0.05, 0.1, 0.3, 0.5, 1.0, 2.0)
# Soon, then rarely: a newer sshd shuts out whoever it refused four times within a few seconds.
_REFUSED_PAUSES: Final = (0.5, 2.5, 5.0)
_GOODBYE: Final = 0.5
_KILL: Final = 5.0


@dataclass(frozen=True)
class Patience:
    """How long a machine is waited for, in seconds.

    A slow one is not dead: `answer` is for the network alone, `login` for all that sshd does. A
    connection on which nothing is heard for `silence` is given up. A machine that refuses is asked
    again for as long as `refused`: it may learn a moment later whose it is now.
    """

    answer: float = 10.0
    login: float = 45.0
    silence: float = 20.0
    refused: float = 8.0


@dataclass(frozen=True)
class Pass:
    """What opens a machine, where it is, and how it proves that it is the one."""

    address: str
    username: str
    host_keys: tuple[str, ...]
    key: asyncssh.SSHKey
    certificate: asyncssh.SSHCertificate | None
    seconds: float
    about: str


class Door(Protocol):
    """Where passes come from. Raises an access failure when there is none."""

    async def ask(self, about: About, /) -> Pass:
        """A fresh pass."""
        ...

    def refused(self) -> None:
        """The last pass did not open the machine: do not give the same again."""
        ...


@dataclass
class _Live:
    """A connection, until when it may be given new work, and how much work it has."""

    connection: asyncssh.SSHClientConnection
    renew_at: float
    busy: int = 0

    def fresh(self, now: float) -> bool:
        return now < self.renew_at and not self.connection.is_closed()


class SshWire:
    """The pooled way to one machine."""

    def __init__(self, allocation_id: str, door: Door, patience: Patience | None = None) -> None:
        self._allocation_id = allocation_id
        self._door = door
        self._patience = patience or Patience()
        self._slots = asyncio.Semaphore(_SESSIONS)
        self._live: _Live | None = None
        self._opening: asyncio.Task[_Live] | None = None
        self._was_let_in = True
        self._tidying: set[asyncio.Task[None]] = set()

    async def ready(self, about: About) -> None:
        """Return when the machine can be asked; raise why it cannot."""
        await self._connection(about)

    async def execute(self, order: Order) -> Output:
        """Run a script to its end; cancelled, it is ended on the machine too."""
        async with self._slots:
            for pause in _OPEN_PAUSES:
                await asyncio.sleep(pause)
                async with self._borrowed(order.about) as connection:
                    try:
                        script = await ssh_script(connection, order)
                    except (asyncssh.ChannelOpenError, asyncssh.DisconnectError, OSError):
                        # It did not begin: sshd still counts sessions that have just ended, or
                        # the connection was lost while nobody used it.
                        continue
                    try:
                        return await script.ended(order.timeout)
                    except asyncio.CancelledError:
                        self._later(_kill(connection, script.group))
                        raise
        raise MachineUnreachable(self._allocation_id, "sshd opens no session for another script")

    async def close(self) -> None:
        """Let go of the machine."""
        opening, self._opening = self._opening, None
        if opening is not None:
            opening.cancel()
            await asyncio.wait({opening})
        if self._tidying:
            await asyncio.wait(self._tidying)
        live, self._live = self._live, None
        if live is not None:
            await _goodbye(live.connection)

    @asynccontextmanager
    async def _borrowed(self, about: About) -> AsyncIterator[asyncssh.SSHClientConnection]:
        live = await self._connection(about)
        live.busy += 1
        try:
            yield live.connection
        finally:
            live.busy -= 1
            self._retire(live)

    async def _connection(self, about: About) -> _Live:
        live = self._live
        if live is not None and live.fresh(_now()):
            return live
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(about))
            self._opening.add_done_callback(self._opened)
        return await asyncio.shield(self._opening)

    def _opened(self, task: asyncio.Task[_Live]) -> None:
        if self._opening is task:
            self._opening = None
        if not task.cancelled():
            task.exception()  # whoever waited has it; nobody may have

    async def _open(self, about: About) -> _Live:
        """Connect; who is refused asks again for a while, unless that was tried before."""
        give_up = _now() + (self._patience.refused if self._was_let_in else 0.0)
        pauses = chain(_REFUSED_PAUSES, repeat(_REFUSED_PAUSES[-1]))
        while True:
            began = _now()
            given = await self._door.ask(about)
            try:
                connection = await self._connect(given)
            except asyncssh.PermissionDenied as error:
                self._door.refused()
                pause = min(next(pauses), max(0.0, give_up - _now()))
                self._was_let_in = pause > 0
                if self._was_let_in:
                    await asyncio.sleep(pause)
                    continue
                raise AccessRefused(
                    self._allocation_id,
                    f"the machine does not take {given.about}. It may not know the allocation (any"
                    " more), have revoked it, not trust the platform's authority, or have a wrong"
                    f" clock; sshd's journal there says which ({error.reason})",
                ) from error
            self._was_let_in = True
            return self._keep(connection, began, given.seconds)

    def _keep(self, connection: asyncssh.SSHClientConnection, began: float, lasts: float) -> _Live:
        old, margin = self._live, min(lasts / 2, max(30.0, lasts / 5))
        live = self._live = _Live(connection, began + lasts - margin)
        asyncio.get_running_loop().call_at(began + lasts, self._retire, live)
        if old is not None:
            self._retire(old)
        return live

    def _retire(self, live: _Live) -> None:
        """Close a connection nobody uses that may get no more work."""
        if live.busy == 0 and not live.fresh(_now()):
            if self._live is live:
                self._live = None
            self._later(_goodbye(live.connection))

    async def _connect(self, given: Pass) -> asyncssh.SSHClientConnection:
        try:
            known = [asyncssh.import_public_key(line) for line in given.host_keys]
        except asyncssh.KeyImportError as error:
            text = f"a host key the platform knows cannot be read: {error}"
            raise AccessRefused(self._allocation_id, text, code="host_key_mismatch") from error
        try:
            plug = await plug_make(given.address, self._patience.answer)
        except OSError as error:
            reason = str(error) or "it does not answer"
            raise self._unreachable(f"{given.address}: {reason}") from error
        try:
            return await self._login(given, plug, known)
        except BaseException as error:
            plug.close()
            if isinstance(error, asyncssh.HostKeyNotVerifiable):
                text = (
                    f"what answers at {given.address} does not have the host key the platform"
                    " knows. Nothing was sent to it; enrol the machine anew if it was replaced"
                )
                raise AccessRefused(self._allocation_id, text, code="host_key_mismatch") from error
            if isinstance(error, asyncssh.PermissionDenied):
                raise
            if isinstance(error, asyncssh.DisconnectError | OSError):
                reason = str(error) or "sshd did not finish the login in time"
                raise self._unreachable(f"{given.address}: {reason}") from error
            raise

    async def _login(
        self, given: Pass, plug: socket.socket, known: list[asyncssh.SSHKey]
    ) -> asyncssh.SSHClientConnection:
        keys = given.key if given.certificate is None else (given.key, given.certificate)
        return await asyncssh.connect(
            given.address,
            sock=plug,
            config=None,
            options=None,
            username=given.username,
            client_keys=[keys],
            known_hosts=(known, [], []),
            agent_path=None,
            preferred_auth="publickey",
            connect_timeout=self._patience.login,
            keepalive_interval=self._patience.silence / 4,
            keepalive_count_max=3,
        )

    def _unreachable(self, reason: str) -> MachineUnreachable:
        return MachineUnreachable(self._allocation_id, reason)

    def _later(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tidying.add(task)
        task.add_done_callback(self._tidying.discard)


def _now() -> float:
    return asyncio.get_running_loop().time()


async def _goodbye(connection: asyncssh.SSHClientConnection) -> None:
    connection.close()
    try:
        async with asyncio.timeout(_GOODBYE):
            await connection.wait_closed()
    except TimeoutError:
        connection.abort()  # off or cut: it will never say goodbye


async def _kill(connection: asyncssh.SSHClientConnection, group: int | None) -> None:
    """End what a script started; where that cannot be said, its own time limit ends it."""
    if group is None or connection.is_closed():
        return
    with suppress(asyncssh.Error, OSError, TimeoutError):
        async with asyncio.timeout(_KILL):
            await ssh_kill(connection, group)
