"""Offer a package set to lab machines over HTTP on the bridge, and install it there.

A server of exactly one folder, for as long as a block lasts, on the lab's own address. Only plain
files of the set are given out.
"""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import unquote

from gpuaas_lab.machine import Machine
from gpuaas_lab.packages import PackageSet

SOURCE = "/etc/apt/sources.list.d/gpuaas-lab.list"
POLICY = "/usr/sbin/policy-rc.d"


@asynccontextmanager
async def served(folder: Path, address: str, port: int = 0) -> AsyncIterator[str]:
    """Serve the folder's files; the block gets the URL."""
    handlers: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            handlers.add(task)
            task.add_done_callback(handlers.discard)
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while await _answer(folder, reader, writer):
                pass
        writer.close()

    server = await asyncio.start_server(handle, address, port)
    try:
        yield f"http://{address}:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in handlers:
            task.cancel()
        await asyncio.gather(*handlers, return_exceptions=True)
        await server.wait_closed()


async def install(
    machines: Iterable[Machine], wanted: PackageSet, address: str, *, start: bool = True
) -> None:
    """Install the set on the machines, all at once, with their own apt.

    Debian starts a daemon as soon as it is installed; without `start` it waits for somebody to.
    """
    async with served(wanted.path, address) as url:
        await asyncio.gather(*(_install(machine, wanted, url, start=start) for machine in machines))


def install_command(wanted: PackageSet) -> str:
    """What has a machine's own apt install the set, once `SOURCE` says where it is."""
    names = " ".join(shlex.quote(name) for name in wanted.names)
    return (
        f"apt-get -qq -o Dir::Etc::sourcelist={SOURCE} -o Dir::Etc::sourceparts=- update && "
        "DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends "
        f"-o Dpkg::Use-Pty=0 install {names} && apt-get clean"
    )


async def _install(machine: Machine, wanted: PackageSet, url: str, *, start: bool) -> None:
    await machine.write(SOURCE, f"deb [trusted=yes] {url} ./\n")
    if not start:
        await machine.write(POLICY, "#!/bin/sh\nexit 101\n", 0o755)
    try:
        await machine.run(install_command(wanted))
    finally:
        await machine.run(f"rm -f {SOURCE} {'' if start else POLICY}", check=False)


async def _answer(folder: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answer one request; false when the connection should end."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    method, _, rest = head.partition(" ")
    name = unquote(rest.partition(" ")[0].partition("?")[0]).removeprefix("/").removeprefix("./")
    file = folder / name
    if method not in ("GET", "HEAD") or "/" in name or not _plain(file):
        writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        await writer.drain()
        return True
    writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {_size(file)}\r\n\r\n".encode())
    await writer.drain()
    if method == "GET":
        with await asyncio.to_thread(file.open, "rb") as source:
            await asyncio.get_running_loop().sendfile(writer.transport, source)
    return True


def _plain(file: Path) -> bool:
    return file.is_file() and not file.is_symlink()


def _size(file: Path) -> int:
    return file.stat().st_size
