"""A front for a platform that lets a fetch come so far and no further, until it is let go on.

    async with held_front(address, port, after=8 << 20) as front:
        …  # somebody fetches by `front.url`
        await front.reached.wait()
        front.go.set()

What breaks behind it breaks in front of it when it goes on, and whoever comes again gets through.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field

_READ = 65_536


@dataclass
class HeldFront:
    """Where it is, whether a fetch is held, and whether it may go on."""

    url: str = ""
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    go: asyncio.Event = field(default_factory=asyncio.Event)


@asynccontextmanager
async def held_front(address: str, target_port: int, after: int) -> AsyncIterator[HeldFront]:
    """A front on this address for a platform on loopback that holds every answer at `after`."""
    front = HeldFront()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            back_reader, back_writer = await asyncio.open_connection("127.0.0.1", target_port)
        except OSError:
            writer.close()
            return
        answer = _held(front, back_reader, writer, after)
        await asyncio.gather(_passed(reader, back_writer), answer)

    server = await asyncio.start_server(serve, address, 0)
    front.url = f"http://{address}:{server.sockets[0].getsockname()[1]}"
    try:
        yield front
    finally:
        front.go.set()
        server.close()


async def _held(
    front: HeldFront, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, after: int
) -> None:
    left = after
    with suppress(OSError):
        while data := await reader.read(_READ):
            writer.write(data)
            await writer.drain()
            left -= len(data)
            if left <= 0:
                front.reached.set()
                await front.go.wait()
    writer.close()


async def _passed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(_READ):
            writer.write(data)
            await writer.drain()
    writer.close()
