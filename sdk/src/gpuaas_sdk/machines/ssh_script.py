"""One script on one SSH connection: sent through standard input, its output kept bounded.

Used by `ssh_wire.py`. It ends when the shell has ended and its output is read; something left in
the background that holds the output open is not waited for.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Final

import asyncssh

from gpuaas_sdk.machines.failures import MachineUnreachable
from gpuaas_sdk.machines.scripts import KILL_AFTER, Order, spoken
from gpuaas_sdk.machines.wire import Output

_CHUNK: Final = 1 << 18
_WINDOW: Final = 1 << 20
_LINGER: Final = 0.5  # how long output may go on after the end, while nothing comes
_BREATH: Final = 0.05  # between two windows of a flood: others on this loop have to live
_LATE: Final = 15.0  # beyond its limit the machine has ended a script long ago, if it can
_TIMEOUT_STATUS: Final = frozenset({124, 137, 143})


async def ssh_script(connection: asyncssh.SSHClientConnection, order: Order) -> "SshScript":
    """Begin a script. What is raised here says that it did not begin."""
    command, payload = spoken(order)
    _, script = await connection.create_session(
        lambda: SshScript(order),
        command,
        encoding=None,
        window=_WINDOW,
        request_pty=False,
    )
    assert isinstance(script, SshScript)  # noqa: S101 - what the factory made
    script.feed(payload)
    return script


async def ssh_kill(connection: asyncssh.SSHClientConnection, group: int) -> None:
    """End a process group: politely, then for good."""
    words = f"kill -TERM -- -{group}; sleep 1; kill -KILL -- -{group}"
    await connection.run(f"({words}) >/dev/null 2>&1 </dev/null &", stdin=asyncssh.DEVNULL)


class SshScript(asyncssh.SSHClientSession[bytes]):
    """A running script, as asyncssh calls it."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._channel: asyncssh.SSHClientChannel[bytes] | None = None
        self._streams = {False: Kept(order.stdout_limit), True: Kept(order.stderr_limit)}
        self._head: bytes | None = b""  # the first line, until it is read
        self._status: int | None = None
        self._lost: Exception | None = None
        self._heard = self._began
        self._closed = asyncio.Event()
        self._exited = asyncio.Event()
        self._writable = asyncio.Event()
        self._writable.set()
        self._feeding: asyncio.Task[None] | None = None
        self.group: int | None = None

    def feed(self, payload: bytes) -> None:
        """Send the script and its input, as fast as the machine takes it."""
        self._feeding = self._loop.create_task(self._feed(payload))

    async def ended(self, limit: float) -> Output:
        """Wait for the end."""
        try:
            async with asyncio.timeout(limit + KILL_AFTER + _LATE):
                await self._exit()
        except TimeoutError:
            return self._output(timed_out=True)
        finally:
            self._let_go()
        if self._status is None:
            reason = str(self._lost or "") or "the connection ended"
            raise MachineUnreachable(
                self._order.allocation_id,
                f"{reason} while a script was running; what it did is not known, and it ends"
                f" within {limit:g} s of its beginning",
                code="machine_lost",
            )
        if self.group is None and self._status == 0:
            text = "the script did not arrive whole, and was not run"
            raise MachineUnreachable(self._order.allocation_id, text)
        late = self._loop.time() - self._began >= limit
        return self._output(timed_out=late and self._status in _TIMEOUT_STATUS)

    # --- called by asyncssh -----------------------------------------------------------------

    def connection_made(self, chan: "asyncssh.SSHClientChannel[bytes]") -> None:
        """The channel is there."""
        self._channel = chan

    def data_received(self, data: bytes, datatype: asyncssh.DataType) -> None:
        """Some output."""
        self._heard = self._loop.time()
        if datatype is None and self._head is not None:
            data = self._first_line(data)
        stream = self._streams[datatype is not None]
        if stream.take(data) and self._channel is not None and not self._exited.is_set():
            self._channel.pause_reading()
            self._loop.call_later(_BREATH, self._resume)

    def eof_received(self) -> bool:
        """No more output; input may go on."""
        return True

    def exit_status_received(self, status: int) -> None:
        """The shell has ended."""
        self._status = status
        self._exited.set()

    def exit_signal_received(self, signal: str, core_dumped: bool, msg: str, lang: str) -> None:
        """The shell was ended."""
        del core_dumped, msg, lang
        self._status = 137 if signal == "KILL" else 143
        self._exited.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The channel is closed: in good order, or with the connection."""
        self._lost = exc
        self._closed.set()
        self._exited.set()
        self._writable.set()

    def pause_writing(self) -> None:
        """The machine does not take more now."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """It does again."""
        self._writable.set()

    # --- inside -----------------------------------------------------------------------------

    async def _feed(self, payload: bytes) -> None:
        channel = self._channel
        assert channel is not None  # noqa: S101 - it was made before this could be called
        async for piece in _pieces((payload, *self._order.input)):
            await self._writable.wait()
            if self._exited.is_set() or channel.is_closing():
                return
            channel.write(piece)
        if self._order.input:
            channel.write_eof()

    async def _exit(self) -> None:
        await self._exited.wait()
        while not self._closed.is_set():
            wait = self._heard + _LINGER - self._loop.time()
            try:
                async with asyncio.timeout(max(0.01, wait)):
                    await self._closed.wait()
            except TimeoutError:
                if self._loop.time() - self._heard >= _LINGER:
                    return

    def _first_line(self, data: bytes) -> bytes:
        """Take the number of the process group off the output."""
        head, newline, rest = ((self._head or b"") + data).partition(b"\n")
        if not newline:
            self._head = head
            return b""
        self._head = None
        self.group = int(head) if head.isdigit() else None
        return rest

    def _resume(self) -> None:
        if self._channel is not None and not self._closed.is_set():
            self._channel.resume_reading()

    def _let_go(self) -> None:
        if self._feeding is not None:
            self._feeding.cancel()
        if self._channel is not None and not self._closed.is_set():
            self._channel.close()

    def _output(self, *, timed_out: bool) -> Output:
        out, err = self._streams[False], self._streams[True]
        return Output(
            status=124 if self._status is None else self._status,
            stdout=out.whole(),
            stderr=err.whole(),
            seconds=self._loop.time() - self._began,
            cut=out.left_out > 0 or err.left_out > 0,
            timed_out=timed_out,
        )


class Kept:
    """The beginning and the end of a stream of any length."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._first = bytearray()
        self._last = bytearray()
        self.left_out = 0

    def take(self, data: bytes) -> bool:
        """Keep what there is room for; true when something had to go."""
        room = self._limit - len(self._first)
        self._first += data[:room]
        if len(data) <= room:
            return False
        self._last += data[room:]
        over = len(self._last) - self._limit // 4
        if over > 0:
            del self._last[:over]
            self.left_out += over
        return self.left_out > 0

    def whole(self) -> bytes:
        """What was kept, with a line between where something is missing."""
        if self.left_out == 0:
            return bytes(self._first + self._last)
        gap = f"\n… {self.left_out} bytes left out …\n".encode()
        return bytes(self._first) + gap + bytes(self._last)


async def _pieces(parts: Sequence[bytes | Path]) -> AsyncIterator[bytes]:
    for part in parts:
        if isinstance(part, bytes):
            for start in range(0, len(part), _CHUNK):
                yield part[start : start + _CHUNK]
            continue
        with part.open("rb") as file:
            while piece := await asyncio.to_thread(file.read, _CHUNK):
                yield piece
