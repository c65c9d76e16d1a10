"""Lets the server send a file's bytes without ever having them: ASGI's `zerocopysend` extension.

Given to uvicorn by `main.py` as its HTTP protocol; it is uvicorn's own with this one addition. A
route that finds `http.response.zerocopysend` in its scope's extensions may send

    {"type": "http.response.zerocopysend", "file": descriptor, "offset": 0, "count": 1024}

and the kernel copies from the file to the connection, in a thread: a disk that is slow holds up
nobody else. The headers must have said `Content-Length`. The file stays the sender's to close.
"""

import asyncio
import errno
import os
import select
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

EXTENSION: Final = "http.response.zerocopysend"
_AT_ONCE: Final = 8 * 1024 * 1024
_LOOK_MS: Final = 500
_STUCK_LOOKS: Final = 120  # a minute in which the other side takes nothing
_GONE: Final = {errno.EPIPE, errno.ECONNRESET, errno.EBADF, errno.ENOTCONN, errno.ETIMEDOUT}
_threads = ThreadPoolExecutor(max_workers=512, thread_name_prefix="zero-copy")


class ZeroCopyProtocol(HttpToolsProtocol):
    """uvicorn's protocol, whose scopes say that files can be sent."""

    def on_headers_complete(self) -> None:
        """A request has begun: its answer may be a file."""
        before = self.cycle
        super().on_headers_complete()
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is None or cycle is before:
            return
        scope: dict[str, Any] = self.scope  # type: ignore[assignment]  # one typed dict of several
        scope.setdefault("extensions", {})[EXTENSION] = {}
        cycle.send = partial(_send, cycle)  # type: ignore[method-assign]  # the addition itself


async def _send(cycle: RequestResponseCycle, message: Any) -> None:  # noqa: ANN401 - any ASGI message
    if message["type"] != EXTENSION:
        await RequestResponseCycle.send(cycle, message)
        return
    await _written_out(cycle)
    if cycle.disconnected or not await _copied(cycle, message):
        raise ConnectionResetError("the other side is gone")
    more = {"type": "http.response.body", "body": b"", "more_body": message.get("more_body", False)}
    await RequestResponseCycle.send(cycle, more)  # type: ignore[arg-type]  # a body message


async def _written_out(cycle: RequestResponseCycle) -> None:
    """Wait until the headers have left: what follows goes past the transport's buffer."""
    while cycle.transport.get_write_buffer_size() and not cycle.disconnected:  # noqa: ASYNC110 - a transport tells nobody that it is empty
        await asyncio.sleep(0.002)


async def _copied(cycle: RequestResponseCycle, message: Any) -> bool:  # noqa: ANN401 - as above
    """Copy in a thread; whether all of it was sent. Otherwise the connection is of no more use."""
    # Of our own: the transport may close its descriptor while a thread still has the number.
    connection = os.dup(cycle.transport.get_extra_info("socket").fileno())
    count = message["count"]
    copying = _Copying(connection, message["file"], message["offset"], count)
    work = asyncio.get_running_loop().run_in_executor(_threads, copying.run)
    try:
        whole = await asyncio.shield(work)
    except asyncio.CancelledError:
        copying.stopped = True
        await work
        cycle.transport.abort()
        raise
    finally:
        os.close(connection)
    if whole:
        cycle.expected_content_length -= count
    else:
        cycle.transport.abort()
        cycle.disconnected = True
    return whole


class _Copying:
    """One file on its way; runs in a thread until all is sent, the other side is gone, or stop."""

    def __init__(self, connection: int, file: int, offset: int, count: int) -> None:
        self._connection = connection
        self._file = file
        self._offset = offset
        self._end = offset + count
        self.stopped = False

    def run(self) -> bool:
        """Whether all of it was sent."""
        ready = select.poll()
        ready.register(self._connection, select.POLLOUT)
        idle = 0
        while self._offset < self._end:
            sent = self._some()
            if sent is None:
                return False
            self._offset += sent
            idle = 0 if sent or ready.poll(_LOOK_MS) else idle + 1
            if self.stopped or idle > _STUCK_LOOKS:
                return False
        return True

    def _some(self) -> int | None:
        """As much as the connection takes at once; None when there is no more to be done."""
        most = min(_AT_ONCE, self._end - self._offset)
        try:
            return os.sendfile(self._connection, self._file, self._offset, most) or None
        except BlockingIOError:
            return 0
        except OSError as error:
            if error.errno in _GONE:
                return None
            raise
