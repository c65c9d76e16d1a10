"""A proxy before PostgreSQL that can act between any two statements of one chosen transaction.

It forwards a Unix socket and reads just enough of the wire protocol to see where statements end.
The connection that sends the marker (bytes that occur in the wanted mutation alone) is followed
up to its commit: each statement has a number, and the test's action runs before or after one.
"""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

SOCKET = ".s.PGSQL.5432"


@dataclass
class Plan:
    """Whom to follow, and when to act. `statement` counts from the one with the marker."""

    marker: bytes
    statement: int | None = None
    when: Literal["before", "after"] = "before"
    act: Callable[["Followed"], None] = lambda _: None
    seen: int = 0
    acted: asyncio.Event = field(default_factory=asyncio.Event)


@dataclass
class Followed:
    """One proxied connection."""

    backend_pid: int = 0
    following: bool = False
    withhold: bool = False


@asynccontextmanager
async def statement_proxy(target: Path, folder: Path, plan: Plan) -> AsyncIterator[None]:
    """Serve `folder/.s.PGSQL.5432`, forwarding to the server in `target`."""
    tasks: set[asyncio.Task[None]] = set()

    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream = await asyncio.open_unix_connection(str(target / SOCKET))
        followed = Followed()
        there = asyncio.create_task(_client_to_server(reader, upstream[1], plan, followed))
        back = asyncio.create_task(_server_to_client(upstream[0], writer, plan, followed))
        try:
            await asyncio.wait([there, back], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for half in (there, back):
                half.cancel()
            for end in (writer, upstream[1]):
                end.transport.abort()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        tasks.add(asyncio.create_task(accept(reader, writer)))

    server = await asyncio.start_unix_server(begin, str(folder / SOCKET))
    try:
        yield
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _client_to_server(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, plan: Plan, followed: Followed
) -> None:
    """Forward whole statements: a simple query, or everything up to a Sync.

    What ends in a Flush only prepares a statement; it is forwarded and not counted.
    """
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        length = await reader.readexactly(4)
        writer.write(length + await reader.readexactly(struct.unpack("!I", length)[0] - 4))
        statement = b""
        while True:
            kind, message = await _message(reader)
            statement += message
            if kind not in b"QSXH":
                continue
            followed.following = followed.following or plan.marker in statement
            if kind != b"H" and followed.following and not plan.acted.is_set():
                followed.following = b"COMMIT;" not in statement
                number, plan.seen = plan.seen, plan.seen + 1
                if number == plan.statement:
                    if plan.when == "before":
                        plan.act(followed)
                        plan.acted.set()
                        return
                    followed.withhold = True
            writer.write(statement)
            await writer.drain()
            statement = b""


async def _server_to_client(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, plan: Plan, followed: Followed
) -> None:
    """Forward answers; the one that is withheld triggers the action once it is complete."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            kind, message = await _message(reader)
            if kind == b"K":
                followed.backend_pid = struct.unpack("!I", message[5:9])[0]
            if followed.withhold:
                if kind == b"Z":
                    plan.act(followed)
                    plan.acted.set()
                    return
                continue
            writer.write(message)
            await writer.drain()


async def _message(reader: asyncio.StreamReader) -> tuple[bytes, bytes]:
    head = await reader.readexactly(5)
    return head[:1], head + await reader.readexactly(struct.unpack("!I", head[1:])[0] - 4)
