"""The real `gpuaas-platform serve` as a process of its own, for tests that kill it."""

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from eventually import eventually_sync


class ServedPlatform:
    """One platform process. Starts at once; `url` is known when it listens."""

    def __init__(self, environment: dict[str, str]) -> None:
        # A file: nobody has to read it, while a pipe that is full would stop the process.
        self._output = tempfile.NamedTemporaryFile(prefix="gpuaas-served-", suffix=".log")  # noqa: SIM115 - lives as long as the process, `close` ends it
        clean = {k: v for k, v in os.environ.items() if not k.startswith("GPUAAS_")}
        self.process = subprocess.Popen(
            [str(Path(sys.executable).with_name("gpuaas-platform")), "serve"],
            env=clean | {"GPUAAS_PORT": "0", "GPUAAS_LOG_LEVEL": "warning"} | environment,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )
        self.url = ""

    def await_listening(self) -> str:
        """Wait for the line that says where it listens, and until it is ready."""
        address = eventually_sync(
            self._address, within=120, what=lambda: f"an address in: {self._printed()}"
        )
        self.url = f"{address}/api/v1"
        eventually_sync(self._ready, within=120, what="the platform is ready")
        return self.url

    def output_at_end(self) -> str:
        """What it printed until it ended by itself."""
        self.process.wait(60)
        return self._printed()

    def kill(self) -> None:
        """Kill -9: no handler of it runs."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)

    def stop(self) -> int:
        """Ask it to end, as an init system would."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(60)

    def close(self) -> None:
        """Whatever happened, nothing of it is left."""
        if self.process.poll() is None:
            self.kill()
        self._output.close()

    def _printed(self) -> str:
        return Path(self._output.name).read_text()

    def _address(self) -> str | None:
        ended = self.process.poll() is not None  # first: what it printed is then complete
        printed = self._printed()
        found = re.search(r" on (http://\S+)\n", printed)
        assert found or not ended, f"the platform ended: {printed}"
        return found[1] if found else None

    def _ready(self) -> bool:
        try:
            return httpx2.get(f"{self.url}/health/ready", timeout=60).status_code == 200
        except httpx2.HTTPError:
            return False


@contextmanager
def served(**environment: str) -> Iterator[ServedPlatform]:
    """A platform process for the length of a block; settings in upper case, without the prefix.

    Its data folder is a temporary one unless it is given.
    """
    with tempfile.TemporaryDirectory(prefix="gpuaas-served-") as folder:
        given = {"DATA_DIR": folder} | environment
        platform = ServedPlatform({f"GPUAAS_{name}": value for name, value in given.items()})
        try:
            yield platform
        finally:
            platform.close()
