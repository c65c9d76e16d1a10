"""The real `gpuaas-platform serve` as a process of its own, for grounds and benchmarks.

It keeps its address over a restart, so that clients and machines find it again. What it starts it
ends; its log is kept in a file beside the data.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.error import URLError
from urllib.request import urlopen

PATIENCE_S: Final = 60.0
# The platform ends in order also when whoever started it is killed.
_WITH_US: Final = ("setpriv", "--pdeathsig", "TERM") if shutil.which("setpriv") else ()


class ServedError(Exception):
    """The platform did not come up, or ended by itself; the message has its last line."""


class Served:
    """A platform process that can be killed and started again."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self._folder = folder
        self._settings = dict(settings)
        self._process: asyncio.subprocess.Process | None = None
        self.log = folder.with_suffix(".log")
        self.url = ""

    @property
    def port(self) -> int:
        """The port it listens on."""
        return int(self.url.rsplit(":", 1)[1])

    async def start(self) -> None:
        """Start it and wait until it is ready."""
        clean = {name: value for name, value in os.environ.items() if "GPUAAS_" not in name}
        port = {"GPUAAS_PORT": str(self.port) if self.url else "0"}
        env = clean | port | {"GPUAAS_LOG_LEVEL": "warning"} | self._settings
        with self.log.open("wb") as output:
            self._process = await asyncio.create_subprocess_exec(
                *_WITH_US,
                *(Path(sys.executable).with_name("gpuaas-platform"), "serve"),
                *("--data-dir", self._folder),
                env=env,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        await self._ready()

    async def ended(self) -> None:
        """Wait until it ends by itself."""
        if self._process is not None:
            await self._process.wait()

    async def kill(self) -> None:
        """Kill -9: no handler of it runs."""
        await self._end(kill=True)

    async def stop(self) -> None:
        """Ask it to end, as an init system would."""
        await self._end(kill=False)

    async def _end(self, *, kill: bool) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if process.returncode is None:
            process.kill() if kill else process.terminate()
        await process.wait()

    async def _ready(self) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if self._process is None or self._process.returncode is not None:
                raise ServedError(f"the platform did not start: {self._last_line()}")
            found = re.search(r" on (http://\S+)\n", self.log.read_text(errors="replace"))
            if found:
                ready = await asyncio.to_thread(_answers, found[1])
                self.url = found[1] if ready else self.url
                if ready:
                    return
            await asyncio.sleep(0.03)
        raise ServedError(f"the platform was not ready after {PATIENCE_S:.0f} s")

    def _last_line(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "it said nothing"


@contextlib.asynccontextmanager
async def served(folder: Path, settings: Mapping[str, str]) -> AsyncIterator[Served]:
    """A platform on this data folder for the length of a block."""
    platform = Served(folder, settings)
    try:
        await platform.start()
        yield platform
    finally:
        await platform.stop()


@contextlib.contextmanager
def served_folder() -> Iterator[Path]:
    """A data folder that is gone at the end; the database, which is not root, can enter it."""
    with tempfile.TemporaryDirectory(prefix="gpuaas-ground-") as made:
        Path(made).chmod(0o711)
        yield Path(made) / "data"


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/api/v1/health/ready", timeout=5) as answer:  # noqa: S310 - our own loopback address
            return bool(answer.status == 200)
    except (URLError, TimeoutError, ConnectionError):
        return False
