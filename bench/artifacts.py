"""How fast a 1 GiB artifact reaches 8 machines, beside plain parallel copies without any checks.

Ours: `artifact_deliver_each` of the SDK against a real `gpuaas-platform serve`: a URL for each
machine (policy, trust, audit, event), fetched by the machine, digested on the way, put in place.
Plain: the same file from a bare HTTP server that does nothing but `sendfile`, fetched by curl on
each machine, unverified; and `scp` to each machine, all at once. The same machines, files removed
before each turn; five rounds over both, in turn (scp, several times slower, once); the median
counts, as GiB a second over all machines. Held to 0.8 of the faster plain way.
Run it with `python -m bench.artifacts`, or through `make bench`.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gpuaas_contract.artifacts import ArtifactSource, ArtifactSourceCreate
from gpuaas_lab import Lab
from gpuaas_sdk import Client, Machines
from gpuaas_sdk.artifacts import (
    Artifact,
    Delivered,
    Delivery,
    Publication,
    artifact_deliver_each,
    artifact_publish,
)
from tools.ground import Ground, ground_up

MACHINES: Final = 8
SIZE: Final = 1024**3
LIMIT: Final = 0.8
_ROUNDS: Final = 5
_PATH: Final = "/var/tmp/bench-artifact"  # noqa: S108 - on the lab's machines, by name removed
_BLOCK: Final = 1 << 20


@dataclass(frozen=True)
class Row:
    """One way to bring the file to all machines."""

    way: str
    seconds: float
    gib_per_second: float
    share: float
    note: str


@dataclass(frozen=True)
class _Site:
    ground: Ground
    client: Client
    machines: Machines
    artifact: Artifact
    file: Path
    plain_url: str


async def measure() -> list[Row]:
    """Rounds over the ways."""
    async with Lab.up("bench-artifacts", MACHINES) as lab, ground_up(lab) as ground:
        with tempfile.TemporaryDirectory(prefix="gpuaas-bench-") as folder:
            file = Path(folder) / "content"
            _fill(file)
            with _plain_server(file, str(lab.host_address)) as url:
                async with ground.operator() as client:
                    machines = Machines(client)
                    artifact = await _published(ground, file)
                    site = _Site(ground, client, machines, artifact, file, url)
                    seconds = await _rounds(site)
                    await machines.close()
    return _rows(seconds)


def within(rows: list[Row]) -> bool:
    """Whether checks and all cost less than a fifth of what plain copies reach."""
    return rows[0].share >= LIMIT


async def _rounds(site: _Site) -> dict[str, list[float]]:
    ways: dict[str, Callable[[_Site], Awaitable[None]]] = {
        "delivered": _delivered,
        "plain HTTP": _plain,
        "scp": _scp,
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    both = ["delivered", "plain HTTP"]
    turns = [name for number in range(_ROUNDS) for name in (both if number % 2 else both[::-1])]
    for name in [*both, *turns, "scp"]:  # the first of each opens connections and does not count
        await _cleared(site)
        before = time.perf_counter()
        await ways[name](site)
        seconds[name].append(time.perf_counter() - before)
    await _cleared(site)
    return {name: found[1:] or found for name, found in seconds.items()}


async def _delivered(site: _Site) -> None:
    delivery = Delivery(site.artifact, _PATH, purpose="bench")
    done = await artifact_deliver_each(
        site.client, site.machines, site.ground.allocations, delivery
    )
    wrong = [one for one in done.values() if not isinstance(one, Delivered)]
    if wrong or {one.how for one in done.values() if isinstance(one, Delivered)} != {"fetched"}:
        raise RuntimeError(f"not every machine fetched: {wrong}")


async def _plain(site: _Site) -> None:
    command = f"curl --silent --show-error --fail --output {_PATH} {site.plain_url}"
    await asyncio.gather(*(one.run(command) for one in site.ground.lab.machines))


async def _scp(site: _Site) -> None:
    lab = site.ground.lab
    known = site.file.with_name("known_hosts")
    lines = (f"{one.address} {one.host_key}\n" for one in lab.machines)
    await asyncio.to_thread(known.write_text, "".join(lines))

    async def one(address: str) -> None:
        options = ["-q", "-F", "none", "-i", str(lab.key), "-o", "BatchMode=yes"]
        options += ["-o", f"UserKnownHostsFile={known}"]
        process = await asyncio.create_subprocess_exec(
            "scp", *options, str(site.file), f"root@{address}:{_PATH}"
        )
        if await process.wait() != 0:
            raise RuntimeError(f"scp to {address} ended with {process.returncode}")

    await asyncio.gather(*(one(str(machine.address)) for machine in lab.machines))


async def _cleared(site: _Site) -> None:
    """No file, and nothing on its way to the disk that the next turn would wait for."""
    command = f"rm -f {_PATH} {Path(_PATH).parent}/.gpuaas-*.part"
    await asyncio.gather(*(one.run(command) for one in site.ground.lab.machines))
    await asyncio.to_thread(os.sync)


async def _published(ground: Ground, file: Path) -> Artifact:
    source = await ground.admin.post(
        "/artifact-sources", ArtifactSourceCreate(name="bench"), ArtifactSource
    )
    wanted = Publication(source.id, "bench", "1.0.0")
    return await artifact_publish(ground.admin, file, wanted)


def _fill(file: Path) -> None:
    with file.open("wb") as into:
        for _ in range(SIZE // _BLOCK):
            into.write(os.urandom(_BLOCK))


def _rows(seconds: dict[str, list[float]]) -> list[Row]:
    middle = {name: statistics.median(found) for name, found in seconds.items()}
    best = min(middle["plain HTTP"], middle["scp"])
    notes = {
        "delivered": f"limit {LIMIT:g} of the faster plain way",
        "plain HTTP": "sendfile and curl, unverified",
        "scp": "OpenSSH, unverified",
    }
    total = MACHINES * SIZE / 1024**3
    return [
        Row(name, found, total / found, best / found, notes[name]) for name, found in middle.items()
    ]


@contextmanager
def _plain_server(file: Path, host: str) -> Iterator[str]:
    """A server of one file: a thread for each request, `sendfile`, nothing else."""
    with socket.create_server((host, 0)) as listener:
        port = listener.getsockname()[1]
        threading.Thread(target=_serve, args=(listener, file), daemon=True).start()
        yield f"http://{host}:{port}/"


def _serve(listener: socket.socket, file: Path) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return  # closed: the measurement is over
        threading.Thread(target=_answer, args=(connection, file), daemon=True).start()


def _answer(connection: socket.socket, file: Path) -> None:
    with connection, file.open("rb") as content:
        asked = b""
        while not re.search(rb"\r\n\r\n", asked):
            asked += connection.recv(65_536)
        size = file.stat().st_size
        connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {size}\r\n\r\n".encode())
        connection.sendfile(content)


def main() -> None:
    """Measure and show."""
    for row in asyncio.run(measure()):
        print(
            f"{row.way:12} {row.seconds:6.2f} s  {row.gib_per_second:5.2f} GiB/s"
            f"  {row.share:5.2f}  {row.note}"
        )


if __name__ == "__main__":
    main()
