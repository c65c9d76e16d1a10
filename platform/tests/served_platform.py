"""The real `gpuaas-platform serve` as a process of its own, for tests that kill it."""

import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2


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
        """Wait for the line that says where it listens."""
        while True:
            ended = self.process.poll() is not None
            seen = self._printed()
            if found := re.search(r" on (http://\S+)\n", seen):
                self.url = f"{found[1]}/api/v1"
                self._await_ready()
                return self.url
            assert not ended, f"the platform ended: {seen}"
            time.sleep(0.02)

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

    def _await_ready(self) -> None:
        for _ in range(1200):
            try:
                if httpx2.get(f"{self.url}/health/ready", timeout=60).status_code == 200:
                    return
            except httpx2.HTTPError:
                pass
            time.sleep(0.05)
        raise AssertionError("the platform is not ready")


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
